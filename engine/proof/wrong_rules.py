"""Wrong judgements: what may be put in the place of :func:`engine.verify.judge_sampled`, and bends the output.

Each has that function's arguments: p (k+1, V), q (k, V) or None, drafts (k,), accept draws (k,), final draws (k+1,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from engine.proof.rig import Rig
from engine.rounds import SampledRule
from engine.sampling import choose
from engine.verify import Verdict, judge_sampled, leading, residual


@dataclass(frozen=True)
class WrongRule:
    """A wrong judgement, for :data:`RULES`."""

    name: str
    title: str
    about: str
    rule: SampledRule

    def spoil(self, rig: Rig) -> None:
        rig.judge.sampled = self.rule


Rows = torch.Tensor


def finish(p: Rows, q: Rows | None, drafts: torch.Tensor, passed: torch.Tensor, accepted: torch.Tensor,
            weights: torch.Tensor, draw: torch.Tensor) -> Verdict:
    """A verdict whose final token is drawn from ``weights`` (V,)."""
    p_draft, q_draft = ratios(p, q, drafts)
    mass = weights.sum(dtype=torch.float64)
    weights = torch.where(mass > 0, weights, p[accepted])
    return Verdict(accepted, passed, choose(weights, draw), mass, p_draft, q_draft)


def ratios(p: Rows, q: Rows | None, drafts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    at = torch.arange(len(drafts), device=p.device)
    return p[at, drafts].double(), torch.ones(len(drafts), dtype=torch.float64, device=p.device) if q is None \
        else q[at, drafts].double()


def proposed(q: Rows | None, drafts: torch.Tensor, like: torch.Tensor) -> Rows:
    """q as rows, one-hot where it is implied."""
    if q is not None:
        return q
    return torch.zeros(len(drafts), like.shape[-1], dtype=like.dtype, device=like.device).scatter(
        1, drafts[:, None], 1.0)


def left_over(p: Rows, q: Rows | None, drafts: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    """What the final token is rightly drawn from."""
    at = int(accepted)
    return residual(p[at], proposed(q, drafts, p)[at]) if at < len(drafts) else p[at]


def redraw_from_p(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    right = judge_sampled(p, q, drafts, accept, final)
    at = right.accepted
    return replace(right, final=choose(p[at], final[at]))


def threshold(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    p_draft, q_draft = ratios(p, q, drafts)
    passed = p_draft >= q_draft
    accepted = leading(passed)
    return finish(p, q, drafts, passed, accepted, left_over(p, q, drafts, accepted), final[accepted])


def _corrected_from(weights: Callable[[Rows, Rows, int], torch.Tensor]) -> SampledRule:
    """The right judgement, but for what a correction is drawn from: ``weights(p, q, at)`` for a rejection at ``at``."""
    def rule(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
        right = judge_sampled(p, q, drafts, accept, final)
        at = int(right.accepted)
        if at == len(drafts):
            return right
        return finish(p, q, drafts, right.passed, right.accepted, weights(p, proposed(q, drafts, p), at), final[at])

    return rule


residual_of_the_next_row = _corrected_from(lambda p, q, at: residual(p[at + 1], q[min(at + 1, len(q) - 1)]))
residual_the_other_way = _corrected_from(lambda p, q, at: residual(q[at], p[at]))
residual_without_clamp = _corrected_from(lambda p, q, at: (p[at] - q[at]).abs())


def not_strict(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    p_draft, q_draft = ratios(p, q, drafts)
    passed = accept * q_draft <= p_draft
    accepted = leading(passed)
    return finish(p, q, drafts, passed, accepted, left_over(p, q, drafts, accepted), final[accepted])


def shared_draw(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    return judge_sampled(p, q, drafts, accept, torch.cat((accept, final[-1:])))


def bonus_from_q(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    right = judge_sampled(p, q, drafts, accept, final)
    if int(right.accepted) < len(drafts) or not len(drafts):
        return right
    return replace(right, final=choose(proposed(q, drafts, p)[-1], final[-1]))


def bonus_from_the_wrong_row(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor,
                             final: torch.Tensor) -> Verdict:
    right = judge_sampled(p, q, drafts, accept, final)
    if int(right.accepted) < len(drafts) or not len(drafts):
        return right
    return replace(right, final=choose(p[-2], final[-1]))


def rejected_kept(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    right = judge_sampled(p, q, drafts, accept, final)
    return replace(right, accepted=(right.accepted + 1).clamp(max=len(drafts)))


def test_goes_on(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    right = judge_sampled(p, q, drafts, accept, final)
    accepted = right.passed.sum()
    return finish(p, q, drafts, right.passed, accepted, left_over(p, q, drafts, accepted), final[accepted])


def short_when_unlikely(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor,
                        final: torch.Tensor) -> Verdict:
    p_draft, q_draft = ratios(p, q, drafts)
    k = int(leading(p_draft >= 0.7 * q_draft))
    cut = judge_sampled(p[: k + 1], None if q is None else q[:k], drafts[:k], accept[:k], final[: k + 1])
    return replace(cut, passed=torch.cat((cut.passed, cut.passed.new_zeros(len(drafts) - k))), p=p_draft, q=q_draft)


def always_accept(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    return judge_sampled(p, q, drafts, torch.zeros_like(accept), final)


RULES: tuple[WrongRule, ...] = (
    WrongRule("redraw-from-p", "Redraw from p", "After a rejection the token is drawn from p instead of the residual. "
              "What q had already given too much of comes up once more.", redraw_from_p),
    WrongRule("threshold", "Accept when p ≥ q", "The draft is accepted when p ≥ q and rejected otherwise, without a "
              "draw: what q proposes too often is never kept.", threshold),
    WrongRule("accept-all", "Accept everything", "Every draft with p > 0 is kept: the output is the drafter's.",
              always_accept),
    WrongRule("residual-of-next-row", "Residual of the next row", "After a rejection the residual is that of the "
              "position behind.", residual_of_the_next_row),
    WrongRule("residual-reversed", "max(q − p, 0)", "The residual's sign is the wrong way round.",
              residual_the_other_way),
    WrongRule("residual-unclamped", "|p − q|", "The residual isn't cut off at 0 but folded over.",
              residual_without_clamp),
    WrongRule("shared-draw", "One draw for two choices", "The number that rejected a draft also chooses the "
              "correction; given that it rejected, it is no longer uniform.", shared_draw),
    WrongRule("not-strict", "≤ instead of <", "A token with p = 0 is accepted by a draw of exactly 0.", not_strict),
    WrongRule("bonus-from-q", "Bonus from q", "The token behind k accepted drafts is the drafter's.", bonus_from_q),
    WrongRule("bonus-from-wrong-row", "Bonus from the wrong row", "The bonus is drawn from the row before its own.",
              bonus_from_the_wrong_row),
    WrongRule("rejected-kept", "Rejected token kept", "The rejected draft is committed too.", rejected_kept),
    WrongRule("test-goes-on", "Test goes on", "Drafts behind a rejection are still tested and counted.",
              test_goes_on),
    WrongRule("k-after-looking", "k chosen after looking", "Drafting is called off when a draft turns out unlikely, "
              "and that position is drawn afresh from p.", short_when_unlikely),
)
"""Judgements that can be put in the place of :func:`engine.verify.judge_sampled`."""
