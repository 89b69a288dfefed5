"""How often drafts are accepted, by their position in the draft: later drafts stand on earlier ones."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from widgets.card import Card, CardTitle
from widgets.empty_state import EmptyState
from widgets.plot import Plot, headroom
from widgets.protocols import LaneView, StoreView, ThemeView
from widgets.steps import sparsely

GROUP = 0.78
"""Share of a position's room that its bars take."""
STUB = 2.5
"""Logical pixels: what is left of the bar of drafts that were tested and never accepted. No bar: never tested."""
SHARES = ((0, 25, 50, 75, 100), (0, 50, 100), (0, 100))
"""Percentages on the axis: the most that don't touch."""
LEAST = 3
"""Positions there is always room for, so that the first bars are no slabs."""
NO_DRAFTER = "Plain decoding drafts nothing: add a drafter lane."
WAITING = "The drafters' bars come with their first tests."


class AcceptanceChart(Card):
    PAUSE = 0.1

    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(store, theme, parent)
        self._title = CardTitle(theme, "Acceptance by draft position", "accepted ÷ tested")
        self._empty = EmptyState(theme, "No draft was tested yet", NO_DRAFTER)
        self._plot = Plot(theme, self._hover, self.mark_dirty)
        self._bars: dict[str, pg.BarGraphItem] = {}
        self._grid: list[pg.InfiniteLine] = []
        self._axis = (0, 0)
        """Positions shown, and every how many of them has a number."""
        self._height = 0.0
        """The plot's, that its shares were written for."""
        self._hovered: QPointF | None = None
        self._figures = pg.TextItem(anchor=(0, 0))
        self._figures.setZValue(20)
        self._figures.hide()
        self._plot.addItem(self._figures, ignoreBounds=True)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self._plot)
        layout = self._column = QVBoxLayout(self)
        layout.addWidget(self._title)
        layout.addWidget(self._pages, 1)
        self.setAccessibleName("acceptance by draft position: accepted over tested")
        self.restyle()

    def restyle(self) -> None:
        px = self.theme.px
        self._column.setContentsMargins(px(16), px(8), px(12), px(6))
        self._column.setSpacing(px(4))
        self._title.set_theme(self.theme)
        self._empty.set_theme(self.theme)
        self._plot.dress(self.theme)
        for item in (*self._bars.values(), *self._grid):
            self._plot.removeItem(item)
        self._bars, self._grid, self._axis, self._height = {}, [], (0, 0), 0.0
        self.update()

    def _drafting(self) -> list[LaneView]:
        return [lane for lane in self.store.lanes if len(lane.tested_at)]

    def sync(self) -> None:
        lanes = self._drafting()
        self._pages.setCurrentWidget(self._plot if lanes else self._empty)
        if not lanes:
            drafters = [lane for lane in self.store.lanes if not lane.plain]
            self._empty.set_text("No draft was tested yet", NO_DRAFTER if not drafters else WAITING)
            return
        for gone in set(self._bars) - {lane.id for lane in lanes}:
            self._plot.removeItem(self._bars.pop(gone))
        self._step_shares()
        self._step_positions(max(len(lane.tested_at) for lane in lanes))
        width = GROUP / len(lanes)
        stub = STUB * self.theme.scale * self._plot.view.viewPixelSize()[1]
        for number, lane in enumerate(lanes):
            bars = self._bars.get(lane.id) or self._add_lane(lane)
            tested = np.flatnonzero(lane.tested_at)
            x = tested + 1 + (number - (len(lanes) - 1) / 2) * width
            share = lane.accepted_at[tested] / lane.tested_at[tested]
            bars.setOpts(x=x, width=0.9 * width, height=np.maximum(share, stub))
        self._show_figures()

    def _add_lane(self, lane: LaneView) -> pg.BarGraphItem:
        bars = pg.BarGraphItem(x=[], width=0.5, height=[], pen=None, brush=self.theme.lane_look(lane.look).colour)
        self._plot.addItem(bars, ignoreBounds=True)
        self._bars[lane.id] = bars
        return bars

    def _step_shares(self) -> None:
        """As many percentages as there is height for."""
        height, label = self._plot.view.height(), QFontMetricsF(self.theme.font("axis")).height()
        if height == self._height:
            return
        self._height = height
        top = max(1.06, headroom(height, label))
        self._plot.setRange(yRange=(0, top), padding=0)
        shares = next((some for some in SHARES if (len(some) - 1) * 1.2 * label * top <= height), SHARES[-1])
        self._plot.set_ticks("left", [(share / 100, f"{share} %") for share in shares])
        for line in self._grid:
            self._plot.removeItem(line)
        self._grid = [pg.InfiniteLine(share / 100, angle=0, pen=pg.mkPen(self.theme.colour("line"), width=1))
                      for share in shares]
        for line in self._grid:
            line.setZValue(-10)
            self._plot.addItem(line, ignoreBounds=True)

    def _step_positions(self, count: int) -> None:
        """As far as any draft was tested, which may be less than γ."""
        if count != self._axis[0]:
            self._plot.setRange(xRange=(0.4, max(count, LEAST) + 0.6), padding=0)
        metrics = QFontMetricsF(self.theme.font("axis"))
        label = metrics.horizontalAdvance(str(count)) + 0.6 * metrics.height()
        every = sparsely(label * self._plot.view.viewPixelSize()[0])
        if (count, every) != self._axis:
            self._axis = count, every
            numbers = [i for i in range(1, count + 1) if i % every == 0 or (i == 1 and every != 2)]
            self._plot.set_ticks("bottom", [(i, str(i)) for i in numbers])

    def _hover(self, point: QPointF | None) -> None:
        self._hovered = point
        self._show_figures()

    def _show_figures(self) -> None:
        position = round(self._hovered.x()) if self._hovered is not None else 0
        shown = [lane for lane in self._drafting() if 1 <= position <= len(lane.tested_at)]
        self._figures.setVisible(bool(shown))
        if not shown:
            return
        text = [f"<b>draft {position}</b>"]
        for lane in shown:
            accepted, tested = int(lane.accepted_at[position - 1]), int(lane.tested_at[position - 1])
            colour = self.theme.lane_look(lane.look).colour.name()
            share = f"<b>{100 * accepted / tested:.0f} %</b> = {accepted:,} ÷ {tested:,}" if tested else "never tested"
            text.append(f'<span style="color:{colour}">■</span> {lane.title}: {share}')
        self._figures.setHtml(f'<div style="color:{self.theme.colour("text").name()}">{"<br>".join(text)}</div>')
        self._figures.fill = pg.mkBrush(self.theme.colour("raised"))
        self._figures.border = pg.mkPen(self.theme.colour("strong_line"))
        left = position <= self._axis[0] / 2
        self._figures.setAnchor((-0.1, 0) if left else (1.1, 0))
        self._figures.setPos(position, 1.0)
