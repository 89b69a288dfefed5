"""The token stream of one lane."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView


class TokenStream(Panel, QAbstractScrollArea):
    hovered = Signal(object, QPoint)
    """The cell under the mouse, or None; and where, on the whole screen."""

    def __init__(self, store: StoreView, theme: ThemeView, lane: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self.lane = lane

    def set_ghosts(self, shown: bool) -> None: ...

    def set_prompt(self, shown: bool) -> None: ...
