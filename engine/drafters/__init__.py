"""The registry of drafters: one line a method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from engine.drafters import layer_skip, model, ngram
from engine.drafters.base import Drafter
from engine.drafters.plain import NoDrafter
from engine.errors import ModelError
from engine.models import Model, check_pair
from engine.runner import Runner
from engine.sampling import Warper

if TYPE_CHECKING:
    from engine.settings import DrafterKind, RunSettings

Models = Mapping[str, Model]


def make(settings: RunSettings, target: Model, models: Models) -> Drafter:
    """The drafter that ``settings.drafter`` names, for one run. ``models``: loaded draft models by the name the person
    gave. Raises :class:`ModelError` or :class:`MismatchError` when it can't serve this target."""
    return _MAKERS[settings.drafter.kind](settings, target, models)


def _ngram(settings: RunSettings, target: Model, models: Models) -> Drafter:
    d = settings.drafter
    return ngram.PromptLookup(d.min_n, d.max_n, d.match)


def _layer_skip(settings: RunSettings, target: Model, models: Models) -> Drafter:
    layers = target.info.layers
    skip = settings.drafter.skip or layer_skip.default_skip(layers)
    runner = Runner(layer_skip.thinned(target.hf, skip))
    return model.ModelDrafter(runner, Warper(settings.sampling), vocabulary=len(target.texts), device=runner.device,
                              about=f"the target with {len(set(skip))} of its {layers} layers left out")


def _model(settings: RunSettings, target: Model, models: Models) -> Drafter:
    name = settings.drafter.model
    if name not in models:
        raise ModelError(f"The draft model {name} has not been loaded.")
    check_pair(target, models[name])
    runner = Runner(models[name].hf)
    return model.ModelDrafter(runner, Warper(settings.sampling), vocabulary=len(target.texts),
                              device=Runner(target.hf).device, about=f"{models[name].info.name} writes ahead",
                              context=models[name].info.context)


_MAKERS: dict[DrafterKind, Callable[[RunSettings, Model, Models], Drafter]] = {
    "none": lambda settings, target, models: NoDrafter(),
    "ngram": _ngram,
    "layer-skip": _layer_skip,
    "model": _model,
}

_DEFAULT_GAMMA: dict[DrafterKind, int] = {
    "none": 0, "ngram": ngram.DEFAULT_GAMMA, "layer-skip": layer_skip.DEFAULT_GAMMA, "model": model.DEFAULT_GAMMA,
}


def draft_length(settings: RunSettings) -> int:
    """γ of a run: what was asked for, or the method's default; 0 for plain decoding."""
    d = settings.drafter
    return 0 if d.kind == "none" else _DEFAULT_GAMMA[d.kind] if d.gamma is None else d.gamma
