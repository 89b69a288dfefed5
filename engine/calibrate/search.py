"""The search for the set of layers to leave out.

After Draft & Verify (Zhang et al. 2024), which searches the sets by Bayesian optimisation before a target is used, and
SWIFT (Xia et al. 2025), which does so at random while it is. Here sets are compared by predicted speed-up, which takes
one pass over a few texts (agreement.py), so plain greedy growth with exchanges goes a long way: every layer alone, then
the best set of one layer more from the most expendable ones, and in the time that is left one layer for another. Early
exits, all layers from one on (Elhoushi et al., "LayerSkip", 2024), are tried beside it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from engine.calibrate.agreement import acceptance_rate, committed_length
from engine.calibrate.costs import MOST, Costs

BREADTH = 6
"""Layers tried for each place in a growing set: the most expendable ones that are left."""

EXITS = 8
"""Depths tried for an early exit."""

PATIENCE = 5
"""Layers more in a row that bring no better set end its growth."""

SWAPS = 40
"""Exchanges in a row that bring no better set end the search."""

Skip = tuple[int, ...]


@dataclass(frozen=True)
class Tried:
    """One set of layers left out, and what came of it."""

    skip: Skip
    alpha: float
    """Share of tested drafts that were accepted, greedy."""
    step_cost: float
    """A draft, in forwards of the target."""
    gamma: int
    """The draft length that the speed-ups are for: the best one."""
    predicted: float
    """Speed-up over plain decoding."""
    measured: float | None = None
    """The same in real decoding, where that was tried."""


def judged(skip: Iterable[int], agreed: Sequence[Sequence[bool]], costs: Costs, layers: int) -> Tried:
    """At the draft length that suits the set best."""
    left = tuple(sorted(skip))
    kept = layers - len(left)
    speeds = {gamma: committed_length(agreed, gamma) / costs.round(kept, gamma) for gamma in range(1, MOST + 1)}
    gamma = max(speeds, key=lambda gamma: speeds[gamma])
    return Tried(left, acceptance_rate(agreed, gamma), costs.step(kept), gamma, speeds[gamma])


@dataclass
class Search:
    """``judge``: what comes of a set. ``go_on()``: is there time?"""

    layers: int
    judge: Callable[[Skip], Tried]
    go_on: Callable[[], bool]
    found: dict[Skip, Tried] = field(default_factory=dict)

    @property
    def best(self) -> Tried:
        return max(self.found.values(), key=lambda one: (one.predicted, -len(one.skip)))

    def run(self, first: Iterable[Skip] = ()) -> None:
        """Fills ``found``, beginning with ``first``, which are tried even if there is no time."""
        for skip in first:
            self.found[skip] = self.judge(skip)
        for layer in range(self.layers):
            self._try((layer,))
        for part in range(1, EXITS):
            depth = self.layers * part // EXITS
            if 0 < depth < self.layers:
                self._try(range(depth, self.layers))
        self._grow()
        self._exchange()

    def _try(self, skip: Iterable[int]) -> Tried | None:
        key = tuple(sorted(skip))
        if key not in self.found and self.go_on():
            self.found[key] = self.judge(key)
        return self.found.get(key)

    def _grow(self) -> None:
        """One layer more at a time."""
        alone = sorted((one for one in self.found.values() if len(one.skip) == 1), key=lambda one: -one.predicted)
        spare, grown, idle = [one.skip[0] for one in alone], Skip(), 0
        while len(spare) > 1 and idle < PATIENCE and self.go_on():
            before = self.best
            steps = [one for layer in spare[:BREADTH] if (one := self._try((*grown, layer)))]
            if not steps:
                return
            chosen = max(steps, key=lambda one: one.predicted)
            spare.remove(next(layer for layer in chosen.skip if layer not in grown))
            grown, idle = chosen.skip, 0 if self.best is not before else idle + 1

    def _exchange(self) -> None:
        """One layer for another, or one more or less, at random around the best set."""
        chance, idle = random.Random(0), 0
        while idle < SWAPS and self.go_on():
            best = self.best
            inside, outside = list(best.skip), [i for i in range(self.layers) if i not in best.skip]
            gone, come = chance.choice([*inside, None]), chance.choice([*outside, None])
            skip = [i for i in inside if i != gone] + ([] if come is None else [come])
            idle += 1
            if 0 < len(skip) < self.layers:
                self._try(skip)
                idle = 0 if self.best is not best else idle

