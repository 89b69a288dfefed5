"""The form's memory line: what the models and their caches will take, against what is free."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QProgressBar, QVBoxLayout, QWidget

from app.form_fields import mark_bad
from app.orders import Estimated


class MemorySection(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sentence = QLabel("known once the model has been looked at")
        self._sentence.setProperty("kind", "dim")
        self._sentence.setWordWrap(True)
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._sentence)
        column.addWidget(self._bar)

    def show_estimate(self, estimate: Estimated) -> None:
        self._sentence.setText(estimate.sentence)
        self._sentence.setObjectName("" if estimate.fits else "problem")
        mark_bad(self._sentence, not estimate.fits)
        self._bar.setVisible(estimate.share is not None)
        if estimate.share is not None:
            self._bar.setValue(round(1000 * min(1.0, estimate.share)))
            self._bar.setToolTip(f"{100 * estimate.share:.0f} % of what is free")
