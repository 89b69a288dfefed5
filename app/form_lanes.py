"""The form's lanes: plain decoding, always first, and the drafters that race it. Add, remove, reorder, adjust."""

from __future__ import annotations

from functools import partial

import msgspec
from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QMenu, QPushButton, QVBoxLayout, QWidget

from app.form_lane_row import LaneRow, PlainRow
from app.setup import Setup
from app.theme import Theme
from engine.settings import DrafterSettings

WAYS = {
    "ngram": "Prompt lookup: copies what followed the same words before",
    "layer-skip": "Layer skip: the target itself, with some layers left out",
    "model": "Draft model: a smaller model of the same tokenizer",
}


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
        menu = QMenu(self.add_button)
        for kind, text in WAYS.items():
            menu.addAction(text, partial(self.add, kind))
        self.add_button.setMenu(menu)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self._plain)
        column.addLayout(self._rows_box)
        column.addWidget(self.add_button)

    def add(self, kind: str) -> LaneRow:
        """A new lane at the end, opened when it needs to be told something."""
        row = self._append(kind, None)
        row.open_options(kind == "model")
        if kind == "model":
            row.focus_model()
        self.changed.emit()
        return row

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
