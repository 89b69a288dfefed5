"""What the target's distribution is, told by somebody else: transformers' own logits processors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import LogitsProcessorList
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from engine.settings import Sampling


def processors(sampling: Sampling) -> LogitsProcessorList:
    """In the order in which ``generate`` applies them."""
    found = LogitsProcessorList()
    if sampling.repetition_penalty != 1.0:
        found.append(RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty))
    if sampling.temperature != 1.0:
        found.append(TemperatureLogitsWarper(sampling.temperature))
    if sampling.top_k:
        found.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1.0:
        found.append(TopPLogitsWarper(sampling.top_p))
    if sampling.min_p > 0.0:
        found.append(MinPLogitsWarper(sampling.min_p))
    return found


def distribution(logits: torch.Tensor, context: Sequence[int], sampling: Sampling) -> torch.Tensor:
    """(V,) probabilities of the token behind ``context``, in the dtype of ``logits`` (V,)."""
    scores = processors(sampling)(torch.tensor([list(context)]), logits[None].clone())
    return torch.softmax(scores, -1)[0]
