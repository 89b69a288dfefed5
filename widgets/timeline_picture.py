"""The timeline's picture: rows of slices over a ruler, the round that is looked at in a frame, the cursor as a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from engine.debugger.history import RoundSoFar
from widgets.protocols import ThemeView
from widgets.timeline_axis import Axis, duration, ruler
from widgets.timeline_paint import (
    DONE,
    FAR,
    FRAMED,
    LATER,
    Blocks,
    Floats,
    Tone,
    paint_blocks,
    paint_columns,
    paint_profile,
    tones,
)
from widgets.timeline_tracks import Step, Track

Row = Literal["draft", "verify", "judge", "commit", "plain"]
NAMES: dict[Row, str] = {"draft": "draft", "verify": "verify", "judge": "judge", "commit": "commit",
                         "plain": "plain step"}

APART = 3.0
"""Logical pixels from one round to the next: with less, rounds become a profile of shares."""
BOXES = 14.0
"""Logical pixels from one round to the next: with less, slices are too narrow for outlines and rounded corners."""
SLICE = 2.5
"""Logical pixels of a draft step: narrower ones become one block a round."""
TEXT = 26.0
"""Logical pixels: a narrower block bears no text."""


@dataclass(frozen=True)
class Scene:
    """All that is to be painted."""

    axis: Axis
    rows: list[Row]
    track: Track
    plain: Track | None
    reached: float
    """The cursor's clock."""
    cursor: bool
    """Is there anything to come after it, so that a line is worth drawing?"""
    framed: tuple[float, float] | None
    framed_round: int | None
    draft: int
    """The draft that is chosen in it, or −1."""
    hovered: tuple[str, int, int] | None
    flying: RoundSoFar | None
    """The round being computed, which no track holds yet."""
    labels: dict[tuple[int, int], str]
    """Texts of draft tokens by round and index, where slices are wide enough to bear them."""
    message: tuple[str, str] | None
    """Instead of all this: what is missing and what to do."""


class Picture:
    def __init__(self, theme: ThemeView) -> None:
        self._theme = theme
        self._tones = tones(theme)
        self._small, self._axis = theme.font("small"), theme.font("axis")
        self._line, self._dim, self._text = theme.colour("line"), theme.colour("dim"), theme.colour("text")
        self._strong, self._cursor = theme.colour("strong"), theme.colour("focus")
        self._names = max(QFontMetricsF(self._small).horizontalAdvance(name) for name in NAMES.values())

    # Where everything stands

    def plot(self, whole: QRectF) -> QRectF:
        px = self._theme.px
        return whole.adjusted(self._names + px(16), px(2), -px(6), -1.35 * QFontMetricsF(self._axis).height())

    def row(self, whole: QRectF, rows: list[Row], name: Row) -> QRectF:
        """Where that row's slices stand."""
        plot = self.plot(whole)
        pitch = plot.height() / len(rows)
        height = min(0.70 * pitch, self._theme.px(26))
        top = plot.top() + rows.index(name) * pitch + (pitch - height) / 2
        return QRectF(plot.left(), round(top), plot.width(), round(height))

    # Painting

    def paint(self, painter: QPainter, whole: QRectF, scene: Scene, ratio: float) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if scene.message is not None:
            self._paint_message(painter, whole, *scene.message)
            return
        self._paint_ruler(painter, whole, scene)
        painter.setFont(self._small)
        painter.setPen(self._dim)
        ascent = QFontMetricsF(self._small).ascent()
        for name in scene.rows:
            row = self.row(whole, scene.rows, name)
            painter.drawText(QPointF(self._theme.px(4), row.center().y() + 0.36 * ascent), NAMES[name])
        painter.save()
        painter.setClipRect(self.plot(whole))
        for name in scene.rows:
            self._paint_row(painter, self.row(whole, scene.rows, name), name, scene, ratio)
        painter.restore()
        self._paint_frame(painter, whole, scene)
        if scene.cursor:
            self._paint_cursor(painter, whole, scene)

    def _paint_message(self, painter: QPainter, whole: QRectF, headline: str, hint: str) -> None:
        title = QFontMetricsF(self._theme.font("strong")).height()
        middle = whole.center().y()
        painter.setFont(self._theme.font("strong"))
        painter.setPen(self._text)
        painter.drawText(QRectF(whole.left(), middle - 1.5 * title, whole.width(), title),
                         Qt.AlignmentFlag.AlignCenter, headline)
        painter.setFont(self._theme.font("body"))
        painter.setPen(self._dim)
        painter.drawText(QRectF(whole.left(), middle - 0.2 * title, whole.width(), whole.bottom() - middle),
                         Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap, hint)

    def _paint_ruler(self, painter: QPainter, whole: QRectF, scene: Scene) -> None:
        plot, axis, metrics = self.plot(whole), scene.axis, QFontMetricsF(self._axis)
        marks = ruler(axis, plot.width() / (8.5 * metrics.averageCharWidth() + self._theme.px(30)))
        painter.setFont(self._axis)
        baseline = whole.bottom() - metrics.descent()
        clear = whole.left()
        if marks.base:
            painter.setPen(self._text)
            painter.drawText(QPointF(self._theme.px(4), baseline), marks.base)
            clear = self._theme.px(14) + metrics.horizontalAdvance(marks.base)
        for tick in marks.ticks:
            x = plot.left() + (tick.time - axis.start) / axis.span * plot.width()
            painter.setPen(QPen(self._line, 1))
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
            wide = metrics.horizontalAdvance(tick.label)
            left = min(x - wide / 2, whole.right() - wide)
            if left >= clear:
                painter.setPen(self._dim)
                painter.drawText(QPointF(left, baseline), tick.label)
                clear = left + wide + self._theme.px(8)

    def _paint_row(self, painter: QPainter, row: QRectF, name: Row, scene: Scene, ratio: float) -> None:
        track = scene.plain if name == "plain" else scene.track
        if track is None:
            return
        zoom = row.width() / scene.axis.span
        least = max(1.0, round(self._theme.scale * ratio) / ratio)
        if name in ("verify", "plain") and track.prefill > scene.axis.start:
            self._paint_prefill(painter, row, track, scene, zoom)
        first, last = track.between(scene.axis.start, scene.axis.end)
        if track.mean_round * zoom < APART or last - first > row.width():
            self._paint_profile(painter, row, name, track, scene, ratio)
        elif name == "draft" and track.mean_draft * zoom >= SLICE:
            self._paint_drafts(painter, row, scene, first, last, zoom, least)
        else:
            crowded = track.mean_round * zoom < BOXES or (last - first) * BOXES > 2 * row.width()
            steps: tuple[Step, ...] = ("record", "commit") if name == "commit" else (name,) if name != "plain" else ()
            for step in steps:
                starts, ends = track.steps(first, last, step)
                used = ends > starts
                self._paint_slices(painter, row, scene, (starts[used], ends[used]), np.arange(first, last)[used],
                                   self._tones[step], zoom, least, ratio, crowded)
            if name == "plain":
                starts = track.starts[first:last]
                ends = np.append(starts[1:], track.span(last - 1)[1]) if last > first else starts
                self._paint_slices(painter, row, scene, (starts, ends), np.full(last - first, -1),
                                   self._tones["plain"], zoom, least, ratio, crowded)
        if scene.flying is not None and name in ("draft", "verify"):
            self._paint_flying(painter, row, name, scene, scene.flying, zoom, least)

    def _blocks(self, row: QRectF, scene: Scene, spans: tuple[Floats, Floats], rounds: NDArray[np.int64],
                zoom: float) -> Blocks:
        starts, ends = spans
        left, axis = row.left(), scene.axis
        lefts = np.clip(left + (starts - axis.start) * zoom, left - FAR, row.right() + FAR)
        rights = np.clip(left + (ends - axis.start) * zoom, left - FAR, row.right() + FAR)
        framed = scene.framed_round if scene.framed_round is not None else -2
        states = np.where(ends > scene.reached + 1e-8, LATER, np.where(rounds == framed, FRAMED, DONE))
        return Blocks(lefts, rights, states, left + (scene.reached - axis.start) * zoom)

    def _paint_slices(self, painter: QPainter, row: QRectF, scene: Scene, spans: tuple[Floats, Floats],
                      rounds: NDArray[np.int64], tone: Tone, zoom: float, least: float, ratio: float,
                      crowded: bool) -> None:
        blocks = self._blocks(row, scene, spans, rounds, zoom)
        if crowded:
            paint_columns(painter, row, blocks, tone, least, ratio)
            return
        paint_blocks(painter, row, blocks, tone, least)
        self._write(painter, row, blocks, tone, [duration(s) for s in (spans[1] - spans[0]).tolist()]
                    if len(rounds) and row.width() / len(rounds) > 2 * TEXT else [])

    def _paint_drafts(self, painter: QPainter, row: QRectF, scene: Scene, first: int, last: int, zoom: float,
                      least: float) -> None:
        track = scene.track
        spans = track.drafts(first, last)
        counts = [track.first_draft(r) for r in range(first, last + 1)]
        rounds = np.repeat(np.arange(first, last), np.diff(counts))
        blocks = self._blocks(row, scene, spans, rounds, zoom)
        paint_blocks(painter, row, blocks, self._tones["draft"], least)
        texts = [scene.labels.get((r, place + counts[0] - track.first_draft(r)), "")
                 for place, r in enumerate(rounds.tolist())] if scene.labels else []
        self._write(painter, row, blocks, self._tones["draft"], texts, whole=False)
        if scene.framed_round is not None and scene.draft >= 0 and first <= scene.framed_round < last:
            place = track.first_draft(scene.framed_round) - counts[0] + scene.draft
            if place < len(blocks.lefts):
                wide = max(blocks.rights[place] - blocks.lefts[place], 3.0)
                painter.setPen(QPen(self._strong, 1.5 * self._theme.scale))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(blocks.lefts[place], row.top(), wide, row.height()), 2, 2)

    def _write(self, painter: QPainter, row: QRectF, blocks: Blocks, tone: Tone, texts: list[str], *,
               whole: bool = True) -> None:
        """Texts on the blocks that are wide enough, in the part of them that can be seen. ``whole``: or not at all."""
        metrics = QFontMetricsF(self._small)
        if not texts or row.height() < metrics.ascent() + metrics.descent() - 1:
            return
        painter.setFont(self._small)
        for left, right, state, text in zip(blocks.lefts.tolist(), blocks.rights.tolist(), blocks.states.tolist(),
                                            texts, strict=True):
            left, right = max(left, row.left()), min(right, row.right())
            room = right - left - self._theme.px(6)
            if right - left < TEXT * self._theme.scale or not text:
                continue
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
            if whole and shown != text:
                continue
            ground = self._theme.colour("panel") if state == LATER else tone.of(state)
            painter.setPen(self._dim if state == LATER else readable_on(ground))
            painter.drawText(QPointF((left + right - metrics.horizontalAdvance(shown)) / 2,
                                     row.center().y() + 0.36 * metrics.ascent()), shown)

    def _paint_profile(self, painter: QPainter, row: QRectF, name: Row, track: Track, scene: Scene,
                       ratio: float) -> None:
        count = max(1, round(row.width() * ratio))
        shares = track.shares(scene.axis.start + np.arange(count + 1) / count * scene.axis.span)
        cut = (scene.reached - scene.axis.start) / scene.axis.span * row.width()
        whole = np.minimum(sum(shares.values(), np.zeros(count)), 1.0)
        layers: list[tuple[Floats, str]] = {
            "plain": [(whole, "plain")],
            "commit": [(shares["record"] + shares["commit"], "record"), (shares["commit"], "commit")],
        }.get(name) or [(shares[name], name)]  # type: ignore[index]  # any other row is a step
        for share, step in layers:
            paint_profile(painter, row, share, self._tones[step], cut, ratio)

    def _paint_prefill(self, painter: QPainter, row: QRectF, track: Track, scene: Scene, zoom: float) -> None:
        blocks = self._blocks(row, scene, (np.zeros(1), np.array([track.prefill])), np.array([-1]), zoom)
        paint_blocks(painter, row, blocks, self._tones["prefill"], 1.0)
        self._write(painter, row, blocks, self._tones["prefill"], ["prefill"])

    def _paint_flying(self, painter: QPainter, row: QRectF, name: Row, scene: Scene, flying: RoundSoFar,
                      zoom: float, least: float) -> None:
        """The round that is being computed has no end yet: its steps follow each other as they were measured."""
        edges = scene.track.end + np.cumsum([0.0, *(draft.seconds for draft in flying.drafted)])
        if name == "verify":
            seconds = flying.verified.seconds if flying.verified is not None else 0.0
            edges = np.array([edges[-1], edges[-1] + seconds])
        if edges[-1] > edges[0]:
            blocks = self._blocks(row, scene, (edges[:-1], edges[1:]), np.full(len(edges) - 1, flying.round), zoom)
            paint_blocks(painter, row, blocks, self._tones[name], least)

    def _paint_frame(self, painter: QPainter, whole: QRectF, scene: Scene) -> None:
        """Around the round that is looked at, through all rows, and faintly around what the pointer is on."""
        plot, axis = self.plot(whole), scene.axis
        zoom = plot.width() / axis.span
        painter.setBrush(Qt.BrushStyle.NoBrush)
        spans = [(scene.framed, self._strong, 1.2)]
        if scene.hovered is not None and scene.hovered[0] != "plain" and 0 <= scene.hovered[1] < len(scene.track):
            spans.insert(0, (scene.track.span(scene.hovered[1]), self._theme.colour("strong_line"), 1.0))
        for span, colour, width in spans:
            if span is None or span[1] < axis.start or span[0] > axis.end:
                continue
            left = max(plot.left() + (span[0] - axis.start) * zoom, plot.left() - FAR)
            right = min(plot.left() + (span[1] - axis.start) * zoom, plot.right() + FAR)
            room = max(0.0, (self._theme.px(5) - (right - left)) / 2)
            box = QRectF(left - room - 2, plot.top() - 1, right - left + 2 * room + 4, plot.height() + 2)
            painter.save()
            painter.setClipRect(plot.adjusted(-4, -3, 4, 3))
            painter.setPen(QPen(colour, width * max(1.0, self._theme.scale)))
            painter.drawRoundedRect(box, self._theme.px(4), self._theme.px(4))
            painter.restore()

    def _paint_cursor(self, painter: QPainter, whole: QRectF, scene: Scene) -> None:
        plot, axis = self.plot(whole), scene.axis
        if not axis.start <= scene.reached <= axis.end:
            return
        x = plot.left() + (scene.reached - axis.start) / axis.span * plot.width()
        painter.setPen(QPen(self._cursor, max(1.5, 1.5 * self._theme.scale)))
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        arm = self._theme.px(4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._cursor)
        painter.drawPolygon(QPolygonF([QPointF(x - arm, plot.top() - 2), QPointF(x + arm, plot.top() - 2),
                                       QPointF(x, plot.top() + arm)]))


def readable_on(ground: QColor) -> QColor:
    """Black or white, whichever is read better there."""
    return QColor(Qt.GlobalColor.black if ground.lightnessF() > 0.52 else Qt.GlobalColor.white)
