"""EAGLE-3 heads in the layout that the method's authors began: ``LlamaForCausalLMEagle3``, the layer named midlayer.

Where the target's features are read is not written, or in an ``eagle_config``, which names the layers whose outputs are
taken: layer i's has passed i + 1 layers. Only safetensors are read; many of these heads are published as pickles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from engine.drafters.eagle_head import EagleHead
from engine.drafters.foreign_eagle import (
    OPTIONS,
    Announced,
    Embed,
    announced,
    assemble,
    default_depths,
    depths_of,
    refuse_strange,
    shape_of,
)
from engine.drafters.foreign_layer import READ, layer_config
from engine.errors import ModelError
from engine.models import Model

ARCHITECTURE = "LlamaForCausalLMEagle3"

_EAGLE_OPTIONS = {"eagle_aux_hidden_state_layer_ids", "use_aux_hidden_state"}

_KNOWN = OPTIONS | READ | {"eagle_config", "attention_dropout", "initializer_range", "pretraining_tp"}


def is_one(config: Mapping[str, Any]) -> bool:
    return config.get("architectures") == [ARCHITECTURE]


def examine(config: Mapping[str, Any], target: Model, name: str) -> Announced:
    """What the config.json announces. Raises :class:`ModelError` or :class:`MismatchError` for a head that can't be
    computed, or doesn't fit the target."""
    options = config.get("eagle_config") or {}
    if not isinstance(options, dict):
        raise ModelError(f"{name} says eagle_config: {options!r}, where a set of options belongs; its config.json is "
                         "damaged.")
    if not options.get("use_aux_hidden_state", True):
        raise ModelError(f"{name} reads the target's last feature only (use_aux_hidden_state: false), as heads before "
                         "EAGLE-3 do; SpecScope reads EAGLE-3 heads.")
    refuse_strange(config, _KNOWN, name)
    refuse_strange(options, _EAGLE_OPTIONS, name)
    ids = options.get("eagle_aux_hidden_state_layer_ids")
    depths = default_depths(target) if ids is None else tuple(layer + 1 for layer in depths_of(ids, name))
    layer, norm_queries = layer_config(config, "llama", name)
    shape = shape_of(layer, config, depths, norm_queries=norm_queries, name=name)
    return announced(shape, depths, config, "", target, name)


def read(config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], target: Model, name: str
         ) -> tuple[Announced, EagleHead, Embed]:
    """What is announced, the head and its embedding. Raises as :func:`examine` and
    :func:`engine.drafters.foreign_eagle.assemble` do."""
    said = examine(config, target, name)
    renamed = {key.replace("midlayer.", "layers.0.", 1) if key.startswith("midlayer.") else key: one
               for key, one in tensors.items()}
    return said, *assemble(said, renamed, target, name)
