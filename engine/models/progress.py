"""Long work says how far it is, and stops when the person wants it to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import Cancelled


@dataclass(frozen=True)
class Progress:
    """How far one stage of long work has come."""

    stage: str
    """What is being done, for a person: "Downloading model.safetensors"."""
    done: int
    total: int | None
    """None while unknown."""
    unit: str
    """What ``done`` counts: "bytes", "tensors", "steps"."""


class Reporter:
    """Passes progress on and asks whether to go on."""

    def __init__(self, progress: Callable[[Progress], None] | None = None,
                 cancelled: Callable[[], bool] | None = None) -> None:
        self._progress = progress
        self._cancelled = cancelled

    def check(self) -> None:
        """Raises :class:`Cancelled` once the person has cancelled."""
        if self._cancelled is not None and self._cancelled():
            raise Cancelled("Loading was cancelled; nothing was changed.")

    def __call__(self, stage: str, done: int = 0, total: int | None = None, unit: str = "steps") -> None:
        """Report one step. Raises :class:`Cancelled` as :meth:`check` does."""
        self.check()
        if self._progress is not None:
            self._progress(Progress(stage, done, total, unit))
