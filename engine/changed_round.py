"""One round with one thing changed: its draws, a token of it, or a verdict. Every later round is as usual."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch

from engine.debugger.what_if import AnyChange, Forced, OtherDraw, OtherToken
from engine.drafters.base import RoundDraws
from engine.rounds import Judge
from engine.verify import Verdict


@dataclass(frozen=True)
class ChangedDraws(RoundDraws):
    """The draws of a round but for some; ``tokens`` are drafted in the place of the drafter's choice."""

    numbers: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """By purpose (draft, accept, final) and index."""
    tokens: Mapping[int, int] = field(default_factory=dict)

    def draft(self, index: int, sibling: int = 0) -> float:
        real = super().draft(index, sibling)
        return real if sibling else self.numbers.get(("draft", index), real)

    def accept(self, index: int, sibling: int = 0) -> float:
        real = super().accept(index, sibling)
        return real if sibling else self.numbers.get(("accept", index), real)

    def final(self, index: int) -> float:
        return self.numbers.get(("final", index), super().final(index))

    def instead(self, index: int) -> int | None:
        return self.tokens.get(index)


def draws_with(change: AnyChange, start: int) -> Callable[[int, int], RoundDraws]:
    """What :func:`engine.decode.rounds` asks for its draws. ``start``: tokens committed when the changed round
    begins."""

    def draws_of(seed: int, at: int) -> RoundDraws:
        if at == start and isinstance(change, OtherDraw):
            return ChangedDraws(seed, at, numbers={(change.purpose, change.index): change.value})
        if at == start and isinstance(change, OtherToken):
            return ChangedDraws(seed, at, tokens={change.index: change.token})
        return RoundDraws(seed, at)

    return draws_of


def force(judge: Judge, change: Forced) -> None:
    """Have the next judgement pass or fail one draft, whatever its test says; the rule does the rest. The judgement
    after that is by the rule alone."""
    sampled, greedily, at = judge.sampled, judge.greedily, change.index

    def once() -> None:
        judge.sampled, judge.greedily = sampled, greedily

    def sampled_once(p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor, accept_draws: torch.Tensor,
                     final_draws: torch.Tensor) -> Verdict:
        once()
        # u·q(y) < p(y) holds for every p with u = −1, and for none with u = ∞
        draws = accept_draws.index_fill(0, torch.tensor(at, device=p.device), -1.0 if change.accept else torch.inf)
        return sampled(p, q, drafts, draws, final_draws)

    def greedily_once(winners: torch.Tensor, p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor) -> Verdict:
        once()
        plain = greedily(winners, p, q, drafts)
        said, read = winners.clone(), drafts.clone()
        if change.accept:
            said[at] = drafts[at]
        else:
            read[at] = (winners[at] + 1) % p.shape[1]  # any other token: the correction is still the argmax
        return replace(greedily(said, p, q, read), p=plain.p, q=plain.q)

    judge.sampled, judge.greedily = sampled_once, greedily_once
