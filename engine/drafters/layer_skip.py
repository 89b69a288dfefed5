"""Layer skip: the target itself, some of its layers left out, guesses (self-speculative decoding, Zhang et al. 2024).

No extra weights: the drafting model is a shell of its own around the target's modules. The target object and its
config are never changed, and the drafter's keys and values live in a cache of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import torch

from engine.drafters.model import ModelDrafter
from engine.errors import ModelError
from engine.features import decoder_layers
from engine.models import Model
from engine.runner import Runner, text_config
from engine.sampling import Warper

if TYPE_CHECKING:
    from engine.settings import RunSettings


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> ModelDrafter:
    layers = target.info.layers
    skip = settings.drafter.skip or default_skip(layers)
    return ModelDrafter(Runner(thinned(target.hf, skip)), Warper(settings.sampling), vocabulary=len(target.texts),
                        device=runner.device, about=f"the target with {len(set(skip))} of its {layers} layers left out",
                        stop_below=settings.drafter.stop_below)


def default_skip(layers: int) -> tuple[int, ...]:
    """Every fifth layer, never the first or the last ones: neighbours left out together hurt far more."""
    return tuple(range(4, layers - 2, 5)) or (layers // 2,)


def thinned(model: Any, skip: Collection[int]) -> Any:
    """A model that shares all of ``model``'s modules but runs only the layers not in ``skip``.

    Raises :class:`ModelError` when a layer doesn't exist or none would be left.
    """
    if text_config(model) is not model.config:
        raise ModelError("Layer skip can't be used with this target: its decoder is part of a larger model.")
    name, layers = decoder_layers(model)
    wrong = sorted(i for i in skip if i >= len(layers))
    if wrong:
        raise ModelError(f"Layer skip can't leave out layer {wrong[0]}: the target has layers 0 to {len(layers) - 1}.")
    kept = [i for i in range(len(layers)) if i not in set(skip)]
    if not kept:
        raise ModelError("Layer skip would leave out every layer of the target; keep at least one.")
    base = _shell(model.base_model)
    base._modules[name] = torch.nn.ModuleList(layers[i] for i in kept)
    base.config = _thinned_config(model.config, kept)
    shell = _shell(model)
    shell.config = base.config
    shell._modules[model.base_model_prefix] = base
    return shell


def _shell(module: Any) -> Any:
    """A copy that shares parameters and children but whose list of children is its own."""
    twin = copy.copy(module)
    twin.__dict__["_modules"] = dict(module._modules)
    return twin


def _thinned_config(config: Any, kept: list[int]) -> Any:
    twin = copy.copy(config)
    twin.__dict__ = dict(config.__dict__)
    if getattr(config, "layer_types", None):
        twin.__dict__["layer_types"] = [config.layer_types[i] for i in kept]
    twin.num_hidden_layers = len(kept)
    return twin
