"""What a lane imported from another format doesn't know: no widget may show figures of it."""

from __future__ import annotations

from collections.abc import Iterable

from engine.records import Unknown
from widgets.protocols import LaneView

NO_TIMES = "This lane comes from another program's file, which holds no times."


def knows(lane: LaneView, what: Unknown) -> bool:
    return lane.started is None or what not in lane.started.unknown


def timed(lanes: Iterable[LaneView]) -> bool:
    """Have all of them a clock? Else nothing can be drawn over time."""
    return all(knows(lane, "seconds") for lane in lanes)


def greedy(lane: LaneView) -> bool:
    """For certain."""
    return lane.started is not None and knows(lane, "settings") and lane.started.settings.sampling.greedy
