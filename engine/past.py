"""A recorded lane up to the beginning of one of its rounds: what going on from there starts with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.debugger.history import History, RoundSoFar
from engine.errors import SpecScopeError
from engine.records import Committed, Prefilled, Record, RunStarted, Unknown, Verified

NEEDED: frozenset[Unknown] = frozenset({"target", "settings", "tokens", "draws", "prompt"})
"""What a recording must know for anyone to go on from it."""


class ReplayError(SpecScopeError):
    """A recording can't be gone on with: names what is missing or doesn't fit, and what to do."""


@dataclass(frozen=True)
class Past:
    """A recorded lane up to the beginning of one round."""

    history: History
    started: RunStarted
    round: int
    rounds: tuple[RoundSoFar, ...]
    """Those before it, all finished."""

    @classmethod
    def of(cls, records: Sequence[Record], round: int) -> Past:
        """Raises :class:`ReplayError` for a round that the records don't reach, and where they don't tell enough."""
        started = next((r for r in records if isinstance(r, RunStarted)), None)
        if started is None:
            raise ReplayError("This lane has not begun, so there is nothing to go on from; let it run first.")
        missing = sorted(NEEDED & set(started.unknown))
        if missing:
            raise ReplayError(f"This recording doesn't tell its {' and '.join(missing)}, so nothing can be decoded "
                              "from it; decode the prompt with SpecScope to ask what if.")
        if not any(isinstance(r, Prefilled) for r in records):
            raise ReplayError("This lane has not taken in its prompt yet; let it run first.")
        history = History(started.lane)
        for record in records:
            history.append(record)
        if not 0 <= round <= len(history.ends):
            raise ReplayError(f"Round {round + 1} was asked for, but this lane has finished {len(history.ends)}; "
                              f"choose one of 1 to {len(history.ends) + 1}.")
        rounds = tuple(history.round(number) for number in range(round))
        for one in rounds:
            if one.verified is None or one.verified.k != one.k:
                raise ReplayError(f"Round {one.round + 1} is recorded without its drafts or its verification, so it "
                                  "can't be repeated; decode the prompt again with SpecScope.")
        return cls(history, started, round, rounds)

    @property
    def tokens(self) -> list[int]:
        """Committed by then, prompt included."""
        return self.history.ids[: self.history.position_of(self.round)]

    @property
    def prompt(self) -> list[int]:
        return list(self.started.prompt)

    @property
    def begin(self) -> int:
        """How many records come before the round, words that it brings itself aside."""
        if self.round:
            return self.history.ends[self.round - 1] + 1
        return 1 + next(i for i, record in enumerate(self.history.records) if isinstance(record, Prefilled))

    @property
    def reached(self) -> bool:
        """Has the round begun?"""
        return self.round < len(self.history.begins)

    @property
    def now(self) -> RoundSoFar:
        """The round, as far as it got; it must have begun."""
        return self.history.round(self.round)

    @property
    def drafted(self) -> int:
        """Drafts of the round, as far as it got."""
        return self.now.k if self.reached else 0

    @property
    def reach(self) -> int:
        """Slots that the run had touched by then."""
        return max((one.start - 1 + verified_of(one).width for one in self.rounds), default=0)


def verified_of(round: RoundSoFar) -> Verified:
    assert round.verified is not None, "Past.of has seen to it"
    return round.verified


def committed_of(round: RoundSoFar) -> Committed:
    assert round.committed is not None, "only finished rounds are in a past"
    return round.committed
