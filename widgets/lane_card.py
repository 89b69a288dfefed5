"""One lane: what it is, how fast it is, its tokens and its rounds."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QFrame, QWidget

from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView


class LaneCard(Panel, QFrame):
    hovered = Signal(str, object, QPoint)
    """Lane id, the cell under the mouse or None, and where on the whole screen."""

    def __init__(self, store: StoreView, theme: ThemeView, lane: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self.lane = lane

    def set_ghosts(self, shown: bool) -> None: ...

    def set_prompt(self, shown: bool) -> None: ...
