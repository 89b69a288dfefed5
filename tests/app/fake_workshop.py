"""A workshop for tests: made-up records in the order of a race, optional waits and faults, no model."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from app.orders import (
    Branch,
    Catalogue,
    Estimate,
    Estimated,
    Examine,
    LaneChoice,
    Load,
    Loaded,
    Loading,
    Observed,
    Proving,
    Race,
    Report,
    Rows,
    RowsFound,
    Rule,
    Trial,
)
from app.trials import REDRAW, RIGHT
from engine.debugger.full_row import FullRow
from engine.errors import Cancelled, ModelError
from engine.past import Past
from engine.records import Exactness, Record, RunFinished, TargetInfo, Totals
from tests.widgets import fake_proof, fake_run
from tests.widgets.fake_trees import Growth

INFO = TargetInfo(name="test data, no model", parameters=1_000_000, layers=2, vocabulary=100, context=512,
                  dtype="bfloat16", device="cpu", fingerprint="0")
CHECKED = Exactness(invariant=True, padded=False, width_checked=11, width_limit=11, row_difference=0.0,
                    sentence="bit-exact here (widths 1 to 11 compared)")
METHODS = {"none": fake_run.PLAIN, "ngram": fake_run.LOOKUP, "layer-skip": fake_run.SKIP, "model": fake_run.DRAFT,
           "draft": fake_run.DISTILLED, "eagle": fake_run.EAGLE, "medusa": fake_run.MEDUSA}


def _method(lane: LaneChoice) -> fake_run.Method | Growth:
    """What makes up this lane's records."""
    d = lane.settings.drafter
    if d.tree:
        return Growth(lane.lane, d.kind, nodes=d.tree_nodes, top=d.tree_top, sampled=d.tree == "sampled",
                      gather=d.gather)
    return dataclasses.replace(METHODS[d.kind], lane=lane.lane)


class FakeWorkshop:
    def __init__(self, *, pace: float = 0.0, limit: int = 40, endless_load: bool = False, fault: str = "",
                 endless_restore: bool = False, lane_faults: dict[str, str] | None = None) -> None:
        """``lane_faults``: of methods that end with an error."""
        self.pace = pace
        self.limit = limit
        self.endless_load = endless_load
        self.endless_restore = endless_restore
        self.fault = fault
        self.lane_faults = lane_faults or {}
        self.closed = threading.Event()
        """The race's generator was closed or ran out."""
        self.by_record: list[bool] = []
        self.examined: list[Examine] = []

    def load(self, order: Load, tell: Callable[[Loading], None], cancelled: Callable[[], bool]) -> Loaded:
        self._wait(tell, cancelled)
        return Loaded(order.target, INFO, CHECKED)

    def estimate(self, order: Estimate) -> Estimated:
        return Estimated(order, "test data: weights 1 MB", 0.25)

    def race(self, order: Race, tell: Callable[[Loading], None], cancelled: Callable[[], bool],
             by_record: Callable[[], bool]) -> Iterator[Record | Report]:
        try:
            self._wait(tell, cancelled)
            yield Loaded(order.target, INFO, CHECKED)
            if self.fault:
                raise ModelError(self.fault, details="test details")
            methods = [_method(lane) for lane in order.lanes if lane.settings.drafter.kind not in self.lane_faults]
            for lane in order.lanes:
                if fault := self.lane_faults.get(lane.settings.drafter.kind):
                    yield RunFinished(run=order.run, lane=lane.lane, reason="error", message=fault, text="",
                                      totals=Totals(), details="test details")
            for record in fake_run.race(methods, run=order.run, limit=self.limit):
                if self.pace:
                    time.sleep(self.pace)
                self.by_record.append(by_record())
                yield record
        finally:
            self.closed.set()

    def branch(self, order: Branch, tell: Callable[[Loading], None], cancelled: Callable[[], bool],
               by_record: Callable[[], bool]) -> Iterator[Record | Report]:
        """The original once more, to its end."""
        past = Past.of(order.original, order.change.round)
        tell(Loading("Restoring test data"))
        self._restore(cancelled)
        if self.fault:
            raise ModelError(self.fault, details="test details")
        method = dataclasses.replace(METHODS[past.started.settings.drafter.kind], lane=past.started.lane)
        for record in fake_run.lane_records(method, run=order.run, limit=self.limit):
            time.sleep(self.pace)
            self.by_record.append(by_record())
            yield msgspec.structs.replace(record, lane=order.lane)

    def rows(self, order: Rows, tell: Callable[[Loading], None], cancelled: Callable[[], bool]) -> RowsFound:
        past = Past.of(order.original, order.round)
        self._restore(cancelled)
        if self.fault:
            raise ModelError(self.fault, details="test details")
        p = np.full(1000, 0.001, dtype=np.float32)
        texts = [past.history.texts.get(token, f"<{token}>") for token in range(1000)]
        return RowsFound(order.run, past.started.lane, FullRow(order.round, order.index, p, p, texts))

    def examine(self, order: Examine, tell: Callable[[Loading], None], cancelled: Callable[[], bool]
                ) -> Iterator[Report]:
        """The two-token example: under the right rule A comes up 0.4 of the time, under any other 0.56."""
        self.examined.append(order)
        if self.fault:
            raise ModelError(self.fault, details="test details")
        if isinstance(order.what, Trial):
            p = (0.6, 0.4)
            truth = p if order.what.rule == RIGHT.name else (0.44, 0.56)
            for event in fake_proof.watch(p, truth, samples=order.what.samples, every=order.what.samples // 100):
                time.sleep(self.pace)
                yield Observed(order.id, event, 0.4 / event.samples ** 0.5)
        elif isinstance(order.what, Proving):
            for check in fake_proof.CHECKS:
                time.sleep(self.pace)
                yield Observed(order.id, check)
        else:
            yield Catalogue(order.id, (RIGHT, REDRAW, Rule("threshold", "Accept when p ≥ q", "Without a draw.")))

    def _wait(self, tell: Callable[[Loading], None], cancelled: Callable[[], bool]) -> None:
        tell(Loading("Loading test data", 1, 4, "steps"))
        while self.endless_load:
            if cancelled():
                raise Cancelled("cancelled")
            time.sleep(0.005)

    def _restore(self, cancelled: Callable[[], bool]) -> None:
        while self.endless_restore:
            if cancelled():
                raise Cancelled("cancelled")
            time.sleep(0.005)
