"""A quiet table of two columns whose rows can be copied, and whose texts wrap instead of being cut."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from widgets.protocols import ThemeView

LONG = 24
"""Characters: a longer text has a tooltip, since a word wider than its column is elided."""


class CopiedTable(QTableWidget):
    """Names at the left, values at the right."""

    fitted = Signal()
    """Heights of rows have changed."""

    def __init__(self, theme: ThemeView, name: str, share: float, parent: QWidget | None = None) -> None:
        """``share``: of the width for the names, at most."""
        super().__init__(0, 2, parent)
        self._share = share
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setMinimumSectionSize(8)
        self.verticalHeader().setMinimumSectionSize(8)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.viewport().setAutoFillBackground(False)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.setFont(theme.font("body"))
        for row in range(self.rowCount()):
            self._dress(row)
        self._fit()

    def show_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Those that stay as they are cost nothing."""
        self.setRowCount(len(rows))
        changed_rows = []
        for row, (name, value) in enumerate(rows):
            changed = False
            for column, text in enumerate((name, value)):
                item = self.item(row, column)
                if item is None:
                    item = QTableWidgetItem()
                    item.setTextAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
                    self.setItem(row, column, item)
                    changed = True
                if item.text() != text:
                    item.setText(text)
                    item.setToolTip(text if len(text) > LONG else "")
                    changed = True
            if changed:
                self._dress(row)
                changed_rows.append(row)
        if self._names_width() != self.columnWidth(0):
            self._fit()
        elif changed_rows:
            for row in changed_rows:
                self.resizeRowToContents(row)
            self.fitted.emit()

    def rows(self) -> list[tuple[str, str]]:
        return [(self._text(row, 0), self._text(row, 1)) for row in range(self.rowCount())]

    def copied(self) -> str:
        """The chosen rows as text, or all of them."""
        chosen = sorted({index.row() for index in self.selectedIndexes()}) or range(self.rowCount())
        return "\n".join(f"{self._text(row, 0)}: {self._text(row, 1)}" for row in chosen)

    def whole_height(self) -> int:
        """Of all rows: with so much, nothing need be scrolled."""
        return sum(self.rowHeight(row) for row in range(self.rowCount())) + 2

    def _text(self, row: int, column: int) -> str:
        item = self.item(row, column)
        return item.text() if item is not None else ""

    def _dress(self, row: int) -> None:
        name, value = self.item(row, 0), self.item(row, 1)
        for item, tone in ((name, "dim"), (value, "text")):
            if item is not None:
                item.setFont(self.theme.font("body"))
                item.setForeground(self.theme.colour(tone))

    def _names_width(self) -> int:
        longest = 0
        for row in range(self.rowCount()):
            item = self.item(row, 0)
            if item is not None:
                longest = max(longest, QFontMetrics(item.font()).horizontalAdvance(item.text()))
        wanted = max(longest + self.theme.px(18), self.theme.px(84))
        return int(min(wanted, self._share * self.viewport().width()))

    def _fit(self) -> None:
        names = self._names_width()
        self.setColumnWidth(0, names)
        self.setColumnWidth(1, max(8, self.viewport().width() - names))
        self.resizeRowsToContents()
        self.fitted.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.copied())
        else:
            super().keyPressEvent(event)
