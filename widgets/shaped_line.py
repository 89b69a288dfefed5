"""Lines whose tokens join, combine or run right to left: shaped as a whole, then asked where each token stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QTextLayout, QTextLine, QTextOption

from widgets.text_layout import TAB, Line


class ShapedLine:
    def __init__(self, line: Line, font: QFont, advance: float) -> None:
        self.fragments = line.fragments
        self._left = line.fragments[0].x if line.fragments else 0.0
        # A tab would need stops; its width is known already, so spaces stand in for it.
        texts = [" " * round(f.width / advance) if f.text == TAB else f.text for f in line.fragments]
        self._starts = [0]
        for text in texts:
            self._starts.append(self._starts[-1] + _length(text))
        self._layout = QTextLayout("".join(texts), font)
        option = QTextOption(Qt.AlignmentFlag.AlignLeft)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        self._layout.setTextOption(option)
        self._layout.setCacheEnabled(True)
        self._layout.beginLayout()
        self._line = self._layout.createLine()
        self._line.setLineWidth(1e6)
        self._layout.endLayout()
        self.spans = [self._span(i) for i in range(len(texts))]
        """Left and right of each fragment."""

    def draw(self, painter: QPainter, baseline: float, colours: Sequence[QColor]) -> None:
        """Token by token from the glyphs of the whole line, so that joined letters stay joined across tokens."""
        for i, colour in enumerate(colours):
            painter.setPen(colour)
            start, length = self._starts[i], self._starts[i + 1] - self._starts[i]
            for run in self._layout.glyphRuns(start, length) if length else ():
                painter.drawGlyphRun(QPointF(self._left, baseline - self._line.ascent()), run)

    def _span(self, index: int) -> tuple[float, float]:
        edges = []
        for place in range(self._starts[index], self._starts[index + 1]):
            edges += [_x(self._line, place, QTextLine.Edge.Leading), _x(self._line, place, QTextLine.Edge.Trailing)]
        if not edges:  # adds no text: a sliver behind its neighbour
            x = self._left + _x(self._line, self._starts[index], QTextLine.Edge.Leading)
            return x, x + self.fragments[index].width
        return self._left + min(edges), self._left + max(edges)


def placed(line: Line, shape: Callable[[Line], ShapedLine]) -> list[tuple[float, float]]:
    """Left and right of each fragment of a line, shaped or not."""
    if line.shaped:
        return shape(line).spans
    return [(f.x, f.x + f.width) for f in line.fragments]


def _x(line: QTextLine, place: int, edge: QTextLine.Edge) -> float:
    found: Any = line.cursorToX(place, edge)  # PySide6 gives the place along with x, though its stub says float
    return float(found[0] if isinstance(found, tuple) else found)


def _length(text: str) -> int:
    """In UTF-16 units, which is what Qt counts in."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


