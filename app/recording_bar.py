"""Above the lanes while a recording is on screen: that it is one, of what and when, and a way to see it again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from app.elided_label import ElidedLabel
from app.theme import Theme
from engine.records import RunStarted

_TEMPLATE_MARK = re.compile(r"<\|[^|<>\n]*\|>|</?s>|<bos>|<(?:start|end)_of_turn>|\[/?INST\]")
"""What chat templates put around a message."""

WORDS_SHOWN = 44
"""Letters of the prompt; all of it stands in the tooltip."""

HEIGHT = 34
"""Logical pixels at scale 1, at least: with its button and without, lest the lanes move at the recording's end."""


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
        row.setContentsMargins(12, 1, 8, 1)
        row.setSpacing(12)
        row.addWidget(badge, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._about, 1)
        row.addWidget(self._replay)
        self.set_theme(theme)
        self.hide()

    def show_recording(self, name: str, started: Sequence[RunStarted], *, over: bool) -> None:
        """``started``: how each lane began, as far as that has been played. The form may say something else."""
        about, whole = name, ""
        if started:
            prompt = message_of(started[0].prompt_text)
            settings = said_settings(started)
            unknown = started[0].unknown
            where = ", ".join(filter(None, (started[0].started[:10], started[0].machine)))
            about = " · ".join(filter(None, (
                settings, f"“{first_words(prompt)}”" if prompt else "", "" if "seconds" in unknown else "measured pace",
                where, started[0].about if unknown else "")))
            whole = "\n".join(filter(None, (f"{name}: {started[0].target.name or 'unknown target'}", where, settings)))
            whole += f"\n\n{prompt}" if prompt else ""
        self._about.show_text(f"Run decodes here · {about}" if over else about, tip=whole)
        self._replay.setVisible(over)
        self.show()

    def set_theme(self, theme: Theme) -> None:
        self._replay.setIcon(theme.icon("restart", "text"))
        self._replay.setIconSize(QSize(theme.px(14), theme.px(14)))
        self.setMinimumHeight(theme.px(HEIGHT))


def said_settings(started: Sequence[RunStarted]) -> str:
    """γ, temperature and length of the recorded run, in a few words."""
    if "settings" in started[0].unknown:
        return "settings unknown"
    settings = started[0].settings
    gammas = [str(lane.gamma) for lane in started if lane.settings.drafter.kind != "none"]
    parts = [f"γ {', '.join(dict.fromkeys(gammas))}"] if gammas else []
    parts.append("greedy" if settings.sampling.greedy else f"temperature {settings.sampling.temperature:g}")
    parts.append(f"{settings.max_new_tokens} tokens")
    return " · ".join(parts)


def first_words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WORDS_SHOWN else f"{line[:WORDS_SHOWN].rstrip()}…"


def message_of(prompt: str) -> str:
    """The person's own words in a prompt that a chat template has dressed; a prompt without such marks as it is."""
    pieces = [piece.strip() for piece in _TEMPLATE_MARK.split(prompt)]
    for place in reversed(range(len(pieces))):
        role, _, rest = pieces[place].partition("\n")
        if role.strip() == "user":  # the message follows in the same piece, or behind the next mark
            return rest.strip() or next((piece for piece in pieces[place + 1:] if piece), "")
    return max(pieces, key=len)
