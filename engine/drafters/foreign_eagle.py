"""Another package's EAGLE-3 head: what its config.json announces, does it fit the target, and its weights put in place.

The layouts (speculators_checkpoint.py, public_eagle_checkpoint.py) differ in how they say things; what is said and what
can be wrong is the same. A wrong head would draft nonsense without an error, so whatever can be told is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import embedding
from transformers import PreTrainedConfig

from engine.drafters.checkpoint import PRECISE, fits
from engine.drafters.eagle_head import EagleHead, EagleShape
from engine.errors import MismatchError, ModelError
from engine.models import Model
from engine.runner import text_config

_TRAINING_ONLY = {"verifier_lm_head.weight", "verifier_norm.weight"}
"""Copies of the target's own weights, which some checkpoints carry along."""


_OF_NO_CONCERN = {
    "embed_requires_grad", "auto_map", "torch_dtype", "_name_or_path", "name_or_path", "model_type",
    "transformers_version", "attn_implementation", "_attn_implementation", "_attn_implementation_autoset", "use_cache",
}
"""They matter in training, or to the library that wrote them."""

OPTIONS = {"draft_vocab_size", "target_hidden_size", "norm_before_residual", "norm_before_fc", "fc_norm", "norm_output"}
"""What all layouts call by the same names."""

Embed = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Announced:
    """What a config.json says."""

    shape: EagleShape
    depths: tuple[int, ...]
    """Of the target's features (engine/features.py)."""
    about: str


def default_depths(target: Model) -> tuple[int, ...]:
    """Where EAGLE-3 reads features unless its checkpoint says otherwise: near both ends, and in the middle."""
    layers = text_config(target.hf).num_hidden_layers
    return 2, layers // 2, layers - 3


def announced(shape: EagleShape, depths: Any, written: Mapping[str, Any], made_for: str, target: Model, name: str
              ) -> Announced:
    """Checks that a head fits the target. ``written``: the config.json. Raises :class:`MismatchError` naming the first
    thing that doesn't fit."""
    text = text_config(target.hf)
    wanted = written.get("target_hidden_size") or shape.config.hidden_size
    if wanted != text.hidden_size:
        raise MismatchError(f"{name} reads features of {wanted} numbers, but those of {target.info.name} have "
                            f"{text.hidden_size}; choose a head made for this target.")
    if shape.config.vocab_size != target.info.vocabulary:
        raise MismatchError(f"{name} is made for a vocabulary of {shape.config.vocab_size} tokens, but "
                            f"{target.info.name} has {target.info.vocabulary}; choose a head made for this target.")
    if not 1 <= shape.draft_vocabulary <= shape.config.vocab_size:
        raise ModelError(f"{name} announces a draft vocabulary of {shape.draft_vocabulary} tokens out of "
                         f"{shape.config.vocab_size}; its config.json is damaged.")
    layers = text.num_hidden_layers
    if any(not 0 <= depth <= layers for depth in depths) or len(set(depths)) < len(depths):
        raise MismatchError(f"{name} reads the target's features behind layers {', '.join(map(str, depths))}, but "
                            f"{target.info.name} has {layers} layers; choose a head made for this target.")
    told = f", made for {made_for}" if made_for else ""
    return Announced(shape, depths, f"one layer continues the target's features ({name}{told})")


def shape_of(layer: Any, written: Mapping[str, Any], depths: tuple[int, ...], *, norm_queries: bool, name: str
             ) -> EagleShape:
    """From :data:`OPTIONS`. Raises :class:`ModelError` for values of another kind."""
    options = {key: written.get(key, False) for key in ("norm_before_residual", "norm_before_fc", "fc_norm",
                                                        "norm_output")}
    sizes = [written.get("draft_vocab_size"), written.get("target_hidden_size") or layer.hidden_size]
    for key, value in options.items():
        if type(value) is not bool:
            raise ModelError(f"{name} says {key}: {value!r}, where yes or no belongs; its config.json is damaged.")
    if options["norm_before_fc"] and options["fc_norm"]:
        raise ModelError(f"{name} says both norm_before_fc and fc_norm, which exclude each other; its config.json is "
                         "damaged.")
    if any(type(size) is not int for size in sizes):
        raise ModelError(f"{name} says draft_vocab_size: {sizes[0]!r} and target_hidden_size: {sizes[1]!r}, where "
                         "whole numbers belong; its config.json is damaged.")
    return EagleShape(
        layer, sizes[0], len(depths) * sizes[1], norm_before_residual=options["norm_before_residual"],
        depths=len(depths), norm_together=options["norm_before_fc"], norm_apart=options["fc_norm"],
        norm_output=options["norm_output"], norm_queries=norm_queries)


def refuse_strange(config: Mapping[str, Any], known: Set[str], name: str) -> None:
    """Raises :class:`ModelError` if an option is in use that isn't ``known``, nor one that every configuration has: it
    may change what the head computes."""
    if config.get("quantization_config"):
        raise ModelError(f"{name} is quantised, which SpecScope's EAGLE layer can't compute; choose a head in bfloat16 "
                         "or float32.")
    harmless = known | _OF_NO_CONCERN | set(PreTrainedConfig().to_dict())
    strange = sorted(key for key, value in config.items() if value and key not in harmless)
    if strange:
        raise ModelError(f"{name} uses an option that SpecScope doesn't know ({strange[0]}), so it can't be computed "
                         "faithfully; choose another head.", details=f"unknown: {strange}")


def check_architecture(names: Any, target: Model, name: str) -> None:
    """Raises :class:`MismatchError` if the head was made for a target of another kind: equal sizes would then be mere
    chance. ``names``: of the classes it was made for, as far as they are known."""
    if not isinstance(names, list) or not names:
        return
    own = {type(target.hf).__name__, *(getattr(target.hf.config, "architectures", None) or ())}
    if own.isdisjoint(map(str, names)):
        raise MismatchError(f"{name} was made for a target of the kind {', '.join(map(str, names))}, but "
                            f"{target.info.name} is {type(target.hf).__name__}; choose a head made for this target.")


def depths_of(ids: Any, name: str) -> tuple[int, ...]:
    """Raises :class:`ModelError` unless they are whole numbers, at least one."""
    if not isinstance(ids, list) or not ids or any(type(one) is not int for one in ids):
        raise ModelError(f"{name} says eagle_aux_hidden_state_layer_ids: {ids!r}, where a list of layers belongs; its "
                         "config.json is damaged.")
    return tuple(ids)


def assemble(said: Announced, tensors: Mapping[str, torch.Tensor], target: Model, name: str
             ) -> tuple[EagleHead, Embed]:
    """The head with its weights, on the target's device and in its dtype, and what turns ids into embeddings.

    An embedding or output head that the checkpoint doesn't bring is the target's: its weights as they stand, without
    the factor that some families' embeddings are multiplied by, since that is what these heads are trained with.

    Raises :class:`ModelError` for weights that are missing, of another shape, quantised, NaN or infinite.
    """
    weights = {key: one for key, one in tensors.items() if key not in _TRAINING_ONLY}
    for key, one in weights.items():
        if key not in ("d2t", "t2d") and one.dtype not in PRECISE:
            raise ModelError(f"{name} is quantised ({key} is {str(one.dtype).removeprefix('torch.')}), which "
                             "SpecScope's EAGLE layer can't compute; choose a head in bfloat16 or float32.")
        if not torch.isfinite(one).all():
            raise ModelError(f"{name} has weights that are NaN or infinite ({key}); its training or its download went "
                             "wrong, so fetch it again or choose another.")
    ids = draft_ids(weights.pop("d2t", None), weights.pop("t2d", None), said.shape, name)
    shared = target.hf.get_output_embeddings().weight.detach()
    order = ids.argsort()
    if "lm_head.weight" not in weights:
        _needs_width(said, shared, "output head", name)
        weights["lm_head.weight"] = shared[ids.to(shared.device)].cpu()
    elif weights["lm_head.weight"].shape[0] == len(ids):
        weights["lm_head.weight"] = weights["lm_head.weight"][order]
    weights["d2t"] = ids[order] - torch.arange(len(ids))
    table = weights.pop("embed_tokens.weight", None)
    if table is None:
        table = target.hf.get_input_embeddings().weight.detach()
        _needs_width(said, table, "embedding", name)
    elif table.shape != (said.shape.config.vocab_size, said.shape.config.hidden_size):
        raise ModelError(f"{name} doesn't have the weights that its config.json announces: its embedding has the shape "
                         f"{tuple(table.shape)}.")
    try:
        with torch.device("meta"):  # an absurd size must not take memory before it is found out
            fits(EagleHead(said.shape), weights, name)
        head = EagleHead(said.shape)
    except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeError) as error:
        raise ModelError(f"{name} describes its layer in a way that can't be understood; its config.json is damaged.",
                         details=f"{type(error).__name__}: {error}") from error
    head.load_state_dict(weights)
    head = head.to(shared.device, shared.dtype).eval().requires_grad_(False)
    table = table.to(shared.device, shared.dtype)
    return head, lambda tokens: embedding(tokens, table)


def draft_ids(d2t: torch.Tensor | None, t2d: torch.Tensor | None, shape: EagleShape, name: str) -> torch.Tensor:
    """(draft vocabulary,) int64: the target's id of each draft id, in the order of the output head's rows.

    ``d2t`` holds what must be added to a draft id, ``t2d`` which of the target's tokens can be drafted at all. Raises
    :class:`ModelError` when they don't name as many different tokens as announced, or contradict each other: q would be
    a distribution over other tokens than those drawn.
    """
    size, vocabulary = shape.draft_vocabulary, shape.config.vocab_size
    if d2t is None and t2d is None and size == vocabulary:
        return torch.arange(size)
    if d2t is None and t2d is None:
        raise ModelError(f"{name} drafts {size} of {vocabulary} tokens but doesn't say which: the maps d2t and t2d are "
                         "missing from its weights.")
    kept = None if t2d is None else t2d.bool().nonzero().flatten()
    if d2t is None:
        ids = torch.as_tensor(kept)
    elif d2t.dtype not in (torch.int64, torch.int32) or d2t.ndim != 1:
        raise ModelError(f"{name} has no usable map from its tokens to the target's: d2t should hold whole numbers.")
    else:
        ids = torch.arange(len(d2t)) + d2t
    good = (t2d is None or t2d.shape == (vocabulary,)) and len(ids) == size == len(set(ids.tolist()))
    if not good or bool((ids < 0).any()) or bool((ids >= vocabulary).any()):
        raise ModelError(f"{name} should draft {size} different ones of {vocabulary} tokens, but its maps d2t and t2d "
                         "say otherwise; the checkpoint is damaged.")
    if kept is not None and not torch.equal(ids.sort().values, kept):
        raise ModelError(f"{name}'s maps d2t and t2d contradict each other about which tokens can be drafted; the "
                         "checkpoint is damaged.")
    return ids


def _needs_width(said: Announced, table: torch.Tensor, what: str, name: str) -> None:
    if table.shape[1] != said.shape.config.hidden_size:
        raise ModelError(f"{name} has no {what} of its own and can't take the target's, which is {table.shape[1]} wide "
                         f"where {said.shape.config.hidden_size} belongs; the checkpoint is incomplete.")
