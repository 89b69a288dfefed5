"""Long work in one quiet line: what is being done, how far it is, and a way to call it off."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QWidget

from app.elided_label import ElidedLabel
from app.orders import Loading

UNKNOWN = (0, 0)


class Activity(QWidget):
    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ElidedLabel()
        self._text.setObjectName("footer")
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._bar = QProgressBar()
        self._bar.setFixedWidth(100)
        self._bar.setTextVisible(False)
        self._cancel = QPushButton("Cancel")
        self._cancel.setToolTip("Stop loading; what is complete stays")
        self._cancel.clicked.connect(self.cancelled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self._text, 1)
        row.addWidget(self._bar)
        row.addWidget(self._cancel)
        self.show_loading(None)

    def show_loading(self, loading: Loading | None, hint: str = "") -> None:
        """The work under way, or the hint when there is none."""
        for part in (self._bar, self._cancel):
            part.setVisible(loading is not None)
        if loading is None:
            self._text.show_text(hint)
            return
        self._text.show_text(progress_text(loading))
        if loading.total > 0:
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * min(1.0, loading.done / loading.total)))
        else:
            self._bar.setRange(*UNKNOWN)


def progress_text(loading: Loading) -> str:
    if loading.unit == "bytes":
        done = f"{loading.done / 1e6:.0f}"
        return f"{loading.stage} · {done} of {loading.total / 1e6:.0f} MB" if loading.total else (
            f"{loading.stage} · {done} MB" if loading.done else loading.stage)
    if loading.total > 1:
        return f"{loading.stage} · {loading.done:.0f} of {loading.total:.0f}"
    return loading.stage
