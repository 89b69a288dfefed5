"""The data that drafters learn from: the target's own answers to prompts, sampled in a batch.

A drafter is judged on text that the target writes, so that is what it should see; prompts written by people only set
the subject (as in EAGLE and Medusa's self-distillation).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from engine.models import Model
from engine.training.batch import Batch
from engine.training.lines import append, whole

ROWS = 128
"""Sequences at once: by measurement on two cores, more gain little."""
SORTED = 16 * ROWS
"""Prompts are taken by length within groups of this many, so that the rows of a batch are about equally long."""


@dataclass(frozen=True)
class Task:
    """One answer to make."""

    kind: str
    prompt: tuple[int, ...]
    temperature: float
    """0: greedy."""


@dataclass(frozen=True)
class Answer:
    """A prompt's ids and the target's answer to it; ended by the end token unless it reached the limit."""

    kind: str
    prompt: tuple[int, ...]
    temperature: float
    tokens: tuple[int, ...]


def answers(target: Model, tasks: Sequence[Task], *, max_new_tokens: int, seed: int = 0, rows: int = ROWS,
            stop: Callable[[], bool] = lambda: False) -> Iterator[Answer]:
    """Answers as they end, in no particular order. A prompt whose answer would not fit into the context is left out."""
    room = target.info.context - max_new_tokens
    wanted = [task for task in tasks if len(task.prompt) <= room]
    queue = [task for at in range(0, len(wanted), SORTED)
             for task in sorted(wanted[at : at + SORTED], key=lambda task: len(task.prompt))][::-1]
    if not queue:
        return
    rows = min(rows, len(queue))
    batch = Batch(target.hf, rows, max(len(task.prompt) for task in queue) + max_new_tokens)
    generator = torch.Generator(device=batch.device).manual_seed(seed)
    running: list[tuple[Task, list[int]] | None] = [None] * rows
    temperatures = torch.zeros(rows, device=batch.device)
    newest = torch.zeros(rows, dtype=torch.int64, device=batch.device)

    def take(index: Sequence[int], tokens: torch.Tensor) -> Iterator[Answer]:
        newest[list(index)] = tokens
        for row, token in zip(index, tokens.tolist(), strict=True):
            at = running[row]
            assert at is not None
            task, made = at
            made.append(token)
            if token in target.eos or len(made) == max_new_tokens:
                running[row] = None
                batch.end(row)
                yield Answer(task.kind, task.prompt, task.temperature, tuple(made))

    while (queue or any(running)) and not stop():
        free = [row for row, at in enumerate(running) if at is None]
        if queue and len(free) >= max(1, rows // 8):
            free = free[: len(queue)]
            fresh = [queue.pop() for _ in free]
            for row, task in zip(free, fresh, strict=True):
                running[row] = (task, [])
                temperatures[row] = task.temperature
            logits = batch.begin(free, [task.prompt for task in fresh])
            yield from take(free, sample(logits, temperatures[free], generator))
        busy = [row for row, at in enumerate(running) if at is not None]
        if busy:
            logits = batch.step(newest)
            yield from take(busy, sample(logits[busy], temperatures[busy], generator))


def sample(logits: torch.Tensor, temperatures: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """(n,) tokens from ``logits`` (n, V): the argmax where the temperature is 0, else by inverse CDF in float32."""
    out = logits.argmax(-1)
    warm = temperatures > 0
    if warm.any():
        p = (logits[warm].float() / temperatures[warm, None]).softmax(-1).cumsum(-1)
        draws = torch.rand(len(p), 1, generator=generator, device=p.device) * p[:, -1:]
        out[warm] = torch.searchsorted(p, draws, right=True)[:, 0].clamp(max=p.shape[1] - 1)
    return out


def write(path: Path, found: Iterator[Answer]) -> Iterator[Answer]:
    """Append answers to a file of JSON lines as they pass."""
    return append(path, found, spelled)


def read(path: Path) -> list[Answer]:
    """All whole lines of such a file. Raises :class:`ModelError` for one that is broken."""
    return whole(path, Answer)


def spelled(answer: Answer) -> str:
    """One line of JSON."""
    return json.dumps(asdict(answer), separators=(",", ":"))


def parse(line: str) -> Answer:
    """The inverse of :func:`spelled`."""
    a = json.loads(line)
    return Answer(a["kind"], tuple(a["prompt"]), a["temperature"], tuple(a["tokens"]))
