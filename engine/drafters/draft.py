"""Distilled draft: a few layers, grown out of the target's own, that were trained to imitate it.

A causal language model of its own with the target's tokenizer (DistillSpec, Zhou et al. 2024: trained on the target's
answers and distributions). The target's embedding and some rows of its output head are shared, since for a small target
they are most of its weights.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from engine.drafters import checkpoint
from engine.drafters.layer_skip import thinned
from engine.drafters.model import ModelDrafter
from engine.drafters.shelf import Shelf
from engine.features import decoder_layers
from engine.models import Model
from engine.runner import Runner
from engine.sampling import Warper

if TYPE_CHECKING:
    from engine.settings import RunSettings


@dataclass(frozen=True)
class Distilled:
    model: Any
    """A causal language model over the draft vocabulary."""
    ids: torch.Tensor
    """(draft vocabulary,) int64: the target's id of each draft id."""
    about: str


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> DistilledDrafter:
    return DistilledDrafter(shelf.get(settings.drafter, target), target, runner, settings)


def read(found: checkpoint.Checkpoint, target: Model) -> Distilled:
    """Raises :class:`ModelError` or :class:`MismatchError` when the checkpoint can't be read or doesn't fit."""
    found.check("draft", target)
    layers, ids = found.wholes("layers"), found.ids(target.info.vocabulary)
    if not all(0 <= layer < target.info.layers for layer in layers):
        raise found.damaged(f"it was grown out of layers {list(layers)}, and the target has {target.info.layers}")
    weights = {n: t for n, t in found.tensors.items() if n not in ("d2t", "t2d")}
    model = grown(target.hf, layers, ids)
    own = trained_part(model)
    checkpoint.fill(own, weights, found.name)
    return Distilled(model, ids.to(model.device), f"{len(layers)} layers of the target's kind, trained on "
                     f"{found.trained_tokens:,} of its tokens")


shelf = Shelf("draft", read)


def grown(target: Any, layers: Sequence[int], ids: torch.Tensor) -> Any:
    """A model that begins as those ``layers`` of ``target``, copied; embedding and head rows ``ids`` are shared."""
    model = thinned(target, set(range(target.config.num_hidden_layers)) - set(layers))
    base = model.base_model
    name, kept = decoder_layers(model)
    own = torch.nn.ModuleList(copy.deepcopy(layer) for layer in kept)
    for index, layer in enumerate(own):
        for module in layer.modules():
            if isinstance(getattr(module, "layer_idx", None), int):
                module.__dict__["layer_idx"] = index
    base._modules[name] = own
    final = final_norm(base)
    base._modules[final] = copy.deepcopy(base._modules[final])
    whole = target.get_output_embeddings()
    head = torch.nn.Linear(whole.weight.shape[1], len(ids), bias=whole.bias is not None, device="meta")
    head.weight = torch.nn.Parameter(whole.weight.detach()[ids.to(whole.weight.device)].clone(), requires_grad=False)
    if whole.bias is not None:
        head.bias = torch.nn.Parameter(whole.bias.detach()[ids].clone(), requires_grad=False)
    model.set_output_embeddings(head)
    return model


def trained_part(model: Any) -> torch.nn.ModuleDict:
    """What a checkpoint holds: the layers and the last norm."""
    base = model.base_model
    return torch.nn.ModuleDict({"layers": decoder_layers(model)[1], "norm": base._modules[final_norm(base)]})


def final_norm(base: Any) -> str:
    """The name of what stands behind the layers: the last child that has weights and is no list."""
    names: list[str] = [name for name, child in base.named_children()
                        if not isinstance(child, torch.nn.ModuleList) and any(True for _ in child.parameters())]
    return names[-1]


class DistilledDrafter(ModelDrafter):
    """A draft model over a reduced vocabulary."""

    def __init__(self, distilled: Distilled, target: Model, runner: Runner, settings: RunSettings) -> None:
        super().__init__(Runner(distilled.model), Warper(settings.sampling), vocabulary=len(target.texts),
                         device=runner.device, about=distilled.about, context=target.info.context,
                         stop_below=settings.drafter.stop_below)
        self.ids = distilled.ids

    def _fitted(self, logits: torch.Tensor) -> torch.Tensor:
        wide = logits.new_full((len(logits), self.vocabulary), -torch.inf)
        return wide.index_copy_(1, self.ids, logits)
