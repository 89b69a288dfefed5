"""How many drafts to ask for: the same number each round, or the one that pays best by what was seen so far.

With aᵢ, the chance that draft i is accepted once all before it were, a round of γ drafts commits

    E[m](γ) = 1 + a₁ + a₁a₂ + … + a₁…a_γ

tokens on average (Leviathan et al. 2023 for one a) and costs 1 + γc forwards of the target, where c is what one more
draft costs, drafting and the wider verification together (step_cost.py). The γ with the largest E[m] / (1 + γc) is
taken.

aᵢ is measured in the run itself, as a share of the times that draft i was tested. Old rounds count less and less, since
text changes; so what is no longer tried is slowly forgotten and, as each aᵢ leans on the one before it and a₁ on a
hopeful prior, tried again. Nothing but sums, products and quotients of doubles, in a fixed order: from the same records
the same lengths follow on any machine, so that a run can be replayed and gone on with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

MEMORY = 0.95
"""What a round still counts after one more: half after 13."""

HOPE = 0.9
"""a₁ before anything was tested. High, so that what would pay is tried and not ruled out unseen."""

WEIGHT = 1.0
"""In tests, of what aᵢ leans on."""


class Length(Protocol):
    """The draft length of one run."""

    def next(self, gamma: int) -> int:
        """Drafts to ask for in the next round, at most ``gamma``."""

    def learn(self, accepted: int, tested: int, drafted: int) -> None:
        """How the round ended, as its ``Committed`` tells."""


class Fixed:
    """γ as it was asked for."""

    def next(self, gamma: int) -> int:
        return gamma

    def learn(self, accepted: int, tested: int, drafted: int) -> None:
        """Nothing to learn."""


class Adaptive:
    """γ anew each round. For chains: in a tree, how many drafts were tested says nothing of the depth."""

    def __init__(self, step_cost: float) -> None:
        """``step_cost``: c, in forwards of the target; 0 has every draft pay."""
        self.step_cost = step_cost
        self._tested: list[float] = []
        self._accepted: list[float] = []
        """Decayed counts, by draft position."""

    def next(self, gamma: int) -> int:
        best, length, reached = 0, 1.0, 1.0
        highest = 1.0
        for count, chance in enumerate(self.chances(gamma), 1):
            reached *= chance
            length += reached
            pays = length / (1 + count * self.step_cost)
            if pays > highest:
                best, highest = count, pays
        return best

    def learn(self, accepted: int, tested: int, drafted: int) -> None:
        self._tested = [count * MEMORY for count in self._tested] + [0.0] * (tested - len(self._tested))
        self._accepted = [count * MEMORY for count in self._accepted] + [0.0] * (tested - len(self._accepted))
        for index in range(tested):
            self._tested[index] += 1
            self._accepted[index] += index < accepted

    def chances(self, gamma: int) -> Iterable[float]:
        """a₁ … a_γ."""
        chance = HOPE
        for index in range(gamma):
            seen = index < len(self._tested)
            tested, accepted = (self._tested[index], self._accepted[index]) if seen else (0.0, 0.0)
            chance = (accepted + WEIGHT * chance) / (tested + WEIGHT)
            yield chance


def length(adaptive: bool, step_cost: float, rounds: Iterable[tuple[int, int, int]] = ()) -> Length:
    """The length of a run behind ``rounds``, the accepted, tested and drafted of each."""
    made = Adaptive(step_cost) if adaptive else Fixed()
    for accepted, tested, drafted in rounds:
        made.learn(accepted, tested, drafted)
    return made
