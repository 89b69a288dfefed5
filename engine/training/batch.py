"""Many sequences at once: a batch whose rows begin and end on their own (continuous batching), for making data fast.

Decoding one sequence reads all weights for one token; a batch reads them once for all rows, so on a CPU with matrix
units 128 rows take about three times as long as one. Nothing here needs to be bit-exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from engine.rollback import Slots
from engine.runner import text_config

STEP = 64
"""Attention runs over slots in use, rounded up to this."""


class RowLayer(CacheLayerMixin):  # type: ignore[misc]  # transformers ships no types
    """One layer's keys and values, each (rows, kv heads, slots, head size); row b has ``at[b]`` tokens."""

    is_croppable = False
    is_sliding = False

    def __init__(self, rows: int, slots: int) -> None:
        super().__init__()
        self.rows, self.slots = rows, slots
        self.at = torch.zeros(0)
        self.used = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        heads, size = key_states.shape[1], key_states.shape[3]
        self.keys = key_states.new_zeros(self.rows, heads, self.slots, size)
        self.values = value_states.new_zeros(self.rows, heads, self.slots, value_states.shape[3])
        self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any,
               **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Write each row's newest token into its own next slot."""
        assert self.keys is not None
        assert self.values is not None
        row = torch.arange(len(self.at), device=self.at.device)
        self.keys[row, :, self.at] = key_states[:, :, 0]
        self.values[row, :, self.at] = value_states[:, :, 0]
        return self.keys[:, :, : self.used], self.values[:, :, : self.used]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.used, 0

    def get_seq_length(self) -> int:
        return self.used

    def get_max_length(self) -> int:
        return self.slots


class Batch:
    """Rows of one causal language model, each with a sequence of its own, on one device."""

    def __init__(self, model: Any, rows: int, slots: int) -> None:
        """``slots``: the longest sequence, in tokens."""
        self.model = model
        self.slots = -(-slots // STEP) * STEP
        self.device: torch.device = model.get_input_embeddings().weight.device
        self.lengths = torch.zeros(rows, dtype=torch.int64, device=self.device)
        """(rows,) tokens in each row's cache."""
        layers = int(text_config(model).num_hidden_layers)
        self.cache = Cache(layers=[RowLayer(rows, self.slots) for _ in range(layers)])

    @torch.inference_mode()
    def begin(self, rows: Sequence[int], prompts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Put new sequences into rows; logits (n, V) behind each prompt."""
        width = max(len(prompt) for prompt in prompts)
        ids = torch.tensor([[*prompt, *[0] * (width - len(prompt))] for prompt in prompts], device=self.device)
        ends = torch.tensor([len(prompt) for prompt in prompts], device=self.device)
        fresh = Slots(len(self.cache.layers))
        fresh.reserve(width)
        behind = torch.arange(width, device=self.device)[:, None] - torch.arange(fresh.capacity, device=self.device)
        mask = _additive(behind >= 0, self.model.dtype)[None, None]
        out = self.model.base_model(input_ids=ids, attention_mask=mask, cache=fresh, use_cache=True,
                                    position_ids=torch.arange(width, device=self.device)[None])
        index = torch.tensor(rows, device=self.device)
        for mine, other in zip(self.cache.layers, fresh.layers, strict=True):
            if not mine.is_initialized:
                mine.lazy_initialization(other.keys, other.values)
            mine.keys[index, :, :width] = other.keys[:, :, :width]
            mine.values[index, :, :width] = other.values[:, :, :width]
        self.lengths[index] = ends
        last = out.last_hidden_state[torch.arange(len(rows), device=self.device), ends - 1]
        logits: torch.Tensor = self.model.get_output_embeddings()(last)
        return logits

    @torch.inference_mode()
    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """Append one token (rows,) to every row; logits (rows, V) behind it. A row that is not in use computes too,
        on its slot 0, and nobody reads it."""
        used = min(self.slots, -(-(int(self.lengths.max()) + 1) // STEP) * STEP)
        at = self.lengths.clamp(max=self.slots - 1)
        for layer in self.cache.layers:
            layer.at, layer.used = at, used
        mask = _additive(torch.arange(used, device=self.device) <= at[:, None], self.model.dtype)[:, None, None]
        out = self.model(input_ids=tokens[:, None], position_ids=at[:, None], attention_mask=mask, cache=self.cache,
                         use_cache=True, logits_to_keep=1)
        self.lengths += self.lengths > 0
        logits: torch.Tensor = out.logits[:, -1]
        return logits

    def end(self, row: int) -> None:
        """The row is free."""
        self.lengths[row] = 0


def _additive(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return torch.where(seen, 0.0, torch.finfo(dtype).min).to(dtype)
