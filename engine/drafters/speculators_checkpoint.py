"""EAGLE-3 heads as the PyPI package ``speculators`` saves them (read up to its version 0.9).

``eagle_aux_hidden_state_layer_ids`` counts the layers that a feature has passed, 0 being the embedding and the number
of layers the last one's output before the final norm: our depths. ``speculators_config`` says what the head was made
for; its rule of acceptance isn't taken over, since the judgement here is always exact. What changes what the head
computes is honoured or refused, an option that this file has never heard of included.
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
    check_architecture,
    default_depths,
    depths_of,
    refuse_strange,
    shape_of,
)
from engine.drafters.foreign_layer import layer_config
from engine.errors import ModelError
from engine.models import Model

MARK = "speculators_model_type"

_KNOWN = OPTIONS | {
    MARK, "speculators_version", "speculators_config", "transformer_layer_config", "eagle_aux_hidden_state_layer_ids",
}


def is_one(config: Mapping[str, Any]) -> bool:
    return MARK in config


def examine(config: Mapping[str, Any], target: Model, name: str) -> Announced:
    """What the config.json announces. Raises :class:`ModelError` or :class:`MismatchError` for a head that can't be
    computed, or doesn't fit the target."""
    if config[MARK] != "eagle3":
        raise ModelError(f"{name} is a drafter of the kind {config[MARK]!r}, but of this package's kinds SpecScope "
                         "reads eagle3 only; choose an EAGLE-3 head.")
    refuse_strange(config, _KNOWN, name)
    written, made = config.get("transformer_layer_config"), config.get("speculators_config") or {}
    if not isinstance(written, dict) or not isinstance(made, dict):
        raise ModelError(f"{name} doesn't describe its layer (transformer_layer_config) or what it was made for; its "
                         "config.json is damaged.")
    if made.get("algorithm", "eagle3") != "eagle3":
        raise ModelError(f"{name} is an eagle3 head that is made for another way of drafting ({made['algorithm']}); "
                         "choose another head.")
    verifier = made.get("verifier")
    verifier = verifier if isinstance(verifier, dict) else {}
    check_architecture(verifier.get("architectures"), target, name)
    layer, norm_queries = layer_config(written, "qwen3", name)
    ids = config.get("eagle_aux_hidden_state_layer_ids")
    depths = default_depths(target) if ids is None else depths_of(ids, name)
    shape = shape_of(layer, config, depths, norm_queries=norm_queries, name=name)
    return announced(shape, depths, config, str(verifier.get("name_or_path") or ""), target, name)


def read(config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor], target: Model, name: str
         ) -> tuple[Announced, EagleHead, Embed]:
    """What is announced, the head and its embedding. Raises as :func:`examine` and
    :func:`engine.drafters.foreign_eagle.assemble` do."""
    said = examine(config, target, name)
    return said, *assemble(said, tensors, target, name)
