"""The whole rows of recorded rounds. Kept for the last round: the next question is most often about its next position,
and a round's rows are computed all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.orders import Rows
from engine.debugger.full_row import FullRow
from engine.full_rows import WholeRow, round_rows
from engine.models import Model
from engine.past import Past, ReplayError
from engine.records import Verified


class WholeRows:
    def __init__(self) -> None:
        self._of: tuple[Model, Verified] | None = None
        self._rows: tuple[WholeRow, ...] = ()

    def find(self, order: Rows, past: Past, target: Model, drafts: Mapping[str, Model],
             cancelled: Callable[[], bool]) -> FullRow:
        """``past``: of the order's records, up to its round. Raises what :func:`engine.full_rows.full_rows` does."""
        verified = past.now.verified if past.reached else None
        if verified is None or self._of is None or self._of[0] is not target or self._of[1] is not verified:
            self.forget()
            self._rows = round_rows(target, order.original, order.round, drafts, cancelled=cancelled)
            self._of = (target, verified) if verified is not None else None
        if not 0 <= order.index < len(self._rows):
            raise ReplayError(f"Round {order.round + 1} has rows 1 to {len(self._rows)}, but row {order.index + 1} was "
                              "asked for.")
        row = self._rows[order.index]
        return FullRow(row.round, row.index, row.p, row.q, target.texts)

    def forget(self) -> None:
        """They hold on to the model."""
        self._of, self._rows = None, ()
