"""What a panel shows when there is nothing to show yet: what is missing, and what to do next."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from widgets.protocols import ThemeView


class EmptyState(QWidget):
    acted = Signal()
    """The button was pressed."""

    def __init__(self, theme: ThemeView, headline: str, hint: str = "", icon: str = "", action: str = "",
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name = icon
        self._icon = QLabel()
        self._headline = QLabel()
        self._hint = QLabel()
        self._button = QPushButton()
        self._button.clicked.connect(self.acted)
        self._hint.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setSpacing(theme.px(6))
        layout.addStretch(1)
        for label in (self._icon, self._headline, self._hint):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            layout.addWidget(label)
        layout.addSpacing(theme.px(6))
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)
        self.set_theme(theme)
        self.set_text(headline, hint, action)

    def set_text(self, headline: str, hint: str = "", action: str = "") -> None:
        self._headline.setText(headline)
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))
        self._button.setText(action)
        self._button.setVisible(bool(action))

    def set_theme(self, theme: ThemeView) -> None:
        self._icon.setVisible(bool(self._icon_name))
        if self._icon_name:
            self._icon.setPixmap(theme.pixmap(self._icon_name, "faint", theme.px(36), self.devicePixelRatioF()))
        for label, role, tone in ((self._headline, "title", "text"), (self._hint, "body", "dim")):
            label.setFont(theme.font(role))
            palette = QPalette(label.palette())
            palette.setColor(QPalette.ColorRole.WindowText, theme.colour(tone))
            label.setPalette(palette)
