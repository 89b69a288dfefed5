"""The key-value cache, and how it is cut back after a rejection.

Token i of the sequence lives in slot i of every layer, in one static buffer that is cut back in place: cutting only
forgets, the next forward overwrites. Layers with a sliding window keep all slots too (the mask does the windowing), so
they can be cut back at any length. What can't be cut back, recurrent state, is refused before a run starts
(engine/models/refuse.py).

The buffer grows in powers of two, because a row's bits may depend on the number of slots its attention runs over:
the start-up check (invariance.py) compares rows across such a growth.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from engine.errors import CacheError

FIRST_BUCKET = 256
"""Attention runs over every slot, used or not: 512 of them cost a short run 2 to 4 % more a forward."""


def bucket(tokens: int) -> int:
    """Slots allocated for this many tokens: 256, 512, 1024, …"""
    slots = FIRST_BUCKET
    while slots < tokens:
        slots *= 2
    return slots


class SlotLayer(CacheLayerMixin):  # type: ignore[misc]  # transformers ships no types
    """One layer's keys and values, each (1, kv heads, capacity, head size), the first ``length`` slots in use."""

    is_croppable = True
    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        self.capacity = 0
        self.wanted = FIRST_BUCKET

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Take shapes, dtype and device from the first states, or grow to the wanted capacity, keeping what is in."""
        for name, states in (("keys", key_states), ("values", value_states)):
            fresh = states.new_zeros(*states.shape[:2], self.wanted, states.shape[-1])
            if self.length:
                fresh[:, :, : self.length] = getattr(self, name)[:, :, : self.length]
            setattr(self, name, fresh)
        self.device = key_states.device
        self.capacity = self.wanted
        self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any,
               **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the states behind those in use; return the whole buffers (the mask hides what isn't in use)."""
        if self.capacity != self.wanted:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        end = self.length + key_states.shape[2]
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys, self.values

    def hold(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Take over copies of another cache's states, into a layer that is still empty."""
        self.lazy_initialization(key_states, value_states)
        self.update(key_states, value_states)

    def move(self, slots: torch.Tensor, to: int) -> None:
        """Copy the states in ``slots`` (n) into the slots from ``to`` on."""
        for states in (self.keys, self.values):
            assert states is not None
            states[:, :, to : to + len(slots)] = states[:, :, slots]

    def crop(self, tokens_to_remove: int) -> None:
        """Forget the last ``-tokens_to_remove`` tokens (transformers counts them negatively)."""
        self.length += tokens_to_remove

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.wanted, 0

    def get_seq_length(self) -> int:
        return self.length

    def get_max_length(self) -> int:
        return self.wanted


class Slots(Cache):  # type: ignore[misc]
    """The cache of one model in one run. ``length`` tokens are in it; layers a drafter skips stay empty."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[SlotLayer() for _ in range(layers)])
        self.length = 0
        self.capacity = FIRST_BUCKET

    def reserve(self, tokens: int) -> None:
        """Make room for this many tokens in all, before a forward that will need them."""
        self.capacity = max(self.capacity, bucket(tokens))
        for layer in self.layers:
            layer.wanted = self.capacity

    def filled(self, by: int) -> None:
        """A forward has written ``by`` tokens. Raises :class:`CacheError` if any layer in use disagrees."""
        self.length += by
        self.check()

    def cut(self, to: int) -> int:
        """Keep the first ``to`` tokens, forget the rest; returns how many were forgotten.

        Raises :class:`CacheError` when there are fewer, or when a layer isn't as long as it must be afterwards.
        """
        if to > self.length:
            raise CacheError(f"The cache holds {self.length} tokens and can't be cut back to {to}.")
        forgotten = self.length - to
        for layer in self.layers:
            if layer.is_initialized:
                layer.crop(-forgotten)
        self.length = to
        self.check()
        return forgotten

    @torch.inference_mode()
    def move(self, slots: Sequence[int], to: int) -> None:
        """Copy the tokens in ``slots``, the accepted path of a tree, into the slots from ``to`` on.

        Raises :class:`CacheError` unless ``slots`` rise from ``to`` on and are in use.
        """
        if any(a >= b for a, b in pairwise((to - 1, *slots, self.length))):
            raise CacheError(f"Slots {list(slots)} of a cache of {self.length} tokens can't be moved to {to}.")
        for layer in self.layers:
            if layer.is_initialized:
                layer.move(torch.tensor(slots, device=layer.device), to)

    @property
    def bytes(self) -> int:
        """Memory held, in bytes."""
        return sum(t.numel() * t.element_size() for layer in self.layers if layer.is_initialized
                   for t in (layer.keys, layer.values))

    def check(self) -> None:
        """Raises :class:`CacheError` if any layer in use holds another number of tokens."""
        for index, layer in enumerate(self.layers):
            if layer.is_initialized and layer.length != self.length:
                raise CacheError(f"Layer {index} of the cache holds {layer.length} tokens where {self.length} "
                                 "were expected: the model did not write or cut its cache as it should.")
