"""The draws that chose a token here, one at a time: what from, which, and what another draw would choose."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from engine.debugger.choices import Choice
from engine.debugger.judgement import figure
from engine.debugger.what_if import OtherDraw
from widgets.branch_button import BranchButton
from widgets.cdf_bar import CdfBar
from widgets.figures import ElidedLabel
from widgets.protocols import ThemeView


class ChoicePane(QWidget):
    branch_wanted = Signal(object)
    """An :class:`OtherDraw`."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices: tuple[Choice, ...] = ()
        self._round = 0
        self._kind = ""
        self._may_branch, self._reason = True, ""
        self._movable, self._undrawn = True, ""
        self._tabs = QButtonGroup(self)
        self._buttons = [QPushButton(), QPushButton()]
        self._row = QHBoxLayout()
        for place, button in enumerate(self._buttons):
            button.setCheckable(True)
            button.setProperty("kind", "chip")
            self._tabs.addButton(button, place)
            self._row.addWidget(button)
        self.caption = ElidedLabel(theme, "small", "dim")
        self.branch = BranchButton(theme)
        self._row.addWidget(self.caption, 1)
        self._row.addWidget(self.branch)
        self.bar = CdfBar(theme)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addLayout(self._row)
        self._column.addWidget(self.bar)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._tabs.idClicked.connect(self._on_tab)
        self.bar.moved.connect(self._on_moved)
        self.bar.branch_wanted.connect(self._on_branch)
        self.branch.clicked.connect(self._on_branch)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.caption.set_theme(theme)
        self.bar.set_theme(theme)
        self.branch.set_theme(theme)
        for button in self._buttons:
            button.setFont(theme.font("small"))
        self._row.setSpacing(theme.px(6))
        self._column.setSpacing(theme.px(2))

    def show_choices(self, choices: Sequence[Choice], round: int, kind: str, may_branch: bool, reason: str, *,
                     movable: bool = True, undrawn: str = "") -> None:
        """``kind``: what the final token is: correction, bonus, plain. ``reason``: why there is no branching.
        ``movable``: another draw would mean something. ``undrawn``: what to say where there are no choices."""
        self._choices, self._round, self._kind = tuple(choices), round, kind
        self._may_branch, self._reason, self._movable, self._undrawn = may_branch, reason, movable, undrawn
        for place, button in enumerate(self._buttons):
            if place < len(self._choices):
                button.setText(self._tab_name(self._choices[place]))
            button.setVisible(len(self._choices) > 1)
        self._buttons[0].setChecked(True)
        self._show(0)

    def refine(self, choices: Sequence[Choice]) -> None:
        """The same ones, known more exactly."""
        self._choices = tuple(choices)
        if self._choices:
            self.bar.refine(self._choices[max(0, self._tabs.checkedId())])

    @property
    def choice(self) -> Choice | None:
        return self.bar.choice

    def _on_tab(self, place: int) -> None:
        self._show(place)

    def _show(self, place: int) -> None:
        choice = self._choices[place] if place < len(self._choices) else None
        self.bar.show_choice(choice, self._movable and choice is not None and bool(choice.segments))
        self.caption.set_whole(self._caption(choice) if choice is not None else self._undrawn)
        self._on_moved(None)

    def _tab_name(self, choice: Choice) -> str:
        return "Draft" if choice.purpose == "draft" else self._final().capitalize()

    def _final(self) -> str:
        return {"plain": "plain step", "none": "next token"}.get(self._kind, self._kind)

    def _caption(self, choice: Choice) -> str:
        if choice.purpose == "draft":
            name, source = f"draft {choice.index + 1}", "q"
        elif choice.source == "residual":
            name, source = "correction", f"the residual, (p − q)⁺ / {figure(choice.mass, 2)}"
        else:
            name, source = self._final(), "p, as the residual is empty" if self._kind == "correction" else "p"
        if choice.draw is None:
            return f"the {name} will be drawn from {source}"
        if not choice.segments:
            return f"{name}: one draw from {source}, whose whole row is recorded with the verification"
        told = "" if len(self._choices) > 1 else f"{name}: "  # the pressed tab says it already
        return f"{told}one draw from {source}" + (" — drag the dart" if self._movable else ", which came to nothing")

    def _on_moved(self, value: float | None) -> None:
        choice = self.bar.choice
        self.branch.setVisible(self._movable and choice is not None and choice.draw is not None
                               and bool(choice.segments))
        self.branch.setEnabled(value is not None and self._may_branch)
        self.branch.setToolTip(f"No branch: {self._reason}" if not self._may_branch else
                               "Run on from here with this draw" if value is not None else
                               "Drag the dart to another draw first")

    def _on_branch(self, *_: object) -> None:
        choice, value = self.bar.choice, self.bar.tried
        if choice is not None and value is not None and self._may_branch:
            self.branch_wanted.emit(OtherDraw(round=self._round, purpose=choice.purpose, index=choice.index,
                                              value=value))
