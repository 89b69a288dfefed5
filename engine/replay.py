"""A lane as it was between two rounds, restored from its records: caches, penalty, text and ending, without drafting or
judging anything again.

Keys and values must come back bit for bit, or the rounds behind them would compute other logits. The prompt is
prefilled by the same call as in the run. What the rounds committed is then fed in chunks, far fewer forwards than the
run took, where rows don't depend on a forward's width: the start-up check said so (invariance.py), and each row's
digest is held against the recorded one. Where they do depend, the rounds' own forwards are repeated, drafts included.
The result is kept (kept_caches.py), so that the next question about the same lane costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from engine import checks, drafters
from engine.contrast import digests
from engine.debugger.history import RoundSoFar
from engine.decode import never
from engine.drafters.base import Drafter
from engine.drafters.model import ModelDrafter
from engine.errors import CacheError, Cancelled
from engine.invariance import exactness
from engine.kept_caches import Kept, keep, recall
from engine.past import Past, committed_of, verified_of
from engine.rounds import Judge
from engine.runner import Runner
from engine.settings import RunSettings
from engine.transcript import Transcript, limit
from engine.tree_rounds import TreeJudge

if TYPE_CHECKING:
    from engine.models import Model

CHUNK = 16
"""Tokens a forward, where no width was found to give other bits: about as dear as one token."""

DRAFTER_CHUNK = 8
"""The same for a draft model, whose rows have no digests: this width is measured, once a model."""


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
    runner = Runner(target.hf, slots=past.started.slots, gather=past.started.settings.drafter.gather)
    drafter = drafters.make(settings, target, runner, models)
    check = checks.watch(runner, drafter)
    kept = None if runner.features else recall(target.hf, past)  # features come with forwards only
    chunk, identical = _target(runner, past, kept, cancelled)
    weights = _weights(target, drafter, settings, models)
    method = msgspec.structs.replace(settings.drafter, gamma=None)
    if isinstance(drafter, ModelDrafter):
        same = kept if kept and kept.method == method and kept.drafter and kept.drafter.model() is weights else None
        _drafter(drafter, past, same, _drafter_chunk(past, drafter, settings, chunk), cancelled)
    else:
        drafter.prefill(past.prompt[:-1])
        relive = getattr(drafter, "relive", None)
        if relive:
            relive(past.tokens, [one.start for one in past.rounds if one.k or _asked_for_a_tree(past, one)])
    _check_lengths(runner, drafter, past, settings)
    check(seq.tokens)
    runner.gather = settings.drafter.gather  # from here on; what lies in the cache was computed the run's own way
    keep(target.hf, past, method, runner, (drafter.runner, weights) if isinstance(drafter, ModelDrafter) else None,
         chunk=chunk, identical=identical)
    if not checks.wanted():
        for one in (runner, getattr(drafter, "runner", None)):
            if isinstance(one, Runner):
                one.remember()  # with a cache that isn't empty: ends the keeping of ids, which costs the rounds time
    judge = TreeJudge(runner, settings, target.info.name)
    judge.commit(seq.tokens)
    return Restored(runner, drafter, judge, seq, check if checks.wanted() else lambda tokens: None, identical)


def _asked_for_a_tree(past: Past, one: RoundSoFar) -> bool:
    """Then the drafter has looked at the text, even where it drafted nothing. Before the last token that a run may have
    it isn't asked."""
    started = past.started
    end = limit(len(past.prompt), started.settings, started.target.context)
    return bool(started.settings.drafter.tree) and one.start + 1 < end


def _weights(target: Model, drafter: Drafter, settings: RunSettings, models: Mapping[str, Model]) -> Any:
    """The model whose weights a draft model runs: layer skip's is a new shell around the target's each time."""
    if settings.drafter.kind == "model":
        return models[settings.drafter.model].hf
    return drafter.runner.model if settings.drafter.kind == "draft" and isinstance(drafter, ModelDrafter) else target.hf


def _target(runner: Runner, past: Past, kept: Kept | None, cancelled: Callable[[], bool]) -> tuple[int, bool | None]:
    """Put all committed tokens but the newest into the target's cache. Returns the width of the unpadded chunks that
    served (1: none did), and :attr:`Restored.identical`."""
    if kept is None:
        runner.prefill(past.prompt[:-1])
        return _refill(runner, past, cancelled)
    rounds = kept.common(past)
    done, rest = replace(past, rounds=past.rounds[:rounds]), replace(past, rounds=past.rounds[rounds:])
    kept.target.put_back(runner, past.history.position_of(rounds) - 1, done.reach)
    if not rest.rounds:
        return kept.chunk, kept.identical if past.rounds else None
    chunk, identical = _refill(runner, rest, cancelled)
    if rounds:
        chunk = min(chunk, kept.chunk)
        identical = False if False in (identical, kept.identical) else identical
    return chunk, identical


def _refill(runner: Runner, past: Past, cancelled: Callable[[], bool]) -> tuple[int, bool | None]:
    """The rounds of ``past``, behind what is in the cache."""
    width, padded = _chunk(past)
    begin = runner.length
    if width > 1:
        runner.pad_to = width if padded else 1
        identical = _in_chunks(runner, past, width, cancelled)
        runner.pad_to = 1
        if identical is not False:
            runner.cache.reserve(past.reach)
            return 1 if padded else width, identical
        runner.cut(begin)
    return 1, _round_by_round(runner, past, cancelled)


def _chunk(past: Past) -> tuple[int, bool]:
    """The widest forward whose rows are the run's own, as far as is known, and whether all must have that width."""
    said, widths = past.started.exactness, {verified_of(one).width for one in past.rounds}
    if not widths or (not said.invariant and any(one.is_tree for one in past.rounds)):
        return 1, False  # a path of a tree may have other bits than a chain of the same tokens
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
    first, end = runner.length, len(past.tokens) - 1
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
        logits = runner.forward([past.history.ids[one.start - 1], *(draft.token for draft in one.drafted)],
                                tree=one.tree)
        same = agree(logits, verified.digests) and same
        compared = compared or bool(verified.digests)
        kept = committed.path if one.is_tree else range(committed.accepted)
        runner.keep([one.start + index for index in kept][: len(committed.tokens) - 1], one.start)
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


def _drafter(drafter: ModelDrafter, past: Past, kept: Kept | None, chunk: int, cancelled: Callable[[], bool]) -> None:
    """Bring a draft model's cache to where its own rounds leave it: behind a round it holds all committed tokens but
    the newest, without the last draft's (see drafters/model.py). Rounds in which another drafter drafted count like
    its own, so that the state follows from the records alone."""
    rounds = kept.common(past) if kept else 0
    done = past.rounds[:rounds]
    if kept and kept.drafter:
        kept.drafter.put_back(drafter.runner, _drafter_length(past, done), _drafter_reach(drafter, done))
    else:
        drafter.prefill(past.prompt[:-1])
    forwards, length = list[Forward](), drafter.runner.length
    for one in past.rounds[rounds:]:
        if one.k:
            end = _drafter_length(past, [one])
            forwards += [Forward(one.start - length), *[Forward(1)] * (end - one.start)]
            forwards[-1] = replace(forwards[-1], reach=_drafter_reach(drafter, [one]))
            length = end
    for forward in joined(forwards, chunk):
        stop(cancelled)
        drafter.resume(past.tokens, forward.width)
        drafter.runner.cache.reserve(forward.reach)


def _drafter_length(past: Past, rounds: Sequence[RoundSoFar]) -> int:
    """Tokens in a drafter's cache behind these rounds: without the last draft of each."""
    last = next((one for one in reversed(rounds) if one.k), None)
    return len(past.prompt) - 1 if last is None else last.start + min(last.k, len(committed_of(last).tokens)) - 1


def _drafter_reach(drafter: ModelDrafter, rounds: Sequence[RoundSoFar]) -> int:
    """Slots that a drafter has touched in these rounds."""
    return max((min(one.start + one.k - 1, drafter.context) for one in rounds if one.k), default=0)


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


def _drafter_chunk(past: Past, drafter: ModelDrafter, settings: RunSettings, target_chunk: int) -> int:
    """How wide a drafter's forwards may be, for the bits of single steps: the target's layers, some left out, as those
    just were; another model as measured. 1 where rows depend on the cache's size, which then has to grow as it did."""
    if settings.drafter.kind == "layer-skip":
        return 1 if past.started.exactness.one_size else target_chunk
    found = exactness(drafter.runner.model, DRAFTER_CHUNK)
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
