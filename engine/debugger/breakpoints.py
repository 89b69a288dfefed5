"""Breakpoints: a condition, where it applies, at which of its hits to stop; kept as JSON from one start to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from engine.debugger.combined import AnyCondition
from engine.debugger.condition import ConditionError
from engine.errors import SpecScopeError

MAX_BREAKPOINTS = 200
MAX_SAVED = 1_000_000
"""Characters of JSON."""

Ids = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
HitWhen = Literal["every", "from", "exactly", "each"]


class HitRule(msgspec.Struct, frozen=True):
    """At which hits to stop. Hits are counted from the run's beginning, so it is the same ones from either side."""

    when: HitWhen = "every"
    n: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.n <= 2**40:
            raise ConditionError(f"n is {self.n}, but it must be a whole number, 1 or more.")

    def stops(self, hit: int) -> bool:
        """``hit`` counts from 1."""
        match self.when:
            case "from":
                return hit >= self.n
            case "exactly":
                return hit == self.n
            case "each":
                return hit % self.n == 0
        return True

    @property
    def words(self) -> str:
        """"" where nothing need be said."""
        match self.when:
            case "from":
                return f"from the {_ordinal(self.n)} time" if self.n > 1 else ""
            case "exactly":
                return f"only the {_ordinal(self.n)} time"
            case "each":
                return f"every {_ordinal(self.n)} time" if self.n > 1 else ""
        return ""


class Breakpoint(msgspec.Struct, frozen=True, kw_only=True):
    id: Ids
    condition: AnyCondition
    enabled: bool = True
    hits: HitRule = HitRule()
    lane: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """The id of the only lane it is for; "" for all."""

    @property
    def words(self) -> str:
        """All but the lane, whose title only the caller knows."""
        rule = self.hits.words
        return f"{self.condition.words}, {rule}" if rule else self.condition.words

    def applies_to(self, lane: str) -> bool:
        return self.enabled and self.lane in ("", lane)


def fresh_id(breakpoints: Sequence[Breakpoint]) -> str:
    """One that none of them has."""
    taken = {one.id for one in breakpoints}
    return next(name for number in range(1, len(taken) + 2) if (name := f"b{number}") not in taken)


def save(breakpoints: Sequence[Breakpoint]) -> str:
    return msgspec.json.encode(list(breakpoints)).decode()


def load(text: str) -> tuple[tuple[Breakpoint, ...], str]:
    """What :func:`save` wrote, and a sentence about what of it couldn't be understood ("" when all could)."""
    if not text:
        return (), ""
    if len(text) > MAX_SAVED:
        return (), "The saved breakpoints are too large to be ours, so they were left out."
    try:
        parts = msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return (), "The saved breakpoints couldn't be read, so there are none."
    kept: dict[str, Breakpoint] = {}
    for part in parts[:MAX_BREAKPOINTS]:
        try:
            one = msgspec.json.decode(part, type=Breakpoint)
        except (msgspec.MsgspecError, SpecScopeError, UnicodeError, RecursionError):
            continue
        kept.setdefault(one.id, one)
    lost = len(parts) - len(kept)
    return tuple(kept.values()), f"{lost} saved breakpoint{'s' if lost > 1 else ''} couldn't be read." if lost else ""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
