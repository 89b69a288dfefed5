"""What one can stop at, besides tokens and expressions: verdicts, probabilities, places and times."""

from __future__ import annotations

from engine.debugger.condition import (
    BEGINNING,
    COMMITTED,
    JUDGED,
    Condition,
    figure,
    require_count,
    require_number,
)
from engine.debugger.scene import Scene
from engine.records import Committed, Judged, Record

__all__ = ["AllAccepted", "AnyRejection", "Condition", "Divergence", "EarlyRejection", "FewerAccepted", "LowOverlap",
           "LowRatio", "LowResidual", "NearThreshold", "RoundReached", "SlowRound", "SlowerThanMedian", "TokenReached"]


class AnyRejection(Condition, frozen=True, tag="rejection"):
    fires_on = JUDGED

    @property
    def words(self) -> str:
        return "any rejection"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Judged) and not record.accepted


class EarlyRejection(Condition, frozen=True, tag="early-rejection"):
    """The first rejection is at draft ``draft`` of its round, counted from 1, or before it."""

    draft: int = 1
    fires_on = JUDGED

    def __post_init__(self) -> None:
        require_count("draft", self.draft)

    @property
    def words(self) -> str:
        return f"first rejection at ≤ {self.draft}"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Judged) and not record.accepted and record.position - scene.start < self.draft


class AllAccepted(Condition, frozen=True, tag="all-accepted"):
    fires_on = COMMITTED

    @property
    def words(self) -> str:
        return "all accepted"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and (
            0 < record.drafted == record.accepted or (bool(record.path) and record.final == "bonus"))


class FewerAccepted(Condition, frozen=True, tag="fewer-accepted"):
    """Never fires in plain decoding, where nothing could be accepted; a round without a guess counts as 0."""

    count: int = 1
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        require_count("count", self.count)

    @property
    def words(self) -> str:
        return "nothing accepted" if self.count == 1 else f"fewer than {self.count} accepted"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and record.final != "plain" and record.accepted < self.count


class LowOverlap(Condition, frozen=True, tag="overlap"):
    """Σ min(p, q) at a tested position."""

    below: float = 0.3
    fires_on = JUDGED

    def __post_init__(self) -> None:
        require_number("overlap", self.below, 1)

    @property
    def words(self) -> str:
        return f"overlap < {figure(self.below)}"

    def holds(self, scene: Scene, record: Record) -> bool:
        row = scene.row(record.index) if isinstance(record, Judged) else None
        overlap = row.overlap if row is not None else None
        return overlap is not None and overlap < self.below


class LowRatio(Condition, frozen=True, tag="ratio"):
    """p(y) / q(y) of a tested draft: the threshold that its draw is held against."""

    below: float = 0.5
    fires_on = JUDGED

    def __post_init__(self) -> None:
        require_number("p/q", self.below, 1e6)

    @property
    def words(self) -> str:
        return f"p/q < {figure(self.below)}"

    def holds(self, scene: Scene, record: Record) -> bool:
        if not isinstance(record, Judged) or record.p is None or not record.q:
            return False
        return record.p / record.q < self.below


class NearThreshold(Condition, frozen=True, tag="near-threshold"):
    """|u − p/q| < ``within``: another draw close by would have decided otherwise."""

    within: float = 0.05
    fires_on = JUDGED

    def __post_init__(self) -> None:
        require_number("distance", self.within, 1)

    @property
    def words(self) -> str:
        return f"draw within {figure(self.within)} of p/q"

    def holds(self, scene: Scene, record: Record) -> bool:
        if not isinstance(record, Judged) or record.p is None or not record.q or record.draw is None:
            return False
        return abs(record.draw - record.p / record.q) < self.within


class LowResidual(Condition, frozen=True, tag="residual"):
    """Σ max(p − q, 0) where a correction is drawn."""

    below: float = 0.1
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        require_number("residual mass", self.below, 1)

    @property
    def words(self) -> str:
        return f"residual mass < {figure(self.below)}"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and record.residual_mass is not None and record.residual_mass < self.below


class RoundReached(Condition, frozen=True, tag="round"):
    """Fires where the round begins; ``number`` counts from 1."""

    number: int = 1
    fires_on = BEGINNING

    def __post_init__(self) -> None:
        require_count("round", self.number)

    @property
    def words(self) -> str:
        return f"round {self.number:,}"

    def holds(self, scene: Scene, record: Record) -> bool:
        return scene.round == self.number - 1

    def fires(self, scene: Scene, record: Record) -> bool:
        return scene.began and self.holds(scene, record)


class TokenReached(Condition, frozen=True, tag="token"):
    """Fires where output token ``number``, counted from 1, is committed."""

    number: int = 1
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        require_count("token", self.number)

    @property
    def words(self) -> str:
        return f"output token {self.number:,}"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and 0 <= self.number - 1 + scene.prompt - scene.start < len(record.tokens)


class SlowRound(Condition, frozen=True, tag="slow"):
    milliseconds: float = 100.0
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        require_number("milliseconds", self.milliseconds, 1e9)

    @property
    def words(self) -> str:
        return f"round slower than {figure(self.milliseconds)} ms"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and 1e3 * record.seconds.total > self.milliseconds


class SlowerThanMedian(Condition, frozen=True, tag="slower"):
    """Than ``times`` the median of the rounds before it, once there are four."""

    times: float = 2.0
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        require_number("times", self.times, 1e6)

    @property
    def words(self) -> str:
        return f"round slower than {figure(self.times)} × median"

    def holds(self, scene: Scene, record: Record) -> bool:
        median = scene.median
        return isinstance(record, Committed) and bool(median) and record.seconds.total > self.times * (median or 0.0)


class Divergence(Condition, frozen=True, tag="divergence"):
    """Fires once, at the first token that plain decoding with these settings didn't write."""

    fires_on = COMMITTED

    @property
    def words(self) -> str:
        return "differs from plain decoding"

    def holds(self, scene: Scene, record: Record) -> bool:
        return scene.diverged
