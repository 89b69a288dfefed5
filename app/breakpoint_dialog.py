"""Make a breakpoint, or change one: what to stop at, at which of its hits, in which lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import msgspec
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.breakpoint_part import Part
from app.combo_box import ComboBox
from app.form_fields import Field, Spec, whole
from app.looks import window_sheet
from app.theme import Theme
from engine.debugger.breakpoints import Breakpoint, HitRule, HitWhen
from engine.debugger.combined import AnyCondition, Both, Either
from engine.debugger.condition import Condition
from engine.debugger.conditions import AnyRejection, Divergence

MOST_PARTS = 3
"""That can be made here: more than anyone reads at a glance."""
SETTLED_MS = 150
"""After the last change, before the run on screen is searched."""
_RULES: tuple[tuple[HitWhen, str], ...] = (
    ("every", "every time"), ("from", "from the nth time on"), ("exactly", "only the nth time"),
    ("each", "every nth time"))


def _no_text(token: int) -> str:
    return ""


class BreakpointDialog(QDialog):
    """Show it with ``open()``; ``chosen`` tells the breakpoint when OK is pressed."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, breakpoint: Breakpoint, *, new: bool, lanes: Sequence[tuple[str, str]] = (),
                 text_of: Callable[[int], str] = _no_text, count: Callable[[Breakpoint], int | None] | None = None,
                 has_plain: bool = True, parent: QWidget | None = None) -> None:
        """``lanes``: ids and titles. ``text_of``: a token's text, "" for unknown. ``count``: how often a breakpoint
        would have stopped in the run on screen; None while there is none. ``has_plain``: is there a lane of plain
        decoding that others can be held against?"""
        super().__init__(parent)
        self.setWindowTitle("New breakpoint" if new else "Change breakpoint")
        self.setStyleSheet(window_sheet(theme))
        self._theme = theme
        self._first = breakpoint
        self._text_of = text_of
        self._count = count
        self._has_plain = has_plain
        self.parts: list[Part] = []

        whole_condition = breakpoint.condition
        several = isinstance(whole_condition, (Both, Either))
        self.join = ComboBox()
        self.join.addItem("all of these are true (and)", "and")
        self.join.addItem("any of these is true (or)", "or")
        self.join.setCurrentIndex(int(isinstance(whole_condition, Either)))
        self.join.setAccessibleName("how conditions are joined")
        self.more = QPushButton("+ and, or …")
        self.more.setProperty("kind", "dashed")
        self.more.setToolTip("Add another condition")
        self.rule = ComboBox()
        for when, words in _RULES:
            self.rule.addItem(words, when)
        self.rule.setCurrentIndex(self.rule.findData(breakpoint.hits.when))
        self.rule.setAccessibleName("at which hits to stop")
        self.rule.setToolTip("Hits are counted from the run's beginning.")
        self.n = Field(Spec("n", "Hits are counted from the run's beginning.", whole("n"), lambda n: HitRule(n=n), str,
                            lambda n, by: max(1, n + by)), breakpoint.hits.n)
        self.lane = ComboBox()
        self.lane.addItem("in every lane", "")
        for id, title in lanes:
            self.lane.addItem(f"in {title}", id)
        if breakpoint.lane and self.lane.findData(breakpoint.lane) < 0:
            self.lane.addItem(f"in lane {breakpoint.lane}", breakpoint.lane)
        self.lane.setCurrentIndex(self.lane.findData(breakpoint.lane))
        self.lane.setAccessibleName("in which lane")
        self.preview = QLabel()
        self.preview.setWordWrap(True)
        self.preview.setFont(theme.font("strong"))
        self.counted = QLabel()
        self.counted.setProperty("kind", "dim")
        self.counted.setWordWrap(True)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self._ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self._ok.setText("Add" if new else "Change")
        self._ok.setProperty("kind", "primary")
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLED_MS)

        self._fit = QTimer(self)
        self._fit.setSingleShot(True)
        self._fit.timeout.connect(self._on_fit)

        self._lay_out()
        for part in whole_condition.of if isinstance(whole_condition, (Both, Either)) else (whole_condition,):
            self._add(part)
        self.more.clicked.connect(self._on_more)
        self.join.currentIndexChanged.connect(self._on_change)
        self.rule.currentIndexChanged.connect(self._on_rule)
        self.lane.currentIndexChanged.connect(self._on_change)
        self.n.changed.connect(self._on_change)
        self._timer.timeout.connect(self._on_quiet)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.join.setVisible(several)
        self._on_change()
        self._on_quiet()
        self.parts[0].take_focus()

    def _lay_out(self) -> None:
        px = self._theme.px
        caption = QLabel("BREAK WHEN")
        caption.setProperty("kind", "caption")
        caption.setFont(self._theme.font("caption"))
        self._parts = QVBoxLayout()
        self._parts.setSpacing(px(6))
        rule = QHBoxLayout()
        rule.setSpacing(px(6))
        rule.addWidget(self.rule, 3)
        rule.addWidget(self.n, 1)
        rule.addWidget(self.lane, 3)
        column = QVBoxLayout(self)
        column.setContentsMargins(px(18), px(16), px(18), px(16))
        column.setSpacing(px(8))
        column.addWidget(caption)
        column.addWidget(self.join)
        column.addLayout(self._parts)
        column.addWidget(self.more)
        column.addSpacing(px(4))
        column.addLayout(rule)
        column.addWidget(self.n.problem_label)
        column.addSpacing(px(4))
        column.addWidget(self.preview)
        column.addWidget(self.counted)
        column.addStretch(1)
        column.addWidget(self.buttons)
        self.setMinimumWidth(px(440))

    # The result

    @property
    def condition(self) -> Condition | None:
        """None while a part can't be used."""
        conditions = [part.condition for part in self.parts]
        whole_ones = tuple(cast(AnyCondition, one) for one in conditions if one is not None)
        if len(whole_ones) < len(conditions):
            return None
        if len(whole_ones) == 1:
            return whole_ones[0]
        return Both(of=whole_ones) if self.join.currentData() == "and" else Either(of=whole_ones)

    @property
    def breakpoint(self) -> Breakpoint | None:
        """As the dialog says now; None while something can't be used."""
        condition = self.condition
        if condition is None or (self._asks_n and self.n.problem):
            return None
        rule = HitRule(self.rule.currentData(), self.n.value if self._asks_n else 1)
        return Breakpoint(id=self._first.id, condition=cast(AnyCondition, condition), enabled=self._first.enabled,
                          hits=rule, lane=self.lane.currentData())

    @property
    def _asks_n(self) -> bool:
        return bool(self.rule.currentData() != "every")

    def accept(self) -> None:
        one = self.breakpoint
        if one is not None:
            self.chosen.emit(one)
            super().accept()

    # What changes

    def _add(self, condition: Condition) -> Part:
        part = Part(self._theme, condition, self._text_of)
        part.changed.connect(self._on_change)
        part.removed.connect(self._on_removed)
        self.parts.append(part)
        self._parts.addWidget(part)
        return part

    def _on_more(self) -> None:
        part = self._add(AnyRejection())
        self._on_change()
        part.take_focus()

    def _on_removed(self) -> None:
        part = self.sender()
        if isinstance(part, Part) and len(self.parts) > 1:
            self.parts.remove(part)
            self._parts.removeWidget(part)
            part.hide()
            part.deleteLater()
            self._on_change()

    def _on_rule(self) -> None:
        """Every first time is every time: one means another n."""
        if self.rule.currentData() == "each" and not self.n.problem and self.n.value == 1:
            self.n.set_value(2)
        self._on_change()

    def _on_change(self) -> None:
        several = len(self.parts) > 1
        self.join.setVisible(several)
        self.more.setVisible(len(self.parts) < MOST_PARTS)
        for part in self.parts:
            part.set_removable(several)
        self.n.setVisible(self._asks_n)
        self.n.problem_label.show_problem(self.n.problem if self._asks_n else "")
        one = self.breakpoint
        self._ok.setEnabled(one is not None)
        self.preview.setText(self._sentence(one) if one is not None else "")
        self.preview.setVisible(one is not None)
        self.counted.setText("")
        self._timer.start()
        self._fit.start(0)  # once the layout knows of what has come and gone

    def _sentence(self, one: Breakpoint) -> str:
        where = f", {self.lane.currentText()}" if one.lane else ""
        rule = "" if one.hits.words else ", every time"
        return f"Break when {one.words}{rule}{where}"

    def _on_fit(self) -> None:
        """As tall as what it holds at this width."""
        layout = self.layout()
        if layout is not None:
            layout.activate()
            self.resize(self.width(), layout.totalHeightForWidth(self.width()))

    def _on_quiet(self) -> None:
        """Nothing has been typed for a moment: how would it have done?"""
        one = self.breakpoint
        on = msgspec.structs.replace(one, enabled=True) if one is not None else None
        count = self._count(on) if on is not None and self._count is not None else None
        if one is not None and not self._has_plain and _compares(one.condition):
            self.counted.setText("There is no plain lane in this run, so nothing can be seen to differ from it.")
        elif count is None:
            explained = one is not None or any(part.problem for part in self.parts) or self.n.problem
            self.counted.setText("" if explained else "Fill in what is empty above.")
        elif count == 0:
            self.counted.setText("It would not have stopped in what has run so far.")
        else:
            self.counted.setText(f"It would have stopped {count:,} time{'' if count == 1 else 's'} so far.")


def _compares(condition: Condition) -> bool:
    """Does it ask, anywhere, how plain decoding went on?"""
    if isinstance(condition, (Both, Either)):
        return any(_compares(part) for part in condition.of)
    return isinstance(condition, Divergence)
