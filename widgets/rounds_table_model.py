"""The rounds of one lane as a Qt model. A round's figures are worked out when they are first looked at."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from engine.debugger.history import History
from engine.debugger.round_rows import RoundRow, round_row
from widgets.rounds_table_columns import COLUMNS, ROUND
from widgets.rounds_table_order import Order, Wanted

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
MANY = 64
"""More new rounds than this are listed at once, all anew, rather than one by one."""
SIGNS = {False: "▴", True: "▾"}
"""Beside the name of the column that is sorted by: rising or falling."""
LONGEST = 2000
"""Characters of a text in a tooltip."""


class RoundsModel(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self._history: History | None = None
        self._rows: dict[int, RoundRow] = {}
        self._shown: dict[int, list[str]] = {}
        self._count = 0
        self.happened = 0
        """Rounds that had ended at the cursor; later ones are pale."""
        self.current: int | None = None
        """The round that the moment is in."""
        self.order = Order(self.row)

    # What is listed

    def row(self, round: int) -> RoundRow:
        """A round's figures."""
        found = self._rows.get(round)
        if found is None:
            assert self._history is not None
            found = self._rows[round] = round_row(self._history, round)
        return found

    def shown(self, round: int) -> list[str]:
        """A round's cells, as written."""
        found = self._shown.get(round)
        if found is None:
            row = self.row(round)
            found = self._shown[round] = [column.write(column.of(row)) for column in COLUMNS]
        return found

    @property
    def count(self) -> int:
        """Rounds of the lane, listed or not."""
        return self._count

    def show(self, history: History | None) -> None:
        """Another lane, or None."""
        self.beginResetModel()
        self._history, self._rows, self._shown = history, {}, {}
        self._count = len(history.ends) if history is not None else 0
        self.order.rebuild(self._count)
        self.endResetModel()

    def catch_up(self) -> None:
        """List the rounds that have ended since."""
        ended = len(self._history.ends) if self._history is not None else 0
        if ended - self._count > MANY:
            self._count = ended
            self._relist()
            return
        while self._count < ended:
            place = self.order.place(self._count)
            if place is not None:
                self.beginInsertRows(NOWHERE, place, place)
                self.order.insert(place, self._count)
                self.endInsertRows()
            self._count += 1

    def filter(self, wanted: Wanted | None) -> None:
        self.order.wanted = wanted
        self._relist()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """By a column; by −1: as they came."""
        self.order.column = max(column, ROUND)
        self.order.falling = column >= 0 and order == Qt.SortOrder.DescendingOrder
        self._relist()

    def _relist(self) -> None:
        self.beginResetModel()
        self.order.rebuild(self._count)
        self.endResetModel()

    # What Qt asks

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.order.rounds)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        round = self.order.rounds[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.shown(round)[index.column()]
            case Qt.ItemDataRole.ToolTipRole:
                return self._tooltip(index.column(), round)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation == Qt.Orientation.Horizontal and 0 <= section < len(COLUMNS):
            column = COLUMNS[section]
            if role == Qt.ItemDataRole.DisplayRole:
                sorted_by = section == self.order.column and (section != ROUND or self.order.falling)
                return f"{SIGNS[self.order.falling]} {column.name}" if sorted_by else column.name
            if role == Qt.ItemDataRole.ToolTipRole:
                return f"<qt><b>{html.escape(column.name)}</b><br>{html.escape(column.formula)}</qt>"
            if role == Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignLeft if column.kind in ("text", "word") else Qt.AlignmentFlag.AlignRight
                return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def _tooltip(self, column: int, round: int) -> str:
        shown = COLUMNS[column]
        value = shown.of(self.row(round))
        if value is None:
            return "not known, or there is none in this round"
        said = shown.write(value) if isinstance(value, str) else f"{shown.name} {value!r}"
        later = "recorded; after the cursor<br>" if round >= self.happened else ""
        return f"<qt>{later}{html.escape(said[:LONGEST])}{'…' if len(said) > LONGEST else ''}</qt>"

    # For the clipboard

    def table(self, rounds: Iterable[int]) -> list[list[str]]:
        """Header and rows, numbers in full; empty for what isn't known."""
        lines = [[column.name for column in COLUMNS]]
        for round in rounds:
            values = (column.of(self.row(round)) for column in COLUMNS)
            lines.append(["" if value is None else str(value) for value in values])
        return lines

    def as_tsv(self, rounds: Iterable[int]) -> str:
        """Texts are on one line and have no tabs, so nothing need be quoted."""
        return "\n".join("\t".join(line) for line in self.table(rounds))

    def as_csv(self, rounds: Iterable[int]) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(self.table(rounds))
        return out.getvalue()
