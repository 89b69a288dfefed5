"""Paints one line of a token stream: grounds, text, signs, outlines, caret."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen, QPixmap, QStaticText

from widgets.marks import inks, paint_fork, paint_ground, paint_sign
from widgets.protocols import CellView, ThemeView
from widgets.shaped_line import ShapedLine, placed
from widgets.text_layout import NEWLINE, OPEN, TAB, Line

_CACHE = 4096
_PICTURES = 160
"""More lines than a tall screen shows; a picture takes 0.1 to 1 MB."""


class TokenPainter:
    def __init__(self, theme: ThemeView, role: str = "token") -> None:
        self.font = theme.font(role)
        self.font.setStyleStrategy(QFont.StyleStrategy.NoSubpixelAntialias)  # pictures of lines have no ground
        metrics = QFontMetricsF(self.font)
        self.advance = metrics.horizontalAdvance("0")
        self.ascent = metrics.ascent()
        self.text_height = metrics.height()
        self.line_height = round(1.4 * self.text_height)
        self._headroom = round(0.26 * self.text_height)
        """Above each token's ground, where the signs of corrections and bonuses stand."""
        self.unit = max(1.0, round(self.font.pixelSize() / 7.5))
        self._metrics = metrics
        self._inks = inks(theme)
        self._strong = theme.colour("strong")
        self._faint = theme.colour("faint")
        self._static: OrderedDict[str, QStaticText] = OrderedDict()
        self._shaped: OrderedDict[int, tuple[Line, ShapedLine]] = OrderedDict()
        self._pictures: OrderedDict[int, tuple[Line, QPixmap]] = OrderedDict()
        self._widths: dict[str, float] = {}

    def measure(self, text: str) -> float:
        if text.isascii():
            return len(text) * self.advance  # fixed pitch, no ligatures
        width = self._widths.get(text)
        if width is None:
            width = self._widths[text] = self._metrics.horizontalAdvance(text)
        return width

    def shape(self, line: Line) -> ShapedLine:
        """Cached: shaping costs a hundred times as much as painting."""
        known = self._shaped.get(id(line))
        if known is not None and known[0] is line:
            return known[1]
        shaped = ShapedLine(line, self.font, self.advance)
        self._shaped[id(line)] = line, shaped
        if len(self._shaped) > 256:
            self._shaped.popitem(last=False)
        return shaped

    def spans(self, line: Line) -> list[tuple[float, float]]:
        return placed(line, self.shape)

    def paint_line(self, painter: QPainter, line: Line, top: float, cells: Sequence[CellView], settled: int) -> None:
        """A line that will never change again is kept as a picture: most frames then paint only the last line."""
        if line.decided_by == OPEN or not line.fragments or line.fragments[-1].cell >= settled:
            self._paint_content(painter, line, top, cells)
            return
        ratio = painter.device().devicePixelRatioF()
        known = self._pictures.get(id(line))
        if known is None or known[0] is not line or known[1].devicePixelRatioF() != ratio:
            right = max(right for _, right in self.spans(line)) + 4 * self.unit
            picture = QPixmap(QSize(int(right * ratio) + 1, int(self.line_height * ratio)))
            picture.setDevicePixelRatio(ratio)
            picture.fill(Qt.GlobalColor.transparent)
            inner = QPainter(picture)
            inner.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint_content(inner, line, 0, cells)
            inner.end()
            known = self._pictures[id(line)] = line, picture
            if len(self._pictures) > _PICTURES:
                self._pictures.popitem(last=False)
        painter.drawPixmap(QPointF(0, top), known[1])

    def _paint_content(self, painter: QPainter, line: Line, top: float, cells: Sequence[CellView]) -> None:
        boxes = self._boxes(line, top)
        kinds = [cells[fragment.cell].kind for fragment in line.fragments]
        for box, kind in zip(boxes, kinds, strict=True):
            paint_ground(painter, box, self._inks[kind], 1.5 * self.unit)
        box_top, height = self._box_range(top)
        baseline = round(box_top + (height - self.text_height) / 2 + self.ascent)
        if line.shaped:
            self.shape(line).draw(painter, baseline, [self._inks[kind].text for kind in kinds])
        else:
            self._paint_texts(painter, line, kinds, baseline)
        previous = -1
        for box, kind, fragment in zip(boxes, kinds, line.fragments, strict=True):
            if cells[fragment.cell].tree and fragment.cell != previous:
                paint_fork(painter, QPointF(box.left() + 2.5 * self.unit, box.top()), 2.2 * self.unit, self._faint)
            if fragment.cell != previous or kind not in ("correction", "bonus"):
                paint_sign(painter, kind, box, self._inks[kind], self.unit)
            previous = fragment.cell

    def _box_range(self, top: float) -> tuple[float, float]:
        """Top and height of the tokens' grounds on a line."""
        return top + self._headroom, self.line_height - self._headroom - 1

    def _boxes(self, line: Line, top: float) -> list[QRectF]:
        y, height = self._box_range(top)
        return [QRectF(left, y, max(1.0, right - left - 1.0), height) for left, right in self.spans(line)]

    def paint_outline(self, painter: QPainter, line: Line, top: float, first: int, end: int) -> None:
        """Around those of the cells ``first`` … ``end`` (exclusive) that are on this line."""
        area = QRectF()
        for box, fragment in zip(self._boxes(line, top), line.fragments, strict=True):
            if first <= fragment.cell < end:
                area = area.united(box)
        if not area.isNull():
            painter.setPen(QPen(self._strong, max(1.0, 0.75 * self.unit)))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(-1.5, -1.5, 1.5, 1.5), 2 * self.unit, 2 * self.unit)

    def paint_caret(self, painter: QPainter, x: float, top: float) -> None:
        """Where the next token will go."""
        y, height = self._box_range(top)
        painter.fillRect(QRectF(x - 0.5 * self.unit, y, self.unit, height), self._strong)

    def _paint_texts(self, painter: QPainter, line: Line, kinds: list[str], baseline: float) -> None:
        painter.setFont(self.font)
        current = ""
        for fragment, kind in zip(line.fragments, kinds, strict=True):
            text = fragment.text
            if not text or text == TAB or text.isspace():
                continue
            if text == NEWLINE:
                painter.setPen(self._faint if kind in ("plain", "prompt") else self._inks[kind].mark)
                current = ""
            elif kind != current:
                painter.setPen(self._inks[kind].text)
                current = kind
            if text.isascii():
                painter.drawStaticText(QPointF(fragment.x, baseline - self.ascent), self._static_text(text))
            else:  # fonts of other scripts have other ascents, so the baseline must be given
                painter.drawText(QPointF(fragment.x, baseline), text)

    def _static_text(self, text: str) -> QStaticText:
        static = self._static.get(text)
        if static is None:
            static = QStaticText(text)
            static.setTextFormat(Qt.TextFormat.PlainText)
            static.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
            static.prepare(font=self.font)
            self._static[text] = static
            if len(self._static) > _CACHE:
                self._static.popitem(last=False)
        return static
