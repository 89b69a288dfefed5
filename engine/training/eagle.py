"""Training an EAGLE head with its own outputs fed back (EAGLE-3's training-time test, Li et al. 2025, section 3.2).

While drafting, only the first step of a chain sees a feature of the target; the later ones see the layer's own outputs.
So each position is trained at every depth of a chain: at depth j the state comes from the position before, at depth
j − 1, and attention sees true features up to j positions back and the chain's own keys behind them.
"""

from __future__ import annotations

import math

import torch

from engine.drafters.eagle_head import EagleHead
from engine.training.batches import TrainingBatch
from engine.training.measured import Measured
from engine.training.teacher import Teacher, agreement, head_loss

DEPTH = 4
"""Steps of a chain trained."""
SHALLOW = 2
"""Steps of a chain trained at first: half the time a step, and what is learned serves the deeper ones."""
DEEP_FROM = 0.6
"""Share of all training steps after which the whole chain is trained."""
FADE = 0.8
"""Weight of a depth against the one before it: late drafts survive less often."""


class ChainAttention:
    """Attention of one depth of all chains at once, beside the keys and values of the depths before it.

    Position t at depth j sees depth 0 (true features) up to t − j, and depth i = 1 … j at t − j + i.
    """

    def __init__(self, width: int, device: torch.device) -> None:
        place = torch.arange(width, device=device)
        self.behind = place[:, None] - place[None, :]
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []

    def __call__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        groups = q.shape[1] // k.shape[1]
        self.keys.append(k.repeat_interleave(groups, 1))
        self.values.append(v.repeat_interleave(groups, 1))
        depth = len(self.keys) - 1
        scale = 1 / math.sqrt(q.shape[-1])
        scores = [(q @ self.keys[0].transpose(-1, -2)).masked_fill(self.behind < depth, -math.inf)]
        scores += [(q * _later(self.keys[i], depth - i)).sum(-1, keepdim=True) for i in range(1, depth + 1)]
        weights = (torch.cat(scores, -1).float() * scale).softmax(-1).to(v.dtype)
        # At positions before the depth no true feature is seen; the own key always is, so no row is empty.
        width = q.shape[2]
        out = weights[..., :width] @ self.values[0]
        for i in range(1, depth + 1):
            out = out + weights[..., width + i - 1 : width + i] * _later(self.values[i], depth - i)
        return out


def depth_at(share: float) -> int:
    """Steps of a chain to train once a ``share`` of the plan is done."""
    return DEPTH if share >= DEEP_FROM else SHALLOW


def _later(states: torch.Tensor, by: int) -> torch.Tensor:
    """Row t becomes row t − by; the first rows are zeros."""
    return torch.nn.functional.pad(states, (0, 0, by, 0))[:, :, : states.shape[2]] if by else states


def eagle_loss(head: EagleHead, batch: TrainingBatch, teacher: Teacher, *, depth: int = DEPTH,
               measured: Measured | None = None) -> torch.Tensor:
    """0-d, nats, the mean over depths with their weights. Index t guesses x_t+2 from f_t and x_t+1; only tokens of the
    answer count. ``measured`` is added to."""
    features, place = batch.features, batch.places[:, :-2]
    size = teacher.head.shape[1]
    answered = (place + 2 < batch.lengths[:, None]) & (place + 2 >= batch.begins[:, None])
    p = teacher.distribution(features[:, 1:-1, -size:][answered])
    embeds = teacher.embed(batch.tokens[:, 1:-1])
    hidden = head.fuse(features[:, :-2])
    attend = ChainAttention(hidden.shape[1], hidden.device)
    total = torch.zeros((), device=hidden.device)
    for j in range(depth):
        counted = answered & (place + 2 - j >= batch.begins[:, None])  # the chain begins behind a committed token
        hidden = head(hidden, embeds, place, attend)
        rows, want = head.norm(hidden[counted]), p if j == 0 else p[counted[answered]]
        total = total + FADE**j * head_loss(rows, teacher.head, want)
        if measured:
            measured.add(j, len(rows), *agreement(rows, teacher.head, want))
        hidden = torch.nn.functional.pad(hidden, (0, 0, 1, 0))[:, :-1]
    return total / sum(FADE**j for j in range(depth))
