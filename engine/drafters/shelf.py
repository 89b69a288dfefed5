"""The trained drafters of one method, as runs use them: read once a target, and told from others by their weights.

A drafter without a name is the one that was trained here for the target, or else the one that ships, and a folder may
hold others tomorrow. So the settings of a run name the weights, as they name the layers that layer skip leaves out: a
recording that is gone on with has the same ones, or says that they aren't there.
"""

from __future__ import annotations

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
        folder = self._find(drafter, target, weights=drafter.weights)
        found = checkpoint.digest(folder)
        if drafter.weights not in ("", found):
            raise MismatchError(
                f"This lane was drafted with the {self.method} weights {drafter.weights}, but those of "
                f"{drafter.model or folder} are {found}, which would draft otherwise: they were trained since, or the "
                "lane is from where there are others. Put the former weights back, go on with another drafter, or "
                "decode the prompt anew with these.", details=f"looked for in {folder}")
        known = self._read.setdefault(target.hf, {})
        if drafter.model not in known or known[drafter.model][0] != found:
            made = self._make(checkpoint.read(folder, drafter.model), target)
            known[drafter.model] = found, replace(made, about=f"{made.about}; weights {found}")
        return known[drafter.model][1]

    def weights(self, drafter: DrafterSettings, target: Model) -> str:
        """The digest of those that a new run has; "" where there are none to be had, which :meth:`get` will explain."""
        try:
            return checkpoint.digest(self._find(drafter, target))
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
