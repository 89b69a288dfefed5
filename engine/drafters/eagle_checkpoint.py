"""EAGLE checkpoints: ours, and how each becomes a head that is ready to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from engine.drafters.checkpoint import Checkpoint, fill
from engine.drafters.eagle_head import EagleHead, EagleShape, llama_config
from engine.models import Model
from engine.runner import text_config


@dataclass(frozen=True)
class Eagle:
    """Weights and what goes with them; shared by runs."""

    head: EagleHead
    embed: Callable[[torch.Tensor], torch.Tensor]
    """Ids → embeddings: the target's own, as a rule."""
    depths: tuple[int, ...]
    """Of the target's features (engine/features.py)."""
    about: str


def read(found: Checkpoint, target: Model) -> Eagle:
    """Raises :class:`ModelError` or :class:`MismatchError` when the checkpoint can't be read or doesn't fit."""
    found.check("eagle", target)
    return own(found, target)


def shape_of(config: dict[str, Any], target: Model) -> EagleShape:
    """From our config.json."""
    text, said = text_config(target.hf), config["shape"]
    return EagleShape(llama_config(text, intermediate=said["intermediate"]), said["draft_vocabulary"],
                      len(said["depths"]) * text.hidden_size, norm_features=True)


def own(found: Checkpoint, target: Model) -> Eagle:
    """The output head isn't stored: it is the draft vocabulary's rows of the target's."""
    head = EagleHead(shape_of(found.config, target))
    ids = torch.arange(len(found.tensors["d2t"])) + found.tensors["d2t"]
    shared = target.hf.get_output_embeddings().weight.detach()
    weights = {n: t for n, t in found.tensors.items() if n != "t2d"}
    weights["lm_head.weight"] = shared[ids.to(shared.device)].cpu()
    fill(head, weights, found.source or "The shipped drafter")
    trained = found.config.get("training", {}).get("answer_tokens", 0)
    return Eagle(head.to(shared.device, shared.dtype).eval().requires_grad_(False), target.hf.get_input_embeddings(),
                 tuple(found.config["shape"]["depths"]),
                 f"one layer continues the target's features (trained on {trained:,} of its tokens)")
