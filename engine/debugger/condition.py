"""What all conditions have in common, and how their figures are checked and written.

A condition is plain data. It is asked about a record that has happened in a :class:`Scene`; ``kinds`` are the types of
records at which it can become true, so that all others are passed by quickly.
"""

from __future__ import annotations

import math
from typing import ClassVar

import msgspec

from engine.debugger.scene import Scene
from engine.errors import SpecScopeError
from engine.records import Committed, Drafted, Judged, Record, Verified

Kinds = frozenset[type[Record]]

DRAFTED: Kinds = frozenset({Drafted})
JUDGED: Kinds = frozenset({Judged})
COMMITTED: Kinds = frozenset({Committed})
BEGINNING: Kinds = frozenset({Drafted, Verified, Committed})
"""A round may begin with any of these: nothing drafted, or a recording of outcomes only."""


class ConditionError(SpecScopeError):
    """A condition's figure is out of its range; says which and what it may be."""


def require(ok: bool, name: str, value: object, rule: str) -> None:
    if not ok:
        raise ConditionError(f"{name} is {value!r}, but it must be {rule}.")


def require_number(name: str, value: float, most: float) -> None:
    require(math.isfinite(value) and 0 < value <= most, name, value, f"more than 0 and at most {most:g}")


def require_count(name: str, value: int, least: int = 1) -> None:
    require(least <= value <= 2**40, name, value, f"a whole number, {least} or more")


class Condition(msgspec.Struct, frozen=True, tag=True):
    """Common to all kinds."""

    fires_on: ClassVar[Kinds] = frozenset()

    @property
    def words(self) -> str:
        raise NotImplementedError

    @property
    def kinds(self) -> Kinds:
        """The types of records at which it can fire."""
        return self.fires_on

    def holds(self, scene: Scene, record: Record) -> bool:
        """Is it true of a record of the scene's round? ``record`` is of one of ``kinds``."""
        raise NotImplementedError

    def fires(self, scene: Scene, record: Record) -> bool:
        """Did it become true with the scene's last record?"""
        return self.holds(scene, record)


def figure(value: float) -> str:
    """0.30, not 0.3, as thresholds stand below each other; 1500, not 1.5e+03."""
    if value < 1 and round(value, 2) == value:
        return f"{value:.2f}"
    return f"{value:,.12g}" if value >= 1e-3 else f"{value:g}"
