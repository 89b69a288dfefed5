"""Keep the libraries silent while we load: their bars become our progress, and their state is put back afterwards."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from transformers.utils import logging as transformers_logging

from engine.models.progress import Reporter

BUILDING = threading.RLock()
"""Held while transformers builds a model: it replaces methods of its base class meanwhile, and two threads doing so at
once leave it broken (later models then have untied or uninitialised weights)."""

_LOUD = ("transformers", "huggingface_hub", "accelerate")


class Bar:
    """Stands in for a tqdm bar: same calls, but it reports to us, and so can cancel what it counts for.

    Bars that don't count (no total and no iterable) are silent.
    """

    def __init__(self, report: Reporter, iterable: Iterable[Any] | None = None, *, desc: str | None = None,
                 total: float | None = None, initial: float = 0, unit: str = "steps", **_: Any) -> None:
        self._report = report
        self._iterable = iterable
        size = len(iterable) if total is None and isinstance(iterable, Sized) else total
        self.total = int(size) if size else None
        self.n = int(initial)
        self._stage = (desc or "Loading").rstrip(". :")
        self._unit = "bytes" if unit == "B" else unit.strip() if unit not in ("it", "") else "steps"

    def update(self, n: float | None = 1) -> None:
        self.n += int(n or 0)
        self._report(self._stage, self.n, self.total, self._unit)

    def __iter__(self) -> Iterator[Any]:
        for item in self._iterable or ():
            yield item
            self.update()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., None]:
        """close, refresh, set_postfix, …: nothing to do."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


@dataclass
class _Silence:
    """The libraries' settings are global, so the first thread in saves them and the last one out puts them back."""

    depth: int = 0
    undo: ExitStack = field(default_factory=ExitStack)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth > 1:
                return
            self.undo.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            for name in _LOUD:
                logger = logging.getLogger(name)
                self.undo.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL)
            self.undo.callback(transformers_logging.set_tqdm_hook, transformers_logging.set_tqdm_hook(_bar))

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.undo.close()


_silence = _Silence()
_this_thread = threading.local()


def _bar(_: object, args: tuple[Any, ...], settings: dict[str, Any]) -> Bar:
    """What transformers draws in a thread goes to the load that runs in this thread, if any."""
    return Bar(getattr(_this_thread, "report", None) or Reporter(), *args, **settings)


@contextmanager
def quiet(report: Reporter) -> Iterator[None]:
    """While inside: no library warns, logs or draws a bar; loading bars become calls of ``report``. Can be nested."""
    outer = getattr(_this_thread, "report", None)
    _this_thread.report = report
    _silence.enter()
    try:
        yield
    finally:
        _silence.leave()
        _this_thread.report = outer
