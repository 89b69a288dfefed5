"""Keep the libraries silent while we load: their bars become our progress, and their state is put back afterwards."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

from transformers.utils import logging as transformers_logging

from engine.models.progress import Reporter

_ONE_AT_A_TIME = threading.RLock()
"""Two loads at once would put each other's settings back."""
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


@contextmanager
def quiet(report: Reporter) -> Iterator[None]:
    """While inside: no library warns, logs or draws a bar; loading bars become calls of ``report``."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loggers = [logging.getLogger(name) for name in _LOUD]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        hook = transformers_logging.set_tqdm_hook(lambda _, args, kwargs: Bar(report, *args, **kwargs))
        try:
            yield
        finally:
            transformers_logging.set_tqdm_hook(hook)
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
