"""Guessing over a reduced draft vocabulary: q is 0 at every other token of the target's."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from engine.drafters.confidence import confident
from engine.sampling import Warper, best, choose


@dataclass(frozen=True)
class Guess:
    """One position's distribution and, unless a person chose, the token drawn from it."""

    token: torch.Tensor
    """0-d int64, the target's id."""
    q: torch.Tensor
    """(V,) over the target's vocabulary."""
    going: bool
    """The drafter is sure enough to go on (confidence.py)."""


class ReducedVocabulary:
    def __init__(self, ids: torch.Tensor, vocabulary: int, warper: Warper, stop_below: float) -> None:
        """``ids`` (n,) int64, ascending: the target's id of each draft id; ``vocabulary``: the target's size."""
        self.ids, self.vocabulary, self.warper, self.stop_below = ids, vocabulary, warper, stop_below

    def guess(self, logits: torch.Tensor, seen: torch.Tensor | None, u: float | None) -> Guess:
        """``logits`` (n,) over the draft vocabulary; ``seen`` (V,) bool for a penalty; ``u``: the draw, None when
        greedy. Warping leaves out what has no mass anyway, so it may happen before the ids are spread out."""
        scores = self.scores(logits[None], None if seen is None else seen[None])
        q = self.warper.distribution(scores)[0]
        going = confident(scores[0], self.stop_below)  # before the token is drawn
        place = best(scores)[0] if u is None else choose(q, u)
        return Guess(self.ids[place], self.spread(q), going)

    def distribution(self, logits: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        """(m, n) → (m, V)"""
        return self.spread(self.warper.distribution(self.scores(logits, seen)))

    def scores(self, logits: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        return self.warper.scores(logits, None if seen is None else seen[:, self.ids])

    def spread(self, q: torch.Tensor) -> torch.Tensor:
        """(…, n) → (…, V)"""
        return q.new_zeros(*q.shape[:-1], self.vocabulary).index_copy_(-1, self.ids, q)
