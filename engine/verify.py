"""The judgement: which drafts are accepted, and the one token drawn behind them. Pure functions of tensors.

Speculative sampling (Leviathan et al. 2023, section 2.3; Chen et al. 2023, algorithm 2). For a draft y from q:

    accept y with probability min(1, p(y) / q(y)), that is when u·q(y) < p(y)
    after the first rejection draw from the residual  max(p − q, 0) / Σ max(p − q, 0)
    when all are accepted draw one more token from p

Why it is exact: acceptance commits min(p, q) of every token; the rejected mass, 1 − Σ min(p, q), is spread over
max(p − q, 0), which sums to the same; min(p, q) + max(p − q, 0) = p.

Every row i of p was computed after drafts 0 … i−1, so it means something only if all of them were accepted.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from engine.sampling import choose


@dataclass(frozen=True)
class Verdict:
    """The judgement of one round, still on the device. Shapes for k drafts."""

    accepted: torch.Tensor
    """0-d int64: how many leading drafts were accepted."""
    passed: torch.Tensor
    """(k,) bool: each draft's own test (those behind the first failure count for nothing)."""
    final: torch.Tensor
    """0-d int64: the token after the accepted ones."""
    mass: torch.Tensor
    """0-d float64: the weight the final token was drawn from: the residual's mass, or Σ p; 1 when greedy."""
    p: torch.Tensor
    """(k,) p of each draft, float64."""
    q: torch.Tensor
    """(k,) q of each draft, float64."""


def residual(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """max(p − q, 0), not normalised: :func:`choose` divides by its float64 sum."""
    return (p - q).clamp_min(0)


def accepts(p_draft: torch.Tensor, q_draft: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
    """u·q(y) < p(y), for each draft: strict, so a token with p = 0 is never accepted, not even by u = 0."""
    return (draws * q_draft < p_draft) & (q_draft > 0)


def leftover(p: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The weights (V,) that a row's final token is drawn from, and their mass (0-d float64): the residual, or p where
    p = q up to rounding leaves nothing. Nothing was drafted: q is all zeros."""
    left = residual(p, q)
    mass = left.sum(dtype=torch.float64)
    return torch.where(mass > 0, left, p), mass


def leading(passed: torch.Tensor) -> torch.Tensor:
    """How many are true before the first false."""
    return passed.long().cumprod(0).sum()


def judge_sampled(p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor, accept_draws: torch.Tensor,
                  final_draws: torch.Tensor) -> Verdict:
    """Speculative sampling.

    ``p`` (k+1, V); ``q`` (k, V), or None when the drafts are deterministic (q is one-hot at each); ``drafts`` (k,)
    int64; ``accept_draws`` (k,) and ``final_draws`` (k+1,) float64 in [0, 1), the latter one
    for each place at which the round may end.
    """
    k = drafts.shape[0]
    at = torch.arange(k, device=p.device)
    p_draft = p[at, drafts].double()
    q_draft = torch.ones_like(p_draft) if q is None else q[at, drafts].double()
    passed = accepts(p_draft, q_draft, accept_draws)
    accepted = leading(passed)

    # The row behind the accepted drafts: p and q of the rejected draft, or p and nothing when all were accepted.
    p_row = p[accepted]
    q_row = torch.zeros_like(p_row)
    if k:
        tested = accepted.clamp(max=k - 1)
        proposed = q[tested] if q is not None else q_row.scatter(0, drafts[tested].reshape(1), 1.0)
        q_row = torch.where(accepted < k, proposed, q_row)
    weights, mass = leftover(p_row, q_row)
    final = choose(weights, final_draws[accepted])
    return Verdict(accepted, passed, final, mass, p_draft, q_draft)


def judge_greedy(winners: torch.Tensor, p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor) -> Verdict:
    """Greedy: accept while the draft is the target's argmax; the final token is the target's argmax.

    ``winners`` (k+1,) int64, each row's argmax (:func:`engine.sampling.best`), decide; ``p`` and ``q`` (softmax at
    temperature 1) are only read for showing.
    """
    k = drafts.shape[0]
    passed = drafts == winners[:k]
    accepted = leading(passed)
    at = torch.arange(k, device=p.device)
    p_draft = p[at, drafts].double()
    q_draft = torch.ones_like(p_draft) if q is None else q[at, drafts].double()
    return Verdict(accepted, passed, winners[accepted], p_draft.new_ones(()), p_draft, q_draft)
