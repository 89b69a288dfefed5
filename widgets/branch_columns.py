"""Where the tokens of two outputs stand, one above the other: columns as wide as the wider of two, wrapped to lines."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class Columns:
    """Column i holds token i of both outputs. Lengths are pixels."""

    def __init__(self) -> None:
        self.least = 10.0
        """Of a column that has no token, such as the one behind the ends."""
        self.room = 100.0
        self._widths = (array("d"), array("d"))
        self._edges: NDArray[np.float64] = np.zeros(2)
        """Left of each column as if all stood on one line, and the right of the last."""
        self._starts = [0]
        """First column of each line."""

    def clear(self) -> None:
        for widths in self._widths:
            del widths[:]
        self.wrap(0)

    def length(self, side: int) -> int:
        return len(self._widths[side])

    def cut(self, side: int, length: int) -> None:
        del self._widths[side][length:]

    def extend(self, side: int, widths: Iterable[float]) -> None:
        self._widths[side].extend(widths)

    def wrap(self, first: int) -> None:
        """Lay out anew where column ``first`` and those behind it have changed: from the line before it, which may have
        room for it now. Ten thousand columns take a millisecond or two from the start, mostly far less."""
        count = len(self)
        widths = np.full(count, self.least)
        for side in self._widths:
            np.maximum(widths[: len(side)], np.array(side), out=widths[: len(side)])
        self._edges = np.concatenate(([0.0], np.cumsum(np.minimum(widths, self.room))))
        del self._starts[max(1, bisect_right(self._starts, min(first, count) - 1)):]
        start = self._starts[-1]
        while (end := self._fit(start)) < count:
            start = max(end, start + 1)
            self._starts.append(start)

    def _fit(self, start: int) -> int:
        """Behind the last column that has room on a line from ``start``."""
        return int(np.searchsorted(self._edges, self._edges[start] + self.room + 0.01, side="right")) - 1

    def __len__(self) -> int:
        """One more than the longer output has tokens: behind it something may be said of its end."""
        return max(map(len, self._widths)) + 1

    @property
    def lines(self) -> int:
        return len(self._starts)

    def line_of(self, column: int) -> int:
        return bisect_right(self._starts, column) - 1

    def of_line(self, line: int) -> range:
        """Its columns."""
        return range(self._starts[line], self._starts[line + 1] if line + 1 < len(self._starts) else len(self))

    def span(self, column: int) -> tuple[float, float]:
        """Left and right within its line."""
        left = self._edges[self._starts[self.line_of(column)]]
        return float(self._edges[column] - left), float(self._edges[column + 1] - left)

    def column_at(self, line: int, x: float) -> int | None:
        """The column of a line under x."""
        if not 0 <= line < self.lines:
            return None
        columns = self.of_line(line)
        found = int(np.searchsorted(self._edges, self._edges[columns.start] + x, side="right")) - 1
        return found if x >= 0 and found in columns else None
