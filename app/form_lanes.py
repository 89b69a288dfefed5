"""The form's lanes: plain decoding, always first, and the drafters that race it. Add, remove, reorder, adjust."""

from __future__ import annotations

from functools import partial

import msgspec
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.form_lane_row import LaneRow, PlainRow
from app.form_options import described
from app.setup import Setup
from app.theme import Theme
from engine import methods
from engine.settings import DrafterSettings

PLAIN = "none"


class LanesSection(QWidget):
    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: list[LaneRow] = []
        self._plain = PlainRow(theme)
        self._rows_box = QVBoxLayout()
        self._rows_box.setSpacing(6)
        self.add_button = QPushButton("add a way to draft")
        self.add_button.setProperty("kind", "dashed")
        self.add_button.setToolTip("One more lane, drafting another way")
        self.menu = QMenu(self.add_button)
        self.menu.setToolTipsVisible(True)
        self.menu.aboutToShow.connect(self._fill)
        self.add_button.setMenu(self.menu)
        self.five_button = QToolButton()
        self.five_button.hide()
        last = QHBoxLayout()
        last.setSpacing(6)
        last.addWidget(self.add_button, 1)
        last.addWidget(self.five_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self._plain)
        column.addLayout(self._rows_box)
        column.addLayout(last)

    def add(self, kind: str) -> LaneRow:
        """A new lane at the end, opened when it needs to be told something."""
        row = self._append(kind, None)
        if row.options.lacks_model:
            row.open_options(True)
            row.options.focus()
        self.changed.emit()
        return row

    def offer(self, action: QAction) -> None:
        """What fills the lanes by itself, beside what adds one."""
        self.five_button.setDefaultAction(action)
        self.five_button.setAccessibleName(action.text())
        self.five_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.five_button.show()

    def _fill(self) -> None:
        """Every way to draft with how it guesses; other packages' are looked at only now."""
        self.menu.clear()
        for kind in methods.kinds():
            if kind == PLAIN:
                continue
            method, fault = described(kind)
            action = self.menu.addAction(f"{method.label}: {method.guess}" if not fault else f"{kind}: can't be used",
                                         partial(self.add, kind))
            action.setEnabled(not fault)
            action.setToolTip(fault or f"Draft length {method.gamma}, unless another one is asked for"
                              f"{'; chains or trees' if method.trees else ''}")

    def remove(self, row: LaneRow) -> None:
        self.rows.remove(row)
        self._rows_box.removeWidget(row)
        row.hide()
        row.deleteLater()
        self._renumber()
        self.changed.emit()

    def move_row(self, row: LaneRow, by: int) -> None:
        old = self.rows.index(row)
        new = max(0, min(len(self.rows) - 1, old + by))
        if new == old:
            return
        self.rows.insert(new, self.rows.pop(old))
        self._rows_box.removeWidget(row)
        self._rows_box.insertWidget(new, row)
        self._renumber()
        self.changed.emit()

    @property
    def bad_row(self) -> LaneRow | None:
        return next((row for row in self.rows if row.problem), None)

    def show_setup(self, setup: Setup) -> None:
        for row in list(self.rows):
            self.rows.remove(row)
            self._rows_box.removeWidget(row)
            row.hide()
            row.deleteLater()
        for drafter in setup.drafters:
            self._append(drafter.kind, drafter)

    def apply_to(self, setup: Setup) -> Setup:
        return msgspec.structs.replace(setup, drafters=tuple(
            row.settings for row in self.rows if row.settings is not None))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._plain.set_theme(theme)
        for row in self.rows:
            row.set_theme(theme)

    def _append(self, kind: str, drafter: DrafterSettings | None) -> LaneRow:
        row = LaneRow(self._theme, kind, drafter)
        row.changed.connect(self.changed)
        row.removed.connect(lambda: self.remove(row))
        row.moved.connect(lambda by: self.move_row(row, by))
        row.dragged_to.connect(lambda y: self._drag(row, y))
        self.rows.append(row)
        self._rows_box.addWidget(row)
        self._renumber()
        return row

    def _drag(self, row: LaneRow, y: int) -> None:
        """The mouse, dragging a row, is at this height on the screen: trade places with the row it is over."""
        here = self.rows.index(row)
        for place, other in enumerate(self.rows):
            if other is row:
                continue
            middle = other.mapToGlobal(QPoint(0, other.height() // 2)).y()
            if (place < here and y < middle) or (place > here and y > middle):
                self.move_row(row, place - here)
                return

    def _renumber(self) -> None:
        for place, row in enumerate(self.rows):
            row.set_place(place + 1, last=place == len(self.rows) - 1)
