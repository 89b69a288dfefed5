"""The rounds of one lane as a strip: a block a token, over its own clock. Many rounds become a stacked profile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from widgets.known import timed
from widgets.panel import Panel, lane_version
from widgets.protocols import LaneView, RoundView, StoreView, ThemeView
from widgets.steps import step_up

MIN_BLOCK = 3.0
"""Logical pixels: narrower blocks can't be told apart, so each round becomes one stacked bar instead."""
MIN_BAR = 4.0
"""Narrower bars can't be told apart either: rounds are added up, this many pixels at a time."""
BIN = 4
STACK = ("accepted", "bonus", "correction", "plain", "rejected", "void")
_COLUMNS = (2, 6, 5, 7, 3, 4)
"""Of a lane's ``round_table``, in the order of STACK."""


class RoundRibbon(Panel, QWidget):
    def __init__(self, store: StoreView, theme: ThemeView, lane: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self.lane = lane
        self._scale = "clock"
        self._height = 16
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("rounds")
        self.restyle()

    def set_scale(self, scale: str) -> None:
        """Either clock (all lanes share it) or tokens (each draft and committed token is as wide as any other), which
        it is anyhow while a lane is shown of which no times are known."""
        if scale not in ("clock", "tokens"):
            raise ValueError(f"scale is {scale!r}, but it must be clock or tokens")
        self._scale = scale
        self.update()

    def set_height(self, pixels: int) -> None:
        """At scale 1."""
        self._height = pixels
        self.setFixedHeight(self.theme.px(pixels))

    def restyle(self) -> None:
        self._colours = {kind: self.theme.colour(kind) for kind in ("accepted", "correction", "bonus", "plain")}
        self._colours |= {kind: self.theme.colour(f"{kind}_block") for kind in ("rejected", "void")}
        self._colours["pending"] = self.theme.colour("strong_line")
        self.setFixedHeight(self.theme.px(self._height))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, self.theme.px(self._height))

    def version(self) -> object:
        if not self._over_time():
            return self.store.revision
        return lane_version(self.store, self.lane), self._clock_span()

    # Geometry

    def _over_time(self) -> bool:
        return self._scale == "clock" and timed(self.store.lanes)

    def _clock_span(self) -> float:
        return step_up(self.store.longest_clock * 1.02, 0.5)

    def _spans(self, lane: LaneView) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Start and end of each round, and the whole span, in one unit."""
        table = lane.round_table
        if self._over_time():
            return table[:, 0], table[:, 0] + table[:, 1], self._clock_span()
        widths = table[:, 2:8].sum(axis=1) + 0.5
        ends = np.cumsum(widths)
        longest = max((_units(other) for other in self.store.lanes), default=0.0)
        return ends - widths, ends, step_up(longest * 1.02, 20.0)

    def round_at(self, x: float) -> RoundView | None:
        lane = self.store.lane(self.lane)
        if lane is None or not lane.rounds:
            return None
        starts, ends, span = self._spans(lane)
        place = x / self.width() * span
        index = int(np.searchsorted(starts, place, side="right")) - 1
        return lane.rounds[index] if index >= 0 and place <= ends[index] else None

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        lane = self.store.lane(self.lane)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = self.theme.px(2)
        painter.fillRect(QRectF(0, (self.height() - track) / 2, self.width(), track), self.theme.colour("line"))
        if lane is None or not lane.started:
            return
        starts, ends, span = self._spans(lane)
        zoom = self.width() / span
        if len(starts):
            blocks = int(lane.round_table[:, 2:8].sum())
            width = zoom * float(ends[-1] - starts[0])
            if width / blocks >= MIN_BLOCK:
                self._paint_blocks(painter, lane, starts * zoom, ends * zoom)
            elif width / len(starts) >= MIN_BAR:
                self._paint_bars(painter, lane, starts * zoom, ends * zoom)
            else:
                self._paint_profile(painter, lane, starts, span)
        first = lane.totals.prefill if self._over_time() else 0.0
        self._paint_round_in_flight(painter, lane, float(ends[-1]) if len(ends) else first, zoom)
        self._paint_selection(painter, lane, starts * zoom, ends * zoom)

    def _inside(self) -> tuple[float, float]:
        """Top and height of the blocks."""
        margin = self.theme.px(3) if self._height > 12 else 1
        return margin, self.height() - 2 * margin

    def _paint_blocks(self, painter: QPainter, lane: LaneView, lefts: NDArray[np.float64],
                      rights: NDArray[np.float64]) -> None:
        boxes: dict[str, list[QRectF]] = {}
        top, height = self._inside()
        for summary, left, right in zip(lane.rounds, lefts.tolist(), rights.tolist(), strict=True):
            kinds = _kinds(summary)
            gap = min(3.0, 0.25 * (right - left))
            width = (right - left - gap) / max(1, len(kinds))
            for i, kind in enumerate(kinds):
                boxes.setdefault(kind, []).append(QRectF(left + i * width, top, max(width - 1.0, 0.6 * width), height))
        painter.setPen(Qt.PenStyle.NoPen)
        for kind, group in boxes.items():
            painter.setBrush(self._colours[kind])
            if group[0].width() >= 4:
                for box in group:
                    painter.drawRoundedRect(box, 1.5, 1.5)
            else:
                painter.drawRects(group)

    def _paint_bars(self, painter: QPainter, lane: LaneView, lefts: NDArray[np.float64],
                    rights: NDArray[np.float64]) -> None:
        """A bar a round: the shares of accepted, corrected, rejected, … from the bottom up."""
        boxes: dict[str, list[QRectF]] = {kind: [] for kind in STACK}
        counts = lane.round_table[:, list(_COLUMNS)]
        unit = self.height() / np.maximum(counts.sum(axis=1), 1.0)
        tops = self.height() - np.cumsum(counts, axis=1) * unit[:, None]
        heights = counts * unit[:, None]
        for left, right, top, height in zip(lefts.tolist(), rights.tolist(), tops.tolist(), heights.tolist(),
                                            strict=True):
            for kind, y, h in zip(STACK, top, height, strict=True):
                if h:
                    boxes[kind].append(QRectF(left, y, right - left - 1.0, h))
        painter.setPen(Qt.PenStyle.NoPen)
        for kind, group in boxes.items():
            painter.setBrush(self._colours[kind])
            painter.drawRects(group)

    def _paint_profile(self, painter: QPainter, lane: LaneView, starts: NDArray[np.float64], span: float) -> None:
        """Every few pixels a stack: which share of the tokens there was accepted, corrected, rejected, …"""
        ratio = self.devicePixelRatioF()
        rows = max(4, round(self.height() * ratio))
        bins = max(1, self.width() // BIN)
        which = np.minimum((starts / span * bins).astype(np.int64), bins - 1)
        counts = np.stack([np.bincount(which, lane.round_table[:, column], bins) for column in _COLUMNS])
        total = counts.sum(axis=0)
        tops = np.cumsum(counts, axis=0) / np.maximum(total, 1e-9) * rows
        level = np.arange(rows)[::-1, None] + 0.5
        kind = (level[None] >= tops[:, None, :]).sum(axis=0)
        palette = np.array([self._colours[name].rgba() for name in STACK] + [0], dtype=np.uint32)
        pixels = np.ascontiguousarray(palette[np.where(total > 0, kind, len(STACK))])
        image = QImage(pixels.data, bins, rows, 4 * bins, QImage.Format.Format_ARGB32)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(QRectF(0, 0, bins * BIN, self.height()), image)

    def _paint_round_in_flight(self, painter: QPainter, lane: LaneView, start: float, zoom: float) -> None:
        cells = [cell for cell in lane.cells[lane.settled:] if not cell.aside]
        if not cells:
            return
        top, height = self._inside()
        width = float(self.theme.px(8))
        for i, cell in enumerate(cells):
            box = QRectF(start * zoom + i * width, top, width - 2, height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._colours[cell.kind])
            painter.drawRoundedRect(box, 1.5, 1.5)

    def _paint_selection(self, painter: QPainter, lane: LaneView, lefts: NDArray[np.float64],
                         rights: NDArray[np.float64]) -> None:
        selection = self.store.selection
        if selection is None or selection.lane != self.lane or selection.round is None:
            return
        if 0 <= selection.round < len(lefts):
            left, right = float(lefts[selection.round]), float(rights[selection.round])
            middle, width = (left + right) / 2, max(right - left, 5.0)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(self.theme.colour("strong")), 1.5))
            box = QRectF(middle - width / 2 - 1.5, 1, width + 1.5, self.height() - 2)
            painter.drawRoundedRect(box, 3, 3)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        chosen = self.round_at(event.position().x())
        if chosen is None:
            self.store.deselect()
        else:
            self.store.select(self.lane, round=chosen.round)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            chosen = self.round_at(QPointF(event.pos()).x())
            lane = self.store.lane(self.lane)
            words = describe(chosen, timed([lane])) if chosen is not None and lane is not None else ""
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return bool(super().event(event))


def describe(summary: RoundView, timed: bool = True) -> str:
    """A round in words, for tooltips. Counted from 1, as people count; records count from 0. ``timed``: are its times
    known?"""
    s = summary.seconds
    tree = f" in a tree {summary.depth} deep" if summary.depth else ""
    what = "one token" if summary.final == "plain" else (
        f"{summary.k} drafted{tree}, {summary.tested} tested, {summary.accepted} accepted"
        + ("" if summary.final == "none" else f", then a {summary.final}"))
    if not timed:
        return f"round {summary.round + 1}: {what}"
    return (f"round {summary.round + 1}: {what}\n{1e3 * s.total:.1f} ms = draft {1e3 * s.draft:.1f} + verify "
            f"{1e3 * s.verify:.1f} + judge {1e3 * s.judge:.1f} + record {1e3 * s.record:.1f} + commit "
            f"{1e3 * s.commit:.1f}")


def _kinds(summary: RoundView) -> list[str]:
    drafts = ["accepted"] * summary.accepted + ["rejected"] * (summary.tested - summary.accepted)
    drafts += ["void"] * (summary.k - summary.tested) if not summary.depth else []  # a tree's stand beside the way
    return drafts if summary.final == "none" else [*drafts, summary.final]


def _units(lane: LaneView) -> float:
    return float(lane.round_table[:, 2:8].sum()) + 0.5 * len(lane.rounds)
