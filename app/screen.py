"""The store as of its cursor: what the widgets of lanes are handed in its place."""

from __future__ import annotations

from collections.abc import Sequence

from app.lane_at import LaneAt
from app.lane_state import LaneState
from app.store import Selection, Store
from engine.divergence import Divergence


class Screen:
    """With no cursor it is the store. Else every lane is seen as of the cursor, each made once per moment."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._made: dict[str, tuple[int, LaneAt]] = {}
        """With the cursor that it was asked for: records that come later change nothing before them."""

    @property
    def revision(self) -> int:
        return self.store.revision

    @property
    def lanes(self) -> Sequence[LaneState | LaneAt]:
        return [self._seen(lane) for lane in self.store.lanes]

    def lane(self, id: str) -> LaneState | LaneAt | None:
        lane = self.store.lane(id)
        return self._seen(lane) if lane is not None else None

    @property
    def plain(self) -> LaneState | LaneAt | None:
        plain = self.store.plain
        return self._seen(plain) if plain is not None else None

    @property
    def longest_clock(self) -> float:
        """Of all that is recorded: the scale of time stays while the cursor moves."""
        return self.store.longest_clock

    @property
    def selection(self) -> Selection | None:
        return self.store.selection

    def select(self, lane: str, position: int | None = None, round: int | None = None,
               index: int | None = None) -> None:
        self.store.select(lane, position, round, index)

    def deselect(self) -> None:
        self.store.deselect()

    def speedup(self, lane: str) -> float | None:
        plain, state = self.plain, self.lane(lane)
        if plain is None or state is None:
            return None
        reference, own = plain.totals.tokens_per_second, state.totals.tokens_per_second
        return own / reference if own and reference else None

    def divergence(self, lane: str) -> Divergence | None:
        if self.store.cursor is None:
            return self.store.divergence(lane)
        plain, state, whole = self.plain, self.lane(lane), self.store.divergence(lane)
        if whole is None or plain is None or state is None:
            return None
        ended = plain.finished is not None and state.finished is not None  # then another length is a difference too
        return whole if ended or whole.index < min(len(plain.ids), len(state.ids)) else None

    def _seen(self, lane: LaneState) -> LaneState | LaneAt:
        cursor = self.store.cursor
        if cursor is None:
            return lane
        known = self._made.get(lane.id)
        if known is None or known[0] != cursor or known[1].base is not lane:
            moment = lane.moment(cursor)
            same = known is not None and known[1].base is lane and known[1].moment == moment
            known = self._made[lane.id] = cursor, known[1] if known is not None and same else LaneAt(lane, moment)
        return known[1]
