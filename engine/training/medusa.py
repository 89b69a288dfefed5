"""Training Medusa heads: each learns the target's own distribution some tokens ahead (Medusa-1: the target is frozen).
"""

from __future__ import annotations

import torch

from engine.drafters.medusa_heads import MedusaHeads
from engine.training.batches import TrainingBatch
from engine.training.measured import Measured
from engine.training.teacher import Teacher, agreement, head_loss

FADE = 0.8
"""Weight of a head against the one before it: later drafts survive less often."""
PIECE = 8
"""Tokens of a piece of an answer, the most that a head is trained on at once: no head looks back."""
AHEAD = 2
"""The first head guesses the token so far behind its feature's."""


def medusa_loss(heads: MedusaHeads, batch: TrainingBatch, teacher: Teacher, *,
                measured: Measured | None = None) -> torch.Tensor:
    """0-d, nats, the mean over heads with their weights. Head i guesses x_t+2+i from f_t and x_t+1, i from 0; what it
    learns is the target's distribution behind x_t+1+i. Only tokens of the answer count."""
    normed = batch.features[..., -teacher.head.shape[1] :]
    count, place = heads.shape.heads, batch.places
    begun = heads.begin(normed[:, :-1], teacher.embed(batch.tokens[:, 1:]))
    said = (place < batch.lengths[:, None]) & (place + AHEAD - 1 >= batch.begins[:, None])
    distributions = teacher.distribution(normed[said])  # once for all heads
    where = said.flatten().cumsum(0).view_as(said) - 1
    total = torch.zeros((), device=normed.device)
    for i, head in enumerate(heads.heads):
        counted = (place + AHEAD + i < batch.lengths[:, None]) & (place + AHEAD >= batch.begins[:, None])
        want = distributions[where[:, i + 1 :][counted[:, : normed.shape[1] - i - 1]]]
        rows = head(begun[counted[:, :-1]])
        total = total + FADE**i * head_loss(rows, teacher.head, want)
        if measured:
            measured.add(i, len(rows), *agreement(rows, teacher.head, want))
    return total / sum(FADE**i for i in range(count))
