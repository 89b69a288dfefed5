"""What one can stop at, as the dialog offers it: in groups, each with the value to type and the choices to make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from app.form_fields import number, show_number, stepper, whole, whole_stepper
from engine.debugger.condition import Condition
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
from engine.debugger.token_conditions import EosDrafted, TokenId, TokenText
from engine.debugger.where import Where

_SIGNS = str.maketrans({"·": " ", "↵": "\n", "⇥": "\t"})
_SHOWN = {ord(char): chr(sign) for sign, char in _SIGNS.items()}


@dataclass(frozen=True)
class Typed:
    """The one value of a condition that is typed."""

    attribute: str
    name: str
    read: Callable[[str], Any]
    """Raises :class:`SettingsError` for a text that isn't a value."""
    start: Any
    show: Callable[[Any], str] = str
    step: Callable[[Any, int], Any] | None = None
    wide: bool = False


@dataclass(frozen=True)
class Choice:
    """One of several, in words."""

    attribute: str
    name: str
    words: tuple[tuple[str, str], ...]
    """Each value, and how it is called."""


@dataclass(frozen=True)
class Kind:
    group: str
    label: str
    about: str
    """What it means, with the formula where there is one."""
    type: type[Condition]
    typed: Typed | None = None
    choices: tuple[Choice, ...] = ()

    def values(self, condition: Condition) -> dict[str, Any]:
        return {name: getattr(condition, name) for name in self.attributes}

    @property
    def attributes(self) -> tuple[str, ...]:
        typed = (self.typed.attribute,) if self.typed is not None else ()
        return (*(choice.attribute for choice in self.choices), *typed)


def kind_of(condition: Condition) -> Kind | None:
    """None for conditions that are joined of others."""
    return next((kind for kind in KINDS if type(condition) is kind.type), None)


def default(kind: Kind) -> dict[str, Any]:
    """Values to begin with."""
    start = {choice.attribute: choice.words[0][0] for choice in kind.choices}
    return start | ({kind.typed.attribute: kind.typed.start} if kind.typed is not None else {})


def make(kind: Kind, values: dict[str, Any]) -> Condition:
    """Raises :class:`SpecScopeError` for a value out of range."""
    return kind.type(**{name: values[name] for name in kind.attributes})


def with_text(condition: Condition, text_of: Callable[[int], str]) -> Condition:
    """A token's id with its text, so that its words can be read."""
    if isinstance(condition, TokenId):
        return msgspec.structs.replace(condition, shown=text_of(condition.token)[:200])
    return condition


def read_token(text: str) -> str:
    """Spaces, line ends and tabs may be typed as they are shown."""
    return text.translate(_SIGNS)


def show_token(text: str) -> str:
    return text.translate(_SHOWN)


def _real(attribute: str, name: str, start: float, step: float) -> Typed:
    return Typed(attribute, name, number(name), start, show_number(), stepper(step, step))


def _count(attribute: str, name: str, start: int = 1, least: int = 1) -> Typed:
    return Typed(attribute, name, whole(name), start, str, lambda value, by: max(least, whole_stepper()(value, by)))


_ROLE = Choice("role", "which", (("committed", "committed"), ("drafted", "drafted"), ("rejected", "rejected")))
_MATCH = Choice("match", "how", (("is", "is"), ("contains", "contains"), ("pattern", "matches")))

_VERDICTS, _CHANCES, _TOKENS, _PLACES, _TIMES, _FREE = (
    "Verdicts", "Probabilities", "Tokens", "Places", "Times", "Anything else")

KINDS = (
    Kind(_VERDICTS, "any rejection", "A draft is rejected: u·q(y) ≥ p(y), or it isn't the target's argmax.",
         AnyRejection),
    Kind(_VERDICTS, "early rejection", "The first rejection of a round is at this draft or before it; 1 is the first "
         "draft.", EarlyRejection, _count("draft", "draft at most")),
    Kind(_VERDICTS, "all accepted", "Each draft of a round is accepted.", AllAccepted),
    Kind(_VERDICTS, "few accepted", "A round ends with fewer accepted drafts than this.", FewerAccepted,
         _count("count", "fewer than")),
    Kind(_CHANCES, "low overlap", "Σ min(p, q) at a tested position: the chance that a draft from q is accepted there.",
         LowOverlap, _real("below", "overlap below", 0.3, 0.05)),
    Kind(_CHANCES, "low p/q", "p(y) / q(y) of a tested draft: the threshold that its draw is held against.", LowRatio,
         _real("below", "p/q below", 0.5, 0.05)),
    Kind(_CHANCES, "close call", "|u − p/q| is smaller: another draw close by would have decided otherwise.",
         NearThreshold, _real("within", "within", 0.05, 0.01)),
    Kind(_CHANCES, "small residual", "Σ max(p − q, 0) where a correction is drawn.", LowResidual,
         _real("below", "mass below", 0.1, 0.05)),
    Kind(_TOKENS, "token with a text",
         "Type · for a space at its ends, ↵ for a new line. “is” overlooks such spaces.",
         TokenText, Typed("text", "text", read_token, "", show_token, wide=True), (_ROLE, _MATCH)),
    Kind(_TOKENS, "token with an id", "The token's number in the vocabulary.", TokenId,
         _count("token", "id", 0, 0), (_ROLE,)),
    Kind(_TOKENS, "end of text drafted", "An end-of-text token is proposed; it ends the run only once it is accepted.",
         EosDrafted),
    Kind(_PLACES, "round", "Where this round begins, counted from 1.", RoundReached, _count("number", "round")),
    Kind(_PLACES, "output token", "Where this token of the output is committed, counted from 1.", TokenReached,
         _count("number", "token")),
    Kind(_PLACES, "differs from plain", "The first token that plain decoding with these settings didn't write.",
         Divergence),
    Kind(_TIMES, "slow round", "draft + verify + judge + record + commit take longer.", SlowRound,
         _real("milliseconds", "ms more than", 100.0, 10.0)),
    Kind(_TIMES, "slower than usual", "A round takes longer than this many times the median of those before it.",
         SlowerThanMedian, _real("times", "× median", 2.0, 0.5)),
    Kind(_FREE, "expression", "For example: overlap < 0.3 and accepted == 0. What isn't known counts as no.", Where,
         Typed("text", "when", str, "", str, wide=True)),
)
