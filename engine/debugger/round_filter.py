"""A filter of finished rounds, made of a typed expression: what the rounds table asks each row."""

from __future__ import annotations

from collections.abc import Callable

from engine.debugger import expressions
from engine.debugger.facts import ROUND_NAMES, of_round
from engine.debugger.history import History
from engine.debugger.round_rows import RoundRow


def round_filter(text: str, history: Callable[[], History | None]) -> Callable[[RoundRow], bool]:
    """``history``: of the lane whose rows are asked. Raises :class:`ExpressionError` for a text that isn't an
    expression; the filter raises it for a round whose values don't fit."""
    expression = expressions.compile(text, ROUND_NAMES)

    def wanted(row: RoundRow) -> bool:
        records = history()
        return records is not None and row.round < len(records.ends) and expression.holds(of_round(records, row.round))

    return wanted
