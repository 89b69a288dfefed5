"""The target's features: its hidden states at chosen depths, one row a cached token, kept in step with its cache.

EAGLE's layer and Medusa's heads guess from what the target has computed anyway. The states are read by hooks that are
there only during a runner's own forward, so a model that is shared by runs is left as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from engine.errors import ModelError

NORMED = -1
"""The depth of what the output head reads: the last layer's output, normalised."""


def decoder_layers(model: Any) -> tuple[str, torch.nn.ModuleList]:
    """The list of a causal language model's layers, and its name in ``model.base_model``. Raises :class:`ModelError`
    where there is none."""
    base = model.base_model
    for name, child in base.named_children():
        if isinstance(child, torch.nn.ModuleList) and len(child) == base.config.num_hidden_layers:
            return name, child
    raise ModelError(f"The layers of this {type(model).__name__} could not be found, so nothing can be built on them; "
                     "choose prompt lookup or a draft model.")


class Features:
    """``depths``: how many layers a state has passed (0: the embedding), or :data:`NORMED`."""

    def __init__(self, model: Any, depths: Sequence[int]) -> None:
        """Raises :class:`ModelError` for a depth that the model doesn't have."""
        self.model = model
        self.depths = tuple(depths)
        layers = decoder_layers(model)[1]
        for depth in self.depths:
            if depth != NORMED and not 0 <= depth <= len(layers):
                raise ModelError(f"Features behind layer {depth} are wanted, but the target has {len(layers)} layers.")
        self._modules = [model.base_model if d == NORMED else layers[d - 1] if d else model.get_input_embeddings()
                         for d in self.depths]
        self._now: list[torch.Tensor | None] = [None] * len(self.depths)
        self._kept = torch.empty(0)

    def rows(self, first: int, end: int) -> torch.Tensor:
        """(end − first, depths × D): the features of tokens ``first`` … ``end`` − 1, side by side in the order of
        ``depths``. Valid until the runner's next forward; those of tokens behind its length mean nothing."""
        return self._kept[first:end]

    @contextmanager
    def read(self, start: int) -> Iterator[None]:
        """Around one forward of tokens ``start`` …"""
        with ExitStack() as stack:
            for place, module in enumerate(self._modules):
                handle = module.register_forward_hook(self._catch(place))
                stack.callback(handle.remove)
            yield
        found = torch.cat([one for one in self._now if one is not None], -1)
        self._now = [None] * len(self.depths)
        end = start + len(found)
        if end > len(self._kept):
            grown = found.new_empty(max(256, 2 * len(self._kept), end), found.shape[1])
            if len(self._kept):
                grown[: len(self._kept)] = self._kept
            self._kept = grown
        self._kept[start:end] = found

    def move(self, slots: Sequence[int], to: int) -> None:
        """The tokens in ``slots`` are now those from ``to`` on."""
        self._kept[to : to + len(slots)] = self._kept[list(slots)]

    def _catch(self, place: int) -> Any:
        def hook(module: Any, args: Any, output: Any) -> None:
            state = getattr(output, "last_hidden_state", output)
            self._now[place] = (state[0] if isinstance(state, tuple) else state)[0]

        return hook
