"""The form's small fields: a name, a value that is typed, and the settings' own sentence when it can't be used."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QWidget

from engine.errors import SettingsError, SpecScopeError

T = TypeVar("T")


class ProblemLabel(QLabel):
    """Why something can't be used, under what it is about; takes no room while there is nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("problem")
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.hide()

    def show_problem(self, problem: str) -> None:
        self.setText(problem)
        self.setVisible(bool(problem))


def restyle(widget: QWidget) -> None:
    """Let the style sheet look at the widget's properties again."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def mark_bad(widget: QWidget, bad: bool) -> None:
    if bool(widget.property("fault")) != bad:
        widget.setProperty("fault", bad)
        restyle(widget)


class Framed(QFrame):
    """A setting in a frame of its own: its name, beside it what it is set with, and what is wrong with it."""

    changed = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.problem = ""
        self.problem_label = ProblemLabel()
        """For whoever lays the fields out, to be put under the field's row."""
        self.setObjectName("field")
        self.name = QLabel(name)
        self.name.setObjectName("fieldName")

    def _lay_out(self, margins: tuple[int, int, int, int], wide: QWidget, *others: QWidget) -> None:
        """The name, what takes all the room there is, then the others."""
        row = QHBoxLayout(self)
        row.setContentsMargins(*margins)
        row.setSpacing(6)
        row.addWidget(self.name)
        row.addWidget(wide, 1)
        for other in others:
            row.addWidget(other)


@dataclass(frozen=True)
class Spec(Generic[T]):
    """How one setting is read from text, checked and shown."""

    name: str
    tip: str
    read: Callable[[str], T]
    """Raises :class:`SettingsError` for a text that isn't a value."""
    check: Callable[[T], object]
    """Raises the settings' own error for a value out of range."""
    show: Callable[[T], str] = str
    step: Callable[[T, int], T] | None = None
    """The next value up (+1) or down (−1), for the arrow keys."""


class Field(Framed, Generic[T]):
    """``value`` is the last good one; ``problem`` says why what is typed now can't be used."""

    def __init__(self, spec: Spec[T], value: T, parent: QWidget | None = None) -> None:
        super().__init__(spec.name, parent)
        self.spec = spec
        self._value = value
        self.setToolTip(spec.tip)
        self.edit = QLineEdit(spec.show(value))
        self.edit.setObjectName("fieldValue")
        self.edit.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.edit.setFrame(False)
        self.edit.setMinimumWidth(34)
        self.edit.setAccessibleName(spec.name)
        self.edit.textEdited.connect(self._read)
        self.edit.editingFinished.connect(self._tidy)
        self.edit.installEventFilter(self)
        self.name.setBuddy(self.edit)
        self._lay_out((10, 5, 8, 5), self.edit)
        self.setFocusProxy(self.edit)

    @property
    def value(self) -> T:
        return self._value

    def set_value(self, value: T) -> None:
        self._value = value
        self._set_problem("")
        self.edit.setText(self.spec.show(value))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.edit and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            direction = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
            if direction and self._step(direction):
                return True
        return super().eventFilter(watched, event)

    def _step(self, direction: int) -> bool:
        if self.spec.step is None:
            return False
        stepped = self.spec.step(self._value, direction)
        try:
            self.spec.check(stepped)
        except SpecScopeError:
            return True  # at the end of the range
        self.set_value(stepped)
        self.changed.emit()
        return True

    def _read(self, text: str) -> None:
        try:
            value = self.spec.read(text.strip())
            self.spec.check(value)
        except SpecScopeError as error:
            self._set_problem(str(error))
        else:
            self._value = value
            self._set_problem("")
        self.changed.emit()

    def _tidy(self) -> None:
        if not self.problem:
            self.edit.setText(self.spec.show(self._value))

    def _set_problem(self, problem: str) -> None:
        self.problem = problem
        self.setToolTip(problem or self.spec.tip)
        self.edit.setAccessibleDescription(problem)
        self.problem_label.show_problem(problem)
        mark_bad(self, bool(problem))


def field_row(*widgets: QWidget) -> QHBoxLayout:
    """Side by side, equally wide."""
    row = QHBoxLayout()
    row.setSpacing(6)
    for widget in widgets:
        row.addWidget(widget, 1)
    return row


# --- reading and showing ----------------------------------------------------------------------------------------------


def named(name: str, check: Callable[[T], object]) -> Callable[[T], object]:
    """The check, complaining under the field's own name where the settings know the value by another."""
    def checked(value: T) -> None:
        try:
            check(value)
        except SettingsError as error:
            raise SettingsError(f"{name} is {str(error).partition(' is ')[2]}") from None
    return checked


def whole(name: str, word: str = "", meaning: int | None = None) -> Callable[[str], int]:
    """Reads a whole number, or ``word`` (and nothing at all) as ``meaning``."""
    def read(text: str) -> int:
        if word and meaning is not None and text.lower() in ("", word):
            return meaning
        try:
            return int(text)
        except ValueError:
            raise SettingsError(f"{name} is {text!r}, but it must be a whole number"
                                f"{f' or {word}' if word else ''}.") from None
    return read


def number(name: str, word: str = "", meaning: float | None = None) -> Callable[[str], float]:
    def read(text: str) -> float:
        if word and meaning is not None and text.lower() in ("", word):
            return meaning
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise SettingsError(f"{name} is {text!r}, but it must be a number{f' or {word}' if word else ''}.")
        return value
    return read


def show_number(word: str = "", meaning: float | None = None) -> Callable[[float], str]:
    def show(value: float) -> str:
        return word if word and value == meaning else f"{value:g}"
    return show


def stepper(size: float, lowest: float | None = None) -> Callable[[float, int], float]:
    """Up and down by ``size``, on its multiples."""
    def step(value: float, direction: int) -> float:
        stepped = (round(value / size) + direction) * size
        return round(max(stepped, lowest) if lowest is not None else stepped, 6)
    return step


def whole_stepper(size: int = 1) -> Callable[[int, int], int]:
    def step(value: int, direction: int) -> int:
        return value + direction * size
    return step
