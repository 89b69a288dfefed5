"""Expressions that a person watches: each with its value at the moment, or with what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from engine.debugger.history import Moment
from engine.debugger.token_words import readable
from engine.errors import SpecScopeError
from widgets.copied_table import CopiedTable
from widgets.moment_card import dress
from widgets.protocols import ThemeView

Evaluate = Callable[[str, Moment], object]
"""Raises :class:`SpecScopeError` with a sentence."""

ROWS = 6
"""Shown at once; more are scrolled."""
FAULT = "⚠ "


class WatchList(QWidget):
    changed = Signal(object)
    """The expressions, a tuple of str, after one was added or removed."""

    def __init__(self, theme: ThemeView, evaluate: Evaluate, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluate = evaluate
        self._watches: tuple[str, ...] = ()
        self._moment: Moment | None = None
        self._title = QLabel("Watch")
        self.table = WatchTable(theme)
        self.table.removed.connect(self.remove)
        self.table.fitted.connect(self._fit)
        self.line = QLineEdit()
        self.line.setPlaceholderText("watch an expression: overlap, p / q, k - accepted …")
        self.line.setToolTip("Type an expression and press Enter. Delete removes the chosen ones.")
        self.line.setAccessibleName("watch an expression")
        self.line.returnPressed.connect(self._on_entered)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        for part in (self._title, self.table, self.line):
            self._column.addWidget(part)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._column.setSpacing(theme.px(6))
        dress(self._title, theme, "strong", "text")
        self.line.setFont(theme.font("code"))
        self.table.set_theme(theme)
        self._fit()

    @property
    def watches(self) -> tuple[str, ...]:
        return self._watches

    def set_watches(self, watches: Sequence[str]) -> None:
        """As they were saved. Emits nothing."""
        self._watches = tuple(watches)
        self._show()

    def show_moment(self, moment: Moment | None) -> None:
        self._moment = moment
        self._show()

    def add(self, expression: str) -> None:
        expression = expression.strip()
        if expression and expression not in self._watches:
            self._watches = (*self._watches, expression)
            self._show()
            self.changed.emit(self._watches)

    def remove(self, rows: Sequence[int]) -> None:
        kept = tuple(w for row, w in enumerate(self._watches) if row not in set(rows))
        if kept != self._watches:
            self._watches = kept
            self.table.clearSelection()
            self._show()
            self.changed.emit(self._watches)

    def _on_entered(self) -> None:
        self.add(self.line.text())
        self.line.clear()
        self.table.scrollToBottom()

    def _show(self) -> None:
        self.table.show_rows([(expression, self._value(expression)) for expression in self._watches])
        self._fit()

    def _value(self, expression: str) -> str:
        if self._moment is None:
            return ""
        try:
            return told(self._evaluate(expression, self._moment))
        except SpecScopeError as error:
            return f"{FAULT}{error}"

    def _fit(self) -> None:
        self.table.setVisible(bool(self._watches))
        self.table.updateGeometry()


class WatchTable(CopiedTable):
    removed = Signal(object)
    """Row numbers."""

    def __init__(self, theme: ThemeView) -> None:
        self._all = False
        super().__init__(theme, "watched expressions", 0.5)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)

    def _dress(self, row: int) -> None:
        super()._dress(row)
        expression, value = self.item(row, 0), self.item(row, 1)
        if expression is not None:
            expression.setFont(self.theme.font("code"))
        if value is not None:
            wrong = value.text().startswith(FAULT)
            value.setForeground(self.theme.colour("danger" if wrong else "strong"))
            value.setFont(self.theme.font("small" if wrong else "code"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit(sorted({index.row() for index in self.selectedIndexes()}))
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        """As high as its rows, up to a few."""
        rows = self.rowCount() if self._all else min(ROWS, self.rowCount())
        return QSize(self.theme.px(200), sum(self.rowHeight(row) for row in range(rows)) + 2)

    def show_all(self, whole: bool) -> None:
        """All rows, for whoever scrolls the list as a whole; else up to a few."""
        if whole != self._all:
            self._all = whole
            self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        if self._all:
            return QSize(self.theme.px(100), self.sizeHint().height())
        return QSize(self.theme.px(100), min(self.sizeHint().height(), self.theme.px(44)))


def told(value: object) -> str:
    """A value as people write it."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return readable(value) if isinstance(value, str) else str(value)
