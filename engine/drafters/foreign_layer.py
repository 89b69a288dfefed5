"""The one decoder layer of another package's EAGLE-3 head, from what its config.json says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import LlamaConfig, Qwen3Config

from engine.errors import ModelError

_KINDS = {"llama": LlamaConfig, "qwen3": Qwen3Config}

READ = frozenset({
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "hidden_act", "rms_norm_eps", "attention_bias", "mlp_bias",
    "max_position_embeddings", "rope_parameters", "rope_theta", "rope_scaling", "partial_rotary_factor",
    "use_sliding_window", "sliding_window", "max_window_layers", "layer_types",
})
"""All that such a layer's forward depends on; what isn't written has the default of its kind."""

_ROPES = ("default", "linear", "llama3", "yarn")
"""Kinds of rotary positions whose angles don't depend on how long the text has become: cached keys stay right."""


def layer_config(written: Mapping[str, Any], default: str, name: str) -> tuple[LlamaConfig, bool]:
    """The layer's configuration, and whether its queries and keys are normalised (Qwen 3). ``default``: its kind if it
    names none. Raises :class:`ModelError`, which begins with ``name``, for what our layer can't compute."""
    kind = written.get("model_type", default)
    if kind not in _KINDS:
        raise ModelError(f"{name} is built from a layer of the kind {kind!r}, but SpecScope knows those of "
                         f"{' and '.join(_KINDS)}; choose another head.")
    if written.get("quantization_config"):
        raise ModelError(f"{name} is quantised, which SpecScope's EAGLE layer can't compute; choose a head in bfloat16 "
                         "or float32.")
    try:
        read = _KINDS[kind](**{key: written[key] for key in READ if key in written})
        for size in (read.vocab_size, read.hidden_size, read.intermediate_size, read.head_dim,
                     read.num_key_value_heads, read.num_attention_heads // read.num_key_value_heads):
            if type(size) is not int or size < 1:
                raise ValueError(f"{size} where a size belongs")
        if read.num_attention_heads % read.num_key_value_heads or read.head_dim % 2:
            raise ValueError(f"{read.num_attention_heads} heads of {read.head_dim} for {read.num_key_value_heads} "
                             "key-value heads")
    except Exception as error:  # transformers checks values in many ways
        raise ModelError(f"{name} describes its layer in a way that can't be understood; its config.json is damaged.",
                         details=f"{type(error).__name__}: {error}") from error
    if read.num_hidden_layers != 1:
        raise ModelError(f"{name} has {read.num_hidden_layers} layers, but SpecScope's EAGLE computes one; choose a "
                         "head with one.")
    kinds = read.layer_types if kind == "qwen3" else written.get("layer_types")
    if kinds and kinds[0] != "full_attention":
        raise ModelError(f"{name} attends to a window of the text ({kinds[0]}), which SpecScope's EAGLE layer can't; "
                         "choose a head with full attention.")
    rope = read.rope_parameters or {}
    if rope.get("rope_type", "default") not in _ROPES or any(isinstance(part, dict) for part in rope.values()):
        way = rope.get("rope_type", "by layer type")
        raise ModelError(f"{name} counts positions in a way ({way}) that SpecScope's EAGLE layer doesn't know; it "
                         f"knows {', '.join(_ROPES)}.")
    if rope.get("partial_rotary_factor", written.get("partial_rotary_factor")) not in (None, 1, 1.0):
        raise ModelError(f"{name} turns only a part of each head by its position (partial_rotary_factor), which "
                         "SpecScope's EAGLE layer can't; choose another head.")
    return LlamaConfig(
        vocab_size=read.vocab_size, hidden_size=read.hidden_size, intermediate_size=read.intermediate_size,
        num_hidden_layers=1, num_attention_heads=read.num_attention_heads,
        num_key_value_heads=read.num_key_value_heads, head_dim=read.head_dim, hidden_act=read.hidden_act,
        rms_norm_eps=read.rms_norm_eps, attention_bias=read.attention_bias,
        mlp_bias=kind == "llama" and read.mlp_bias,  # Qwen 3's has none, whatever is written
        max_position_embeddings=read.max_position_embeddings, rope_parameters=rope), kind == "qwen3"
