"""A lane as of any of its records.

A moment is counted in records: at moment n the first n records of the lane have happened and nothing else has. It is a
pure function of those records, so going back shows exactly what was shown before; it costs one search, not a replay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from engine.records import (
    UNKNOWN_TOKEN,
    Committed,
    Contrast,
    Drafted,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    Totals,
    Verified,
    Vocabulary,
)
from engine.tree import ROOT, Tree

Phase = Literal["waiting", "started", "prefill", "draft", "verify", "judge", "commit", "finished"]
"""What the last record was: the step that has just been taken."""

Fate = Literal["pending", "accepted", "rejected", "void"]
"""Of a draft. Void: it will never be tested, since an earlier one was rejected or the run ended."""

RowUse = Literal["computed", "accepted", "rejected", "final", "void"]
"""Of a verify row. Computed: nothing has been judged by it yet. Rejected: it rejected its draft, and the correction is
drawn from it. Final: the bonus or plain token was drawn from it. Void: the prefix it was computed for doesn't exist."""


@dataclass(frozen=True)
class RoundSoFar:
    """One round, as much of it as has happened.

    Its places are its drafts, 0 … k − 1, and k for the token that follows when none is left to test. In a chain place i
    is row i of the verification; in a tree a draft's place shows the row of its parent, which siblings share.
    """

    round: int
    start: int
    """Tokens committed when it began (prompt + output): the position of its first draft."""
    drafted: tuple[Drafted, ...] = ()
    verified: Verified | None = None
    judged: tuple[Judged, ...] = ()
    committed: Committed | None = None

    @property
    def k(self) -> int:
        """Drafts so far."""
        return len(self.drafted)

    @property
    def is_tree(self) -> bool:
        return bool(self.drafted) and self.drafted[0].parent is not None

    @cached_property
    def tree(self) -> Tree:
        """Of the drafts so far."""
        return Tree.of([draft.parent for draft in self.drafted])

    @cached_property
    def path(self) -> tuple[int, ...]:
        """The drafts accepted so far."""
        return tuple(judged.index for judged in self.judged if judged.accepted)

    @cached_property
    def _judged_by_index(self) -> dict[int, Judged]:
        return {judged.index: judged for judged in self.judged}

    def judged_at(self, index: int) -> Judged | None:
        """The test of draft ``index``, once it was made."""
        return self._judged_by_index.get(index)

    def siblings_before(self, index: int) -> tuple[int, ...]:
        """In a tree the drafts that are tested before draft ``index`` by the same row; each rejection takes from p."""
        if not self.is_tree or not 0 <= index < self.k:
            return ()
        children = self.tree.children(self.tree.parents[index])
        return children[: children.index(index)]

    @cached_property
    def next_test(self) -> int | None:
        """The draft that is tested next; None when none is left, so that the final token follows."""
        siblings = self.tree.children(self.path[-1] if self.path else ROOT)
        return next((child for child in siblings if child not in self._judged_by_index), None)

    @cached_property
    def in_sight(self) -> frozenset[int]:
        """Of a tree the drafts to show where there is room for one line only: what was tested and, while tests are to
        come, the first guess of each level behind. Of a chain all."""
        if not self.is_tree:
            return frozenset(range(self.k))
        seen, node = set(self._judged_by_index), self.next_test if self.committed is None else None
        while node is not None:
            seen.add(node)
            node = next(iter(self.tree.children(node)), None)
        return frozenset(seen)

    @property
    def tree_size(self) -> str:
        """How large the tree is, in a few words; "" for a chain."""
        return f"{self.k} drafted, {max(self.tree.depths) + 1} deep" if self.is_tree else ""

    @property
    def rejected_at(self) -> int | None:
        """Which draft's rejection a correction follows from."""
        last = self.judged[-1] if self.judged else None
        ended = last is not None and not last.accepted and not (self.is_tree and self.next_test is not None)
        return last.index if last is not None and ended else None

    @property
    def ended_at(self) -> int | None:
        """The place that the final token was drawn at; None when there is none, yet or at all."""
        if self.committed is None or self.committed.final == "none":
            return None
        if self.is_tree:
            return self.rejected_at if self.committed.final == "correction" else self.k
        return self.committed.accepted

    def fate(self, index: int) -> Fate:
        """Of draft ``index``."""
        judged = self.judged_at(index)
        if judged is not None:
            return "accepted" if judged.accepted else "rejected"
        if self.rejected_at is not None or self.committed is not None:
            return "void"
        return "void" if self.is_tree and index < self.k and self._cut_off(index) else "pending"

    def _cut_off(self, index: int) -> bool:
        """Is draft ``index`` of a tree on none of the paths that are still possible?"""
        way = self.tree.path(index)
        if way[: len(self.path)] != self.path:
            return True
        return len(way) > len(self.path) and way[len(self.path)] in self._judged_by_index

    def row_number(self, index: int) -> int | None:
        """Which row of the verification stands at place ``index``; None where that isn't settled yet."""
        if not self.is_tree:
            return index
        if 0 <= index < self.k:
            return self.tree.parents[index] + 1
        if index == self.k and self.committed is not None and self.ended_at == self.k:
            return self.path[-1] + 1 if self.path else 0
        return None

    def position_of(self, index: int) -> int:
        """The position of the token that place ``index`` decides on."""
        if not self.is_tree:
            return self.start + index
        return self.start + (self.tree.depths[index] if index < self.k else len(self.path))

    def row(self, index: int) -> Contrast | None:
        """p against q at place ``index``; None if not computed yet, or recorded without detail."""
        rows = self.verified.rows if self.verified is not None else ()
        number = self.row_number(index)
        return rows[number] if number is not None and 0 <= number < len(rows) else None

    def gap(self, index: int) -> float | None:
        """Difference of the two largest logits at place ``index``."""
        gaps = self.verified.gaps if self.verified is not None else ()
        number = self.row_number(index)
        return gaps[number] if number is not None and 0 <= number < len(gaps) else None

    def row_use(self, index: int) -> RowUse:
        """Of the row at place ``index``, 0 … k."""
        judged = self.judged_at(index)
        if judged is not None:
            return "accepted" if judged.accepted else "rejected"
        if self.rejected_at is not None:
            return "void"
        if self.committed is None:
            return "void" if index < self.k and self.fate(index) == "void" else "computed"
        return "final" if index == self.ended_at else "void"

    def name_of(self, index: int) -> str:
        """Of draft ``index``, counted from 1; in a tree with its path."""
        if not self.is_tree:
            return f"draft {index + 1}"
        return f"draft {index + 1} ({' › '.join(str(node + 1) for node in self.tree.path(index))})"


@dataclass(frozen=True)
class Moment:
    """A lane when ``index`` of its records had happened."""

    lane: str
    index: int
    phase: Phase
    record: Record | None
    """The last that has happened."""
    started: RunStarted | None
    finished: RunFinished | None
    round: RoundSoFar | None
    """The round under way, or the last one when none is; None before the first."""
    totals: Totals
    """Of the finished rounds."""
    clock: float
    """Seconds of the lane's own compute, the round under way included as far as it is recorded."""
    length: int
    """Tokens committed, prompt included."""
    history: History = field(compare=False, repr=False)

    @property
    def sampled(self) -> bool:
        """Is it draws that decide? Of an imported lane whose settings aren't known: if its file tells draws."""
        if self.started is None:
            return False
        if "settings" in self.started.unknown:
            return "draws" not in self.started.unknown
        origin, now = self.started.branch, self.round
        if origin is not None and now is not None and now.round < origin.round:  # copied; its settings may be others
            whole = self.history.round(now.round)
            ended = whole.committed is not None and whole.committed.final_draw is not None
            return ended or any(judged.draw is not None for judged in whole.judged)
        return not self.started.settings.sampling.greedy

    @property
    def greedy(self) -> bool:
        """For certain."""
        return self.started is not None and "settings" not in self.started.unknown and not self.sampled

    @property
    def tokens(self) -> Sequence[int]:
        """Ids committed by now, prompt included."""
        return self.history.ids[: self.length]

    def label(self, token: int) -> str:
        """A token's own text, as far as the records tell it ("" may be a token's real text)."""
        return self.history.texts.get(token, f"#{token}" if token != UNKNOWN_TOKEN else "unknown token")

    def in_line(self, token: int, text: str | None = None) -> str:
        """A token among others: ``text``, what it adds, or its own; where texts aren't known, its id or a sign."""
        if text or self.started is None or "texts" not in self.started.unknown:
            return self.label(token) if text is None else text
        return f"#{token} " if token != UNKNOWN_TOKEN else "□ "


class History:
    """All records of one lane, growing; :meth:`at` is any moment of it."""

    def __init__(self, lane: str) -> None:
        self.lane = lane
        self.records: list[Record] = []
        self.ids: list[int] = []
        """Prompt and output."""
        self.texts: dict[int, str] = {}
        self.begins: list[int] = []
        """Index of each round's first record."""
        self.ends: list[int] = []
        """Index of each finished round's ``Committed``."""
        self.rejections: list[int] = []
        """Index of each ``Judged`` that rejected its draft."""
        self._started: int | None = None
        self._prefilled: int | None = None
        self._finished: int | None = None
        self._prompt = 0
        self._totals: list[Totals] = [Totals()]
        """Before the first round, and after each."""
        self._lengths: list[int] = [0]

    def __len__(self) -> int:
        return len(self.records)

    def append(self, record: Record) -> None:
        place = len(self.records)
        self.records.append(record)
        match record:
            case RunStarted():
                self._started, self._prompt = place, len(record.prompt)
                self.ids += record.prompt
                self._lengths[0] = self._prompt
            case Prefilled():
                self._prefilled = place
                self._totals[0] = self._totals[0].plus(record)
            case Vocabulary():
                self.texts.update(record.texts)
            case Drafted() | Verified():
                if len(self.begins) == len(self.ends):
                    self.begins.append(place)
            case Judged(accepted=False):
                self.rejections.append(place)
            case Committed():
                if len(self.begins) == len(self.ends):  # a recording that holds nothing but the outcome
                    self.begins.append(place)
                self.ends.append(place)
                self.ids += record.tokens
                self._totals.append(self._totals[-1].plus(record))
                self._lengths.append(self._lengths[-1] + len(record.tokens))
            case RunFinished():
                self._finished = place

    def round_of(self, index: int) -> int | None:
        """Which round the record at ``index`` belongs to, counted from 0; None before the first."""
        place = bisect_right(self.begins, index) - 1
        return place if place >= 0 else None

    def totals_after(self, rounds: int) -> Totals:
        return self._totals[rounds]

    def position_of(self, round: int) -> int:
        """Tokens committed when that round began."""
        return self._lengths[round]

    def round(self, number: int, until: int | None = None) -> RoundSoFar:
        """Round ``number`` as far as the records before ``until`` tell."""
        begin = self.begins[number]
        end = self.ends[number] + 1 if number < len(self.ends) else len(self.records)
        if until is not None:
            end = min(end, until)
        part = self.records[begin:end]
        verified = next((r for r in part if isinstance(r, Verified)), None)
        committed = next((r for r in part if isinstance(r, Committed)), None)
        return RoundSoFar(
            number, self._lengths[number], tuple(r for r in part if isinstance(r, Drafted)), verified,
            tuple(r for r in part if isinstance(r, Judged)), committed)

    def at(self, index: int) -> Moment:
        """The lane when ``index`` of its records had happened, 0 … len."""
        index = max(0, min(index, len(self.records)))
        number = self.round_of(index - 1)
        round_now = self.round(number, index) if number is not None else None
        done = 0
        if number is not None:
            done = number + (round_now is not None and round_now.committed is not None)
        filled = self._prefilled is not None and self._prefilled < index
        totals = self._totals[done] if filled or done else Totals()
        clock = totals.total_seconds
        if round_now is not None and round_now.committed is None:
            clock += sum(d.seconds for d in round_now.drafted)
            clock += round_now.verified.seconds if round_now.verified is not None else 0.0
        started, finished = self._known(self._started, index), self._known(self._finished, index)
        return Moment(
            self.lane, index, _phase(self._last_step(index)), self.records[index - 1] if index else None,
            started if isinstance(started, RunStarted) else None,
            finished if isinstance(finished, RunFinished) else None,
            round_now, totals, clock, self._lengths[done] if started is not None else 0, self)

    def _known(self, place: int | None, index: int) -> Record | None:
        return self.records[place] if place is not None and place < index else None

    def _last_step(self, index: int) -> Record | None:
        """The last record that is a step; vocabulary is none."""
        for place in range(index - 1, -1, -1):
            if not isinstance(self.records[place], Vocabulary):
                return self.records[place]
        return None


_PHASES: dict[type[Record], Phase] = {
    RunStarted: "started", Prefilled: "prefill", Drafted: "draft", Verified: "verify", Judged: "judge",
    Committed: "commit", RunFinished: "finished",
}


def _phase(record: Record | None) -> Phase:
    return _PHASES[type(record)] if record is not None else "waiting"
