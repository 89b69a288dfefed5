"""What the drafter should say: the target's own distribution, over the draft vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch

from engine.training.dataset import Sample

ROWS = 256
"""Rows of logits at a time."""
SPREAD = 0.5
"""The share of cross entropy in the loss. Medusa's first head agreed with the target in 0.34 of places after 200 steps
without it, in 0.38 with a half, in 0.37 with nothing else."""
LEAST = 1e-6
"""Of an overlap, lest a gradient explodes."""


def coverage(samples: Iterable[Sample], ids: torch.Tensor) -> float:
    """The share of the answers' tokens that is among ``ids``."""
    known, counted = set(ids.tolist()), Counter(token for s in samples for token in s.tokens[s.begin :])
    return sum(counted[token] for token in known) / max(1, sum(counted.values()))


def draft_vocabulary(samples: Iterable[Sample], size: int, target_size: int) -> torch.Tensor:
    """The ids (size,), ascending, of the tokens that the target's answers use most, filled up with the lowest ids."""
    counted = Counter(token for s in samples for token in s.tokens[s.begin :])
    kept = [token for token, _ in counted.most_common(size)]
    seen = set(kept)
    kept += [token for token in range(target_size) if token not in seen][: size - len(kept)]
    return torch.tensor(sorted(kept))


class Teacher:
    """The target's frozen ends: its embedding, and the draft vocabulary's rows of its output head."""

    def __init__(self, model: Any, ids: torch.Tensor) -> None:
        self.ids = ids
        self.embedding = model.get_input_embeddings().weight.detach()
        """(V, D)"""
        self.head = model.get_output_embeddings().weight.detach()[ids].contiguous()
        """(draft vocabulary, D)"""

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding(tokens, self.embedding)

    @torch.no_grad()
    def distribution(self, normed: torch.Tensor) -> torch.Tensor:
        """(n, D) features as the head reads them → (n, draft vocabulary), renormalised, in the head's dtype: the loss
        averages over rows, where its rounding vanishes."""
        out = normed.new_empty(len(normed), len(self.head), dtype=self.head.dtype)
        for first in range(0, len(normed), ROWS):
            logits = torch.nn.functional.linear(normed[first : first + ROWS].to(self.head.dtype), self.head)
            out[first : first + ROWS] = logits.float().softmax(-1)
        return out


class HeadLoss(torch.autograd.Function):
    """What a drafter learns by, behind a frozen output head, without ever holding a whole batch's logits: the mean over
    rows of

        w · −Σ p ln q  +  (1 − w) · −ln Σ min(p, q)          w = :data:`SPREAD`

    The second is −ln of the probability that a draft is accepted, so of what α counts: a small drafter needn't spend
    itself on tokens that the target hardly ever says. Alone it learns more slowly from nothing, since only tokens that
    the drafter thinks too little of pull.

    A row of logits is dozens of times larger than the state it comes from, and each pass over all of them goes through
    memory; some rows at a time stay in the processor's cache, where loss and gradient are found together (three times
    faster on a CPU).
    """

    @staticmethod
    def forward(ctx: Any, hidden: torch.Tensor, head: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        """``hidden`` (n, D), ``head`` (V, D), ``p`` (n, V) → 0-d, nats."""
        gradient, total = torch.empty_like(hidden), 0.0
        for first in range(0, len(hidden), ROWS):
            want = p[first : first + ROWS].float()
            logits = torch.nn.functional.linear(hidden[first : first + ROWS].to(head.dtype), head).float()
            log_q = logits.log_softmax(-1)
            total -= SPREAD * float(torch.linalg.vecdot(want, log_q).sum())
            q = log_q.exp_()
            overlap = torch.minimum(want, q).sum(-1, keepdim=True).clamp_min(LEAST)
            total -= (1 - SPREAD) * float(overlap.log().sum())
            under = q * (q < want)
            # d/dz of −ln Σ min(p, q), z the logits: raising one lifts q there and lowers it everywhere else.
            of_overlap = (q * under.sum(-1, keepdim=True)).sub_(under).div_(overlap)
            rows = q.sub_(want).mul_(SPREAD).add_(of_overlap, alpha=1 - SPREAD)
            gradient[first : first + ROWS] = rows.to(head.dtype) @ head
        ctx.save_for_backward(gradient / len(hidden))
        return hidden.new_tensor(total / len(hidden), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> tuple[torch.Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outer[0], None, None


def head_loss(hidden: torch.Tensor, head: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """:class:`HeadLoss`; 0 where there is no row, as at a depth that only longer answers reach."""
    if not len(hidden):
        return hidden.float().sum() * 0
    with torch.autocast(hidden.device.type, enabled=False):
        found: torch.Tensor = HeadLoss.apply(hidden, head, p)  # type: ignore[no-untyped-call]
    return found


@torch.no_grad()
def agreement(hidden: torch.Tensor, head: torch.Tensor, p: torch.Tensor) -> tuple[float, float]:
    """Sums over rows: where q's most probable token is p's (accepted when greedy), and Σ min(p, q) (accepted at
    temperature 1)."""
    hits, overlap = 0.0, 0.0
    for first in range(0, len(hidden), ROWS):
        want = p[first : first + ROWS].float()
        q = torch.nn.functional.linear(hidden[first : first + ROWS].to(head.dtype), head).float().softmax(-1)
        hits += float((want.argmax(-1) == q.argmax(-1)).sum())
        overlap += float(torch.minimum(want, q).sum())
    return hits, overlap
