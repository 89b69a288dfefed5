"""What the checks on whole lanes are made with: a target, draft models for it, and a prompt.

Tiny random models of three kinds (rotary, learned and windowed positions) stand for the kinds of cache; a person's own
target can stand beside them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

from engine import attention, methods
from engine.drafters import checkpoint, most_drafts
from engine.drafters.layer_skip import default_skip, thinned
from engine.errors import ModelError
from engine.models import Model
from engine.models.quiet import BUILDING
from engine.records import TargetInfo
from engine.settings import DrafterSettings, RunSettings
from engine.text import TokenTable

KINDS = ("llama", "gpt2", "gemma")
VOCABULARY = 128
CONTEXT = 4096
DYNAMIC: dict[str, Any] = {"stop_below": 0.3, "adaptive": True}
"""Dynamic length, so that a tiny draft model's rounds get every length."""
WINDOW = 8
"""Of the gemma's windowed layers, in tokens."""

TEXT = ("Here is a list of names: Ada, Grace, Alan, Edsger. Write the list again, sorted, and then once more, sorted "
        "the other way round. The list again: Ada, Grace, Alan, Edsger. Sorted: Ada, Alan,")
"""Repeats itself, so that prompt lookup finds something."""


TREES = (DrafterSettings(kind="model", model="twin", gamma=3, tree="top", tree_top=3, tree_nodes=9, gather=True),
         DrafterSettings(kind="model", model="twin", gamma=3, tree="sampled", tree_top=3, tree_nodes=9, stop_below=0.1))
"""Of tiny models; see tree_drafter.py."""


@dataclass(frozen=True)
class Subject:
    """``small``: forwards cost next to nothing, so runs may be long."""

    name: str
    target: Model
    prompt: tuple[int, ...]
    models: Mapping[str, Model] = field(default_factory=dict)
    small: bool = False
    chosen: tuple[DrafterSettings, ...] = ()

    @property
    def methods(self) -> tuple[DrafterSettings, ...]:
        """Plain decoding, then the drafters that were chosen, or else every one that this target can have."""
        if self.chosen:
            return (DrafterSettings(), *(one for one in self.chosen if one.kind != "none"))
        found = [DrafterSettings(), DrafterSettings(kind="ngram")]
        try:
            thinned(self.target.hf, default_skip(self.target.info.layers))
            found.append(DrafterSettings(kind="layer-skip"))
        except ModelError:
            pass
        found += trained(self.target)
        found += (DrafterSettings(kind="model", model=name) for name in self.models)
        found += TREES if self.small and "twin" in self.models else ()
        if self.small and self.models:
            found.append(DrafterSettings(kind="model", model=next(iter(self.models)), gamma=6, **DYNAMIC))
        return tuple(found)

    @property
    def width(self) -> int:
        """Of the widest forward that any method asks for."""
        return max(most_drafts(RunSettings(drafter=one)) for one in self.methods) + 1

    def stretched(self, tokens: int) -> tuple[int, ...]:
        """The prompt, repeated to this many tokens (or as many as leave room in the context)."""
        tokens = min(tokens, self.target.info.context // 2)
        return (self.prompt * (tokens // len(self.prompt) + 1))[:tokens]


def trained(target: Model) -> tuple[DrafterSettings, ...]:
    """The trained drafters that there are for this target: each as a chain, as a chain of dynamic length, and as both
    kinds of tree if it can draft one."""
    found: list[DrafterSettings] = []
    for kind in ("draft", "eagle", "medusa"):
        if not checkpoint.there_is(kind, target):
            continue
        found += (DrafterSettings(kind=kind), DrafterSettings(kind=kind, gamma=6, **DYNAMIC))
        if methods.method(kind).trees:
            found += (DrafterSettings(kind=kind, tree="top", gather=True),
                      DrafterSettings(kind=kind, tree="sampled", stop_below=0.1))
    return tuple(found)


def of(target: Model, models: Mapping[str, Model] | None = None, drafters: Sequence[DrafterSettings] = ()) -> Subject:
    """A person's own target. ``models``: loaded draft models by the name the person gave. ``drafters``: those to try;
    by default every one that it can have."""
    prompt = tuple(target.encode(TEXT, chat=False))
    return Subject(target.info.name, target, prompt, models or {}, chosen=tuple(drafters))


@functools.cache
def tiny(kind: str, *, dtype: torch.dtype = torch.float32) -> Subject:
    """A tiny target of this kind with two draft models: ``twin``, its own first layers, which agrees now and then, and
    ``stranger``, which hardly ever does."""
    hf = model(kind, seed=0, dtype=dtype)
    name = f"tiny {kind}" + ("" if dtype == torch.float32 else f" {_name(dtype)}")
    prompt = tuple((7 * i * i + 3) % 97 + 20 for i in range(9)) * 2
    twin = wrapped("twin", thinned(hf, [len(LAYERS) - 1]))
    return Subject(name, wrapped(name, hf), prompt,
                   {"twin": twin, "stranger": wrapped("stranger", model(kind, seed=1, dtype=dtype))}, small=True)


LAYERS = ("sliding_attention", "full_attention", "sliding_attention")
"""Of the gemma; the other kinds have as many full ones."""


def config(kind: str, *, hidden: int) -> Any:
    ends: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    spread = 0.4 * (32 / hidden) ** 0.5
    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=hidden, n_layer=len(LAYERS), n_head=4,
            initializer_range=spread, tie_word_embeddings=False, **ends)
    common: dict[str, Any] = {
        "vocab_size": VOCABULARY, "hidden_size": hidden, "intermediate_size": 2 * hidden,
        "num_hidden_layers": len(LAYERS), "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": hidden // 4,
        "max_position_embeddings": CONTEXT, "initializer_range": spread, "tie_word_embeddings": False, **ends}
    if kind == "gemma":
        return transformers.Gemma3TextConfig(**common, sliding_window=WINDOW, layer_types=list(LAYERS),
                                             query_pre_attn_scalar=8)
    return transformers.LlamaConfig(**common)


def model(kind: str, *, seed: int, dtype: torch.dtype) -> Any:
    """Random weights, large enough that greedy sequences wander instead of repeating. In half precision it is wider:
    with 32 or 64 channels the kernels of some CPUs add up differently by width, which shows in one number of 10⁵."""
    settings = config(kind, hidden=32 if dtype == torch.float32 else 128)
    how = attention.NAME if attention.supported(settings) else "eager"
    with BUILDING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = transformers.AutoModelForCausalLM.from_config(settings, dtype=torch.float32, attn_implementation=how)
    return made.to(dtype).eval().requires_grad_(False)


def wrapped(name: str, hf: Any) -> Model:
    """As the loader hands out models, without a tokenizer: token 7 is spelled ⟨7⟩."""
    texts = tuple(f"⟨{token}⟩" for token in range(VOCABULARY))
    table = TokenTable(texts, frozenset(), tuple(text.encode() for text in texts), 0,
                       lambda ids: "".join(texts[i] for i in ids))
    info = TargetInfo(name=name, parameters=sum(p.numel() for p in hf.parameters()), layers=hf.config.num_hidden_layers,
                      vocabulary=VOCABULARY, context=CONTEXT, dtype=_name(hf.dtype), device="cpu", fingerprint=name)
    return Model(hf=hf, tokenizer=None, info=info, table=table, texts=texts, eos=frozenset())


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
