"""Committed tokens over each lane's own seconds: the steeper the faster. Over rounds, where no times are known."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from widgets.card import Card, CardTitle
from widgets.counted import counted, plural
from widgets.empty_state import EmptyState
from widgets.known import timed
from widgets.label_places import Line, place
from widgets.lane_names import LaneNames
from widgets.marks import swatch_path
from widgets.plot import Plot, headroom
from widgets.protocols import LaneView, StoreView, ThemeView
from widgets.steps import step_up, ticks

OVER_TIME = "Tokens over each lane's own clock", "steeper is faster; prefill included"
OVER_ROUNDS = "Tokens over rounds", "steeper is more tokens a round; no times are known"
FEW = 3
"""Lanes whose names stand at the ends of their lines; the names of more would hide lines, so they stand beside."""
MOST_POINTS = 240
"""Drawn per lane. A wide, smooth line costs by the square of its points, and a screen can't show more."""


class RaceChart(Card):
    PAUSE = 0.1

    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(store, theme, parent)
        self._titles = {True: CardTitle(theme, *OVER_TIME), False: CardTitle(theme, *OVER_ROUNDS)}
        self._empty = EmptyState(theme, "No tokens yet", "Each lane draws its line here once it commits.")
        self._plot = Plot(theme, self._hover, self.mark_dirty)
        self._plot.plotItem.showGrid(x=False, y=False)
        self._lines: dict[str, pg.PlotCurveItem] = {}
        self._ends: dict[str, pg.ScatterPlotItem] = {}
        self._labels: dict[str, pg.TextItem] = {}
        self._grid: list[pg.InfiniteLine] = []
        self._choices: dict[str, tuple[int, int]] = {}
        """Where each lane's name stands, so that it stays there."""
        self._over_time = True
        self._ranges = (0.0, 0.0)
        self._room: tuple[float, ...] = ()
        """What the ranges were set for, besides."""
        self._hovered: float | None = None
        self._cross = pg.InfiniteLine(angle=90)
        self._cross.hide()
        self._plot.addItem(self._cross, ignoreBounds=True)
        self._figures = pg.TextItem(anchor=(0, 0))
        self._figures.setZValue(20)
        self._figures.hide()
        self._plot.addItem(self._figures, ignoreBounds=True)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self._plot)
        self._names = LaneNames(theme)
        self._names.hide()
        self._row = QHBoxLayout(self)
        layout = self._column = QVBoxLayout()
        self._row.addLayout(layout, 1)
        self._row.addWidget(self._names)
        for over_time, title in self._titles.items():
            layout.addWidget(title)
            title.setVisible(over_time)
        layout.addWidget(self._pages, 1)
        self.setAccessibleName("race chart: committed tokens over each lane's own seconds")
        self.restyle()

    def restyle(self) -> None:
        px = self.theme.px
        self._row.setContentsMargins(px(16), px(8), px(12), px(6))
        self._row.setSpacing(px(10))
        self._names.set_theme(self.theme)
        self._column.setSpacing(px(4))
        for title in self._titles.values():
            title.set_theme(self.theme)
        self._empty.set_theme(self.theme)
        self._plot.dress(self.theme)
        self._marker = px(9)
        self._cross.setPen(pg.mkPen(self.theme.colour("strong_line"), width=1))
        for item in (*self._lines.values(), *self._ends.values(), *self._labels.values()):
            self._plot.removeItem(item)
        self._lines, self._ends, self._labels = {}, {}, {}
        self._ranges = (0.0, 0.0)
        self.update()

    @property
    def _many(self) -> bool:
        return len(self.store.lanes) > FEW

    # Once a frame

    def sync(self) -> None:
        lanes = [lane for lane in self.store.lanes if lane.committed]
        self._names.setVisible(bool(lanes) and self._many)
        self._names.show_lanes(self.store.lanes)
        if not lanes:
            self._pages.setCurrentWidget(self._empty)
            return
        self._pages.setCurrentWidget(self._plot)
        self._choose_axis(timed(lanes))
        self._drop_lanes({lane.id for lane in lanes})
        self._step_ranges(lanes)
        for lane in lanes:
            x, y = thinned(self._x(lane), lane.tokens)
            line = self._lines.get(lane.id) or self._add_lane(lane)
            line.setData(x, y)
            self._ends[lane.id].setData([x[-1]], [y[-1]])
        if self._many:
            for label in self._labels.values():
                label.hide()
        else:
            self._place_labels(lanes)
        self._show_figures()

    def _choose_axis(self, over_time: bool) -> None:
        if over_time == self._over_time:
            return
        self._over_time = over_time
        self._ranges = (0.0, 0.0)
        for which, title in self._titles.items():
            title.setVisible(which == over_time)
        self.setAccessibleName(f"race chart: committed tokens over {'seconds' if over_time else 'rounds'}")

    def _x(self, lane: LaneView) -> NDArray[np.float64]:
        """Where each of the lane's ``tokens`` stands: seconds, or finished rounds."""
        if self._over_time:
            return lane.seconds
        points = len(lane.tokens)
        return np.maximum(np.arange(points, dtype=np.float64) - (points - 1 - len(lane.rounds)), 0.0)

    def _add_lane(self, lane: LaneView) -> pg.PlotCurveItem:
        look = self.theme.lane_look(lane.look)
        # The pen is cosmetic: it counts in device pixels.
        width = (1.6 if lane.plain else 2.4) * self.theme.scale * self.devicePixelRatioF()
        line = pg.PlotCurveItem(pen=pg.mkPen(look.colour, width=width), antialias=True)
        end = pg.ScatterPlotItem(size=self._marker, pen=None, brush=look.colour,
                                 symbol=swatch_path(look.shape, QRectF(-0.5, -0.5, 1, 1)))
        # The ground behind it, lest lines that it can't avoid run through the letters.
        label = pg.TextItem(color=look.colour, anchor=(0, 0.5), fill=self.theme.colour("panel"))
        label.setFont(self.theme.font("strong"))
        label.textItem.document().setDocumentMargin(self.theme.px(2))
        for item, level in ((line, 5), (end, 6), (label, 7)):
            item.setZValue(level)
            self._plot.addItem(item, ignoreBounds=True)
        self._lines[lane.id], self._ends[lane.id], self._labels[lane.id] = line, end, label
        return line

    def _drop_lanes(self, kept: set[str]) -> None:
        for gone in set(self._lines) - kept:
            for items in (self._lines, self._ends, self._labels):
                self._plot.removeItem(items.pop(gone))

    def _step_ranges(self, lanes: list[LaneView]) -> None:
        """Only ever in steps. Names at the lines' ends need room for a fifth more than there is."""
        longest = max(float(self._x(lane)[-1]) for lane in lanes)
        span = step_up(longest * 1.02, 0.5) if self._over_time else step_up(longest, 10)
        height = step_up(max(float(lane.tokens[-1]) for lane in lanes) * 1.04, 10)
        label = QFontMetricsF(self.theme.font("axis")).height()
        plot = self._plot.view.height()
        if ((span, height), (plot, self._many)) == (self._ranges, self._room):
            return
        self._ranges, self._room = (span, height), (plot, self._many)
        top = height * max(1.06, headroom(plot, label))
        self._plot.setRange(xRange=(0, span * (1.03 if self._many else 1.22)), yRange=(0, top), padding=0)
        heights = ticks(height, max(1, min(4, int(plot / (1.2 * label)))))
        self._plot.set_ticks("left", [(value, f"{value:,.0f}") for value in heights])
        self._plot.set_ticks("bottom", [(value, self._told(value, "g")) for value in ticks(span, 6)])
        for line in self._grid:
            self._plot.removeItem(line)
        self._grid = [pg.InfiniteLine(value, angle=0, pen=pg.mkPen(self.theme.colour("line"), width=1))
                      for value in heights]
        for line in self._grid:
            line.setZValue(-10)
            self._plot.addItem(line, ignoreBounds=True)

    def _told(self, value: float, form: str) -> str:
        """A place on the axis, with its unit."""
        return f"{value:{form}} s" if self._over_time else f"{value:,.0f}"

    def _place_labels(self, lanes: list[LaneView]) -> None:
        """Beside each line's end; left out where there is no room that no marker or other name has."""
        pixel_x, pixel_y = self._plot.view.viewPixelSize()
        (left, right), (bottom, top) = self._plot.view.viewRange()
        lines = []
        for lane in lanes:
            label = self._labels[lane.id]
            label.setText(lane.title if len(lane.title) <= 22 else lane.title[:21] + "…")
            size = label.textItem.boundingRect()
            x, y = self._lines[lane.id].getData()
            lines.append(Line((x - left) / pixel_x, (top - y) / pixel_y, size.width(), size.height()))
        bounds = QRectF(0, 0, (right - left) / pixel_x, (top - bottom) / pixel_y)
        places = place(lines, bounds, self._marker / 2, [self._choices.get(lane.id) for lane in lanes])
        self._choices = {}
        for lane, found in zip(lanes, places, strict=True):
            label = self._labels[lane.id]
            label.setVisible(found is not None)
            if found is not None:
                self._choices[lane.id] = found.choice
                label.setPos(left + found.box.left() * pixel_x, top - found.box.center().y() * pixel_y)

    # The cross-hair

    def _hover(self, point: QPointF | None) -> None:
        inside = point is not None and 0 <= point.x() <= self._ranges[0]
        self._hovered = point.x() if point is not None and inside else None
        self._show_figures()

    def _show_figures(self) -> None:
        shown = self._hovered is not None
        self._cross.setVisible(shown)
        self._figures.setVisible(shown)
        if self._hovered is None:
            return
        self._cross.setPos(self._hovered)
        at = self._told(self._hovered, ".2f") if self._over_time else counted(int(self._hovered), "round")
        text = [f"<b>{at}</b>"]
        for lane in self.store.lanes:
            if len(lane.tokens):
                place = int(np.searchsorted(self._x(lane), self._hovered, side="right")) - 1
                count = int(lane.tokens[max(place, 0)])
                colour = self.theme.lane_look(lane.look).colour.name()
                text.append(f'<span style="color:{colour}">■</span> {lane.title}: '
                            f'<b>{count:,}</b> {plural(count, "token")}')
        self._figures.setHtml(f'<div style="color:{self.theme.colour("text").name()}">{"<br>".join(text)}</div>')
        self._figures.fill = pg.mkBrush(self.theme.colour("raised"))
        self._figures.border = pg.mkPen(self.theme.colour("strong_line"))
        left = self._hovered < 0.5 * self._ranges[0]
        self._figures.setAnchor((-0.05, 0) if left else (1.05, 0))
        self._figures.setPos(self._hovered, self._ranges[1])


def thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most MOST_POINTS of the points, first and last kept. Copies: the buffers they come from go on growing."""
    if len(x) <= MOST_POINTS:
        return x.copy(), y.copy()
    chosen = np.linspace(0, len(x) - 1, MOST_POINTS).astype(np.int64)
    return x[chosen], y[chosen]
