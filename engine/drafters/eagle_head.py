"""EAGLE's network: one decoder layer that continues the target's features (Li et al., EAGLE 2024, EAGLE-3 2025).

Position t holds the target's feature f_t, which has seen tokens up to x_t, and the embedding of the next token, known
or drafted:

    h     = W · [f at several depths]            or, while drafting, the layer's own output one position before
    a     = Attention([norm(embed(x_t+1)), norm(h)])
    h'    = h + a,   h' = h' + MLP(norm(h'))     h' takes the place of a feature at the next position
    q     = softmax(head · norm(h'))             a guess for x_t+2, over a reduced draft vocabulary

Names of parameters are those of public EAGLE-3 checkpoints, so that theirs and ours are loaded alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRotaryEmbedding, apply_rotary_pos_emb

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""From queries (B, heads, W, D) and the new keys and values (B, kv heads, W, D) to outputs (B, heads, W, D); it keeps
and masks older keys as its caller wants."""


@dataclass(frozen=True)
class EagleShape:
    """Sizes of one head."""

    config: LlamaConfig
    """Of the one layer; ``vocab_size`` is the target's."""
    draft_vocabulary: int
    inputs: int
    """Numbers in a position's features, all depths together."""
    norm_before_residual: bool = False
    """The residual branch takes the normalised state (an option of some checkpoints)."""
    norm_features: bool = False
    """Every depth's feature is brought to unit mean square first: raw ones differ in size by hundreds, and some of
    their numbers by thousands, which slows training down."""
    depths: int = 1
    """How many features lie side by side in ``inputs``; asked for only where each has a norm of its own."""
    norm_together: bool = False
    """Other packages' ways with features: one trained norm over all of them side by side,"""
    norm_apart: bool = False
    """or a trained one for each."""
    norm_output: bool = False
    """What takes the place of a feature is the layer's normalised output."""
    norm_queries: bool = False
    """Each head's queries and keys are normalised, as in Qwen 3."""


class Norm(nn.RMSNorm):
    """In the state's own dtype: mixed ones, as in training, would take a path three times as slow."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = nn.functional.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)
        return out


class EagleLayer(nn.Module):
    def __init__(self, shape: EagleShape) -> None:
        super().__init__()
        c = shape.config
        self.norm_first = shape.norm_before_residual
        self.heads, self.kv_heads, self.size = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.input_layernorm = Norm(c.hidden_size, eps=c.rms_norm_eps)
        self.hidden_norm = Norm(c.hidden_size, eps=c.rms_norm_eps)
        self.post_attention_layernorm = Norm(c.hidden_size, eps=c.rms_norm_eps)
        bias = bool(c.attention_bias)
        self.self_attn = nn.ModuleDict({
            "q_proj": nn.Linear(2 * c.hidden_size, self.heads * self.size, bias=bias),
            "k_proj": nn.Linear(2 * c.hidden_size, self.kv_heads * self.size, bias=bias),
            "v_proj": nn.Linear(2 * c.hidden_size, self.kv_heads * self.size, bias=bias),
            "o_proj": nn.Linear(self.heads * self.size, c.hidden_size, bias=bias),
        })
        self.norm_queries = shape.norm_queries
        if shape.norm_queries:
            self.self_attn.update({name: Norm(self.size, eps=c.rms_norm_eps) for name in ("q_norm", "k_norm")})
        self.mlp = LlamaMLP(c)

    def forward(self, hidden: torch.Tensor, embeds: torch.Tensor, rope: tuple[torch.Tensor, torch.Tensor],
                attend: Attend) -> torch.Tensor:
        """``hidden`` and ``embeds`` (B, W, H) → (B, W, H)."""
        normed = self.hidden_norm(hidden)
        both = torch.cat((self.input_layernorm(embeds), normed), -1)
        q, k, v = (self._split(self.self_attn[name](both)) for name in ("q_proj", "k_proj", "v_proj"))
        if self.norm_queries:
            q, k = self.self_attn["q_norm"](q), self.self_attn["k_norm"](k)
        q, k = apply_rotary_pos_emb(q, k, *rope)
        mixed = attend(q, k, v).transpose(1, 2).flatten(2)
        hidden = (normed if self.norm_first else hidden) + self.self_attn["o_proj"](mixed)
        out: torch.Tensor = hidden + self.mlp(self.post_attention_layernorm(hidden))
        return out

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        """(B, W, n·D) → (B, n, W, D)."""
        return states.view(*states.shape[:-1], -1, self.size).transpose(1, 2)


class EagleHead(nn.Module):
    """The network with its maps between draft and target vocabulary. The target's embedding and, as a rule, the rows of
    its output head are shared: the caller hands them over."""

    d2t: torch.Tensor
    """(draft vocabulary,) int64: what must be added to a draft id to get the target's."""

    def __init__(self, shape: EagleShape) -> None:
        super().__init__()
        c = shape.config
        self.shape = shape
        self.fc = nn.Linear(shape.inputs, c.hidden_size, bias=False)
        self.layers = nn.ModuleList([EagleLayer(shape)])
        self.norm = Norm(c.hidden_size, eps=c.rms_norm_eps)
        self.lm_head = nn.Linear(c.hidden_size, shape.draft_vocabulary, bias=False)
        self.register_buffer("d2t", torch.zeros(shape.draft_vocabulary, dtype=torch.int64))
        self.rotary = LlamaRotaryEmbedding(c)
        if shape.norm_together:
            self.input_norm = Norm(shape.inputs, eps=c.rms_norm_eps)
        if shape.norm_apart:
            self.fc_norm = nn.ModuleList([Norm(shape.inputs // shape.depths, eps=c.rms_norm_eps)
                                          for _ in range(shape.depths)])

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> EagleHead:
        """What ``to`` does. The rotary frequencies stay float32 in a head of another dtype: rounded to bfloat16 they
        would turn a thousandth position by another angle altogether."""
        exact = self.rotary.inv_freq
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.rotary.inv_freq = exact.to(self.rotary.inv_freq.device)
        return self

    @property
    def ids(self) -> torch.Tensor:
        """(draft vocabulary,) int64: the target's id of each draft id."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def fuse(self, features: torch.Tensor) -> torch.Tensor:
        """(…, inputs) → (…, H)"""
        if self.shape.norm_features:
            width = self.shape.config.hidden_size
            apart = features.view(*features.shape[:-1], -1, width)
            features = nn.functional.rms_norm(apart, (width,)).flatten(-2)
        if self.shape.norm_together:
            features = self.input_norm(features)
        if self.shape.norm_apart:
            pieces = features.chunk(self.shape.depths, -1)
            features = torch.cat([norm(one) for norm, one in zip(self.fc_norm, pieces, strict=True)], -1)
        out: torch.Tensor = self.fc(features)
        return out

    def forward(self, hidden: torch.Tensor, embeds: torch.Tensor, positions: torch.Tensor, attend: Attend
                ) -> torch.Tensor:
        """One step of the layer: (B, W, H) twice, ``positions`` (1 or B, W) → (B, W, H)."""
        out: torch.Tensor = self.layers[0](hidden, embeds, self.rotary(hidden, positions), attend)
        if self.shape.norm_output:
            out = self.norm(out)
        return out

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """(…, H) → (…, draft vocabulary)"""
        out: torch.Tensor = self.lm_head(hidden if self.shape.norm_output else self.norm(hidden))
        return out


def llama_config(text: Any, *, intermediate: int) -> LlamaConfig:
    """One Llama layer as wide as a target's, from the target's own text configuration."""
    heads = text.num_attention_heads
    return LlamaConfig(
        vocab_size=text.vocab_size, hidden_size=text.hidden_size, intermediate_size=intermediate, num_hidden_layers=1,
        num_attention_heads=heads, num_key_value_heads=getattr(text, "num_key_value_heads", None) or heads,
        head_dim=getattr(text, "head_dim", None) or text.hidden_size // heads,
        max_position_embeddings=text.max_position_embeddings, rms_norm_eps=getattr(text, "rms_norm_eps", 1e-6),
        rope_parameters=getattr(text, "rope_parameters", None))
