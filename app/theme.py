"""The looks: one theme file, dark and light."""

from __future__ import annotations

from PySide6.QtGui import QColor, QFont, QIcon, QPalette, QPixmap
from PySide6.QtWidgets import QApplication


class LaneLook:
    colour: QColor
    shape: str


class Theme:
    name: str
    dark: bool
    scale: float

    @classmethod
    def load(cls, name: str = "dark", scale: float = 1.0) -> Theme:
        raise NotImplementedError

    def colour(self, role: str) -> QColor:
        raise NotImplementedError

    def lane_look(self, index: int) -> LaneLook:
        raise NotImplementedError

    def font(self, role: str) -> QFont:
        raise NotImplementedError

    def px(self, pixels: float) -> int:
        raise NotImplementedError

    def icon(self, name: str, role: str = "text") -> QIcon:
        raise NotImplementedError

    def pixmap(self, name: str, role: str, size: int, ratio: float = 1.0) -> QPixmap:
        raise NotImplementedError

    def palette(self) -> QPalette:
        raise NotImplementedError

    def style_sheet(self) -> str:
        raise NotImplementedError

    def apply(self, application: QApplication) -> None:
        """Fusion style, palette, font, style sheet. Call load_fonts() first, once."""
        raise NotImplementedError


def load_fonts() -> None:
    """Make the shipped fonts known to Qt; once, after the QApplication exists."""
