"""Two lanes token by token and what the second cost, kept up to date as they grow or are rewound.

It says what :func:`engine.debugger.alignment.cost` says of the same records, which a test holds it to; but with one
round more it looks at that round only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from engine.debugger.alignment import Cost, Spent, _parting, _price, sameness
from widgets.protocols import CellView, LaneView


class Side:
    """The output of one lane."""

    def __init__(self) -> None:
        self.lane: LaneView | None = None
        self.ids: list[int] = []
        self.grown_from = 0
        """Tokens before this one are what they were at the call before."""
        self._seen: tuple[LaneView | None, int] = (None, -1)

    def show(self, lane: LaneView | None) -> bool:
        """Take over what is new; False: nothing is."""
        seen = (lane.base, lane.revision) if lane is not None else (None, -1)
        self.lane = lane
        if seen == self._seen:
            self.grown_from = len(self.ids)
            return False
        if seen[0] is not self._seen[0]:
            self.ids.clear()
        self._seen = seen
        committed = lane.committed if lane is not None else ()
        self.grown_from = min(len(self.ids), len(committed))
        del self.ids[self.grown_from:]
        if lane is not None:
            cells = lane.cells
            self.ids += [cells[place].id for place in committed[self.grown_from:]]
        return True

    def __len__(self) -> int:
        return len(self.ids)

    def cell(self, index: int) -> CellView | None:
        """None where the output has ended, or is not yet there."""
        if self.lane is None or not 0 <= index < len(self.ids):
            return None
        return self.lane.cells[self.lane.committed[index]]

    @property
    def over(self) -> bool:
        """Nothing more will come, and not because something failed."""
        finished = self.lane.finished if self.lane is not None else None
        return finished is not None and finished.reason != "error"

    def start(self, round: int) -> int:
        """Tokens before a round."""
        assert self.lane is not None
        rounds = self.lane.rounds
        at = bisect_left(rounds, round, key=lambda one: one.round)
        return rounds[at].position - self.first_position if at < len(rounds) else len(self.ids)

    def spent(self, round: int, end: int) -> Spent:
        """From a round on, to have ``end`` tokens; a round that ends beyond counts whole."""
        assert self.lane is not None
        rounds = self.lane.rounds
        first = bisect_left(rounds, round, key=lambda one: one.round)
        last = bisect_left(rounds, end + self.first_position, lo=first, key=lambda one: one.position)
        accepted_rejected_void = self.lane.round_table[first:last, 2:5]
        return Spent(last - first, int(accepted_rejected_void.sum()))

    @property
    def first_position(self) -> int:
        """Of the output's first token."""
        return len(self.lane.started.prompt) if self.lane is not None and self.lane.started is not None else 0


class Comparison:
    def __init__(self) -> None:
        self.original, self.branch = Side(), Side()
        self.shared = 0
        """Leading tokens that are the same."""
        self.cost: Cost | None = None
        """None until the branch has begun."""

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.original, self.branch

    def __len__(self) -> int:
        """Places of the longer output."""
        return max(len(self.original), len(self.branch))

    def show(self, original: LaneView | None, branch: LaneView | None) -> bool:
        """False: all is as it was."""
        if not any([self.original.show(original), self.branch.show(branch)]):
            return False
        ours, theirs = self.original.ids, self.branch.ids
        both = min(len(ours), len(theirs))
        self.shared = min(self.shared, self.original.grown_from, self.branch.grown_from)
        while self.shared < both and ours[self.shared] == theirs[self.shared]:
            self.shared += 1
        self.cost = self._cost(ours, theirs)
        return True

    def _cost(self, ours: Sequence[int], theirs: Sequence[int]) -> Cost | None:
        original, branch = (side.lane for side in self.sides)
        if original is None or branch is None or (started := branch.started) is None or started.branch is None:
            return None
        round = started.branch.round
        start = self.branch.start(round)
        end = max(start, min(len(ours), len(theirs)))
        a, b = (side.spent(round, end) if end > start else Spent(0, 0) for side in self.sides)
        index = self._parts_at()
        over = index is None and self.original.over and self.branch.over
        same = sameness(original.records, branch.records, started.branch) if over else ""
        texts = {cell.id: cell.label for side in self.sides if (cell := side.cell(self.shared)) is not None}
        return Cost(start, index, None if index is None else len(started.prompt) + index, end - start, a, b,
                    f"{_parting(index, ours, theirs, texts, same)} {_price(end - start, a.forwards, b.forwards)}"
                    .strip())

    def _parts_at(self) -> int | None:
        """The first token that differs; where one output is longer and that is all, once both have ended."""
        lengths = len(self.original), len(self.branch)
        if self.shared < min(lengths) or (lengths[0] != lengths[1] and self.original.over and self.branch.over):
            return self.shared
        return None
