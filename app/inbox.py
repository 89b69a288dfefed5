"""Orders on their way to the engine thread."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Iterator

from app.orders import Cancel, Continue, Leave, Load, Order, Pause, Quit, Race, StepRecord, StepRound, Stop

MAKING_WAY = (Load, Race, Leave, Quit)
"""What everything under way makes way for."""


class Inbox:
    """:meth:`put` is for any thread, the rest for the one that does the work."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._waiting: deque[Order] = deque()

    def put(self, order: Order) -> None:
        self._queue.put(order)

    def next(self) -> Order:
        """Wait for one."""
        return self._waiting.popleft() if self._waiting else self._queue.get()

    def put_back(self, order: Order) -> None:
        """To be the next."""
        self._waiting.appendleft(order)

    def postpone(self, order: Order) -> None:
        """To be done behind all others."""
        self._collect()
        self._waiting.append(order)

    @property
    def empty(self) -> bool:
        self._collect()
        return not self._waiting

    def __iter__(self) -> Iterator[Order]:
        """What has come, left where it is."""
        self._collect()
        return iter(tuple(self._waiting))

    def drop_for(self, lane: str) -> None:
        """A branch was called off: take out the order that did it, and the gate orders before, meant for it too."""
        orders = list(self)
        self._waiting.clear()
        for place, order in enumerate(orders):
            if isinstance(order, MAKING_WAY):
                self._waiting.extend(orders[place:])
                return
            if isinstance(order, Cancel) or (isinstance(order, Stop) and order.lane in ("", lane)):
                self._waiting.extend(orders[place + 1 :])
                return
            if not isinstance(order, (Continue, Pause, StepRecord, StepRound)):
                self._waiting.append(order)

    def _collect(self) -> None:
        while True:
            try:
                self._waiting.append(self._queue.get_nowait())
            except queue.Empty:
                return
