"""Layer skip: the target itself, some of its layers left out, guesses (self-speculative decoding, Zhang et al. 2024).

Which layers: those that the person names, or all from one on (early exit), or the set that a calibration found for this
target (engine/calibrate), or every fifth. No extra weights: the drafting model is a shell of its own around the
target's modules. The target object and its config are never changed, and the drafter's keys and values live in a cache
of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import torch

from engine.calibrate import store
from engine.drafters.model import ModelDrafter
from engine.errors import ModelError
from engine.features import decoder_layers
from engine.models import Model
from engine.runner import Runner, text_config
from engine.sampling import Warper

if TYPE_CHECKING:
    from engine.settings import RunSettings


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> ModelDrafter:
    """Without a set in the settings it is every fifth layer, as in recordings from before there were calibrations; a
    race fills in what was calibrated (:func:`resolved`)."""
    layers = target.info.layers
    skip = settings.drafter.skip or exit_at(settings.drafter.exit_layer, layers) or default_skip(layers)
    return ModelDrafter(Runner(thinned(target.hf, skip)), Warper(settings.sampling), vocabulary=len(target.texts),
                        device=runner.device, about=_about(skip, target),
                        stop_below=settings.drafter.stop_below)


def resolved(settings: RunSettings, target: Model) -> RunSettings:
    """With the layers named, so that a recording drafts the same wherever it is gone on with; and with the draft length
    that was calibrated with them, unless one was asked for. Layers that the target doesn't have are left to
    :func:`make` to complain of."""
    d, layers = settings.drafter, target.info.layers
    if d.skip or d.exit_layer >= layers:
        return settings
    if d.exit_layer:
        d = msgspec.structs.replace(d, skip=exit_at(d.exit_layer, layers), exit_layer=0)
    elif (found := store.read(target.info)[0]) is not None:
        d = msgspec.structs.replace(d, skip=found.skip, gamma=found.gamma if d.gamma is None else d.gamma)
    else:
        d = msgspec.structs.replace(d, skip=default_skip(layers))
    return msgspec.structs.replace(settings, drafter=d)


def exit_at(layer: int, layers: int) -> tuple[int, ...]:
    """All layers from ``layer`` on; 0: none. Raises :class:`ModelError` where that leaves out nothing."""
    if layer >= layers:
        raise ModelError(f"The early exit is at layer {layer}, but the target has layers 0 to {layers - 1}; choose one "
                         f"of 1 to {layers - 1}.")
    return tuple(range(layer, layers)) if layer else ()


def _about(skip: Collection[int], target: Model) -> str:
    left, layers = tuple(sorted(set(skip))), target.info.layers
    if left == tuple(range(layers - len(left), layers)):
        return f"the first {layers - len(left)} of the target's {layers} layers"
    found, why = store.read(target.info)
    how = ""
    if found and found.skip == left:
        how = ", as calibrated"
    elif left == default_skip(layers):
        how = f", every fifth (the calibration is ignored: {why})" if why else ", every fifth"
    return f"the target with {len(left)} of its {layers} layers left out{how}: {spelled(left)}"


def spelled(skip: Collection[int]) -> str:
    """Layers as a person writes them: 3, 7–9."""
    runs: list[list[int]] = []
    for layer in sorted(skip):
        if runs and runs[-1][-1] == layer - 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}{'–' if len(run) > 2 else ', '}{run[-1]}"
                     for run in runs)


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
