"""The ground that panels stand on: a rounded card, the same everywhere."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from widgets.figures import ElidedLabel
from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView


class Card(Panel, QFrame):
    """Paints the card; contents are laid out by whoever derives from it."""

    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self.setFrameShape(QFrame.Shape.NoFrame)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(self.theme.colour("panel"))
        painter.setPen(QPen(self.theme.colour("line"), 1))
        radius = self.theme.px(10)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


class CardTitle(QWidget):
    """A card's title and, dim behind it, what to see there."""

    def __init__(self, theme: ThemeView, title: str, remark: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ElidedLabel(theme, "strong", "text", yields=False)
        self._remark = ElidedLabel(theme, "small", "dim")
        self._title.set_whole(title)
        self._remark.set_whole(remark)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.px(10))
        layout.addWidget(self._title)
        layout.addWidget(self._remark, 1)

    def set_remark(self, remark: str) -> None:
        self._remark.set_whole(remark)

    def set_theme(self, theme: ThemeView) -> None:
        self._title.set_theme(theme)
        self._remark.set_theme(theme)
