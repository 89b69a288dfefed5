"""A recording that is being read: what it opens with, and then the rest, no faster than frames allow."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator

from app.pace import in_order
from app.store import LaneSpec
from engine.records import Committed, Record, RunStarted


class Recording:
    def __init__(self, records: Iterable[Record]) -> None:
        """Reads what it opens with. A reader's error comes out of here, and later on out of :meth:`read`."""
        source = iter(records)
        self._opening = _opening(source)
        self._records = in_order(itertools.chain(self._opening, source))
        self.over = False
        """All of it has been read."""

    @property
    def empty(self) -> bool:
        return not self._opening

    @property
    def run(self) -> str:
        return self._opening[0].run

    @property
    def lanes(self) -> list[LaneSpec]:
        return [LaneSpec(record.lane, record.title, record.about, plain=record.settings.drafter.kind == "none",
                         kind=record.settings.drafter.kind)
                for record in self._opening if isinstance(record, RunStarted)]

    def read(self, deadline: float) -> Iterator[Record]:
        """The next records, at least one, until the time of :func:`time.perf_counter` is ``deadline``."""
        for record in self._records:
            yield record
            if time.perf_counter() >= deadline:
                return
        self.over = True


def _opening(records: Iterator[Record]) -> list[Record]:
    """Those up to the first round's end: by then a race has introduced all its lanes."""
    opening: list[Record] = []
    for record in records:
        opening.append(record)
        if isinstance(record, Committed):
            break
    return opening
