"""Distilling a small language model from the target (after DistillSpec, Zhou et al. 2024: on the target's own answers,
from its distributions rather than its tokens)."""

from __future__ import annotations

from typing import Any

import torch

from engine.training.batches import TrainingBatch
from engine.training.measured import Measured
from engine.training.teacher import Teacher, agreement, head_loss


def draft_loss(model: Any, batch: TrainingBatch, teacher: Teacher, *, measured: Measured | None = None
               ) -> torch.Tensor:
    """0-d, nats. Position t guesses x_t+1 from the tokens up to x_t; only tokens of the answer count. ``model``: a
    causal language model over the draft vocabulary."""
    place = batch.places
    counted = (place + 1 < batch.lengths[:, None]) & (place + 1 >= batch.begins[:, None])
    want = teacher.distribution(batch.features[..., -teacher.head.shape[1] :][counted])
    rows = model.base_model(input_ids=batch.tokens, use_cache=False).last_hidden_state[counted]
    if measured:
        measured.add(0, len(rows), *agreement(rows, teacher.head, want))
    return head_loss(rows, teacher.head, want)
