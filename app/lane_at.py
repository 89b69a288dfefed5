"""A lane as of a moment, for every widget that shows lanes: what happened later isn't there yet.

Nothing is replayed. All finished rounds are shared with the lane itself; only the cells of the round under way are made
anew, from the records that have happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.lane_parts import show_tree
from app.lane_state import Cell, LaneState, RoundSummary, Status
from engine.debugger.history import Moment, RoundSoFar
from engine.records import Judged, Record, RunFinished, RunStarted, Totals


class LaneAt:
    """Has everything that a widget reads of a :class:`LaneState`."""

    def __init__(self, base: LaneState, moment: Moment) -> None:
        self.base = base
        self.moment = moment
        self.revision = moment.index
        self._rounds = moment.round.round + (moment.round.committed is not None) if moment.round is not None else 0
        """Finished ones."""
        under_way = moment.round is not None and moment.round.committed is None
        self._round = moment.round if under_way and moment.finished is None else None
        self.settled = base.rounds[self._rounds - 1].last_cell if self._rounds else int(
            moment.started is not None and bool(moment.started.prompt_text))
        if moment.finished is not None:
            self.settled = base.settled

    # What the run is

    @property
    def id(self) -> str:
        return self.base.id

    @property
    def title(self) -> str:
        return self.base.title

    @property
    def about(self) -> str:
        return self.base.about

    @property
    def plain(self) -> bool:
        return self.base.plain

    @property
    def look(self) -> int:
        return self.base.look

    @property
    def gamma(self) -> int:
        return self.base.gamma

    @property
    def started(self) -> RunStarted | None:
        return self.moment.started

    @property
    def finished(self) -> RunFinished | None:
        return self.moment.finished

    @property
    def status(self) -> Status:
        if self.moment.finished is not None:
            return self.base.status
        if self.moment.started is None:
            return "waiting"
        return "prefilling" if self.moment.phase == "started" else "running"

    @property
    def message(self) -> str:
        return self.base.message if self.moment.finished is not None else ""

    @property
    def details(self) -> str:
        return self.base.details if self.moment.finished is not None else ""

    @property
    def totals(self) -> Totals:
        return self.moment.totals

    @property
    def clock(self) -> float:
        return self.moment.clock

    # Tokens and rounds

    @cached_property
    def cells(self) -> list[Cell]:
        shared = self.base.cells[: self.settled]
        return shared + round_cells(self._round, self.base) if self._round is not None else shared

    @cached_property
    def committed(self) -> list[int]:
        return self.base.committed[: self.moment.totals.committed]

    @cached_property
    def ids(self) -> list[int]:
        return self.base.ids[: self.moment.totals.committed]

    @cached_property
    def rounds(self) -> list[RoundSummary]:
        return self.base.rounds[: self._rounds]

    @property
    def records(self) -> list[Record]:
        return self.base.records[: self.moment.index]

    @property
    def serials(self) -> list[int]:
        return self.base.serials[: self.moment.index]

    @property
    def output(self) -> str:
        if self.moment.finished is not None or not self.base.knows("texts"):
            return self.base.output
        return "".join(self.base.cells[i].text for i in self.committed)

    def token_text(self, token: int) -> str:
        return self.base.token_text(token)

    def find(self, position: int | None, round: int | None = None, index: int | None = None) -> int | None:
        found = self.base.find(position, round, index)
        return found if found is not None and found < len(self.cells) else None

    # What the charts read

    @property
    def _points(self) -> int:
        if self.moment.started is None:
            return 0
        return 1 + (self.moment.phase != "started") + self._rounds

    @property
    def seconds(self) -> NDArray[np.float64]:
        return self.base.seconds[: self._points]

    @property
    def tokens(self) -> NDArray[np.float64]:
        return self.base.tokens[: self._points]

    @property
    def round_table(self) -> NDArray[np.float64]:
        return self.base.round_table[: self._rounds]

    @cached_property
    def tested_at(self) -> NDArray[np.int64]:
        accepted, rejected = self.round_table[:, 2], self.round_table[:, 3]
        trees = np.array([one.depth > 0 for one in self.rounds], dtype=bool)
        failed = np.where(trees, self.round_table[:, 5], rejected) if len(trees) else rejected
        return _reached(accepted + failed, self._levels(self._judged))

    @cached_property
    def accepted_at(self) -> NDArray[np.int64]:
        found = _reached(self.round_table[:, 2], self._levels(tuple(j for j in self._judged if j.accepted)))
        return np.pad(found, (0, len(self.tested_at) - len(found)))

    @property
    def _judged(self) -> tuple[Judged, ...]:
        """Of the round under way."""
        return self._round.judged if self._round is not None else ()

    def _levels(self, judged: Sequence[Judged]) -> list[int]:
        """Which levels these tests were of, each once."""
        now = self._round
        if now is None:
            return []
        return sorted({j.position - now.start if now.is_tree else j.index for j in judged})


def round_cells(round: RoundSoFar, lane: LaneState) -> list[Cell]:
    """The cells of a round under way: its drafts, with as much as is known of each."""
    cells = []
    for draft in round.drafted:
        row = round.row(draft.index) if not round.siblings_before(draft.index) else None
        cell = lane.draft_cell(draft)
        cell.kind = round.fate(draft.index)
        cell.overlap = row.overlap if row is not None else None
        judged = round.judged_at(draft.index)
        if judged is not None:
            lane.judge_cell(cell, judged)
        cells.append(cell)
    if round.is_tree:
        show_tree(round, cells)
    return cells


def _reached(counts: NDArray[np.float64], levels: Sequence[int]) -> NDArray[np.int64]:
    """By draft position: how many rounds got beyond it, those of the round under way included."""
    places = counts.astype(np.int64)
    size = max([int(places.max(initial=0)), *(level + 1 for level in levels)])
    beyond = np.bincount(places, minlength=size + 1)[::-1].cumsum()[::-1][1:]
    found = beyond[:size].astype(np.int64)
    for level in levels:
        found[level] += 1
    return found
