"""What is known of the token under the mouse: each figure with its name and its formula."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QWidget

from engine.records import Contrast, Unknown, Verified
from widgets.known import greedy, knows
from widgets.marks import MEANINGS, WORDS, inks, paint_ground, paint_sign
from widgets.panel import Panel
from widgets.protocols import CellView, LaneView, StoreView, ThemeView


class Row(NamedTuple):
    name: str
    value: str
    formula: str


def rows(lane: LaneView, cell: CellView) -> list[Row]:
    """The figures of a cell, as far as they are known."""
    result = []
    shown = ", at temperature 1" if greedy(lane) else ""  # what a greedy run records of p and q decides nothing
    if cell.p is not None:
        result.append(Row("p", _number(cell.p), f"the target's probability of it here{shown}"))
    elif cell.kind == "void":
        result += _void_row(lane, cell, shown)
    if cell.q is not None:
        result.append(Row("q", _number(cell.q), f"the drafter's probability of it{shown}"
                          if cell.q != 1.0 or cell.draft_draw or not knows(lane, "draws")
                          else "a deterministic guess"))
    if cell.overlap is not None and not math.isnan(cell.overlap):
        result.append(Row("overlap", _number(cell.overlap), _overlap(cell, greedy(lane))))
    if cell.draw is not None:
        result.append(Row("draw", _number(cell.draw), _draw(cell)))
    elif greedy(lane) and cell.kind in ("accepted", "rejected") and cell.best is not None:
        same = cell.best == cell.id
        result.append(Row("greedy", "=" if same else "≠",
                          "it is the target's most probable token" if same
                          else f"the target's most probable token is {lane.token_text(cell.best)}"))
    if cell.draft_draw is not None:
        result.append(Row("drafted by", _number(cell.draft_draw), "the draw that chose it from q"))
    if cell.source:
        result.append(Row("source", "", cell.source))
    if cell.round >= 0:
        result.append(_round_row(lane, cell))
        result += _unknown_row(lane, cell)
    return result


class HoverCard(Panel, QFrame):
    """A child of the window, so that it never leaves it nor takes the mouse."""

    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self._lane: LaneView | None = None
        self._cell: CellView | None = None
        self._rows: list[Row] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        self.restyle()

    def show_cell(self, lane: str, cell: object, at: QPoint) -> None:
        """Connect LaneCard.hovered to this: shows the cell beside the global point, hides for None."""
        state = self.store.lane(lane)
        if cell is None or state is None:
            self._cell = None
            self.hide()
            return
        self._lane = state
        self._cell = cell  # type: ignore[assignment]  # signals carry objects
        self._measure()
        self._place(at)
        self.show()
        self.raise_()
        self.update()

    def sync(self) -> None:
        """The token under the mouse may be judged meanwhile."""
        if self._cell is not None:
            self._measure()
            self.update()

    def restyle(self) -> None:
        self._body = self.theme.font("body")
        self._strong = self.theme.font("strong")
        self._mono = self.theme.font("token_big")
        self._inks = inks(self.theme)
        self.update()

    def _measure(self) -> None:
        assert self._lane is not None
        assert self._cell is not None
        px = self.theme.px
        self._rows = rows(self._lane, self._cell)
        body, strong = QFontMetricsF(self._body), QFontMetricsF(self._strong)
        self._names = max((body.horizontalAdvance(row.name) for row in self._rows), default=0.0) + px(14)
        self._values = max((strong.horizontalAdvance(row.value) for row in self._rows), default=0.0) + px(14)
        longest = max((body.horizontalAdvance(line) for row in self._rows for line in row.formula.split("\n")),
                      default=0.0)
        lines = sum(row.formula.count("\n") + 1 for row in self._rows)
        head = QFontMetricsF(self._mono).horizontalAdvance(self._shown_label()) + px(110)
        width = max(self._names + self._values + longest, head, body.horizontalAdvance(MEANINGS[self._cell.kind]))
        self._row_height = 1.45 * body.height()
        self._head_height = 1.5 * QFontMetricsF(self._mono).height()
        height = self._head_height + 2.2 * body.height() + lines * self._row_height
        self.resize(QSize(int(width) + px(36), int(height) + px(28)))

    def _place(self, at: QPoint) -> None:
        window = self.parentWidget()
        assert window is not None
        point = window.mapFromGlobal(at) + QPoint(self.theme.px(14), self.theme.px(20))
        if point.y() + self.height() > window.height() - 4:
            point.setY(window.mapFromGlobal(at).y() - self.height() - self.theme.px(14))
        x = max(4, min(point.x(), window.width() - self.width() - 4))
        self.move(x, max(4, min(point.y(), window.height() - self.height() - 4)))

    def _shown_label(self) -> str:
        assert self._cell is not None
        label = self._cell.label
        return label if len(label) <= 28 else label[:27] + "…"

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._cell is None:
            return
        px, theme, cell = self.theme.px, self.theme, self._cell
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(theme.colour("raised" if theme.dark else "panel"))
        painter.setPen(QPen(theme.colour("strong_line"), 1))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), px(9), px(9))
        left, y = float(px(18)), float(px(14))
        self._paint_head(painter, left, y)
        y += self._head_height
        body = QFontMetricsF(self._body)
        painter.setFont(self._body)
        painter.setPen(theme.colour("dim"))
        painter.drawText(QPointF(left, y + 1.1 * body.height()), MEANINGS[cell.kind])
        y += 2.2 * body.height()
        for row in self._rows:
            baseline = y + 0.5 * self._row_height + 0.35 * body.ascent()
            painter.setFont(self._body)
            painter.setPen(theme.colour("dim"))
            painter.drawText(QPointF(left, baseline), row.name)
            for line in row.formula.split("\n"):
                painter.drawText(QPointF(left + self._names + self._values, baseline), line)
                baseline += self._row_height
            painter.setFont(self._strong)
            painter.setPen(theme.colour("text"))
            painter.drawText(QPointF(left + self._names, y + 0.5 * self._row_height + 0.35 * body.ascent()), row.value)
            y += self._row_height * (row.formula.count("\n") + 1)

    def _paint_head(self, painter: QPainter, left: float, top: float) -> None:
        assert self._cell is not None
        metrics = QFontMetricsF(self._mono)
        label, ink = self._shown_label(), self._inks[self._cell.kind]
        unit = max(1.0, round(self._mono.pixelSize() / 7.5))
        box = QRectF(left, top + 2, metrics.horizontalAdvance(label) + 8, metrics.height())
        paint_ground(painter, box, ink, 1.5 * unit)
        painter.setFont(self._mono)
        painter.setPen(ink.text)
        painter.drawText(QPointF(left + 4, box.top() + metrics.ascent()), label)
        paint_sign(painter, self._cell.kind, box, ink, unit)
        painter.setFont(self._body)
        painter.setPen(self.theme.colour("dim"))
        painter.drawText(QPointF(box.right() + 10, box.top() + metrics.ascent()),
                         f"id {self._cell.id}" if self._cell.id >= 0 else "")


def _number(value: float) -> str:
    """Enough digits to check the arithmetic by eye."""
    return f"{value:.4f}" if value >= 0.001 or value == 0 else f"{value:.2e}"


def _overlap(cell: CellView, for_showing: bool) -> str:
    if for_showing:
        return "Σ min(p, q) at temperature 1, for showing;\ngreedy accepts only the target's argmax"
    if cell.kind == "void":
        return "Σ min(p, q) of that row: the chance that a draft would have had"
    return "Σ min(p, q): the chance that a draft is accepted here"


def _void_row(lane: LaneView, cell: CellView, shown: str) -> list[Row]:
    """p of a draft that was never tested: the target's forward computed it all the same."""
    row = _contrast(lane, cell)
    found = np.flatnonzero(row.ids == cell.id) if row is not None else np.zeros(0)
    if row is None or not len(found):
        return []
    summary = lane.rounds[cell.round] if cell.round < len(lane.rounds) else None
    why = ("its row is void: it was computed after a prefix that no longer exists"
           if summary is not None and summary.accepted < summary.tested else "unused: the output ended before its test")
    return [Row("p", _number(float(row.p[found[0]])), f"the target's probability of it{shown}\n{why}")]


def _contrast(lane: LaneView, cell: CellView) -> Contrast | None:
    """The row of the target's forward that a draft would have been judged by, if it was recorded."""
    if cell.round < len(lane.rounds):
        end = bisect_left(lane.serials, lane.rounds[cell.round].serial)
    else:
        end = len(lane.records)
    # Judgements and vocabulary stand between a round's forward and its end; an earlier round is none of ours.
    for i in reversed(range(end)):
        record = lane.records[i]
        if isinstance(record, Verified):
            mine = record.round == cell.round and 0 <= cell.index < len(record.rows)
            return record.rows[cell.index] if mine else None
    return None


def _draw(cell: CellView) -> str:
    assert cell.draw is not None
    if cell.kind in ("accepted", "rejected") and cell.p is not None and cell.q is not None:
        sign, verdict = ("<", "accept") if cell.kind == "accepted" else ("≥", "reject")
        return f"u·q = {_number(cell.draw * cell.q)} {sign} p = {_number(cell.p)} → {verdict}"
    source = {"correction": "the residual, max(p − q, 0) / (1 − overlap)", "bonus": "p after the last draft"}
    return f"chose it from {source.get(cell.kind, 'p')}"


def _round_row(lane: LaneView, cell: CellView) -> Row:
    """Counted from 1, as drafts are and as people count; records count from 0."""
    number = f"{cell.round + 1:,}"
    where = WORDS[cell.kind]
    step = "" if cell.seconds is None else f"; draft step {1e3 * cell.seconds:.2f} ms"
    if cell.round >= len(lane.rounds):
        return Row("round", number, f"in flight{step}")
    summary = lane.rounds[cell.round]
    if cell.index >= 0:
        where = f"draft {cell.index + 1} of {summary.k}"
        where += f" in a tree {summary.depth} deep, {summary.tested} tested" if summary.depth else ""
    # Where the prompt is unknown, so is the place behind it.
    where += f", position {cell.position}" if knows(lane, "prompt") else f", token {cell.position + 1:,} of the output"
    if not knows(lane, "seconds"):
        return Row("round", number, where)
    s = summary.seconds
    return Row("round", number, f"{where}{step}\n{1e3 * s.total:.1f} ms in all: "
               f"draft {1e3 * s.draft:.1f} + verify {1e3 * s.verify:.1f} + other "
               f"{1e3 * (s.total - s.draft - s.verify):.1f}")


_NAMES: dict[Unknown, str] = {"tokens": "its id", "texts": "its text", "p": "p", "q": "q", "draws": "draws",
                              "seconds": "times"}


def _unknown_row(lane: LaneView, cell: CellView) -> list[Row]:
    missing = [name for what, name in _NAMES.items() if not knows(lane, what)]
    if cell.id >= 0:  # of some tokens the id may be known
        missing = [name for name in missing if name != _NAMES["tokens"]]
    return [Row("unknown", "", ", ".join(missing) + ": the file it comes from doesn't tell")] if missing else []
