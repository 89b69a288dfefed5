"""What differs between the methods when they are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import nn

from engine.drafters.draft import grown, trained_part
from engine.drafters.eagle_head import EagleHead, EagleShape, llama_config
from engine.drafters.medusa_heads import MedusaHeads, MedusaShape
from engine.models import Model
from engine.runner import text_config
from engine.training.batches import TrainingBatch
from engine.training.draft import draft_loss
from engine.training.eagle import depth_at, eagle_loss
from engine.training.measured import Measured
from engine.training.medusa import medusa_loss
from engine.training.teacher import Teacher


class LossOf(Protocol):
    def __call__(self, batch: TrainingBatch, teacher: Teacher, *, measured: Measured | None = None,
                 share: float = 1.0) -> torch.Tensor:
        """0-d, nats. ``measured`` is added to; ``share`` of the plan's steps that are done, for a loss that changes on
        the way."""


@dataclass(frozen=True)
class Recipe:
    """One method's network for one target, ready to be trained."""

    method: str
    module: nn.Module
    """Float32; what has a gradient is trained and stored."""
    loss: LossOf
    shape: dict[str, Any]
    """For config.json: all that is needed to build it again."""
    rate: float
    """Learning rate."""


def recipe(method: str, target: Model, ids: torch.Tensor, depths: Sequence[int]) -> Recipe:
    """``ids``: the draft vocabulary; ``depths`` of the dataset's features, the normed one last."""
    return RECIPES[method](target, ids, tuple(depths))


def _eagle(target: Model, ids: torch.Tensor, depths: tuple[int, ...]) -> Recipe:
    text = text_config(target.hf)
    intermediate = text.intermediate_size * 4 // 3  # the layer has to make up for all that it replaces
    head = EagleHead(EagleShape(llama_config(text, intermediate=intermediate), len(ids), len(depths) * text.hidden_size,
                                norm_features=True))
    del head.lm_head  # shared with the target
    layer: Any = head.layers[0]
    for last in (layer.self_attn["o_proj"], layer.mlp.down_proj):
        nn.init.zeros_(last.weight)  # it begins as the identity
    return Recipe("eagle", head, lambda batch, teacher, measured=None, share=1.0: eagle_loss(
        head, batch, teacher, depth=depth_at(share), measured=measured),
        {"intermediate": intermediate, "draft_vocabulary": len(ids), "depths": list(depths)}, rate=1e-2)


def _medusa(target: Model, ids: torch.Tensor, depths: tuple[int, ...]) -> Recipe:
    shape = MedusaShape(text_config(target.hf).hidden_size, heads=4, blocks=3, draft_vocabulary=len(ids),
                        newest=True)
    heads = MedusaHeads(shape)
    return Recipe("medusa", heads, lambda batch, teacher, measured=None, share=1.0: medusa_loss(
        heads, batch, teacher, measured=measured),
        {"heads": shape.heads, "blocks": shape.blocks, "draft_vocabulary": len(ids), "newest": shape.newest}, rate=1e-2)


def _draft(target: Model, ids: torch.Tensor, depths: tuple[int, ...]) -> Recipe:
    layers = list(range(min(3, target.info.layers)))  # the first ones read tokens: agreement was best from there
    model = grown(target.hf, layers, ids)
    own = trained_part(model).float().requires_grad_(True)
    return Recipe("draft", own, lambda batch, teacher, measured=None, share=1.0: draft_loss(
        model, batch, teacher, measured=measured), {"layers": layers, "draft_vocabulary": len(ids)}, rate=4e-3)


RECIPES: dict[str, Callable[[Model, torch.Tensor, tuple[int, ...]], Recipe]] = {
    "draft": _draft, "eagle": _eagle, "medusa": _medusa,
}
METHODS = tuple(RECIPES)
