"""What one more draft costs, in forwards of the target: c of the speed-up's formula, measured.

Two things make it up: the drafter's own time for it, and what its row adds to the target's forward. Prompt lookup has
only the second, which is next to nothing in bfloat16 on some CPUs and a lot in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from engine import drafters
from engine.drafters.base import RoundDraws
from engine.runner import Runner

if TYPE_CHECKING:
    from engine.models import Model
    from engine.settings import RunSettings

PREFIX = 64
"""Tokens of the prompt that it is measured behind, at most."""

TIMES = 3
"""The quickest of so many counts: whatever else the machine does only adds."""

LEAST = 1e-4
"""Zero would be read as not measured."""

_measured: WeakKeyDictionary[Any, dict[object, float]] = WeakKeyDictionary()


def step_cost(target: Model, prompt: Sequence[int], settings: RunSettings, models: Mapping[str, Model], *,
              pad_to: int = 1) -> float:
    """Measured on runners of its own, once for a target, drafter, γ and padding in this process: a dozen forwards.
    Raises what :func:`engine.drafters.make` raises."""
    method = msgspec.structs.replace(settings.drafter, adaptive=False, stop_below=0.0)
    other = models.get(method.model)
    key = method, settings.sampling.greedy, other.info if other else None, pad_to
    known = _measured.setdefault(target.hf, {})
    if key not in known:
        alone = msgspec.structs.replace(settings, drafter=method)
        cost, drafted = _measure(target, prompt[:PREFIX], alone, models, pad_to)
        if not drafted:  # it had nothing to say here; behind another prompt it may, and cost something
            return cost
        known[key] = cost
    return known[key]


def same_cost(one: RunSettings, other: RunSettings) -> bool:
    """Does what was measured for one run's drafter stand for the other's?"""
    return _method(one) == _method(other)


def _method(settings: RunSettings) -> object:
    return msgspec.structs.replace(settings.drafter, adaptive=False, stop_below=0.0, gamma=None)


def _measure(target: Model, tokens: Sequence[int], settings: RunSettings, models: Mapping[str, Model],
             pad_to: int) -> tuple[float, bool]:
    """The cost, and whether anything was drafted."""
    gamma = min(drafters.draft_length(settings), target.info.context - len(tokens) - 1)
    if gamma < 1:
        return LEAST, False
    runner = Runner(target.hf, pad_to=pad_to)
    drafter = drafters.make(settings, target, runner, models)
    before, newest = tokens[:-1], tokens[-1]
    runner.prefill(before)
    drafter.prefill(before)
    drafted, plain, wide, drafting = list[int](), list[float](), list[float](), list[float]()

    def forward(width: int) -> None:
        runner.forward([newest] * width)

    def draft() -> None:
        drafted.append(len(list(drafter.propose(tokens, gamma, RoundDraws(settings.seed, len(tokens))))))

    for _ in range(TIMES):
        drafting.append(_seconds(runner, draft))
        drafter.cut(len(before))
        for seconds, width in ((plain, 1), (wide, gamma + 1)):
            seconds.append(_seconds(runner, forward, width))
            runner.cut(len(before))
    a_draft = min(drafting) / max(1, *drafted)
    a_row = max(0.0, min(wide) - min(plain)) / gamma
    cost: float = round((a_draft + a_row) / min(plain), 4)
    return max(LEAST, cost), any(drafted)


def _seconds(runner: Runner, work: Callable[..., None], *of: int) -> float:
    watch = runner.stopwatch()
    begin = watch.mark()
    work(*of)
    end = watch.mark()
    runner.wait()
    return watch.between(begin, end)
