"""What a watched expression comes to at a moment."""

from __future__ import annotations

from functools import lru_cache

from engine.debugger import expressions
from engine.debugger.expressions import Expression
from engine.debugger.facts import TEXT_NAMES, WATCH_NAMES, of_moment
from engine.debugger.history import Moment
from engine.debugger.operations import Value


def evaluate(text: str, moment: Moment, place: int | None = None) -> Value:
    """None: unknown. ``place``: the draft of the moment's round that is selected, or ``FINAL``; None: the last judged
    or drafted. Raises :class:`ExpressionError` for a text that isn't an expression, or whose values don't fit."""
    return check(text).evaluate(of_moment(moment, place))


@lru_cache(maxsize=256)
def check(text: str) -> Expression:
    """Raises :class:`ExpressionError` for a text that can't be watched."""
    return expressions.compile(text, WATCH_NAMES, TEXT_NAMES)
