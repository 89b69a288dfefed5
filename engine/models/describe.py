"""What a model is: its figures, its fingerprint, and what its checkpoint asks for that isn't applied."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from engine.models.find import Place
from engine.records import TargetInfo

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "repetition_penalty": (1, 1.0), "encoder_repetition_penalty": (1, 1.0), "no_repeat_ngram_size": (0,),
    "min_length": (0,), "min_new_tokens": (0,), "bad_words_ids": (), "suppress_tokens": ([],),
    "begin_suppress_tokens": ([],), "forced_bos_token_id": (), "forced_eos_token_id": (), "sequence_bias": (),
    "exponential_decay_length_penalty": (), "guidance_scale": (1, 1.0), "num_beams": (1,), "penalty_alpha": (0, 0.0),
    "cache_implementation": ("dynamic", "static"), "renormalize_logits": (False,), "stop_strings": (),
}
"""What a generation_config may ask for, and the values (besides None) that change nothing."""

_SAMPLING: dict[str, tuple[object, ...]] = {
    "temperature": (1, 1.0), "top_k": (0,), "top_p": (1, 1.0), "min_p": (0, 0.0), "typical_p": (1, 1.0),
    "epsilon_cutoff": (0, 0.0), "eta_cutoff": (0, 0.0),
}
"""These count only when it asks for sampling."""

_VOLATILE = ("_name_or_path", "transformers_version", "torch_dtype", "dtype", "_attn_implementation")
_SAMPLES = 64
_SAMPLE_BYTES = 256


def describe(place: Place, hf: Any) -> TargetInfo:
    """Figures of a loaded model (``hf``: PreTrainedModel)."""
    config = hf.config.get_text_config(decoder=True)
    return TargetInfo(
        name=place.name, source=place.source, parameters=sum(p.numel() for p in hf.parameters()),
        layers=int(config.num_hidden_layers), vocabulary=vocabulary_size(hf), context=context_length(config),
        dtype=str(hf.dtype).removeprefix("torch."), device=device_name(hf), fingerprint=fingerprint(place),
        slot_bytes=_slot_bytes_if_told(hf), generation_notes=generation_notes(hf.generation_config))


def vocabulary_size(hf: Any) -> int:
    """Rows of the input embedding, which may be more than the tokenizer has tokens."""
    embedding = hf.get_input_embeddings()
    return int(getattr(embedding, "num_embeddings", 0) or embedding.weight.shape[0])


def context_length(config: Any) -> int:
    """Longest prompt + output in tokens; a billion where positions aren't limited."""
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return 10**9


def slot_bytes(config: Any, dtype: torch.dtype) -> int:
    """Bytes of keys and values that one token takes in all layers."""
    text = config.get_text_config(decoder=True)
    heads = int(getattr(text, "num_attention_heads", 1))
    if getattr(text, "kv_lora_rank", None):  # multi-head latent attention: cached after its expansion
        key, value, groups = text.qk_nope_head_dim + text.qk_rope_head_dim, text.v_head_dim, heads
    else:
        groups = int(getattr(text, "num_key_value_heads", None) or heads)
        key = value = int(getattr(text, "head_dim", None) or text.hidden_size // heads)
    return int(text.num_hidden_layers) * groups * (int(key) + int(value)) * dtype.itemsize


def _slot_bytes_if_told(hf: Any) -> int:
    """0 for a configuration that doesn't tell, as some models with code of their own."""
    try:
        return slot_bytes(hf.config, hf.dtype)
    except (AttributeError, TypeError):
        return 0


def device_name(hf: Any) -> str:
    """"cpu", "cuda:0", or all of them joined by + when the layers are spread."""
    spread = getattr(hf, "hf_device_map", None) or {}
    names = {f"cuda:{where}" if isinstance(where, int) else str(where) for where in spread.values()}
    return " + ".join(sorted(names, key=lambda name: (name == "cpu", name))) if names else str(hf.device)


def eos_ids(hf: Any) -> frozenset[int]:
    """The ids that end generation: one, several or none. generation_config's word counts before config's."""
    for holder in (hf.generation_config, hf.config, hf.config.get_text_config(decoder=True)):
        ids = getattr(holder, "eos_token_id", None)
        if ids is not None:
            listed = [ids] if isinstance(ids, int) else list(ids)
            return frozenset(int(token) for token in listed if 0 <= int(token) < vocabulary_size(hf))
    return frozenset()


def generation_notes(settings: Any) -> tuple[str, ...]:
    """One remark for each thing the checkpoint's generation_config asks for: shown, never applied silently."""
    if settings is None:
        return ()
    asked = dict(_NEUTRAL)
    if getattr(settings, "do_sample", False):
        asked |= _SAMPLING
    notes = []
    for name, neutral in asked.items():
        value = getattr(settings, name, None)
        if value is not None and value not in neutral:
            notes.append(f"{name} {value} (not applied; set it yourself if wanted)")
    return tuple(notes)


def fingerprint(place: Place) -> str:
    """16 hex digits that tell one checkpoint from another: its configuration, the names, shapes and dtypes of its
    weights, and a sample of their bytes. The same for every device and dtype it is run in."""
    digest = hashlib.sha256()
    if place.gguf is not None:
        _sample(digest, place.folder / place.gguf, 0)
        return digest.hexdigest()[:16]
    config = json.loads((place.folder / "config.json").read_text())
    digest.update(json.dumps({k: v for k, v in config.items() if k not in _VOLATILE}, sort_keys=True).encode())
    for path in _weights(place.folder):
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            digest.update(file.read(length))
        _sample(digest, path, 8 + length)
    return digest.hexdigest()[:16]


def _weights(folder: Path) -> Iterator[Path]:
    """As :func:`engine.models.hub.choose_weights` chooses."""
    whole = folder / "model.safetensors"
    yield from [whole] if whole.exists() else sorted(folder.glob("model-*-of-*.safetensors"))


def _sample(digest: Any, path: Path, start: int) -> None:
    """64 pieces of 256 bytes, evenly spread behind ``start``, and the file's length."""
    size = path.stat().st_size
    digest.update(size.to_bytes(8, "little"))
    with path.open("rb") as file:
        for index in range(_SAMPLES):
            file.seek(start + (size - start) * index // _SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))
