"""What the records of a race or a branch pass through on their way out."""

from __future__ import annotations

from collections.abc import Sequence

from app.gate import Gate
from app.orders import Branch, Pause, Paused, Race
from app.watch import Lookout
from engine.debugger.breakpoints import Breakpoint
from engine.records import Committed, Prefilled, Record, RunFinished, RunStarted, StopReason, Totals, Vocabulary


class Unfinished:
    """What each lane has come to, so that a stopped run ends every lane with a record of its own."""

    def __init__(self, run: str, lanes: Sequence[str]) -> None:
        self._run = run
        self._totals = {lane: Totals() for lane in lanes}
        self._texts: dict[str, list[str]] = {lane: [] for lane in lanes}

    def see(self, record: Record) -> None:
        if isinstance(record, RunFinished):
            self._totals.pop(record.lane, None)
        elif record.lane in self._totals:
            self._totals[record.lane] = self._totals[record.lane].plus(record)
            if isinstance(record, Committed):
                self._texts[record.lane] += record.texts

    def endings(self, reason: StopReason, message: str = "", details: str = "") -> list[RunFinished]:
        return [RunFinished(run=self._run, lane=lane, reason=reason, message=message, text="".join(self._texts[lane]),
                            totals=totals, details=details) for lane, totals in self._totals.items()]


class Passage:
    def __init__(self, order: Race | Branch, breakpoints: Sequence[Breakpoint], around: Passage | None = None) -> None:
        """``around``: the race that waits for a branch."""
        self.run = order.run
        if isinstance(order, Race):
            self.branch = ""
            """Its lane; "" for a race."""
            self._begins = 0
            lanes = [choice.lane for choice in order.lanes]
            plain = next((choice.lane for choice in order.lanes if choice.settings.drafter.kind == "none"), None)
            self.lookout = Lookout(breakpoints, lanes, plain=plain)
        else:
            self.branch = order.lane
            self._begins = order.change.round
            lanes = [order.lane]
            known = order.plain_ids if order.plain_ids is not None or around is None else around.lookout.plain_ids
            self.lookout = Lookout(breakpoints, lanes, plain_ids=known)
        self.gate = Gate(order.start, lanes)
        self.unfinished = Unfinished(order.run, lanes)

    def passed(self, record: Record) -> Paused | None:
        """A record went out: does anything stop here? Nothing does where a branch only repeats its original."""
        self.unfinished.see(record)
        hits = self.lookout.see(record)
        if self.branch and self._is_copied(record):
            return None
        self.gate.passed(record)
        if hits:
            self.gate.take(Pause())
        if self.gate.is_open:
            return None
        return Paused(self.run, record.lane, self.lookout.moment(record.lane), hits)

    def _is_copied(self, record: Record) -> bool:
        if isinstance(record, (RunStarted, Vocabulary, Prefilled)):
            return True
        return not isinstance(record, RunFinished) and record.round < self._begins  # type: ignore[attr-defined]
