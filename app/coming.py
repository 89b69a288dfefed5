"""The perspectives that aren't built yet: what will be there, and what already works today. No mock-ups."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.theme import Theme


@dataclass(frozen=True)
class Coming:
    title: str
    icon: str
    lead: str
    coming: tuple[str, ...]
    today: tuple[str, ...]


COMING = {
    "learn": Coming(
        "Learn", "learn", "Understand speculative decoding, one small step at a time.",
        ("lessons that run on the real model", "a playground for two distributions",
         "a quiz with worked numbers"),
        ("the recorded race, round by round with Step round", "formulas in the tooltips of all figures")),
}


class ComingView(QWidget):
    to_race = Signal()

    def __init__(self, theme: Theme, coming: Coming, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._coming = coming
        self._icon = QLabel()
        title = QLabel(coming.title)
        title.setObjectName("comingTitle")
        head = QHBoxLayout()
        head.addWidget(self._icon)
        head.addSpacing(6)
        head.addWidget(title)
        head.addStretch(1)
        lead = QLabel(coming.lead)
        lead.setObjectName("comingLead")
        lead.setWordWrap(True)
        body = QWidget()
        body.setMaximumWidth(620)
        column = QVBoxLayout(body)
        column.setSpacing(8)
        column.addLayout(head)
        column.addWidget(lead)
        for caption, lines in (("NOT BUILT YET", coming.coming), ("WORKS TODAY", coming.today)):
            column.addSpacing(14)
            label = QLabel(caption)
            label.setProperty("kind", "caption")
            column.addWidget(label)
            for line in lines:
                item = QLabel(f"–  {line}")
                item.setObjectName("comingItem")
                item.setWordWrap(True)
                column.addWidget(item)
        column.addSpacing(18)
        button = QPushButton("Go to Race")
        button.setProperty("kind", "primary")
        button.clicked.connect(self.to_race)
        column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        outer = QHBoxLayout(self)
        outer.addStretch(1)
        outer.addWidget(body, 6, Qt.AlignmentFlag.AlignVCenter)
        outer.addStretch(1)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._icon.setPixmap(theme.pixmap(self._coming.icon, "dim", theme.px(30), self.devicePixelRatioF()))
