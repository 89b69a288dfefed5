"""What is on stage in one lane after a record: the round under way and what it can be compared with. Grown record by
record, so that looking through a run costs one pass, and nothing later can be seen."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine.debugger.history import History, Moment, Phase, RoundSoFar
from engine.records import Committed, Contrast, Drafted, Judged, Record, RunStarted, Totals, Verified
from engine.tree import ROOT

FINAL = -1
"""The place of a round's correction, bonus or plain token; drafts have places 0 … k−1."""


@dataclass(frozen=True)
class Around:
    """What a lane's own records don't tell."""

    plain_ids: Sequence[int] | None = None
    """The output of plain decoding with the same settings, as far as it is known (no prompt)."""
    eos: Collection[int] = ()
    """Ids that end a text, for recordings that don't name them."""


NOTHING_AROUND = Around()


class Scene:
    """Push the records of one lane in order; the attributes tell how it stands after the last of them."""

    def __init__(self, history: History, around: Around = NOTHING_AROUND) -> None:
        self.history = history
        self.around = around
        self.seen = 0
        """Records pushed."""
        self.record: Record | None = None
        self.started: RunStarted | None = None
        self.prompt = 0
        """Tokens of it."""
        self.eos: Collection[int] = around.eos
        self.unknown: Collection[str] = ()
        """What an imported lane doesn't know."""
        self.phase: Phase = "waiting"
        self.round: int | None = None
        self.start = 0
        """Tokens committed when the round began, prompt included: the position of its first draft."""
        self.drafted: Sequence[Drafted] = []
        self.verified: Verified | None = None
        self.judged: Sequence[Judged] = []
        self.committed: Committed | None = None
        self.rounds = 0
        """Finished ones."""
        self.began = False
        """The last record is the first of its round."""
        self.diverged = False
        """The last record brought the first token that plain decoding didn't write."""
        self.durations: list[float] = []
        """Seconds of the finished rounds before this one, sorted."""
        self._totals: Totals | None = None
        self._ended: float | None = None
        self._compared = 0
        self._parted = False

    @classmethod
    def at(cls, moment: Moment) -> Scene:
        """As of a moment. Durations and divergence are left out: they take the whole run."""
        scene = cls(moment.history)
        scene._introduce(moment.started)
        scene.seen, scene.record, scene.phase = moment.index, moment.record, moment.phase
        scene.rounds, scene._totals = moment.totals.rounds, moment.totals
        if moment.round is not None:
            scene._show(moment.round)
        return scene

    @classmethod
    def of_round(cls, history: History, number: int) -> Scene:
        """As of the end of a finished round, counted from 0."""
        scene = cls(history)
        scene._introduce(history.records[0] if history.records else None)
        scene.seen, scene.rounds, scene.phase = history.ends[number] + 1, number + 1, "commit"
        scene._show(history.round(number))
        scene.record = scene.committed
        return scene

    def push(self, record: Record) -> None:
        """The history's next record has happened."""
        self.seen += 1
        self.record = record
        self.began = self.diverged = False
        kind = type(record)
        if kind is Judged:
            self.judged.append(record)  # type: ignore[attr-defined]
            self.phase = "judge"
        elif kind is Drafted:
            if self.committed is not None or self.round is None:
                self._begin()
            self.drafted.append(record)  # type: ignore[attr-defined]
            self.phase = "draft"
        elif isinstance(record, Verified):
            if self.committed is not None or self.round is None:
                self._begin()
            self.verified = record
            self.phase = "verify"
        elif isinstance(record, Committed):
            if self.committed is not None or self.round is None:
                self._begin()
            self.committed = record
            self.rounds += 1
            self.phase = "commit"
            self._ended = record.seconds.total
            if self.around.plain_ids is not None and not self._parted:
                self._compare(record)
        elif isinstance(record, RunStarted):
            self._introduce(record)

    def _introduce(self, record: Record | None) -> None:
        if isinstance(record, RunStarted):
            self.started, self.prompt = record, len(record.prompt)
            self.eos, self.unknown = record.eos or self.around.eos, record.unknown

    def _begin(self) -> None:
        self.round = self.rounds
        self.start = self.history.position_of(self.rounds)
        self.drafted, self.verified, self.judged, self.committed = [], None, [], None
        self.began = True
        if self._ended is not None:
            insort(self.durations, self._ended)
            self._ended = None

    def _show(self, round: RoundSoFar) -> None:
        self.round, self.start = round.round, round.start
        self.drafted, self.judged = round.drafted, round.judged
        self.verified, self.committed = round.verified, round.committed

    def _compare(self, record: Committed) -> None:
        """From where the last comparison ended: plain decoding may have been behind then."""
        assert self.around.plain_ids is not None
        plain, ours = self.around.plain_ids, self.history.ids
        end = min(len(plain), self.start + len(record.tokens) - self.prompt)
        for place in range(self._compared, end):
            if plain[place] != ours[self.prompt + place]:
                self.diverged = self._parted = True
                return
        self._compared = max(self._compared, end)

    # What follows from it

    @property
    def k(self) -> int:
        """Drafts of the round, so far."""
        return self.committed.drafted if self.committed is not None else len(self.drafted)

    @property
    def totals(self) -> Totals:
        """Of the finished rounds."""
        return self.history.totals_after(self.rounds) if self._totals is None else self._totals

    @property
    def median(self) -> float | None:
        """Seconds of the middle one of the rounds before this one; None before there are four of them."""
        count = len(self.durations)
        if count < 4:
            return None
        return (self.durations[(count - 1) // 2] + self.durations[count // 2]) / 2

    def place_of(self, record: Record | None) -> int | None:
        """Which of the round's tokens a record is about; None for none."""
        if isinstance(record, (Drafted, Judged)):
            return record.index
        if isinstance(record, Committed):
            return FINAL
        return None

    @property
    def deciding(self) -> int:
        """The round's place to look at when none is chosen: the last draft that was judged, else drafted; else the
        correction, bonus or plain token."""
        if self.is_tree and self.judged:
            return self.judged[-1].index
        return len(self.judged or self.drafted) - 1 if self.judged or self.drafted else FINAL

    @property
    def is_tree(self) -> bool:
        return bool(self.drafted) and self.drafted[0].parent is not None

    def row_number(self, place: int) -> int:
        """Which row of the verification decides at a place; −1: none."""
        if place == FINAL:
            if self.committed is None:
                return FINAL
            return self.committed.path[-1] + 1 if self.committed.path else self.committed.accepted
        if self.is_tree and 0 <= place < len(self.drafted):
            return (self.drafted[place].parent or 0) + 1 if self.drafted[place].parent != ROOT else 0
        return place

    def row(self, place: int) -> Contrast | None:
        """p against q at a place, as far as it was recorded."""
        if self.verified is None:
            return None
        number, rows = self.row_number(place), self.verified.rows
        return rows[number] if 0 <= number < len(rows) else None
