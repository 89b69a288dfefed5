"""Holds breakpoints against what a run records, while it does."""

from __future__ import annotations

from collections.abc import Sequence

from engine.debugger.breakpoints import Breakpoint
from engine.debugger.history import History
from engine.debugger.scene import Around
from engine.debugger.watcher import Watcher
from engine.records import Committed, Record


class Lookout:
    """Of one race or branch. Show it every record: it keeps the histories even while there are no breakpoints, since
    one that is set later counts its hits from the run's beginning."""

    def __init__(self, breakpoints: Sequence[Breakpoint], lanes: Sequence[str], *, plain: str | None = None,
                 plain_ids: Sequence[int] | None = None) -> None:
        """``plain``: which of the lanes the others are compared with, as it grows; without one, with ``plain_ids``.
        The ids that end a text are in the records."""
        self._plain = plain
        self._growing: list[int] = []
        self.plain_ids = plain_ids if plain is None else self._growing
        self._histories = {lane: History(lane) for lane in lanes}
        self._around = {lane: Around(None if lane == plain else self.plain_ids) for lane in lanes}
        self.watch(breakpoints)

    def watch(self, breakpoints: Sequence[Breakpoint]) -> None:
        """These, from the next record on."""
        enabled = [one for one in breakpoints if one.enabled]
        self._watcher = Watcher(enabled, self._around) if enabled else None

    def see(self, record: Record) -> tuple[str, ...]:
        """The ids of the breakpoints that stop at this record."""
        history = self._histories[record.lane]
        history.append(record)
        if record.lane == self._plain and isinstance(record, Committed):
            self._growing += record.tokens
        if self._watcher is None:
            return ()
        return tuple(one.id for one in self._watcher.see(history))

    def moment(self, lane: str) -> int:
        """How many records of a lane there are."""
        return len(self._histories[lane])
