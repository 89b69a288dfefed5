"""How slices look: blocks where they can be told apart, the share of time in every pixel column where they can't."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from widgets.protocols import ThemeView

Floats = NDArray[np.float64]

FAR = 8.0
"""Logical pixels: how far blocks may reach out of sight. Deep in a run they would reach further than painters can."""


@dataclass(frozen=True)
class Tone:
    """One kind of step in its states."""

    done: QColor
    framed: QColor
    """In the round that is looked at."""
    later: QColor
    """The outline of what is recorded but hasn't happened yet at the cursor."""
    pale: QColor
    """The same, where it is too dense for outlines."""

    def of(self, state: int) -> QColor:
        return self.framed if state == FRAMED else self.done


DONE, FRAMED, LATER = range(3)

ROLES = {"draft": "q", "verify": "p", "judge": "text", "record": "faint", "commit": "plain", "plain": "strong_line",
         "prefill": "prompt"}


def tones(theme: ThemeView) -> dict[str, Tone]:
    ground = theme.colour("panel")
    made = {}
    for step, role in ROLES.items():
        colour = theme.colour(role)
        made[step] = Tone(mix(colour, ground, 0.36), colour, mix(colour, ground, 0.50), mix(colour, ground, 0.78))
    return made


def mix(colour: QColor, ground: QColor, share: float) -> QColor:
    """``colour`` with that share of ``ground`` in it: opaque, so that nothing shines through."""
    pairs = ((colour.red(), ground.red()), (colour.green(), ground.green()), (colour.blue(), ground.blue()))
    return QColor(*(round(a + (b - a) * share) for a, b in pairs))


@dataclass(frozen=True)
class Blocks:
    """Where blocks stand along a row, in logical pixels, and which of them have happened."""

    lefts: Floats
    rights: Floats
    states: NDArray[np.int64]
    cut: float
    """Where the cursor stands: a block that it divides has happened as far as there."""


def paint_blocks(painter: QPainter, row: QRectF, blocks: Blocks, tone: Tone, least: float) -> None:
    """``least``: logical pixels; nothing that happened is narrower, so that nothing is missing."""
    widths = blocks.rights - blocks.lefts
    gaps = np.where(widths >= 3.0, np.minimum(1.0, 0.25 * widths), 0.0)
    lefts, widths = blocks.lefts, np.maximum(widths - gaps, least)
    solid: dict[int, list[QRectF]] = {DONE: [], FRAMED: []}
    hollow: list[QRectF] = []
    top, height = row.top(), row.height()
    for left, width, state in zip(lefts.tolist(), widths.tolist(), blocks.states.tolist(), strict=True):
        if state != LATER:
            solid[state].append(QRectF(left, top, width, height))
            continue
        hollow.append(QRectF(left, top, width, height))
        if left < blocks.cut - 0.5:
            solid[FRAMED].append(QRectF(left, top, blocks.cut - left, height))
    painter.setPen(Qt.PenStyle.NoPen)
    for state, boxes in solid.items():
        if boxes:
            painter.setBrush(tone.of(state))
            _paint_boxes(painter, boxes)
    if hollow:
        _paint_hollow(painter, hollow, tone)


def _paint_boxes(painter: QPainter, boxes: Sequence[QRectF]) -> None:
    for box in boxes:
        if box.width() >= 6:
            painter.drawRoundedRect(box, 2.0, 2.0)
    narrow = [box for box in boxes if box.width() < 6]
    if narrow:
        painter.drawRects(narrow)


def _paint_hollow(painter: QPainter, boxes: Sequence[QRectF], tone: Tone) -> None:
    pen = QPen(tone.later, 1)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRects([box.adjusted(0.5, 0.5, -0.5, -0.5) for box in boxes if box.width() >= 3])
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(tone.later)
    thin = [QRectF(box.left(), box.top() + 0.25 * box.height(), box.width(), 0.5 * box.height())
            for box in boxes if box.width() < 3]
    if thin:
        painter.drawRects(thin)


def paint_columns(painter: QPainter, row: QRectF, blocks: Blocks, tone: Tone, least: float, ratio: float) -> None:
    """The same as :func:`paint_blocks` for hundreds of narrow blocks: each device pixel's column is as opaque as blocks
    cover it. One picture a pixel high, stretched, instead of a box each."""
    widths = blocks.rights - blocks.lefts
    gaps = np.where(widths >= 3.0, np.minimum(1.0, 0.25 * widths), 0.0)
    lefts = blocks.lefts - row.left()
    rights = lefts + np.maximum(widths - gaps, least)
    rights[:-1] = np.minimum(rights[:-1], lefts[1:])
    later = blocks.states == LATER
    half = row.adjusted(0, 0.25 * row.height(), 0, -0.25 * row.height())
    for chosen, box, colour in ((~later, row, tone.done), (later, half, tone.later)):
        if chosen.any():
            _paint_coverage(painter, box, lefts[chosen], rights[chosen], colour, ratio)
    framed = blocks.states == FRAMED
    if framed.any():
        paint_blocks(painter, row, Blocks(blocks.lefts[framed], blocks.rights[framed], blocks.states[framed],
                                          blocks.cut), tone, least)


def _paint_coverage(painter: QPainter, row: QRectF, lefts: Floats, rights: Floats, colour: QColor,
                    ratio: float) -> None:
    count = max(1, round(row.width() * ratio))
    knots = np.column_stack((lefts, rights)).ravel()
    passed = np.concatenate(([0.0], np.cumsum(rights - lefts)))
    covered = np.interp(np.arange(count + 1) / ratio, knots, np.repeat(passed, 2)[1:-1])
    alpha = np.clip(np.diff(covered) * ratio, 0.0, 1.0)
    pixels = (alpha * 255).astype(np.uint32) << 24 | np.uint32(colour.rgb() & 0xFFFFFF)
    image = QImage(pixels.data, count, 1, 4 * count, QImage.Format.Format_ARGB32)
    painter.drawImage(QRectF(row.left(), row.top(), count / ratio, row.height()), image)


def paint_profile(painter: QPainter, row: QRectF, shares: Floats, tone: Tone, cut: float, ratio: float) -> None:
    """In every device pixel's column as much colour, from the bottom up, as the step took of its time: ``shares``,
    0 … 1, one a column. Right of ``cut`` (logical pixels from the row's left) it hasn't happened yet and is pale."""
    count = len(shares)
    high = max(2, round(row.height() * ratio))
    tall = np.where(shares > 0, np.maximum(shares * high, 1.0), 0.0).astype(np.float32)
    cover = tall - np.arange(high - 1, -1, -1, dtype=np.float32)[:, None]
    np.clip(cover, 0.0, 1.0, out=cover)
    cover *= 255
    later = np.arange(count) >= round(cut * ratio)
    colours = np.where(later, tone.pale.rgb() & 0xFFFFFF, tone.done.rgb() & 0xFFFFFF).astype(np.uint32)
    pixels = cover.astype(np.uint32)
    pixels <<= 24
    pixels |= colours
    image = QImage(pixels.data, count, high, 4 * count, QImage.Format.Format_ARGB32)
    painter.drawImage(QRectF(row.left(), row.top(), count / ratio, row.height()), image)
