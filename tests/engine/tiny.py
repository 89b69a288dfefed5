"""Tiny models with random weights, and a tiny tokenizer, for tests that need the real classes but not real text.

Everything is made from a seed, in float32, in eval mode, and cached: ask for the same model twice and the same object
comes back, so a test must not change it. Weights are large enough that greedy sequences wander instead of repeating.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers.models import BPE

KINDS = ("llama", "qwen2", "qwen3", "gemma2", "gemma", "mistral", "gpt2")
"""The kinds that must decode; "mamba" is the one that must be refused."""

WINDOW = 8
"""The sliding window, in tokens, of the kinds that have one."""

CONTEXT = 256
"""Longest prompt + output of every kind but gpt2, which has 128 learned positions."""

TRAINING_TEXT = """\
The quick brown fox jumps over the lazy dog. The dog sleeps; the fox runs on and on, over the hill and through the rain.
def add(first, second):
    return first + second
for index in range(10): print(index, add(index, index))
One round drafts, verifies, judges and commits. The target decides; the drafter only guesses what the target will say.
"""

CHAT_TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def config(kind: str, *, vocabulary: int = 96, layers: int = 3) -> transformers.PreTrainedConfig:
    """The configuration of one tiny model: hidden size 32, 4 heads of 8 (2 for keys and values where the kind can)."""
    common: dict[str, Any] = {
        "vocab_size": vocabulary, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": layers,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": CONTEXT,
        "initializer_range": 0.4, "tie_word_embeddings": False, "bos_token_id": None, "eos_token_id": 0,
        "pad_token_id": 0,
    }
    mixed = ["sliding_attention" if i % 2 == 0 else "full_attention" for i in range(layers)]
    if kind == "llama":
        return transformers.LlamaConfig(**common)
    if kind == "qwen2":
        return transformers.Qwen2Config(**common)
    if kind == "qwen3":
        return transformers.Qwen3Config(**common)
    if kind == "gemma2":  # soft-capped attention and logits, and a sliding window
        return transformers.Gemma2Config(**common, sliding_window=WINDOW, layer_types=mixed, query_pre_attn_scalar=8)
    if kind == "gemma":
        return transformers.Gemma3TextConfig(
            **common, sliding_window=WINDOW, layer_types=mixed, query_pre_attn_scalar=8)
    if kind == "mistral":
        return transformers.MistralConfig(**common, sliding_window=WINDOW)
    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=vocabulary, n_positions=128, n_embd=32, n_layer=layers, n_head=4, initializer_range=0.4,
            tie_word_embeddings=False, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    if kind == "mamba":
        return transformers.MambaConfig(
            vocab_size=vocabulary, hidden_size=32, state_size=4, num_hidden_layers=layers, bos_token_id=0,
            eos_token_id=0, pad_token_id=0)
    raise ValueError(f"no tiny model of kind {kind!r}")


@functools.cache
def model(kind: str, *, vocabulary: int = 96, layers: int = 3, seed: int = 0) -> transformers.PreTrainedModel:
    """One tiny causal language model on the CPU, without gradients. Shared: don't change it."""
    settings = config(kind, vocabulary=vocabulary, layers=layers)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = transformers.AutoModelForCausalLM.from_config(
            settings, dtype=torch.float32, attn_implementation=attention(settings))
    return made.eval().requires_grad_(False)


def attention(settings: transformers.PreTrainedConfig) -> str:
    """The attention implementation the engine would load this model with."""
    try:
        from engine import attention as ours
    except ImportError:
        return "eager"
    return ours.NAME if ours.supported(settings) else "eager"


@functools.cache
def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """A byte-level BPE with 320 tokens, a chat template, and the special tokens <|start|> (1) and <|end|> (0: eos)."""
    bpe = Tokenizer(BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator([TRAINING_TEXT], trainers.BpeTrainer(
        vocab_size=320, show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[AddedToken("<|end|>", special=True), AddedToken("<|start|>", special=True)]))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|end|>", pad_token="<|end|>", chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT, clean_up_tokenization_spaces=False)


def save_tiny(folder: Path | str, kind: str, *, vocabulary: int = 352, layers: int = 3, seed: int = 0) -> Path:
    """Write one tiny model (safetensors) and the tokenizer to ``folder``, the way a hub checkout looks.

    The default vocabulary is larger than the tokenizer's 320, as in many published checkpoints.
    """
    folder = Path(folder)
    model(kind, vocabulary=vocabulary, layers=layers, seed=seed).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
