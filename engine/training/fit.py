"""The training loop that all drafters share: steps, schedule, checkpoints that a killed run goes on from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from engine.errors import ModelError
from engine.training.batches import TrainingBatch

WARM_UP = 30
"""Steps until the full learning rate."""
LAST = 0.05
"""The learning rate's last share."""
KEPT = "checkpoint.safetensors"
KEEP_EVERY = 50
"""Steps between checkpoints."""


@dataclass(frozen=True)
class Plan:
    """How long and how fast."""

    steps: int
    rate: float = 2e-3
    """Learning rate of matrices, whose updates have AdamW's size."""


@dataclass(frozen=True)
class Step:
    """One step done."""

    number: int
    loss: float
    seconds: float


class Fit:
    """Trains the parameters of ``module`` that want a gradient: matrices by Muon (Jordan et al. 2024: its update has
    one size in all directions, which took fewer steps here), vectors by AdamW."""

    def __init__(self, module: nn.Module, plan: Plan, folder: Path) -> None:
        self.module, self.plan, self.folder = module, plan, folder
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        self.names = [n for n, _ in named]
        matrices = [p for _, p in named if p.ndim == 2]
        vectors = [p for _, p in named if p.ndim != 2]
        self.optimizers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(matrices, lr=plan.rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(vectors, lr=plan.rate, weight_decay=0.0, betas=(0.9, 0.98))]
        self.done = 0
        self.resume()

    def run(self, batches: Callable[[int], Iterator[TrainingBatch]],
            loss: Callable[[TrainingBatch], torch.Tensor],
            stop: Callable[[], bool] = lambda: False) -> Iterator[Step]:
        """Until the plan's steps are done. ``batches(epoch)``."""
        device = next(self.module.parameters()).device.type
        epoch, skip = 0, self.done
        while self.done < self.plan.steps:
            for batch in batches(epoch):
                if skip:
                    skip -= 1
                    continue
                if self.done >= self.plan.steps or stop():
                    self.keep()
                    return
                begin = time.perf_counter()
                self._rate()
                with torch.autocast(device, dtype=torch.bfloat16):
                    value = loss(batch)
                value.backward()  # type: ignore[no-untyped-call]
                norm = torch.nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
                found = float(value.detach())
                if not math.isfinite(found + float(norm)):  # one step by it, and all weights would be NaN
                    raise spoilt(self.done + 1, "the loss or its gradient isn't finite", self.folder)
                for optimizer in self.optimizers:
                    optimizer.step()
                    optimizer.zero_grad()
                self.done += 1
                if self.done % KEEP_EVERY == 0:
                    self.keep()
                yield Step(self.done, found, time.perf_counter() - begin)
            epoch += 1
        self.keep()

    def _rate(self) -> None:
        share = min(1.0, (self.done + 1) / WARM_UP)
        end = LAST + (1 - LAST) * 0.5 * (1 + math.cos(math.pi * min(1.0, self.done / self.plan.steps)))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.plan.rate * share * end

    def keep(self) -> None:
        """Write weights and the optimizers' state beside the old files, then put them in their place. Raises
        :class:`ModelError` rather than keep what can't be trained on."""
        if not finite(p for p in self.module.parameters() if p.requires_grad):
            raise spoilt(self.done, "the weights are no longer finite", self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors = {n: p.detach().contiguous() for n, p in self.module.named_parameters() if n in self.names}
        for number, optimizer in enumerate(self.optimizers):
            for index, state in optimizer.state_dict()["state"].items():
                for name, value in state.items():
                    tensors[f"optimizer.{number}.{index}.{name}"] = torch.as_tensor(value).contiguous()
        save_file(tensors, self.folder / "checkpoint.new", metadata={"format": "pt", "done": str(self.done)})
        (self.folder / "checkpoint.new").replace(self.folder / KEPT)

    def resume(self) -> None:
        """Go on from the kept checkpoint, if there is one. Raises :class:`ModelError` if it is of another network."""
        if not (self.folder / KEPT).exists():
            return
        try:
            with safe_open(self.folder / KEPT, "pt") as file:
                self.done = int(file.metadata()["done"])
            tensors = load_file(self.folder / KEPT)
            self._take(tensors)
            if not finite(tensors.values()):
                raise ValueError("weights or the optimizers' state are NaN or infinite")
        except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
            raise ModelError(f"The training can't go on from {self.folder / KEPT}: it is damaged, or of a network of "
                             "another shape; delete it, or train in another folder (--work).",
                             details=f"{type(error).__name__}: {error}") from error

    def _take(self, tensors: dict[str, torch.Tensor]) -> None:
        parameters = dict(self.module.named_parameters())
        with torch.no_grad():
            for name in self.names:
                parameters[name].copy_(tensors[name])
        for number, optimizer in enumerate(self.optimizers):
            states: dict[int, dict[str, torch.Tensor]] = {}
            for key, value in tensors.items():
                if key.startswith(f"optimizer.{number}."):
                    _, _, index, name = key.split(".", 3)
                    states.setdefault(int(index), {})[name] = value
            optimizer.load_state_dict({**optimizer.state_dict(), "state": states})


def finite(tensors: Iterable[torch.Tensor]) -> bool:
    """Holds none of them NaN or an infinite number?"""
    return all(bool(torch.isfinite(one).all()) for one in tensors)


def spoilt(step: int, why: str, folder: Path) -> ModelError:
    """``folder``: where the checkpoints are."""
    kept = f"the last good checkpoint is kept ({folder / KEPT})" if (folder / KEPT).exists() else "nothing was kept"
    return ModelError(f"Training stopped at step {step}: {why}; {kept}. As a rule the target's features hold NaN or "
                      "overflow: train in another folder (--work) with --dtype float32.")
