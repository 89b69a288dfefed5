"""The line to the engine thread: orders go out over it, records and reports come in."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator

from app.engine_thread import EngineThread, Outbox, Workshop
from app.orders import Order, Quit, Report
from engine.records import Record


class EngineLine:
    """The thread begins with the first order: who only looks at a recording needs none."""

    def __init__(self, make_workshop: Callable[[], Workshop]) -> None:
        self.incoming: Outbox = deque()
        self._thread = EngineThread(make_workshop, self.incoming)
        self.begun = False
        self._closed = False

    def order(self, order: Order) -> None:
        if self._closed:
            return
        if not self.begun:
            self.begun = True
            self._thread.start()
        self._thread.send(order)

    def heard(self, deadline: float) -> Iterator[Record | Report]:
        """What has come in, until the time of :func:`time.perf_counter` is ``deadline``; the rest stays."""
        while self.incoming and time.perf_counter() < deadline:
            yield self.incoming.popleft()

    def close(self) -> None:
        """Nothing new goes out, and the engine is told to end. Safe to call again."""
        self._closed = True
        if self.begun:
            self._thread.send(Quit())

    def ended(self, seconds: float) -> bool:
        """Waits so long. False: the engine is still inside something that can't be interrupted."""
        return self._thread.join(seconds)
