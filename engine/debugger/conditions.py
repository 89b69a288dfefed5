"""What one can stop at: plain data, each kind with what it means in words and when it is true.

A condition is asked about a record that has happened in a :class:`Scene`. ``kinds`` are the types of records at which
it can become true, so that all others are passed by quickly.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import msgspec

from engine.debugger import expressions
from engine.debugger.expressions import Expression
from engine.debugger.facts import POSITION_NAMES, ROUND_NAMES, Facts
from engine.debugger.patterns import found, pattern
from engine.debugger.scene import FINAL, Scene
from engine.debugger.token_words import quoted
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


def _require(ok: bool, name: str, value: object, rule: str) -> None:
    if not ok:
        raise ConditionError(f"{name} is {value!r}, but it must be {rule}.")


def _require_number(name: str, value: float, most: float) -> None:
    _require(math.isfinite(value) and 0 < value <= most, name, value, f"more than 0 and at most {most:g}")


def _require_count(name: str, value: int, least: int = 1) -> None:
    _require(least <= value <= 2**40, name, value, f"a whole number, {least} or more")


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
        _require_count("draft", self.draft)

    @property
    def words(self) -> str:
        return f"first rejection at ≤ {self.draft}"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Judged) and not record.accepted and record.index < self.draft


class AllAccepted(Condition, frozen=True, tag="all-accepted"):
    fires_on = COMMITTED

    @property
    def words(self) -> str:
        return "all accepted"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and 0 < record.drafted == record.accepted


class FewerAccepted(Condition, frozen=True, tag="fewer-accepted"):
    """Never fires in plain decoding, where nothing could be accepted; a round without a guess counts as 0."""

    count: int = 1
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        _require_count("count", self.count)

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
        _require_number("overlap", self.below, 1)

    @property
    def words(self) -> str:
        return f"overlap < {_figure(self.below)}"

    def holds(self, scene: Scene, record: Record) -> bool:
        rows = scene.verified.rows if scene.verified is not None else ()
        if not isinstance(record, Judged) or record.index >= len(rows):
            return False
        overlap = rows[record.index].overlap
        return overlap is not None and overlap < self.below


class LowRatio(Condition, frozen=True, tag="ratio"):
    """p(y) / q(y) of a tested draft: the threshold that its draw is held against."""

    below: float = 0.5
    fires_on = JUDGED

    def __post_init__(self) -> None:
        _require_number("p/q", self.below, 1e6)

    @property
    def words(self) -> str:
        return f"p/q < {_figure(self.below)}"

    def holds(self, scene: Scene, record: Record) -> bool:
        if not isinstance(record, Judged) or record.p is None or not record.q:
            return False
        return record.p / record.q < self.below


class NearThreshold(Condition, frozen=True, tag="near-threshold"):
    """|u − p/q| < ``within``: another draw close by would have decided otherwise."""

    within: float = 0.05
    fires_on = JUDGED

    def __post_init__(self) -> None:
        _require_number("distance", self.within, 1)

    @property
    def words(self) -> str:
        return f"draw within {_figure(self.within)} of p/q"

    def holds(self, scene: Scene, record: Record) -> bool:
        if not isinstance(record, Judged) or record.p is None or not record.q or record.draw is None:
            return False
        return abs(record.draw - record.p / record.q) < self.within


class LowResidual(Condition, frozen=True, tag="residual"):
    """Σ max(p − q, 0) where a correction is drawn."""

    below: float = 0.1
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        _require_number("residual mass", self.below, 1)

    @property
    def words(self) -> str:
        return f"residual mass < {_figure(self.below)}"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and record.residual_mass is not None and record.residual_mass < self.below


Role = Literal["drafted", "committed", "rejected"]
Match = Literal["is", "contains", "pattern"]
_ROLES: dict[Role, Kinds] = {"drafted": DRAFTED, "committed": COMMITTED, "rejected": JUDGED}


def _tokens(role: Role, record: Record) -> tuple[tuple[int, str], ...]:
    """Those a record brings in a role, with what each adds to the text."""
    match record:
        case Drafted() if role == "drafted":
            return ((record.token, record.text),)
        case Judged(accepted=False) if role == "rejected":
            return ((record.token, record.text),)
        case Committed() if role == "committed":
            return tuple(zip(record.tokens, record.texts, strict=False))
    return ()


class TokenId(Condition, frozen=True, tag="token-id"):
    role: Role = "committed"
    token: int = 0
    shown: str = ""
    """The token's text when it was chosen, for the words only."""

    def __post_init__(self) -> None:
        _require_count("token id", self.token, 0)
        _require(len(self.shown) <= 200, "the token's text", self.shown[:40], "200 characters at most")

    @property
    def words(self) -> str:
        return f"{self.role} token = " + (f"{quoted(self.shown)} ({self.token})" if self.shown else f"#{self.token}")

    @property
    def kinds(self) -> Kinds:
        return _ROLES[self.role]

    def holds(self, scene: Scene, record: Record) -> bool:
        return any(token == self.token for token, _ in _tokens(self.role, record))


class TokenText(Condition, frozen=True, tag="token-text"):
    """Held against a token's own text and what it adds to the output. "is" overlooks spaces around it."""

    role: Role = "committed"
    match: Match = "is"
    text: str = ""

    def __post_init__(self) -> None:
        _require(0 < len(self.text) <= 200, "text", self.text[:40], "1 to 200 characters")
        if self.match == "pattern":
            pattern(self.text)

    @property
    def words(self) -> str:
        verb = {"is": "=", "contains": "contains", "pattern": "matches"}[self.match]
        return f"{self.role} token {verb} " + (f"/{self.text}/" if self.match == "pattern" else quoted(self.text))

    @property
    def kinds(self) -> Kinds:
        return _ROLES[self.role]

    def holds(self, scene: Scene, record: Record) -> bool:
        if "texts" in scene.unknown:
            return False
        texts = scene.history.texts
        return any(self._fits(text) or (token in texts and texts[token] != text and self._fits(texts[token]))
                   for token, text in _tokens(self.role, record))

    def _fits(self, text: str) -> bool:
        if self.match == "is":
            return text == self.text or text.strip() == self.text
        return self.text in text if self.match == "contains" else found(self.text, text)


class EosDrafted(Condition, frozen=True, tag="eos"):
    """An end-of-text token is drafted; it ends the run only if it is accepted."""

    fires_on = DRAFTED

    @property
    def words(self) -> str:
        return "end of text drafted"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Drafted) and record.token in scene.eos


class RoundReached(Condition, frozen=True, tag="round"):
    """Fires where the round begins; ``number`` counts from 1."""

    number: int = 1
    fires_on = BEGINNING

    def __post_init__(self) -> None:
        _require_count("round", self.number)

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
        _require_count("token", self.number)

    @property
    def words(self) -> str:
        return f"output token {self.number:,}"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and 0 <= self.number - 1 + scene.prompt - scene.start < len(record.tokens)


class SlowRound(Condition, frozen=True, tag="slow"):
    milliseconds: float = 100.0
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        _require_number("milliseconds", self.milliseconds, 1e9)

    @property
    def words(self) -> str:
        return f"round slower than {_figure(self.milliseconds)} ms"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Committed) and 1e3 * record.seconds.total > self.milliseconds


class SlowerThanMedian(Condition, frozen=True, tag="slower"):
    """Than ``times`` the median of the rounds before it, once there are four."""

    times: float = 2.0
    fires_on = COMMITTED

    def __post_init__(self) -> None:
        _require_number("times", self.times, 1e6)

    @property
    def words(self) -> str:
        return f"round slower than {_figure(self.times)} × median"

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


class Where(Condition, frozen=True, tag="where"):
    """An expression over ``facts``. One that speaks of a position is asked at each judged draft and each correction,
    bonus or plain token (not at the correction of a draft that it held for); any other where a round ends. One that
    can't be computed there doesn't hold."""

    text: str = ""

    def __post_init__(self) -> None:
        _compiled(self.text)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    @property
    def kinds(self) -> Kinds:
        return JUDGED | COMMITTED if _compiled(self.text).names & POSITION_NAMES else COMMITTED

    def holds(self, scene: Scene, record: Record) -> bool:
        place = scene.place_of(record)
        try:
            return _compiled(self.text).holds(Facts(scene, FINAL if place is None else place))
        except expressions.ExpressionError:
            return False

    def fires(self, scene: Scene, record: Record) -> bool:
        if not self.holds(scene, record):
            return False
        rejected = scene.judged[-1] if scene.judged and isinstance(record, Committed) else None
        return rejected is None or rejected.accepted or Judged not in self.kinds or not self.holds(scene, rejected)


_expressions: dict[str, Expression] = {}


def _compiled(text: str) -> Expression:
    """Raises :class:`ExpressionError`."""
    known = _expressions.get(text)
    if known is None:
        if len(_expressions) > 256:
            _expressions.clear()
        known = _expressions[text] = expressions.compile(text, ROUND_NAMES)
    return known


def _figure(value: float) -> str:
    """0.30, not 0.3, as thresholds stand below each other; 1500, not 1.5e+03."""
    if value < 1 and round(value, 2) == value:
        return f"{value:.2f}"
    return f"{value:,.12g}" if value >= 1e-3 else f"{value:g}"
