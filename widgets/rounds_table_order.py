"""Which rounds are listed, and in which order: kept up as rounds come, without sorting all of them again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from engine.debugger.round_rows import RoundRow
from engine.errors import SpecScopeError
from widgets.rounds_table_columns import COLUMNS, ROUND

Wanted = Callable[[RoundRow], bool]


class _Falling:
    """A value that sorts the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Falling) -> bool:
        return bool(other.value < self.value)


class Order:
    """``rounds`` are the listed ones, from the top. Rounds of which the sorted value is unknown come last, either
    way."""

    def __init__(self, row: Callable[[int], RoundRow]) -> None:
        self._row = row
        self.column = ROUND
        self.falling = False
        self.wanted: Wanted | None = None
        self.problem: SpecScopeError | None = None
        """The first that came up while asking a round whether it is wanted; those rounds aren't listed."""
        self.rounds: list[int] = []
        self._keys: list[Any] = []

    @property
    def natural(self) -> bool:
        """All rounds, as they came."""
        return self.wanted is None and self.column == ROUND and not self.falling

    def rebuild(self, count: int) -> None:
        """List rounds 0 … ``count`` − 1 anew."""
        self.problem = None
        if self.natural:
            self.rounds = list(range(count))
            self._keys = [(False, round) for round in self.rounds]
            return
        found = [(self._key(round), round) for round in range(count) if self._wants(round)]
        found.sort(key=lambda pair: pair[0])
        self._keys = [key for key, _ in found]
        self.rounds = [round for _, round in found]

    def place(self, round: int) -> int | None:
        """Where a new round belongs; None if it isn't wanted."""
        return bisect_right(self._keys, self._key(round)) if self._wants(round) else None

    def insert(self, place: int, round: int) -> None:
        self.rounds.insert(place, round)
        self._keys.insert(place, self._key(round))

    def find(self, round: int) -> int | None:
        """The line on which a round is listed."""
        if self.natural:
            return round if round < len(self.rounds) else None
        try:
            return self.rounds.index(round)
        except ValueError:
            return None

    def _wants(self, round: int) -> bool:
        if self.wanted is None:
            return True
        try:
            return bool(self.wanted(self._row(round)))
        except SpecScopeError as error:
            self.problem = self.problem or error
            return False

    def _key(self, round: int) -> tuple[Any, ...]:
        if self.column == ROUND:
            return (False, -round if self.falling else round)
        value = COLUMNS[self.column].of(self._row(round))
        if value is None:
            return (True, 0)
        return (False, _Falling(value) if self.falling else value)
