"""The gate that a run passes through record by record: open, shut, or open for one step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from app.orders import Continue, GateOrder, Pause, StepRecord, StepRound
from engine.records import Committed, Record, RunFinished, RunStarted, Vocabulary

Mode = Literal["run", "pause", "record", "round"]

_SILENT = (RunStarted, Vocabulary)
"""Records that change nothing a person could see: a step goes on past them."""


class Gate:
    """Pure state, no waiting: whoever feeds records asks :attr:`is_open` before each one and tells :meth:`passed`."""

    def __init__(self, mode: Mode = "pause", lanes: Iterable[str] = ()) -> None:
        self.mode: Mode = mode
        self._lane = ""
        """The only one whose records end the step; "": any."""
        self._unfinished = set(lanes)

    def take(self, order: GateOrder) -> None:
        self._lane = order.lane if isinstance(order, (StepRecord, StepRound)) else ""
        match order:
            case Continue():
                self.mode = "run"
            case Pause():
                self.mode = "pause"
            case StepRecord():
                self.mode = "record"
            case StepRound():
                self.mode = "round"
        if self._lane and self._lane not in self._unfinished:
            self.mode = "pause"  # no such step can come

    def passed(self, record: Record) -> None:
        """A record went through: a step that this completes shuts the gate."""
        if isinstance(record, RunFinished):
            self._unfinished.discard(record.lane)
        if self._lane and record.lane != self._lane:
            return
        ends_record = self.mode == "record" and not isinstance(record, _SILENT)
        ends_round = self.mode == "round" and isinstance(record, (Committed, RunFinished))
        if ends_record or ends_round:
            self.mode = "pause"

    @property
    def is_open(self) -> bool:
        return self.mode != "pause"

    def by_record(self) -> bool:
        """Must the engine read drafts back one by one, because someone watches each?"""
        return self.mode == "record"
