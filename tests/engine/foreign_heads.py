"""The recorded checkpoints of other packages (make_speculators_checkpoint.py), and ways to spoil a copy of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from engine.drafters import checkpoint
from engine.drafters.eagle_checkpoint import Eagle, examine, read
from engine.models import Model
from tests.engine import support

DATA = Path(__file__).resolve().parents[1] / "data" / "speculators"
SPECULATORS = ("bare", "residual", "trained", "qwen3")
ALL = (*SPECULATORS, "plain")

Config = dict[str, Any]
Tensors = dict[str, torch.Tensor]


def target() -> Model:
    """What they were made for."""
    return support.target("llama", layers=7, vocabulary=352)


def reference(variant: str) -> Tensors:
    return load_file(DATA / f"{variant}.safetensors")


def copy(variant: str, folder: Path, change: Callable[[Config, Tensors], object] = lambda config, tensors: None
         ) -> Path:
    """A folder with the checkpoint, changed as asked."""
    config = json.loads((DATA / variant / "config.json").read_text())
    tensors = load_file(DATA / variant / "model.safetensors")
    change(config, tensors)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({key: one.contiguous() for key, one in tensors.items()}, folder / "model.safetensors")
    return folder


def load(folder: Path | str, model: Model | None = None) -> Eagle:
    """As the drafter does it."""
    model, source = model or target(), str(folder)
    return read(checkpoint.load("eagle", model, source, lambda found: examine(found, model)), model)
