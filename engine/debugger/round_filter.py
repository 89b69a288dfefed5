"""A filter of finished rounds, made of what is typed: what the rounds table asks each row."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from engine.debugger import expressions
from engine.debugger.expressions import ExpressionError
from engine.debugger.facts import ROUND_NAMES, TEXT_NAMES, of_round
from engine.debugger.history import History
from engine.debugger.round_rows import RoundRow

Wanted = Callable[[RoundRow], bool]

_OPERATORS = re.compile(r"[-+*/%<>=!&|^~()\[\]{}≤≥≠×÷−]")
_JOINING = {"and", "or", "not", "in", "if", "else"}


def round_filter(text: str, history: Callable[[], History | None]) -> Wanted:
    """``text``: an expression over ``facts``, or words to be found in the round's texts. ``history``: of the lane whose
    rows are asked. Raises :class:`ExpressionError` for an expression with a fault; the filter raises it for a round
    whose values don't fit."""
    sought = words(text)
    if sought is not None:
        return by_words(sought)
    expression = expressions.compile(text, ROUND_NAMES, TEXT_NAMES)

    def wanted(row: RoundRow) -> bool:
        records = history()
        return records is not None and row.round < len(records.ends) and expression.holds(of_round(records, row.round))

    return wanted


def words(text: str) -> str | None:
    """What is to be found in the texts; None: it is, or was meant to be, an expression."""
    try:
        constant = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        constant = None
    if isinstance(constant, str):
        return constant or None
    if _OPERATORS.search(text) is not None:
        return None
    if constant is not None and not isinstance(constant, bool):
        return text.strip()  # a number alone: it says nothing of a round, but may stand in its text
    try:
        expressions.compile(text, ROUND_NAMES, TEXT_NAMES)
    except ExpressionError:
        parts = set(re.findall(r"\w+", text))
        meant = not text.strip() or (parts & _JOINING and parts & ROUND_NAMES)
        return None if meant else text.strip()
    return None


def by_words(sought: str) -> Wanted:
    """Rounds in whose committed or drafted text this occurs, in small letters or capitals."""
    folded = sought.casefold()

    def wanted(row: RoundRow) -> bool:
        return any(folded in one.casefold() for one in (row.committed_text or "", "".join(row.drafted_texts or ())))

    return wanted
