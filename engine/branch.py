"""What if: a new lane that shares a recorded lane's beginning and then goes on with one thing changed.

The beginning is copied record by record; behind it the loop runs live from a restored state (replay.py). With nothing
changed the branch repeats the original exactly: same tokens, draws, probabilities and logits, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from engine import __version__, drafters
from engine.branch_checks import check_change, check_goes_on, check_target
from engine.changed_round import draws_with, force
from engine.debugger.change_words import in_words
from engine.debugger.what_if import AnyChange, Forced, NoChange, OtherDraw, OtherSettings, OtherToken, lossless
from engine.decode import never, rounds
from engine.drafters.base import RoundDraws
from engine.invariance import exactness
from engine.length import Length, length
from engine.past import Past, committed_of
from engine.race import cache_size, ended_in_words, local_time, machine
from engine.records import Exactness, Origin, Record, RunStarted, Vocabulary
from engine.replay import Restored, restore, transcript
from engine.runner import Runner
from engine.scribe import Scribe
from engine.settings import RunSettings
from engine.step_cost import same_cost, step_cost
from engine.tree_invariance import with_trees

if TYPE_CHECKING:
    from engine.models import Model


def branch(target: Model, original: Sequence[Record], change: AnyChange, *, run: str, lane: str,
           models: Mapping[str, Model] | None = None, by_record: Callable[[], bool] = never,
           cancelled: Callable[[], bool] = never) -> Iterator[Record]:
    """The records of a new lane ``lane``: those of ``original`` (one lane's, all so far) before ``change.round`` under
    its name, then live rounds. ``models``: loaded draft models by the name the person gave.

    Raises :class:`SpecScopeError` at once, saying what to do, where the recording and the loaded target don't belong
    together, something needed wasn't recorded, or the change doesn't fit the round. Restoring the state comes with the
    first record; ``cancelled()`` calls it off with :class:`Cancelled`. Errors later on become the lane's last record.
    """
    past, models = Past.of(original, change.round), models or {}
    check_target(target, past.started)
    check_change(target, past, change)
    if isinstance(change, OtherSettings):
        change = msgspec.structs.replace(change, settings=_resolved(target, past, change.settings))
    change = _effective(past, change)
    settings = change.settings if isinstance(change, OtherSettings) else past.started.settings
    about = drafters.make(settings, target, Runner(target.hf), models).about
    seq = transcript(target, past, settings)
    if isinstance(change, OtherSettings):
        check_goes_on(seq, settings)
    return _records(target, past, change, settings, about, run, lane, models, by_record, cancelled)


def _records(target: Model, past: Past, change: AnyChange, settings: RunSettings, about: str, run: str, lane: str,
             models: Mapping[str, Model], by_record: Callable[[], bool], cancelled: Callable[[], bool]
             ) -> Iterator[Record]:
    log = Scribe(run, lane, target.texts, sampled=not settings.sampling.greedy)
    state = restore(target, past, settings, models, cancelled=cancelled)
    exact = _exactness(target, past, settings, state)
    cost = _step_cost(target, past, settings, models, exact)
    slots = max(past.started.slots, cache_size(target, past.prompt, exact, [settings]))
    for record in _prefix(past):
        log.totals = log.totals.plus(record)
        if isinstance(record, Vocabulary):
            list(log.words(record.texts))  # told: not to be sent again
        elif isinstance(record, RunStarted):
            record = msgspec.structs.replace(
                record, title=_title(settings, past, change), about=about, gamma=drafters.draft_length(settings),
                settings=settings, target=target.info, exactness=exact, machine=machine(), version=__version__,
                started=local_time(), branch=_origin(past, change), slots=slots, step_cost=cost)
        yield msgspec.structs.replace(record, run=run, lane=lane)
    log.round = past.round
    if exact.padded:
        state.target.pad_to = exact.width_checked
    state.target.cache.reserve(slots)
    if isinstance(change, Forced):
        force(state.judge, change)
    live = rounds(state.target, state.drafter, state.seq, state.judge, log, settings, drafters.draft_length(settings),
                  state.check, by_record, draws_with(change, len(state.seq)), _length(past, settings, cost))
    yield from ended_in_words(live, log, state.seq)


def _resolved(target: Model, past: Past, settings: RunSettings) -> RunSettings:
    """A drafter that stays has the weights it had; where they aren't to be had any more, making it will say so."""
    settings, before = drafters.resolved(settings, target), past.started.settings.drafter
    if settings.drafter.spell() != before.spell():
        return settings
    return msgspec.structs.replace(settings, drafter=msgspec.structs.replace(settings.drafter, weights=before.weights))


def _prefix(past: Past) -> Sequence[Record]:
    """The original's records before the round; words that the round itself brought are not among them."""
    return past.history.records[: past.begin]


def _effective(past: Past, change: AnyChange) -> AnyChange:
    """No change, where the draw, the token or the settings are what they were."""
    same = False
    match change:
        case OtherSettings():
            same = change.settings == past.started.settings
        case OtherToken():
            same = past.now.drafted[change.index].token == change.token
        case OtherDraw():
            draws = RoundDraws(past.started.settings.seed, past.now.start)
            of = {"draft": draws.draft, "accept": draws.accept, "final": draws.final}
            same = of[change.purpose](change.index) == change.value
    return NoChange(round=change.round) if same else change


def _exactness(target: Model, past: Past, settings: RunSettings, state: Restored) -> Exactness:
    """What is known of the branch's own forwards: the original's verdict where it covers them (as wide, and trees of
    the same shape) and was found on this machine, else a new one."""
    said, needed = past.started.exactness, drafters.most_drafts(settings) + 1
    verdict = said
    if (needed > said.width_checked or (settings.exact and not said.padded) or past.started.machine != machine()
            or _tree_shape(settings) != _tree_shape(past.started.settings)):
        width = min(max(needed, said.width_checked), target.info.context - 1)
        padded = width > 1 and (said.padded or settings.exact)
        verdict = with_trees(target.hf, exactness(target.hf, width, pad_to=width if padded else 1), settings.drafter,
                             drafters.draft_length(settings))
    doubts = []
    if past.rounds and verdict.padded and (verdict.width_checked, True) != (said.width_checked, said.padded):
        doubts.append(f"rounds before {past.round + 1} had forwards of another width")
    if past.rounds and past.started.slots < cache_size(target, past.prompt, verdict, [settings]):
        doubts.append(f"rounds before {past.round + 1} had a smaller cache")
    if state.identical is False:
        doubts.append("the recorded logits could not be had again bit for bit on this machine")
    if not doubts:
        return verdict
    return msgspec.structs.replace(verdict, invariant=False, sentence="; ".join((verdict.sentence, *doubts)))


def _tree_shape(settings: RunSettings) -> tuple[object, ...]:
    """What a tree's verdict is about; of all chains the same."""
    d = settings.drafter
    return (drafters.draft_length(settings), d.tree_nodes, d.tree_top, d.gather) if d.tree else ()


def _step_cost(target: Model, past: Past, settings: RunSettings, models: Mapping[str, Model],
               exact: Exactness) -> float:
    """The original's, if it has one for this drafter: then the same draft lengths follow."""
    said = past.started.step_cost
    if not settings.drafter.adaptive or (said and same_cost(settings, past.started.settings)):
        return said
    return step_cost(target, past.prompt, settings, models, pad_to=exact.width_checked if exact.padded else 1)


def _length(past: Past, settings: RunSettings, cost: float) -> Length:
    """Rounds in which another drafter drafted count like its own: the state follows from the records alone."""
    ends = [committed_of(one) for one in past.rounds]
    return length(settings.drafter.adaptive, cost, [(end.accepted, end.tested, end.drafted) for end in ends])


def _title(settings: RunSettings, past: Past, change: AnyChange) -> str:
    words = in_words(change, past.started.settings, past.history.texts)
    name = settings.drafter.label
    return f"{name} from round {past.round + 1}: {words}" if words else f"{name} again from round {past.round + 1}"


def _origin(past: Past, change: AnyChange) -> Origin:
    before = past.started.branch
    return Origin(lane=past.started.lane, round=past.round,
                  change=in_words(change, past.started.settings, past.history.texts),
                  lossless=lossless(change) and (before is None or before.lossless))
