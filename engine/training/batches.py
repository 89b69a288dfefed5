"""Batches of a dataset, for any trainer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from engine.training.dataset import Dataset, Sample

GROUP = 64
"""Samples are batched by length within groups of this many batches' worth."""


@dataclass(frozen=True)
class TrainingBatch:
    """Padded behind. B samples of at most n tokens."""

    tokens: torch.Tensor
    """(B, n) int64"""
    features: torch.Tensor
    """(B, n, depths × D) bfloat16"""
    begins: torch.Tensor
    """(B,) where the answers begin."""
    lengths: torch.Tensor
    """(B,)"""

    def to(self, device: torch.device) -> TrainingBatch:
        return TrainingBatch(*(one.to(device) for one in (self.tokens, self.features, self.begins, self.lengths)))

    @property
    def places(self) -> torch.Tensor:
        """(1, n)"""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device)[None]


def pieces(samples: Sequence[Sample], length: int, ahead: int, seed: int) -> list[Sample]:
    """For drafters that look at one place alone: the answers, cut into pieces of at most ``length`` tokens. A batch of
    them has hardly two places of one answer, and next to none of a prompt.

    ``ahead``: how far behind a place the first token is that is learned there. Pieces overlap by it, so that each place
    is in one. Where the cuts fall is by chance. Raises :class:`ValueError` unless ``length`` > ``ahead`` > 0.
    """
    if not length > ahead > 0:
        raise ValueError(f"pieces of {length} tokens can't overlap by {ahead}")
    chance = random.Random(seed)
    found = []
    for s in samples:
        start = s.begin - ahead - chance.randrange(length - ahead)
        for first in range(start, len(s.tokens) - ahead, length - ahead):
            at = max(0, first)
            found.append(Sample(s.kind, s.temperature, max(0, s.begin - at), s.tokens[at : first + length], s.at + at))
    return found


def batches(samples: Sequence[Sample], tokens: int, seed: int) -> Iterator[list[Sample]]:
    """One epoch: every sample once, in a shuffled order, batches of about ``tokens`` tokens, pads included."""
    chance = random.Random(seed)
    order = chance.sample(list(samples), len(samples))
    ready: list[list[Sample]] = []
    size = max(1, GROUP * tokens // max(1, sum(len(s.tokens) for s in order) // max(1, len(order))))
    for first in range(0, len(order), size):
        batch: list[Sample] = []
        for sample in sorted(order[first : first + size], key=lambda s: len(s.tokens)):
            if batch and (len(batch) + 1) * len(sample.tokens) > tokens:
                ready.append(batch)
                batch = []
            batch.append(sample)
        if batch:
            ready.append(batch)
    chance.shuffle(ready)
    yield from ready


def collate(data: Dataset, samples: Sequence[Sample]) -> TrainingBatch:
    longest = max(len(s.tokens) for s in samples)
    tokens = torch.zeros(len(samples), longest, dtype=torch.int64)
    features = torch.zeros(len(samples), longest, data.width, dtype=torch.bfloat16)
    for row, s in enumerate(samples):
        tokens[row, : len(s.tokens)] = torch.tensor(s.tokens)
        features[row, : len(s.tokens)] = data.features[s.at : s.at + len(s.tokens)]
    return TrainingBatch(tokens, features, torch.tensor([s.begin for s in samples]),
                         torch.tensor([len(s.tokens) for s in samples]))
