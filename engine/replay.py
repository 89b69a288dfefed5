"""A lane as it was between two rounds, restored from its records: caches, penalty, text and ending, without drafting or
judging anything again.

Keys and values must come back bit for bit, or the rounds behind them would compute other logits. The prompt is
prefilled by the same call as in the run. What the rounds committed is then fed in chunks, far fewer forwards than the
run took, where rows don't depend on a forward's width: the start-up check said so (invariance.py), and each row's
digest is held against the recorded one. Where they do depend, the rounds' own forwards are repeated, drafts included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine import checks, drafters
from engine.contrast import digests
from engine.debugger.history import History, RoundSoFar
from engine.decode import never
from engine.drafters.base import Drafter
from engine.drafters.model import ModelDrafter
from engine.errors import CacheError, Cancelled, SpecScopeError
from engine.invariance import exactness
from engine.records import Committed, Prefilled, Record, RunStarted, Unknown, Verified
from engine.rounds import Judge
from engine.runner import Runner
from engine.settings import RunSettings
from engine.transcript import Transcript

if TYPE_CHECKING:
    from engine.models import Model

CHUNK = 16
"""Tokens a forward, where no width was found to give other bits: about as dear as one token."""

DRAFTER_CHUNK = 8
"""The same for a draft model, whose rows have no digests: this width is measured, once a model."""

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


@dataclass(frozen=True)
class Restored:
    """What the loop needs (:func:`engine.decode.rounds`) to go on."""

    target: Runner
    drafter: Drafter
    judge: Judge
    seq: Transcript
    check: Callable[[Sequence[int]], None]
    identical: bool | None
    """Are the prefix's logits those of the recorded run, bit for bit? None: it recorded no digests, or no round came
    before."""


def transcript(target: Model, past: Past, settings: RunSettings) -> Transcript:
    """The text so far, under the endings of ``settings``."""
    seq = Transcript(past.prompt, settings, context=target.info.context, eos=target.eos,
                     detokenizer=target.detokenizer(past.prompt))
    seq.resume(past.tokens[len(past.prompt) :])
    return seq


def restore(target: Model, past: Past, settings: RunSettings, models: Mapping[str, Model], *,
            cancelled: Callable[[], bool] = never) -> Restored:
    """All that a run with ``settings`` has between two rounds, behind the tokens of ``past``.

    Raises :class:`CacheError` if the caches don't hold exactly these tokens afterwards, :class:`Cancelled` once
    ``cancelled()`` is true, and what :func:`engine.drafters.make` raises.
    """
    seq = transcript(target, past, settings)
    runner, drafter = Runner(target.hf, slots=past.started.slots), drafters.make(settings, target, models)
    check = checks.watch(runner, drafter)
    runner.prefill(past.prompt[:-1])
    drafter.prefill(past.prompt[:-1])
    chunk, identical = _refill(runner, past, cancelled)
    if isinstance(drafter, ModelDrafter):
        _refill_drafter(drafter, past, _drafter_chunk(past, settings, models, chunk), cancelled)
    _check_lengths(runner, drafter, past, settings)
    check(seq.tokens)
    if not checks.wanted():
        for one in (runner, getattr(drafter, "runner", None)):
            if isinstance(one, Runner):
                one.remember()  # with a cache that isn't empty: ends the keeping of ids, which costs the rounds time
    judge = Judge(runner, settings, target.info.name)
    judge.commit(seq.tokens)
    return Restored(runner, drafter, judge, seq, check if checks.wanted() else lambda tokens: None, identical)


def _refill(runner: Runner, past: Past, cancelled: Callable[[], bool]) -> tuple[int, bool | None]:
    """Put all committed tokens but the newest into the target's cache. Returns the width of the unpadded chunks that
    served (1: none did), and :attr:`Restored.identical`."""
    width, padded = _chunk(past)
    if width > 1:
        runner.pad_to = width if padded else 1
        identical = _in_chunks(runner, past, width, cancelled)
        runner.pad_to = 1
        if identical is not False:
            runner.cache.reserve(past.reach)
            return 1 if padded else width, identical
        runner.cut(len(past.prompt) - 1)
    return 1, _round_by_round(runner, past, cancelled)


def _chunk(past: Past) -> tuple[int, bool]:
    """The widest forward whose rows are the run's own, as far as is known, and whether all must have that width."""
    said, widths = past.started.exactness, {verified_of(one).width for one in past.rounds}
    if not widths:
        return 1, False
    if said.padded:
        return (said.width_checked, True) if said.invariant and widths == {said.width_checked} else (1, False)
    if max(widths) > said.width_limit:
        return 1, False
    told = all(committed_of(one).digests for one in past.rounds)
    untried = said.width_limit == said.width_checked  # no width was found that differs: the digests will tell
    return max(said.width_limit, CHUNK) if told and untried else said.width_limit, False


def _in_chunks(runner: Runner, past: Past, width: int, cancelled: Callable[[], bool]) -> bool | None:
    """Stops at the first row with another digest than the recorded one: False."""
    tokens, known = past.tokens, _recorded(past)
    first, end = len(past.prompt) - 1, len(past.tokens) - 1
    for begin in range(first, end, width):
        stop(cancelled)
        piece = tokens[begin : min(begin + width, end)]
        logits = runner.forward(piece)
        if not agree(logits, known[begin - first :][: len(piece)]):
            return False
    return True if any(digest is not None for digest in known) else None


def _round_by_round(runner: Runner, past: Past, cancelled: Callable[[], bool]) -> bool | None:
    """The run's own forwards once more."""
    same, compared = True, False
    for one in past.rounds:
        stop(cancelled)
        verified, committed = verified_of(one), committed_of(one)
        runner.pad_to = verified.width
        logits = runner.forward([past.history.ids[one.start - 1], *(draft.token for draft in one.drafted)])
        same = agree(logits, verified.digests) and same
        compared = compared or bool(verified.digests)
        runner.cut(one.start + len(committed.tokens) - 1)
    runner.pad_to = 1
    return same if compared else None


def _recorded(past: Past) -> list[int | None]:
    """For each committed token the digest of the row it was judged or drawn by."""
    known: list[int | None] = []
    for one in past.rounds:
        committed = committed_of(one)
        known += committed.digests or [None] * len(committed.tokens)
    return known


def agree(logits: Any, known: Sequence[int | None]) -> bool:
    """Have the rows of ``logits`` the digests that were recorded? Unknown ones are taken for equal."""
    if all(digest is None for digest in known):
        return True
    found = digests(logits).tolist()
    return len(found) == len(known) and all(b in (None, a) for a, b in zip(found, known, strict=True))


def _refill_drafter(drafter: ModelDrafter, past: Past, chunk: int, cancelled: Callable[[], bool]) -> None:
    """Bring a draft model's cache to where its own rounds leave it: behind a round it holds all committed tokens but
    the newest, without the last draft's (see drafters/model.py). Rounds in which another drafter drafted count like
    its own, so that the state follows from the records alone."""
    forwards, length = list[Forward](), drafter.runner.length
    for one in past.rounds:
        if one.k:
            kept = min(one.k, len(committed_of(one).tokens)) - 1
            forwards += [Forward(one.start - length), *[Forward(1)] * kept]
            forwards[-1] = replace(forwards[-1], reach=min(one.start + one.k - 1, drafter.context))
            length = one.start + kept
    for forward in joined(forwards, chunk):
        stop(cancelled)
        drafter.resume(past.tokens, forward.width)
        drafter.runner.cache.reserve(forward.reach)


@dataclass(frozen=True)
class Forward:
    """Of a draft model, over committed tokens."""

    width: int
    reach: int = 0
    """Slots that its round touched in the end, drafts that were rejected included: the cache may have grown."""


def joined(forwards: Sequence[Forward], most: int) -> list[Forward]:
    """Consecutive ones joined to fewer, none wider than ``most`` unless it was."""
    out: list[Forward] = []
    for one in forwards:
        if out and out[-1].width + one.width <= most:
            out[-1] = Forward(out[-1].width + one.width, max(out[-1].reach, one.reach))
        else:
            out.append(one)
    return out


def _drafter_chunk(past: Past, settings: RunSettings, models: Mapping[str, Model], target_chunk: int) -> int:
    """How wide a drafter's forwards may be, for the bits of single steps: the target's layers, some left out, as those
    just were; another model as measured. 1 where rows depend on the cache's size, which then has to grow as it did."""
    if settings.drafter.kind != "model":
        return 1 if past.started.exactness.one_size else target_chunk
    found = exactness(models[settings.drafter.model].hf, DRAFTER_CHUNK)
    return 1 if found.one_size else found.width_limit


def _check_lengths(runner: Runner, drafter: Drafter, past: Past, settings: RunSettings) -> None:
    """Against what the run itself recorded. A branch's first rounds are those of another lane, whose drafter may have
    been another one."""
    if not past.rounds or past.started.branch is not None:
        return
    last = committed_of(past.rounds[-1])
    slots = {"target": (runner.length, last.target_slots)}
    if settings.drafter == past.started.settings.drafter:
        slots["drafter"] = drafter.slots, last.drafter_slots
    for name, (held, recorded) in slots.items():
        if held != recorded:
            raise CacheError(f"The {name}'s cache holds {held} tokens behind round {past.round}, where the recorded "
                             f"run's held {recorded}: it was not restored as it was.")


def stop(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("Restoring the lane was cancelled.")
