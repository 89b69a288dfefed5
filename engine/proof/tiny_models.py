"""Two tiny language models with random weights, and their rows behind every short continuation of one prompt.

Few tokens and a prompt that stays mean few contexts: all rows fit in a table, and a sample costs no forward.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
import transformers

from engine.drafters.layer_skip import default_skip, thinned
from engine.models.quiet import BUILDING
from engine.proof.rig import Logits

VOCABULARY = 12
PROMPT = (4, 6, 2, 1, 4, 6, 2)
"""Repeats itself, so that prompt lookup finds something."""

TOKENS = 4
"""Tokens decoded behind the prompt: rows are known behind up to one less."""

LAYERS = 4


@dataclass(frozen=True)
class Rows:
    """Logits in float32: of the target, of the target without some layers, and of another model."""

    target: Logits
    skipping: Logits
    draft: Logits


@functools.cache
def rows() -> Rows:
    target, draft = model(LAYERS, seed=0), model(2, seed=1)
    return Rows(table(target), table(thinned(target, default_skip(LAYERS))), table(draft))


def model(layers: int, seed: int) -> Any:
    """A Llama of hidden size 16. Weights are large enough that its rows differ from context to context."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=layers, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, max_position_embeddings=64, initializer_range=0.3,
        tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    with BUILDING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return made.eval().requires_grad_(False)


@torch.inference_mode()
def table(hf: Any) -> Logits:
    """The model's rows behind the prompt and up to ``TOKENS`` − 1 more tokens."""
    found: dict[tuple[int, ...], torch.Tensor] = {}
    for length in range(TOKENS):
        contexts = [PROMPT + more for more in product(range(VOCABULARY), repeat=length)]
        logits = hf(input_ids=torch.tensor(contexts), use_cache=False).logits[:, -1].float()
        found |= dict(zip(contexts, logits, strict=True))
    return found.__getitem__
