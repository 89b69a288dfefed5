"""The caches of the lane that was restored last, so that the next question about it costs a copy instead of forwards.

Slots of committed tokens are written once and never changed, so what a cache held at some round is there for every
earlier round too: cut it back; and for every later one: go on from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch

from engine.past import Past, committed_of, verified_of
from engine.runner import Runner
from engine.settings import DrafterSettings

MOST = 1 << 29
"""Bytes that are kept at most; larger caches are restored anew each time."""

RoundKey = tuple[object, ...]


def keys_of(past: Past) -> tuple[RoundKey, ...]:
    """What decides the caches' contents, a round."""
    return tuple((one.start, tuple(draft.token for draft in one.drafted), verified_of(one).width,
                  committed_of(one).tokens, committed_of(one).digests) for one in past.rounds)


@dataclass(frozen=True)
class Snapshot:
    """One runner's cache, sharing its memory: a run that goes on writes behind it only."""

    model: ref[Any]
    layers: tuple[tuple[torch.Tensor, torch.Tensor] | None, ...]
    """Keys and values; None for a layer that is left out."""
    length: int
    ids: tuple[int, ...]

    @classmethod
    def of(cls, runner: Runner, model: Any) -> Snapshot:
        """``model``: whose weights they are (a runner's own may be a shell around them)."""
        layers = tuple((one.keys, one.values) if one.is_initialized else None for one in runner.cache.layers)
        return cls(ref(model), layers, runner.length, tuple(runner.ids or ()))

    @torch.inference_mode()
    def put_back(self, runner: Runner, length: int, reach: int) -> None:
        """Copy the first ``length`` slots, or as many as there are, into an empty cache that has room for ``reach``."""
        length = min(length, self.length)
        runner.cache.reserve(max(length, reach))
        for layer, held in zip(runner.cache.layers, self.layers, strict=True):
            if held is not None:
                layer.hold(held[0][:, :, :length], held[1][:, :, :length])
        runner.adopt(self.ids[:length])


@dataclass(frozen=True)
class Kept:
    prompt: tuple[int, ...]
    slots: int
    rounds: tuple[RoundKey, ...]
    method: DrafterSettings
    target: Snapshot
    drafter: Snapshot | None
    chunk: int
    identical: bool | None

    def common(self, past: Past) -> int:
        """How many rounds of ``past`` are in here."""
        pairs = zip(self.rounds, keys_of(past), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


_kept: WeakKeyDictionary[Any, Kept] = WeakKeyDictionary()
"""By the target's model: the last lane only."""


def recall(model: Any, past: Past) -> Kept | None:
    """What is kept of a lane on this target with this prompt."""
    kept = _kept.get(model)
    return kept if kept and (kept.prompt, kept.slots) == (past.started.prompt, past.started.slots) else None


def keep(model: Any, past: Past, method: DrafterSettings, target: Runner, drafter: tuple[Runner, Any] | None, *,
         chunk: int, identical: bool | None) -> None:
    """``drafter``: its runner, and the model whose weights it runs. What is kept already stays if it has more of the
    same."""
    runners: Sequence[Runner] = [target, drafter[0]] if drafter else [target]
    if sum(runner.cache.bytes for runner in runners) > MOST:
        return
    old = recall(model, past)
    if old and old.method == method and old.common(past) == len(past.rounds):
        return
    _kept[model] = Kept(past.started.prompt, past.started.slots, keys_of(past), method, Snapshot.of(target, model),
                        Snapshot.of(*drafter) if drafter else None, chunk, identical)
