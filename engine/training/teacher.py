"""What the drafter should say: the target's own distribution, over the draft vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch

from engine.training.dataset import Sample

ROWS = 256
"""Rows of logits at a time."""


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
    """Cross entropy behind a frozen output head, without ever holding a whole batch's logits.

    A row of logits is dozens of times larger than the state it comes from, and each pass over all of them goes through
    memory; some rows at a time stay in the processor's cache, where loss and gradient are found together (three times
    faster on a CPU).
    """

    @staticmethod
    def forward(ctx: Any, hidden: torch.Tensor, head: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        """``hidden`` (n, D), ``head`` (V, D), ``p`` (n, V) → mean of −Σ p ln q over rows, nats."""
        gradient, total = torch.empty_like(hidden), 0.0
        for first in range(0, len(hidden), ROWS):
            want = p[first : first + ROWS].float()
            logits = torch.nn.functional.linear(hidden[first : first + ROWS].to(head.dtype), head).float()
            log_q = logits.log_softmax(-1)
            total -= float(torch.linalg.vecdot(want, log_q).sum())
            gradient[first : first + ROWS] = log_q.exp_().sub_(want).to(head.dtype) @ head
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
