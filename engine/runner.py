"""One model's forwards in one run, on its own static cache, timed.

All state of a run (cache, clock) lives here; the model object is shared by runs and never changed. A compiled or
batched runner replaces :meth:`Runner._call` and keeps the rest.
"""

from __future__ import annotations

import ctypes
import inspect
import math
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from numpy.typing import NDArray

from engine.attention import Paths
from engine.errors import CacheError, ModelError
from engine.features import Features
from engine.rollback import Slots
from engine.tree import ROOT, Tree

PREFILL_CHUNK = 512
"""Prompt tokens per prefill forward: the same split on every lane, since another split rounds differently."""


def keep_freed_memory() -> None:
    """Tell glibc not to hand large freed blocks back to the system.

    A row of logits over a vocabulary is hundreds of kilobytes, and glibc returns such blocks at once; touching fresh
    pages then costs more than the arithmetic (a softmax over 11 rows of 49 152: 7.5 ms against 0.3 ms).
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            m_mmap_threshold, m_trim_threshold = -3, -1
            mallopt(m_mmap_threshold, 1 << 30)
            mallopt(m_trim_threshold, (1 << 31) - 1)


keep_freed_memory()


class Stopwatch:
    """Marks in time, on the host or, for CUDA, as events on the stream: reading them waits for nothing extra as long
    as it happens after a result was fetched."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._marks: list[Any] = []

    def mark(self) -> int:
        """Set a mark; returns its number."""
        if self._cuda:
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter())
        return len(self._marks) - 1

    def between(self, first: int, second: int) -> float:
        """Seconds from one mark to another."""
        a, b = self._marks[first], self._marks[second]
        return float(a.elapsed_time(b) / 1000 if self._cuda else b - a)


def fetch(*tensors: torch.Tensor) -> list[NDArray[Any]]:
    """Read tensors of one device back to the host in one transfer, thus one synchronisation."""
    if all(t.device.type == "cpu" for t in tensors):
        return [t.numpy() for t in tensors]
    flat = [t.contiguous().reshape(-1).view(torch.uint8) for t in tensors]
    raw = torch.cat(flat).cpu().numpy()
    out, at = [], 0
    for tensor, piece in zip(tensors, flat, strict=True):
        dtype = torch.empty(0, dtype=tensor.dtype).numpy().dtype
        out.append(raw[at : at + len(piece)].view(dtype).reshape(tuple(tensor.shape)))
        at += len(piece)
    return out


def as_ids(tokens: Sequence[int | torch.Tensor], device: torch.device) -> torch.Tensor:
    """(n,) int64 on ``device``, from ints or 0-d tensors that were never read back."""
    if all(isinstance(t, int) for t in tokens):
        return torch.tensor(tokens, dtype=torch.int64, device=device)
    return torch.stack([torch.as_tensor(t, dtype=torch.int64).to(device) for t in tokens])


class Runner:
    """Forwards of one causal language model over one growing and shrinking sequence.

    ``pad_to`` > 1 computes every forward at that width, with pads behind the real tokens that nothing ever reads.
    ``slots``: the size that the cache has from the start. ``gather``: a tree's paths are put into the cache's order
    for attention, at a price (see attention.py); a model with an attention of its own takes them as they lie.
    """

    def __init__(self, model: Any, *, pad_to: int = 1, slots: int = 0, gather: bool = False) -> None:
        self.gather = gather
        self.model = model
        self.config = model.config
        self.pad_to = pad_to
        self.device: torch.device = model.get_input_embeddings().weight.device
        self.dtype: torch.dtype = model.dtype
        self.vocabulary: int = model.get_input_embeddings().weight.shape[0]
        self.cache = Slots(_cache_layers(model))
        self.cache.reserve(slots)
        self._takes_rows = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._windows = _windows(text_config(model))
        self.forwards = 0
        self.features: Features | None = None
        self._ids_kept: list[int] | None = None

    @property
    def length(self) -> int:
        """Tokens whose keys and values are in the cache."""
        return self.cache.length

    @property
    def ids(self) -> list[int] | None:
        """The id in each slot, kept beside the cache since :meth:`remember` (see checks.py); None before that."""
        return self._ids_kept

    def remember(self) -> None:
        """Keep ids from now on, with the cache still empty. Costs a synchronisation a forward."""
        self._ids_kept = [] if not self.length else None

    def adopt(self, ids: Sequence[int]) -> None:
        """The cache's layers were given the states of these tokens. Raises :class:`CacheError` if one disagrees."""
        self.cache.filled(len(ids) - self.length)
        if self._ids_kept is not None:
            self._ids_kept = list(ids)

    def tap(self, depths: Sequence[int]) -> Features:
        """Keep the model's hidden states at these depths from now on (see features.py), for a drafter that guesses from
        them. Raises :class:`ModelError` for a depth it doesn't have, :class:`CacheError` once the cache is in use."""
        spread = set(map(str, (getattr(self.model, "hf_device_map", None) or {}).values()))
        if len(spread) > 1:
            raise ModelError("This drafter reads the target's features, which must lie on one device, but the target "
                             f"is spread over {', '.join(sorted(spread))}; load it on one (--device), or choose "
                             "another drafter.")
        if self.length:
            raise CacheError("Features can be kept only from a run's start, but the cache is already in use.")
        self.features = Features(self.model, depths)
        return self.features

    def stopwatch(self) -> Stopwatch:
        return Stopwatch(self.device)

    def width(self, tokens: int) -> int:
        """Positions that a forward over this many tokens computes."""
        return max(tokens, self.pad_to)

    def wait(self) -> None:
        """Until all that was asked of the device is done: after the prefill, and at each draft while stepping."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @torch.inference_mode()
    def prefill(self, tokens: Sequence[int]) -> None:
        """Put tokens into the cache; no logits are computed beyond one row a chunk."""
        for start in range(0, len(tokens), PREFILL_CHUNK):
            self._forward(self._ids(tokens[start : start + PREFILL_CHUNK]), rows=1)

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int | torch.Tensor], *, rows: int = 0, tree: Tree | None = None
                ) -> torch.Tensor:
        """Logits (rows, V) of the last ``rows`` of ``tokens`` (0: all), in the model's dtype, on its device.

        Tokens are ints or 0-d integer tensors already on a device (a draft that was never read back). ``tree``: they
        are the newest token and the drafts of this tree, each of which sees its own ancestors only; what is left of
        them is settled by :meth:`keep`. Without one each sees all before it.
        """
        real = len(tokens)
        ids = self._ids(list(tokens) + [0] * max(0, self.pad_to - real))
        logits = self._forward(ids, rows=0 if self.pad_to > 1 else rows, real=real,
                               tree=None if tree is None or tree.is_chain else tree)
        if self.pad_to > real:
            self._cut(self.length - (self.pad_to - real))
        first = real - rows if rows else 0
        return logits[first:real] if self.pad_to > 1 else logits

    @torch.inference_mode()
    def keep(self, slots: Sequence[int], to: int) -> None:
        """Of the cached tokens behind the first ``to`` keep those in ``slots``, moved together, with their ids and
        features; forget the rest. Raises :class:`CacheError` as :meth:`engine.rollback.Slots.move` does."""
        if list(slots) != list(range(to, to + len(slots))):
            self.cache.move(slots, to)
            if self._ids_kept is not None:
                self._ids_kept[to : to + len(slots)] = [self._ids_kept[slot] for slot in slots]
            if self.features:
                self.features.move(slots, to)
        self.cut(to + len(slots))

    def cut(self, to: int) -> int:
        """Forget all cached tokens behind the first ``to``; returns how many."""
        return self._cut(to) if to < self.length else 0

    def _cut(self, to: int) -> int:
        if self._ids_kept is not None:
            del self._ids_kept[to:]
        return self.cache.cut(to)

    def _ids(self, tokens: Sequence[int | torch.Tensor]) -> torch.Tensor:
        """(1, W) int64 on the model's device. Ints outside the embedding raise: they would read foreign memory."""
        for token in tokens:
            if isinstance(token, int):
                if not 0 <= token < self.vocabulary:
                    raise CacheError(f"Token id {token} is outside the model's vocabulary of {self.vocabulary}.")
            elif getattr(token, "ndim", 1):
                raise CacheError("A runner decodes one sequence of tokens, but it was given several; give each its "
                                 "own runner.")
        return as_ids(tokens, self.device)[None]

    def _forward(self, ids: torch.Tensor, *, rows: int, real: int | None = None, tree: Tree | None = None
                 ) -> torch.Tensor:
        """``real``: how many of ``ids`` are no pads; pads repeat the last real position, which always exists."""
        start, width = self.length, ids.shape[1]
        self.cache.reserve(start + width)
        last = (real or width) - 1
        places = torch.arange(width, device=self.device).clamp(max=last)
        if tree is not None:
            places = torch.tensor([0, *(depth + 1 for depth in tree.depths)], device=self.device)[places]
        with self.features.read(start) if self.features else nullcontext():
            logits = self._call(ids, start + places, rows, *([tree] if tree else []))
        self.cache.filled(width)
        self.forwards += 1
        if self._ids_kept is not None:
            self._ids_kept += ids[0].tolist()
        return logits

    def _call(self, ids: torch.Tensor, positions: torch.Tensor, rows: int, tree: Tree | None = None) -> torch.Tensor:
        extra: dict[str, Any] = {"logits_to_keep": rows} if self._takes_rows else {}
        masks = self._masks(positions) if tree is None else self._tree_masks(positions, tree)
        out = self.model(input_ids=ids, position_ids=positions[None],
                         attention_mask=masks if len(masks) > 1 else next(iter(masks.values())),
                         cache=self.cache, use_cache=True, **extra)
        logits: torch.Tensor = out.logits[0]
        return logits if self._takes_rows or not rows else logits[-rows:]

    def _masks(self, positions: torch.Tensor) -> dict[str, torch.Tensor]:
        """Additive masks (1, 1, W, slots), one a layer type: row i sees slot j when j ≤ i, and i − j < window where
        there is one."""
        behind = positions[:, None] - torch.arange(self.cache.capacity, device=self.device)
        return {kind: self._additive((behind >= 0) & (behind < window)) for kind, window in self._windows.items()}

    def _tree_masks(self, positions: torch.Tensor, tree: Tree) -> dict[str, torch.Tensor]:
        """The same for a tree behind the cached tokens: a row sees those, its ancestors and itself; windows go by
        positions, not by slots."""
        start, width = self.length, len(positions)
        own = torch.zeros(width, width, dtype=torch.bool)
        for node in range(ROOT, len(tree)):
            own[node + 1, [0, *(above + 1 for above in tree.path(node))]] = True
        own[len(tree) + 1 :] = own[len(tree)]  # pads
        sees = torch.zeros(width, self.cache.capacity, dtype=torch.bool, device=self.device)
        sees[:, :start] = True
        sees[:, start : start + width] = own.to(self.device)
        places = torch.arange(self.cache.capacity, device=self.device)
        places[start : start + width] = positions
        behind = positions[:, None] - places
        masks = {kind: self._additive(sees & (behind < window)) for kind, window in self._windows.items()}
        if self.gather:
            longest = max(self.pad_to, 2 + max(tree.depths))
            for kind, chain in self._masks(torch.arange(start, start + longest, device=self.device)).items():
                setattr(masks[kind], "paths", Paths.of(tree, start, width, chain))  # noqa: B010 (mypy)
        return masks

    def _additive(self, sees: torch.Tensor) -> torch.Tensor:
        return torch.where(sees, 0.0, torch.finfo(self.dtype).min).to(self.dtype)[None, None]


def text_config(model: Any) -> Any:
    """The part of a model's configuration that describes its decoder (models of several kinds of input nest it)."""
    return model.config.get_text_config(decoder=True)


def _windows(config: Any) -> dict[str, float]:
    """How far back each kind of the model's layers looks, in tokens."""
    window = getattr(config, "sliding_window", None) or math.inf
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        return {"all": window}
    return {kind: window if kind == "sliding_attention" else math.inf for kind in sorted(set(kinds))}


def _cache_layers(model: Any) -> int:
    """Slots are found by a layer's own index, which a model made of another's layers keeps."""
    indices = [m.layer_idx for m in model.modules() if isinstance(getattr(m, "layer_idx", None), int)]
    return max(indices, default=-1) + 1 or int(text_config(model).num_hidden_layers)


