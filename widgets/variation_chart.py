"""Total variation against samples on log axes: under a right rule it falls along the line of chance, like 1/√n; under a
wrong one it levels off at what the rule bends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from widgets.plot import Plot
from widgets.protocols import ThemeView

MOST_POINTS = 200
ABOVE, BELOW = 0.15, 0.35
"""Decades of room around the curves."""
ASIDE = 0.12
"""Of the width, room at the left and right for the numbers below."""
HEAD = 0.16
"""Of the height, room for the names where both stand in the corner."""
NAMED = 0.4
"""Of the width, what a curve's name may take: it stands clear of the curve there."""


class Point(NamedTuple):
    samples: int
    variation: float
    by_chance: float
    """What a right rule shows on average after so many."""


class VariationChart(QWidget):
    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._points: list[Point] = []
        self._bent = False
        self._plot = Plot(theme, self._hover, self._place_labels)
        self._observed = pg.PlotCurveItem(antialias=True)
        self._expected = pg.PlotCurveItem(antialias=True)
        self._end = pg.ScatterPlotItem(pen=None)
        self._labels = {name: pg.TextItem(anchor=(1, 0)) for name in ("observed", "chance")}
        self._figures = pg.TextItem(anchor=(0, 0))
        self._figures.setZValue(20)
        self._figures.hide()
        self._grid: list[pg.InfiniteLine] = []
        self._ranges = (0.0, 0.0, 0.0, 0.0)
        self._top = 0.0
        for item, level in ((self._expected, 4), (self._observed, 5), (self._end, 6), *(
                (label, 7) for label in self._labels.values()), (self._figures, 20)):
            item.setZValue(level)
            self._plot.addItem(item, ignoreBounds=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._plot)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._plot.dress(theme)
        self._plot.plotItem.getAxis("left").setWidth(theme.px(58))
        width = theme.scale * self.devicePixelRatioF()
        self._expected.setPen(pg.mkPen(theme.colour("dim"), width=2.0 * width, style=Qt.PenStyle.DashLine))
        self._labels["chance"].setColor(theme.colour("dim"))
        for label in self._labels.values():
            label.setFont(theme.font("strong"))
            label.fill = pg.mkBrush(theme.colour("panel"))
            label.textItem.document().setDocumentMargin(theme.px(2))
        self._end.setSize(theme.px(10))
        self._ranges = (0.0, 0.0, 0.0, 0.0)
        self._colour_observed()
        self._show()

    def show_points(self, points: Sequence[Point], *, bent: bool = False) -> None:
        """``bent``: what was observed can't be chance."""
        if bent != self._bent:
            self._bent = bent
            self._ranges = (0.0, 0.0, 0.0, 0.0)
            self._colour_observed()
        self._points = [point for point in points if point.variation > 0 and point.by_chance > 0]
        self._show()

    def _colour_observed(self) -> None:
        colour = self.theme.colour("danger" if self._bent else "strong")
        self._observed.setPen(pg.mkPen(colour, width=2.4 * self.theme.scale * self.devicePixelRatioF()))
        self._end.setBrush(pg.mkBrush(colour))
        self._labels["observed"].setColor(colour)

    def _show(self) -> None:
        shown = bool(self._points)
        for item in (self._observed, self._expected, self._end, *self._labels.values()):
            item.setVisible(shown)
        if not shown:
            return
        chosen = np.unique(np.linspace(0, len(self._points) - 1, MOST_POINTS).astype(np.int64))
        table = np.log10(np.array([self._points[i] for i in chosen], dtype=np.float64))
        n, observed, expected = table.T.copy()
        self._step_ranges(n, table[:, 1:])
        self._observed.setData(n, observed)
        self._expected.setData(n, expected)
        self._end.setData(n[-1:], observed[-1:])
        self._place_labels()

    def _step_ranges(self, n: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """Whole decades of samples; heights only ever in steps, so that the picture stands still."""
        left, right = math.floor(n[0]), max(math.floor(n[0]) + 1, math.ceil(n[-1] - 1e-9))
        low = math.floor(2 * (float(values.min()) - BELOW)) / 2
        high = math.ceil(2 * (float(values.max()) + ABOVE)) / 2
        if (left, right, low, high) == self._ranges:
            return
        self._ranges = (left, right, low, high)
        aside = ASIDE * (right - left)
        self._top = high + (0.06 if self._bent else HEAD * (high - low))
        self._plot.setRange(xRange=(left - aside, right + aside), yRange=(low, self._top), padding=0)
        self._plot.set_ticks("bottom", [(x, f"{10 ** x:,}") for x in range(int(left), int(right) + 1)])
        heights = [(math.log10(value), f"{value:g}") for decade in range(-6, 1) for value in
                   (10.0 ** decade, 3 * 10.0 ** decade) if low <= math.log10(value) <= high and value <= 1]
        self._plot.set_ticks("left", heights)
        for line in self._grid:
            self._plot.removeItem(line)
        self._grid = [pg.InfiniteLine(y, angle=0, pen=pg.mkPen(self.theme.colour("line"), width=1)) for y, _ in heights]
        for line in self._grid:
            line.setZValue(-10)
            self._plot.addItem(line, ignoreBounds=True)

    def _place_labels(self) -> None:
        """Curves that fall together leave the upper right corner free. A wrong rule's stays up: then each name stands
        beside its curve's end."""
        if not getattr(self, "_points", None):
            return
        last = self._points[-1]
        x = math.log10(last.samples)
        near = [point for point in self._points if math.log10(point.samples) >= x - NAMED * (x - self._ranges[0])]
        clear = (max(point.variation for point in near), min(point.by_chance for point in near))
        texts = (f"{'' if self._bent else '–– '}observed {last.variation:.3g}",
                 f"{'' if self._bent else '- - '}a right rule, ∝ 1/√n")
        for place, (label, text) in enumerate(zip(self._labels.values(), texts, strict=True)):
            label.setText(text)
            if self._bent:
                label.setAnchor((1, 1.15) if place == 0 else (1, -0.15))
                label.setPos(x, math.log10(clear[place]))
            else:
                label.setAnchor((1, -1.0 * place))
                label.setPos(self._ranges[1] + ASIDE * (self._ranges[1] - self._ranges[0]), self._top)

    def _hover(self, point: QPointF | None) -> None:
        if point is None or not self._points:
            self._figures.hide()
            return
        near = min(self._points, key=lambda one: abs(math.log10(one.samples) - point.x()))
        self._figures.setHtml(
            f'<div style="color:{self.theme.colour("text").name()}"><b>{near.samples:,} samples</b><br>'
            f"total variation = ½ Σ |observed − p| = <b>{near.variation:.4g}</b><br>"
            f"a right rule, on average: {near.by_chance:.4g}</div>")
        self._figures.fill = pg.mkBrush(self.theme.colour("raised"))
        self._figures.border = pg.mkPen(self.theme.colour("strong_line"))
        left, right, *_ = self._ranges
        self._figures.setAnchor((-0.05, 0) if point.x() < (left + right) / 2 else (1.05, 0))
        self._figures.setPos(math.log10(near.samples), self._top)
        self._figures.show()
