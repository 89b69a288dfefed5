"""The watch list: expressions over the moment that is shown, each with what it comes to there."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from engine.debugger import expressions
from engine.debugger.expressions import Expression, ExpressionError
from engine.debugger.facts import WATCH_NAMES, of_moment
from engine.debugger.history import Moment
from engine.debugger.operations import Value
from engine.debugger.token_words import plain, quoted


class Watched(NamedTuple):
    text: str
    shown: str
    """Its value, for a person; "" where there is a problem."""
    problem: str
    """Why there is none."""


def watched(text: str, moment: Moment, place: int | None = None) -> Watched:
    """``place``: the draft of the moment's round that is selected, or ``FINAL``; None: the last judged or drafted."""
    try:
        return Watched(text, shown(check(text).evaluate(of_moment(moment, place))), "")
    except ExpressionError as error:
        return Watched(text, "", str(error))


@lru_cache(maxsize=256)
def check(text: str) -> Expression:
    """Raises :class:`ExpressionError` for a text that can't be watched."""
    return expressions.compile(text, WATCH_NAMES)


def shown(value: Value) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "true" if value else "false"
        case float():
            return plain(value, 5)
        case str():
            return quoted(value)
    return f"{value:,}" if abs(value) < 10**15 else f"{float(value):.6g}"
