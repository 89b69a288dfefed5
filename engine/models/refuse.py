"""Which models can't be used at all, told from the configuration before any weight is read.

Speculative decoding computes positions it may have to take back. Keys and values can be forgotten; a state that has
been updated in place (Mamba, linear attention) can't, and neither can layers that share or compress what they keep.
"""

from __future__ import annotations

import inspect
from typing import Any

from transformers import MODEL_FOR_CAUSAL_LM_MAPPING
from transformers.cache_utils import get_layer_types_and_kwargs

_CUTTABLE = {"full_attention", "sliding_attention"}

_REASONS = {
    "linear_attention": "it keeps a recurrent state, which can't be cut back after a rejection",
    "conv": "it keeps a convolution state, which can't be cut back after a rejection",
    "hybrid": "some layers keep a recurrent state, which can't be cut back after a rejection",
    "hybrid_sliding": "some layers keep a recurrent state, which can't be cut back after a rejection",
    "chunked_attention": "its attention forgets whole chunks, which can't be undone after a rejection",
    "dummy": "some of its layers share another layer's cache, which SpecScope's cache can't do yet",
}


def refusal(config: Any) -> str | None:
    """Why a model with this configuration can't be used, as the end of a sentence ("X can't be used: …"), or None."""
    if getattr(config, "is_encoder_decoder", False):
        return "it is an encoder-decoder, not a causal language model"
    own_code = "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        # A model that brings its own code is checked by its layers only.
        return _by_layers(config) if own_code else "it is not a causal language model"
    names = [str(name) for name in getattr(config, "architectures", None) or []]
    other = ("ForMaskedLM", "Classification", "ForQuestionAnswering", "ForMultipleChoice", "ForPreTraining")
    if names and all(name.endswith(other) for name in names):
        return f"its weights are for {names[0]}, which doesn't predict the next token"
    kind = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    if getattr(kind, "_is_stateful", False):
        return _REASONS["linear_attention"]
    if getattr(config, "alibi", False) or getattr(config, "model_type", "") in ("bloom", "mpt"):
        return "it reads positions from the padding mask (ALiBi), which SpecScope's masks can't carry"
    if not {"cache", "past_key_values"} & set(inspect.signature(kind.forward).parameters):
        return "it keeps no key-value cache"
    return _by_layers(config)


def _by_layers(config: Any) -> str | None:
    try:
        types, _ = get_layer_types_and_kwargs(config.get_text_config(decoder=True))
    except (AttributeError, TypeError, ValueError):
        return None  # configurations that don't say; the cache's own checks stand behind this one
    for index, layer in enumerate(types):
        if layer not in _CUTTABLE:
            kind = str(layer).replace("_", " ")
            return f"{_REASONS.get(layer, f'its {kind} layers are not known to SpecScope')} (layer {index})"
    return None
