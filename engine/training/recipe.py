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
from engine.errors import ModelError
from engine.models import Model
from engine.runner import text_config
from engine.training.batches import TrainingBatch, pieces
from engine.training.dataset import Sample
from engine.training.draft import draft_loss
from engine.training.eagle import depth_at, eagle_loss
from engine.training.measured import Measured
from engine.training.medusa import AHEAD, PIECE, medusa_loss
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
    cut: Callable[[Sequence[Sample], int], Sequence[Sample]] = lambda samples, seed: samples
    """What of the samples it is trained on at once, in one epoch; whole ones, or pieces."""


def recipe(method: str, target: Model, ids: torch.Tensor, depths: Sequence[int]) -> Recipe:
    """``ids``: the draft vocabulary; ``depths`` of the dataset's features, the normed one last."""
    return RECIPES[method](target, ids, tuple(depths))


def rehearse(method: str, target: Model, depths: Sequence[int], start: Callable[[Recipe], object]) -> None:
    """Make the network and take its loss once, on nothing: what can't be trained is found before hours of making data.
    ``start`` gives the network the weights that it shall begin with. Raises :class:`ModelError`."""
    try:
        ids = torch.arange(1)
        made = recipe(method, target, ids, depths)
        start(made)
        teacher, length = Teacher(target.hf, ids), 8
        device, width = teacher.head.device, len(depths) * text_config(target.hf).hidden_size
        made.module.to(device)
        batch = TrainingBatch(torch.zeros(1, length, dtype=torch.int64),
                              torch.zeros(1, length, width, dtype=torch.bfloat16),
                              torch.tensor([1]), torch.tensor([length])).to(device)
        with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
            made.loss(batch, teacher)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        others = " or ".join(other for other in METHODS if other != method)
        raise ModelError(f"No {method} drafter can be made for {target.info.name}: its network isn't built as the "
                         f"training expects; try {others}, or another target.",
                         details=f"{type(error).__name__}: {error}") from error


def _eagle(target: Model, ids: torch.Tensor, depths: tuple[int, ...]) -> Recipe:
    text = text_config(target.hf)
    intermediate = _intermediate(text) * 4 // 3  # the layer has to make up for all that it replaces
    head = EagleHead(EagleShape(llama_config(text, intermediate=intermediate), len(ids), len(depths) * text.hidden_size,
                                norm_features=True))
    del head.lm_head  # shared with the target
    layer: Any = head.layers[0]
    for last in (layer.self_attn["o_proj"], layer.mlp.down_proj):
        nn.init.zeros_(last.weight)  # it begins as the identity
    return Recipe("eagle", head, lambda batch, teacher, measured=None, share=1.0: eagle_loss(
        head, batch, teacher, depth=depth_at(share), measured=measured),
        {"intermediate": intermediate, "draft_vocabulary": len(ids), "depths": list(depths)}, rate=1e-2)


def _intermediate(text: Any) -> int:
    """How wide a target's feed-forward layers are; kinds like GPT-2 name it otherwise, or leave it to be four times the
    hidden size."""
    named = (getattr(text, name, None) for name in ("intermediate_size", "n_inner"))
    return next((size for size in named if isinstance(size, int)), 4 * int(text.hidden_size))


def _medusa(target: Model, ids: torch.Tensor, depths: tuple[int, ...]) -> Recipe:
    shape = MedusaShape(text_config(target.hf).hidden_size, heads=4, blocks=3, draft_vocabulary=len(ids),
                        newest=True)
    heads = MedusaHeads(shape)
    return Recipe("medusa", heads, lambda batch, teacher, measured=None, share=1.0: medusa_loss(
        heads, batch, teacher, measured=measured),
        {"heads": shape.heads, "blocks": shape.blocks, "draft_vocabulary": len(ids), "newest": shape.newest}, rate=1e-2,
        cut=lambda samples, seed: pieces(samples, PIECE, AHEAD, seed))


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
