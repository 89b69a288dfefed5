"""Above the lanes while a recording is on screen: that it is one, of what and when, and a way to see it again."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from app.elided_label import ElidedLabel
from app.theme import Theme
from engine.records import RunStarted


class RecordingBar(QFrame):
    replay_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("recordingBar")
        badge = QLabel("Recording")
        badge.setObjectName("badge")
        badge.setToolTip("These records were measured earlier and play at the pace they were measured. "
                         "Run decodes here and now.")
        self._about = ElidedLabel()
        self._about.setProperty("kind", "dim")
        self._replay = QPushButton("Replay")
        self._replay.setToolTip("Play the recording again from its start")
        self._replay.clicked.connect(self.replay_wanted)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(12)
        row.addWidget(badge, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._about, 1)
        row.addWidget(self._replay)
        self.set_theme(theme)
        self.hide()

    def show_recording(self, name: str, started: RunStarted | None, *, over: bool) -> None:
        about = name
        if started is not None:
            about = f"{started.target.name} on {started.machine}, {started.started[:10]} · measured pace"
        self._about.show_text(f"{about} · Run to decode here" if over else about)
        self._replay.setVisible(over)
        self.show()

    def set_theme(self, theme: Theme) -> None:
        self._replay.setIcon(theme.icon("restart", "text"))
        self._replay.setIconSize(QSize(theme.px(14), theme.px(14)))
