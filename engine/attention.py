"""One attention for every width: a row's result must not depend on how many rows were computed with it.

Models share each key-value head among G query heads. transformers expands keys and values G times (slow on a static
cache, whose every slot is copied in every layer) or, for one query only, folds the heads instead; so one row and five
rows run through different kernels, and in half precision their results differ.

Here the queries are always folded: (B, H, W, D) → (B, H/G, G·W, D). Each key-value head meets all its rows at once,
nothing is copied, and the rows of every width take the same path, but for one detail: the CPU kernel works in blocks of
32 rows, and a last block of one or two rows goes through another multiplication whose last bits differ now and then.
Such a block is filled up. Measured with the built-in model in bfloat16 on CPU: bit-identical for widths 1 to 32, and no
slower than the growing cache.

The paths of a draft tree lie scattered over the cache, and a sum in another order has other bits. :class:`Paths` undoes
that: each path's keys and values are copied into the order that plain decoding would have them in, and attention runs
over a batch of chains. The price is a copy of the cache a path, in every layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from engine.errors import ModelError
from engine.tree import Tree

NAME = "specscope"

BLOCK, FEWEST = 32, 3
"""The CPU kernel's rows a block, and the fewest that it multiplies like any other number of them."""


@dataclass(frozen=True)
class Paths:
    """A tree as L chains of P rows each, one from the root to each leaf; what is behind a shorter one's end is of no
    use. Hung on a mask as its attribute ``paths``."""

    start: int
    """The slot of the newest token, the root."""
    slots: torch.Tensor
    """(L, P) where each place's keys and values are."""
    rows: torch.Tensor
    """(L, P) which query row stands at each place."""
    found: torch.Tensor
    """(W,) where each query row is in the flattened L × P."""
    mask: torch.Tensor
    """(1, 1, P, S) of one chain, additive."""

    @classmethod
    def of(cls, tree: Tree, start: int, width: int, mask: torch.Tensor) -> Paths:
        """``width``: query rows, pads included. P is as wide as ``mask``."""
        places, device = mask.shape[2], mask.device
        lines = [[0, *(node + 1 for node in tree.path(leaf))] for leaf in tree.leaves]
        rows = [line + [line[-1]] * (places - len(line)) for line in lines]
        found = {row: number * places + place for number, line in enumerate(lines) for place, row in enumerate(line)}
        at = torch.tensor(rows, device=device)
        return cls(start, at + start, at, torch.tensor([found.get(row, 0) for row in range(width)], device=device),
                   mask)

    def chains(self, queries: torch.Tensor) -> torch.Tensor:
        """(1, H, W, D) → (L, H, P, D)"""
        return queries[0][:, self.rows].transpose(0, 1)

    def ordered(self, states: torch.Tensor) -> torch.Tensor:
        """Keys or values (1, H, S, D) → (L, H, S, D), each path's in the cache's order."""
        out = states.repeat(len(self.slots), 1, 1, 1)
        out[:, :, self.start : self.start + self.slots.shape[1]] = states[0][:, self.slots].transpose(0, 1)
        return out

    def tree(self, out: torch.Tensor) -> torch.Tensor:
        """(L, P, H, D) → (1, W, H, D)"""
        return out.flatten(0, 1)[self.found][None]


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **unknown: Any,
) -> tuple[torch.Tensor, None]:
    """softmax(q·kᵀ·scaling + mask)·v.

    ``query`` (B, H, W, D); ``key`` and ``value`` (B, H/G, S, D); ``attention_mask`` (B or 1, 1, W, S), additive or
    boolean, or None for causal. Returns (B, W, H, D). Raises :class:`ModelError` for attention with sinks, biases or
    soft-capping, which this kernel doesn't know.
    """
    for extra in ("s_aux", "position_bias", "softcap"):
        if unknown.get(extra) is not None:
            raise ModelError(f"This model's attention uses {extra}, which SpecScope's attention can't compute; "
                             "load it with its own attention (eager).")
    paths: Paths | None = getattr(attention_mask, "paths", None)
    if paths is not None:
        chains, _ = attend(module, paths.chains(query), paths.ordered(key), paths.ordered(value), paths.mask, dropout,
                           scaling)
        return paths.tree(chains), None
    batch, heads, width, size = query.shape
    groups = heads // key.shape[1]
    if attention_mask is None:
        slots = key.shape[2]
        attention_mask = torch.ones(1, 1, width, slots, dtype=torch.bool, device=query.device).tril(slots - width)
    rows = groups * width
    mask = fold(attention_mask, groups)
    folded = query.reshape(batch, heads // groups, rows, size)
    if mask.shape[2] > rows:
        folded = pad(folded, (0, 0, 0, mask.shape[2] - rows))
    out = scaled_dot_product_attention(folded, key, value, attn_mask=mask, dropout_p=dropout, scale=scaling)
    return out[:, :, :rows].reshape(batch, heads, width, value.shape[-1]).transpose(1, 2).contiguous(), None


def fold(mask: torch.Tensor, groups: int) -> torch.Tensor:
    """(B, 1, W, S) → (B, 1, G·W and what fills up the last block, S): made once a forward and kept with the mask, since
    all layers share it (thirty foldings took 2 % of a forward)."""
    made: dict[int, torch.Tensor] = mask.__dict__.setdefault("folded", {})
    if groups not in made:
        rows = groups * mask.shape[2]
        folded = mask.repeat(1, 1, groups, 1)
        spare = FEWEST - rows % BLOCK if 0 < rows % BLOCK < FEWEST else 0
        made[groups] = torch.cat((folded, mask[:, :, -1:].expand(-1, -1, spare, -1)), 2) if spare else folded
    return made[groups]


def supported(config: Any) -> bool:
    """Can models of this configuration run on :func:`attend`? (Those with soft-capped scores, Gemma 2 say, can't.)"""
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        return False
    kind = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    capped = getattr(config, "attn_logit_softcapping", None) is not None
    return bool(kind._supports_sdpa and kind._supports_attention_backend) and not capped


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)  # so that transformers' own generate() works on these models too
