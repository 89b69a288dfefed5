"""Conditions joined by and, or or.

Parts of an "and" may be about different moments of a round: a draft, its judgement, the round's end. The whole is asked
at the last of them, when all can be told. A part that is told earlier counts there if it held of the same draft, or, at
the round's end, of anything in the round.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.debugger.condition import Condition, ConditionError, Kinds
from engine.debugger.conditions import (
    AllAccepted,
    AnyRejection,
    Divergence,
    EarlyRejection,
    FewerAccepted,
    LowOverlap,
    LowRatio,
    LowResidual,
    NearThreshold,
    RoundReached,
    SlowerThanMedian,
    SlowRound,
    TokenReached,
)
from engine.debugger.scene import Scene
from engine.debugger.token_conditions import EosDrafted, TokenId, TokenText
from engine.debugger.where import Where
from engine.records import Committed, Drafted, Judged, Record, Verified

MAX_PARTS = 8
MAX_DEPTH = 4

_ORDER: dict[type[Record], int] = {Drafted: 0, Verified: 1, Judged: 2, Committed: 3}


class Both(Condition, frozen=True, tag="and"):
    """All of its parts."""

    of: tuple[AnyCondition, ...] = ()

    def __post_init__(self) -> None:
        _check_parts(self)

    @property
    def words(self) -> str:
        return " and ".join(_bracketed(part, Either) for part in self.of)

    @property
    def kinds(self) -> Kinds:
        last = max(min(_ORDER[kind] for kind in part.kinds) for part in self.of)
        return frozenset(kind for part in self.of for kind in part.kinds if _ORDER[kind] >= last)

    def holds(self, scene: Scene, record: Record) -> bool:
        return all(_told(part, scene, record) for part in self.of)

    def fires(self, scene: Scene, record: Record) -> bool:
        """One of its parts has just become true, and the others are."""
        return any(type(record) in part.kinds and part.fires(scene, record) for part in self.of) and self.holds(
            scene, record)


class Either(Condition, frozen=True, tag="or"):
    """At least one of its parts."""

    of: tuple[AnyCondition, ...] = ()

    def __post_init__(self) -> None:
        _check_parts(self)

    @property
    def words(self) -> str:
        return " or ".join(_bracketed(part, Both) for part in self.of)

    @property
    def kinds(self) -> Kinds:
        return frozenset(kind for part in self.of for kind in part.kinds)

    def holds(self, scene: Scene, record: Record) -> bool:
        return any(type(record) in part.kinds and part.holds(scene, record) for part in self.of)

    def fires(self, scene: Scene, record: Record) -> bool:
        return any(type(record) in part.kinds and part.fires(scene, record) for part in self.of)


AnyCondition = (
    AnyRejection | EarlyRejection | AllAccepted | FewerAccepted | LowOverlap | LowRatio | NearThreshold | LowResidual
    | TokenId | TokenText | EosDrafted | RoundReached | TokenReached | SlowRound | SlowerThanMedian | Divergence | Where
    | Both | Either)


def _told(part: Condition, scene: Scene, record: Record) -> bool:
    """Does the part hold of a record, or of one before it in the round that is about the same?"""
    return any(type(one) in part.kinds and part.holds(scene, one) for one in (record, *_before(scene, record)))


def _before(scene: Scene, record: Record) -> Iterator[Record]:
    if isinstance(record, Judged):
        yield from scene.drafted[record.index : record.index + 1]
    elif isinstance(record, Committed):
        yield from scene.drafted
    if scene.verified is not None and record is not scene.verified:
        yield scene.verified
    if isinstance(record, Committed):
        yield from scene.judged


def _bracketed(part: Condition, other: type[Condition]) -> str:
    """In parentheses where the other of and, or stands within."""
    return f"({part.words})" if isinstance(part, other) else part.words


def _check_parts(whole: Both | Either) -> None:
    if not 2 <= len(whole.of) <= MAX_PARTS:
        raise ConditionError(f"{len(whole.of)} conditions are joined, but it must be 2 to {MAX_PARTS}.")
    if _depth(whole) > MAX_DEPTH:
        raise ConditionError(f"The conditions are nested more than {MAX_DEPTH} deep.")


def _depth(part: Condition) -> int:
    return 1 + max(map(_depth, part.of)) if isinstance(part, (Both, Either)) else 0
