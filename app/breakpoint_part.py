"""One condition in the breakpoint dialog: its kind, the value to type, the choices to make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QStandardItemModel
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.breakpoint_kinds import KINDS, Kind, default, kind_of, make, with_text
from app.combo_box import ComboBox
from app.form_fields import Field, ProblemLabel, Spec, mark_bad
from app.theme import Theme
from engine.debugger.condition import Condition
from engine.debugger.facts import FACTS, ROUND_NAMES
from engine.debugger.where import Where
from engine.errors import SpecScopeError

_ABOUT = {"position": "of a token", "round": "of its round", "run": "of the run so far"}


class Part(QFrame):
    """``condition`` is None while what is typed can't be used; ``problem`` says why ("" when nothing is typed yet)."""

    changed = Signal()
    removed = Signal()

    def __init__(self, theme: Theme, condition: Condition, text_of: Callable[[int], str],
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lane")  # the form's look of a thing with options
        self._theme = theme
        self._text_of = text_of
        self._joined = condition if kind_of(condition) is None else None
        """What is itself joined of several is kept as it is."""
        self.condition: Condition | None = condition
        self.problem = ""
        self.kind: Kind = kind_of(condition) or KINDS[0]
        self.field: Field[Any] | None = None
        self.choices: dict[str, ComboBox] = {}
        self._values = {kind.label: default(kind) for kind in KINDS}
        self._values[self.kind.label] = self.kind.values(condition) if self._joined is None else default(self.kind)

        self.kinds = ComboBox()
        self.kinds.setAccessibleName("what to stop at")
        self.kinds.setMaxVisibleItems(len(KINDS) + 8)
        _offer(self.kinds, theme)
        self.kinds.setCurrentIndex(self.kinds.findData(self.kind.label))
        self.remove = QToolButton()
        self.remove.setProperty("kind", "flat")
        self.remove.setIcon(theme.icon("close", "dim"))
        self.remove.setIconSize(QSize(theme.px(12), theme.px(12)))
        self.remove.setToolTip("Leave this condition out")
        self.remove.setAccessibleName("remove this condition")
        self.remove.clicked.connect(self.removed)
        self.names = QToolButton()
        self.names.setText("names ▾")
        self.names.setToolTip("What an expression can speak of")
        self.names.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.names.setMenu(_names_menu(self.names))
        self.names.menu().triggered.connect(self._insert)
        self._about = QLabel()
        self._about.setProperty("kind", "dim")
        self._about.setFont(theme.font("small"))
        self._about.setWordWrap(True)
        self._about.setTextFormat(Qt.TextFormat.PlainText)
        self.problem_label = ProblemLabel()

        head = QHBoxLayout()
        head.setSpacing(theme.px(6))
        if self._joined is not None:
            words = QLabel(self._joined.words)
            words.setWordWrap(True)
            words.setTextFormat(Qt.TextFormat.PlainText)
            head.addWidget(words, 1)
            self.kinds.hide()
        else:
            head.addWidget(self.kinds, 1)
        head.addWidget(self.remove)
        self._inputs = QHBoxLayout()
        self._inputs.setSpacing(theme.px(6))
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(10), theme.px(8), theme.px(8), theme.px(8))
        column.setSpacing(theme.px(6))
        column.addLayout(head)
        column.addLayout(self._inputs)
        column.addWidget(self.problem_label)
        column.addWidget(self._about)
        self.names.hide()
        if self._joined is None:
            self._lay_out()
            self._build()
        else:
            self._about.setText("Joined of several: kept as it is.")
        self.kinds.currentIndexChanged.connect(self._on_kind)

    def set_removable(self, removable: bool) -> None:
        self.remove.setVisible(removable)

    def take_focus(self) -> None:
        """Where one would go on typing."""
        (self.field or (self.kinds if self._joined is None else self.remove)).setFocus()

    # The inputs of the kind

    def _on_kind(self) -> None:
        label = self.kinds.currentData()
        self.kind = next(kind for kind in KINDS if kind.label == label)
        self._lay_out()
        self._build()
        self.changed.emit()

    def _lay_out(self) -> None:
        while (item := self._inputs.takeAt(0)) is not None:
            if (widget := item.widget()) is not None and widget is not self.names:
                widget.hide()
                widget.deleteLater()
        values, self.choices, self.field = self._values[self.kind.label], {}, None
        for choice in self.kind.choices:
            box = self.choices[choice.attribute] = ComboBox()
            box.setAccessibleName(choice.name)
            for value, words in choice.words:
                box.addItem(words, value)
            box.setCurrentIndex(box.findData(values[choice.attribute]))
            box.currentIndexChanged.connect(self._on_input)
            self._inputs.addWidget(box, 2)
        typed = self.kind.typed
        if typed is not None:
            spec = Spec(typed.name, self.kind.about, typed.read, lambda value: None, typed.show, typed.step)
            self.field = Field(spec, values[typed.attribute])
            if typed.wide:
                self.field.edit.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
                self.field.edit.setFont(self._theme.font("code"))
                self.field.edit.setMaxLength(500)
            self.field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self.field.changed.connect(self._on_input)
            self._inputs.addWidget(self.field, 3)
        expression = self.kind.type is Where
        if expression:
            self._inputs.addWidget(self.names)
        elif typed is not None and not typed.wide:
            self._inputs.addStretch(2)
        self.names.setVisible(expression)
        self._about.setText(self.kind.about)

    def _on_input(self) -> None:
        self._build()
        self.changed.emit()

    def _build(self) -> None:
        values = self._values[self.kind.label]
        for attribute, box in self.choices.items():
            values[attribute] = box.currentData()
        self.condition, self.problem = None, ""
        typed = self.kind.typed
        if self.field is not None and typed is not None:
            values[typed.attribute] = self.field.value
            self.problem = self.field.problem
        empty = typed is not None and typed.wide and not values[typed.attribute]
        if not self.problem and not empty:
            try:
                self.condition = with_text(make(self.kind, values), self._text_of)
            except SpecScopeError as error:
                self.problem = str(error)
        self.problem_label.show_problem(self.problem)
        if self.field is not None:
            mark_bad(self.field, bool(self.problem))

    def _insert(self, action: QAction) -> None:
        """A name, where the cursor is."""
        if self.field is not None and isinstance(name := action.data(), str):
            self.field.edit.insert(name)
            self.field.edit.textEdited.emit(self.field.edit.text())
            self.field.edit.setFocus()


def _offer(box: ComboBox, theme: Theme) -> None:
    """The kinds beneath the names of their groups, which can't be chosen."""
    model, group = box.model(), ""
    for kind in KINDS:
        if kind.group != group:
            group = kind.group
            box.addItem(group.upper())
            if isinstance(model, QStandardItemModel) and (title := model.item(box.count() - 1)) is not None:
                title.setEnabled(False)
                title.setFont(theme.font("caption"))
        box.addItem(kind.label, kind.label)
        box.setItemData(box.count() - 1, kind.about, Qt.ItemDataRole.ToolTipRole)


def _names_menu(parent: QWidget) -> QMenu:
    menu = QMenu(parent)
    for about, title in _ABOUT.items():
        part = menu.addMenu(title)
        part.setToolTipsVisible(True)
        for fact in FACTS.values():
            if fact.about == about and fact.name in ROUND_NAMES:
                action = part.addAction(f"{fact.name}\t{fact.meaning}")
                action.setData(fact.name)
                action.setToolTip(fact.formula or fact.meaning)
    return menu
