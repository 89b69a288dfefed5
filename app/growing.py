"""A numpy array that grows at its end, for charts: appending is cheap and a view of the filled part costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """Rows of ``columns`` floats. The buffer doubles when full, so n appends copy at most 2n rows in all."""

    def __init__(self, columns: int = 1, capacity: int = 256) -> None:
        self._data: NDArray[np.float64] = np.zeros((capacity, columns))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, row: Sequence[float]) -> None:
        if self._count == len(self._data):
            grown = np.zeros((2 * len(self._data), self._data.shape[1]))
            grown[: self._count] = self._data
            self._data = grown
        self._data[self._count] = row
        self._count += 1

    def column(self, index: int) -> NDArray[np.float64]:
        """A view of the filled part: valid until the next append, never to be kept or written to."""
        return self._data[: self._count, index]

    def view(self) -> NDArray[np.float64]:
        """All columns of the filled part, under the same terms as :meth:`column`."""
        return self._data[: self._count]
