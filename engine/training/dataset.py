"""Answers with the target's features beside each token, on disk: what drafters are trained on, epoch after epoch.

Two files in a folder. ``features.bin`` holds bfloat16 rows, one a token, several depths side by side; ``index.jsonl``
one line a sequence. Both are only ever appended to, the features first, so that a killed run can go on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from engine.errors import ModelError
from engine.features import NORMED
from engine.models import Model
from engine.training.answers import Answer
from engine.training.lines import mend, whole
from engine.training.notes import damaged

BATCH_TOKENS = 4096
"""Tokens a forward, pads included."""
GROUP = 512
"""Sequences are batched by length within groups of this many."""


@dataclass(frozen=True)
class Sample:
    """A prompt with its answer."""

    kind: str
    temperature: float
    begin: int
    """Index of the answer's first token."""
    tokens: tuple[int, ...]
    at: int
    """Row of its first token in the features."""


def depths_for(layers: int) -> tuple[int, ...]:
    """Low, middle, high and what the output head reads (EAGLE-3 fuses the first three)."""
    return (max(1, layers // 4), layers // 2, max(1, layers - 5), NORMED)


class Dataset:
    """All sequences of a folder."""

    def __init__(self, folder: Path, width: int) -> None:
        """``width``: numbers in a token's row."""
        self.folder, self.width = folder, width
        self.sequences, rows = _read(folder, width)
        self.features = torch.empty(0, width, dtype=torch.bfloat16)
        if rows:
            mapped = np.memmap(folder / "features.bin", dtype=np.int16, mode="r+", shape=(rows, width))
            self.features = torch.from_numpy(mapped).view(torch.bfloat16)

    @property
    def answer_tokens(self) -> int:
        return sum(len(s.tokens) - s.begin for s in self.sequences)


def extend(folder: Path, target: Model, answers: Sequence[Answer], depths: Sequence[int],
           progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Compute the features of those ``answers`` (the file's, in order) that the folder doesn't have yet. Raises
    :class:`ModelError` if those it has are damaged, or if the target's aren't finite."""
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "index.jsonl"
    mend(index)
    width = len(depths) * int(target.hf.get_input_embeddings().weight.shape[1])
    known, rows = _read(folder, width)
    if any(not 0 <= token < target.info.vocabulary for s in known for token in s.tokens):
        raise damaged(index, f"it holds tokens that {target.info.name} doesn't have", remove=folder)
    path = folder / "features.bin"
    with path.open("ab") as file, index.open("a", encoding="utf-8") as lines:
        file.truncate(rows * width * 2)  # what a killed run wrote and never listed
        todo = answers[len(known) :]
        for first in range(0, len(todo), GROUP):
            group = todo[first : first + GROUP]
            found: dict[int, torch.Tensor] = {}
            for batch in _batches(group):
                found |= zip(batch, _features(target, [group[i] for i in batch], depths), strict=True)
            if not all(bool(torch.isfinite(one).all()) for one in found.values()):
                raise ModelError(f"{target.info.name} has features that are NaN or infinite (computed in "
                                 f"{target.info.dtype}), and no drafter can learn from them; train with --dtype "
                                 "float32, or check the target's weights.")
            for i, answer in enumerate(group):
                file.write(found[i].view(torch.int16).numpy().tobytes())
                tokens = [*answer.prompt, *answer.tokens]
                rows += len(tokens)
            file.flush()
            os.fsync(file.fileno())
            at = rows - sum(len(a.prompt) + len(a.tokens) for a in group)
            for answer in group:
                tokens = [*answer.prompt, *answer.tokens]
                lines.write(json.dumps({"kind": answer.kind, "temperature": answer.temperature, "at": at,
                                        "begin": len(answer.prompt), "tokens": tokens}, separators=(",", ":")) + "\n")
                at += len(tokens)
            lines.flush()
            progress(len(known) + first + len(group), len(answers))


def _batches(group: Sequence[Answer]) -> Iterator[list[int]]:
    batch: list[int] = []
    for i in sorted(range(len(group)), key=lambda i: len(group[i].prompt) + len(group[i].tokens)):
        length = len(group[i].prompt) + len(group[i].tokens)
        if batch and (len(batch) + 1) * length > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


@torch.inference_mode()
def _features(target: Model, answers: Sequence[Answer], depths: Sequence[int]) -> list[torch.Tensor]:
    """(n, depths × D) bfloat16 each, on the host. Pads stand behind, where causal attention never looks."""
    tokens = [[*a.prompt, *a.tokens] for a in answers]
    longest = max(map(len, tokens))
    device = target.hf.get_input_embeddings().weight.device
    ids = torch.tensor([[*one, *[0] * (longest - len(one))] for one in tokens], device=device)
    out = target.hf.base_model(input_ids=ids, use_cache=False, output_hidden_states=True)
    states = torch.cat([out.last_hidden_state if d == NORMED else out.hidden_states[d] for d in depths], -1)
    return [states[i, : len(one)].to("cpu", torch.bfloat16).contiguous() for i, one in enumerate(tokens)]


def _read(folder: Path, width: int) -> tuple[list[Sample], int]:
    """The folder's sequences and how many rows they have. Raises :class:`ModelError` unless the rows are all there:
    whoever opens a short file for more would get zeros, and learn from them."""
    index, features = folder / "index.jsonl", folder / "features.bin"
    found, rows = whole(index, Sample, remove=folder), 0
    for s in found:
        if s.at != rows or not 0 <= s.begin <= len(s.tokens):
            raise damaged(index, "its sequences don't follow each other", remove=folder)
        rows += len(s.tokens)
    if rows and (not features.exists() or features.stat().st_size < rows * width * 2):
        raise damaged(features, f"it is shorter than {index.name} says", remove=folder)
    return found, rows
