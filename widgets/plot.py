"""The pyqtgraph plot that our charts stand on: our fonts, calm axes, no dragging, no menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QWidget

from widgets.protocols import ThemeView


class Plot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """``on_hover`` is told where the mouse is, in the units of the axes, or None; ``on_resize`` that sizes changed."""

    def __init__(self, theme: ThemeView, on_hover: Callable[[QPointF | None], None], on_resize: Callable[[], None],
                 parent: QWidget | None = None) -> None:
        self._on_resize = on_resize
        super().__init__(parent, useOpenGL=False)
        self._on_hover = on_hover
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseEnabled(False, False)
        self.setMenuEnabled(False)
        self.hideButtons()
        self.plotItem.setContentsMargins(0, 0, 0, 0)
        self.view = self.plotItem.getViewBox()
        self.view.setDefaultPadding(0)
        self.setAntialiasing(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.dress(theme)

    def dress(self, theme: ThemeView) -> None:
        self.setBackground(theme.colour("panel"))
        for side in ("left", "bottom"):
            axis = self.plotItem.getAxis(side)
            axis.setPen(QPen(Qt.PenStyle.NoPen))
            axis.setTickPen(pg.mkPen(theme.colour("line"), width=1))
            axis.setTextPen(theme.colour("dim"))
            axis.setStyle(tickFont=theme.font("axis"), tickLength=0, tickTextOffset=theme.px(6),
                          autoExpandTextSpace=False)
        self.plotItem.getAxis("left").setWidth(theme.px(46))
        self.plotItem.getAxis("bottom").setHeight(theme.px(24))

    def set_ticks(self, side: str, places: list[tuple[float, str]]) -> None:
        self.plotItem.getAxis(side).setTicks([places])

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = self.view.mapSceneToView(self.mapToScene(event.position().toPoint()))
        self._on_hover(point)
        super().mouseMoveEvent(event)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._on_resize()

    def leaveEvent(self, event: QEvent) -> None:
        self._on_hover(None)
        super().leaveEvent(event)

    def wheelEvent(self, event: Any) -> None:
        """Not ours: the page around may scroll."""
        event.ignore()


def headroom(plot: float, label: float) -> float:
    """By what the highest number on the left axis must be multiplied for it to be the top of a plot so many pixels
    high, if half of a label as high as that is to stand above it."""
    return 1 / (1 - min(0.5, 0.5 * label / max(plot, 1.0)))
