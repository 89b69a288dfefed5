"""What is known of the token under the mouse."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QFrame, QWidget

from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView


class HoverCard(Panel, QFrame):
    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)

    def show_cell(self, lane: str, cell: object, at: QPoint) -> None:
        """Connect LaneCard.hovered to this: shows the cell beside the global point, hides for None."""
