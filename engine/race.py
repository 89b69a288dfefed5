"""Several lanes on one device, each with its own clock.

Lanes share the device, so they never compute at the same instant: the lane whose clock is behind goes next, for one
round, and each clock counts only that lane's own compute. Seen together the lanes advance in the measured proportions.
"""

from __future__ import annotations

import datetime
import os
import platform
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from engine import __version__, drafters
from engine.decode import decode, never
from engine.errors import SettingsError, SpecScopeError
from engine.invariance import exactness
from engine.length import length
from engine.printable import printable, told
from engine.records import Committed, Exactness, Prefilled, Record, RunStarted, Totals
from engine.rollback import bucket
from engine.runner import Runner
from engine.scribe import Scribe
from engine.settings import MAX_GAMMA, RunSettings
from engine.step_cost import step_cost
from engine.transcript import Transcript
from engine.tree_invariance import with_trees
from engine.tree_rounds import TreeJudge

if TYPE_CHECKING:
    from engine.models import Model

SENTENCE, DETAILS = 2000, 20_000
"""Characters of what a failed lane says, at most: a name or an error of any length may be part of it."""


@dataclass(frozen=True)
class LanePlan:
    """One lane of a race: its id and all that decides its output."""

    lane: str
    settings: RunSettings


@dataclass
class _Lane:
    plan: LanePlan
    records: Iterator[Record]
    totals: Totals = field(default_factory=Totals)

    @property
    def clock(self) -> float:
        """Seconds of this lane's own compute."""
        return self.totals.total_seconds


def race(target: Model, prompt: Sequence[int], plans: Sequence[LanePlan], *, run: str,
         models: Mapping[str, Model] | None = None, by_record: Callable[[], bool] = never) -> Iterator[Record]:
    """All lanes' records, in the order of the lanes' clocks. A lane that fails ends with a :class:`RunFinished` of
    reason ``error`` and the others go on. ``models``: loaded draft models by the name the person gave.

    Raises :class:`SettingsError` for an empty prompt or one that leaves the target no room.
    """
    _check(target, prompt)
    plans = [LanePlan(plan.lane, drafters.resolved(plan.settings, target)) for plan in plans]
    check = check_rows(target, [plan.settings for plan in plans])
    slots = cache_size(target, prompt, check, [plan.settings for plan in plans])
    lanes = [_Lane(plan, _lane(target, prompt, plan, check, slots, run, models or {}, by_record)) for plan in plans]
    try:
        while lanes:
            lane = min(lanes, key=lambda one: one.clock)
            for record in lane.records:
                yield record
                lane.totals = lane.totals.plus(record)
                if isinstance(record, (Committed, Prefilled)):
                    break
            else:
                lanes.remove(lane)
    finally:
        for lane in lanes:
            lane.records.close()  # type: ignore[attr-defined]  # they are generators


def _lane(target: Model, prompt: Sequence[int], plan: LanePlan, check: Exactness, slots: int, run: str,
          models: Mapping[str, Model], by_record: Callable[[], bool]) -> Iterator[Record]:
    settings = plan.settings
    log = Scribe(run, plan.lane, target.texts, sampled=not settings.sampling.greedy)
    seq = Transcript(prompt, settings, context=target.info.context, eos=target.eos,
                     detokenizer=target.detokenizer(prompt))

    def records() -> Iterator[Record]:
        gamma = drafters.draft_length(settings)
        runner = Runner(target.hf, pad_to=check.width_checked if check.padded else 1, slots=slots,
                        gather=settings.drafter.gather)
        drafter = drafters.make(settings, target, runner, models)
        adaptive = settings.drafter.adaptive
        cost = step_cost(target, prompt, settings, models, pad_to=runner.pad_to) if adaptive else 0.0
        yield from log.words(prompt)
        yield RunStarted(
            run=run, lane=plan.lane, title=settings.drafter.label, about=drafter.about, gamma=gamma, settings=settings,
            target=target.info, exactness=with_trees(target.hf, check, settings.drafter, gamma), prompt=tuple(prompt),
            prompt_text="".join(target.texts[i] for i in prompt), machine=machine(), version=__version__,
            started=local_time(), eos=tuple(sorted(target.eos)),
            slots=slots, step_cost=cost)
        yield from decode(runner, drafter, seq, TreeJudge(runner, settings, target.info.name), log, settings, gamma,
                          by_record, length=length(adaptive, cost))

    yield from ended_in_words(records(), log, seq)


def ended_in_words(records: Iterator[Record], log: Scribe, seq: Transcript) -> Iterator[Record]:
    """A lane's records; an error becomes its last one."""
    try:
        yield from records
    except SpecScopeError as error:
        yield log.finished("error", seq.text, printable(str(error), SENTENCE), printable(str(error.details), DETAILS))
    except Exception as error:
        yield log.finished("error", seq.text, "This lane stopped on a fault of SpecScope or of the model's code: "
                           f"{told(error)}", printable(traceback.format_exc(), DETAILS))


def _check(target: Model, prompt: Sequence[int]) -> None:
    if not prompt:
        raise SettingsError("The prompt is empty, but decoding needs at least one token to begin from.")
    if len(prompt) >= target.info.context:
        raise SettingsError(f"The prompt has {len(prompt)} tokens, but {target.info.name} takes at most "
                            f"{target.info.context} in all; shorten it.")


def check_rows(target: Model, lanes: Sequence[RunSettings], *,
               cancelled: Callable[[], bool] = never) -> Exactness:
    """Measured for the widest forward of any lane. The measurement is a sample; whoever asks for exactness gets what
    doesn't rest on one: all lanes padded to that width. Remembered, so it may be called ahead of the race."""
    most = (drafters.most_drafts(drafters.resolved(lane, target)) for lane in lanes)
    width = min(max(most, default=0) + 1, target.info.context - 1)
    padded = width > 1 and any(lane.exact for lane in lanes)
    return exactness(target.hf, width, pad_to=width if padded else 1, cancelled=cancelled)


def local_time() -> str:
    """ISO 8601."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def cache_size(target: Model, prompt: Sequence[int], check: Exactness, lanes: Sequence[RunSettings]) -> int:
    """Slots that every lane's cache has from the start, where rows depend on its size; 0: caches may grow."""
    longest = max((lane.max_new_tokens for lane in lanes), default=0)
    return bucket(min(len(prompt) + longest, target.info.context) + MAX_GAMMA + 1) if check.one_size else 0


@cache
def machine() -> str:
    """The machine in a few words, for records and tables."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            name = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"

