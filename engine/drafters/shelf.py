"""The trained drafters of one method, as runs use them: read once a target, and told from others by their weights.

A drafter without a name is the one that was trained here for the target, or else the one that ships, and a folder may
hold others tomorrow. So the settings of a run name the weights, as they name the layers that layer skip leaves out: a
recording that is gone on with has the same ones, or says that they aren't there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from engine.drafters import checkpoint
from engine.drafters.checkpoint import Checkpoint
from engine.errors import MismatchError, ModelError
from engine.models import Model
from engine.models.progress import Reporter

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from engine.settings import DrafterSettings

    class Made(DataclassInstance, Protocol):
        """What a method's drafters share; a frozen dataclass."""

        @property
        def about(self) -> str: ...

T = TypeVar("T", bound="Made")

TRIES = 4
"""To read weights that are written anew meanwhile."""

BETWEEN = 1.0
"""Seconds for which config.json may lag behind the weights that are written before it, at most."""


def _digest(folder: Path) -> str:
    """Of the drafter there, not of one half of it and one half of the former: one that is being written is waited
    for."""
    while _half_written(folder):
        time.sleep(0.02)
    return checkpoint.digest(folder)


def _half_written(folder: Path) -> bool:
    """Were its weights written just now, but not yet its config.json?"""
    try:
        weights, config = ((folder / name).stat().st_mtime for name in (checkpoint.WEIGHTS, checkpoint.CONFIG))
    except OSError:
        return False
    return config < weights and 0 <= time.time() - weights < BETWEEN


class Shelf(Generic[T]):
    """What was read is never changed, so runs share it; files that were written anew are read anew."""

    def __init__(self, method: str, read: Callable[[Checkpoint, Model], T],
                 examine: Callable[[Checkpoint, Model], None] | None = None) -> None:
        """``read`` makes what the method's drafters share. ``examine`` may refuse one by its config.json, before its
        weights are downloaded; None: takes SpecScope's own only."""
        self.method = method
        self._make = read
        self._examine = examine
        self._read: WeakKeyDictionary[Any, dict[str, tuple[str, T]]] = WeakKeyDictionary()

    def get(self, drafter: DrafterSettings, target: Model) -> T:
        """What was read of the weights; its ``about`` tells their digest. Raises :class:`ModelError` when they can't
        be found or read, :class:`MismatchError` when they don't fit the target or aren't those that the settings
        name."""
        known = self._read.setdefault(target.hf, {})
        for _ in range(TRIES):
            folder = self._find(drafter, target, weights=drafter.weights)
            found = _digest(folder)
            if drafter.weights not in ("", found):
                raise MismatchError(
                    f"This lane was drafted with the {self.method} weights {drafter.weights}, but those of "
                    f"{drafter.model or folder} are {found}, which would draft otherwise: they were trained since, or "
                    "the lane is from where there are others. Put the former weights back, go on with another "
                    "drafter, or decode the prompt anew with these.", details=f"looked for in {folder}")
            if drafter.model in known and known[drafter.model][0] == found:
                return known[drafter.model][1]
            try:
                made = self._make(checkpoint.read(folder, drafter.model), target)
            except ModelError:
                if _digest(folder) == found:
                    raise
                continue
            if _digest(folder) == found:  # else it may have read others than were digested
                known[drafter.model] = found, replace(made, about=f"{made.about}; weights {found}")
                return known[drafter.model][1]
        raise ModelError(f"The {self.method} drafter in {folder} is written anew again and again, so it can't be read; "
                         "wait until its training is done, and start again.")

    def weights(self, drafter: DrafterSettings, target: Model) -> str:
        """The digest of those that a new run has; "" where there are none to be had, which :meth:`get` will explain."""
        try:
            return _digest(self._find(drafter, target))
        except (ModelError, OSError):  # a folder that may not be listed
            return ""

    def fetch(self, drafter: DrafterSettings, target: Model, report: Reporter) -> None:
        """Download them if they are the hub's. Raises :class:`ModelError` when they can't be had or used,
        :class:`Cancelled` when the person cancels."""
        if checkpoint.on_hub(drafter.model):
            self._find(drafter, target, report=report)

    def _find(self, drafter: DrafterSettings, target: Model, *, weights: str = "", report: Reporter | None = None
              ) -> Path:
        def examine(found: Checkpoint) -> None:
            if self._examine is not None:
                self._examine(found, target)
            else:
                found.check(self.method, target)

        return checkpoint.find(self.method, target, drafter.model, examine, weights=weights, report=report)
