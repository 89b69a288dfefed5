"""One position in the middle of the debugger: p and q, the test, the draws; and what one might change there."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from engine.debugger.bars import Bar
from engine.debugger.full_row import FullRow, bars_of, refined, search
from engine.debugger.inspection import Inspection
from engine.debugger.inspection_text import as_csv, as_text
from engine.debugger.judgement import percent
from engine.debugger.what_if import Forced, OtherDraw
from widgets import inspector_menu
from widgets.counted import counted
from widgets.empty_state import EmptyState
from widgets.figures import ElidedLabel
from widgets.formula_strip import FormulaStrip
from widgets.inspector_choice import ChoicePane
from widgets.inspector_legend import InspectorLegend
from widgets.inspector_menu import Entry
from widgets.probability_bars import ProbabilityBars
from widgets.protocols import ThemeView

EMPTY = "Select a token, or step, to see p and q."
LISTED = 200
"""Tokens of a full row that the chart can be paged through."""


class Inspector(QFrame):
    """Told what to show by :meth:`show_inspection`; tells what is wanted by signals. Knows no store."""

    what_if_wanted = Signal(object)
    """An :class:`engine.debugger.what_if.Change`."""
    full_row_wanted = Signal(int, int)
    """Round and index: answer with :meth:`show_full_row`."""
    breakpoint_wanted = Signal(object)
    """A dict in the form of :data:`engine.debugger.combined.AnyCondition`."""
    copied = Signal(str)
    """What is now in the clipboard, in a word or two, for a passing message."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._found: Inspection | None = None
        self._full: FullRow | None = None
        self._may_branch, self._reason = True, ""
        self.title = ElidedLabel(theme, "title", "text", yields=False)
        self.sentence = ElidedLabel(theme, "small", "dim", lines=2)
        self.legend = InspectorLegend(theme)
        self.query = QLineEdit()
        self.query.setPlaceholderText("find a token or id")
        self.query.setClearButtonEnabled(True)
        self.query.setAccessibleName("find a token by text or id")
        self.log = QToolButton()
        self.log.setText("log")
        self.log.setCheckable(True)
        self.log.setToolTip("Logarithmic scale: small probabilities can be told apart")
        self.more = QToolButton()
        self.more.setToolTip("Force, break, copy …")
        self.more.setAccessibleName("more")
        self.bars = ProbabilityBars(theme)
        self.ask = QPushButton("whole vocabulary")
        self.ask.setProperty("kind", "chip")
        self.formula = FormulaStrip(theme)
        self.choices = ChoicePane(theme)
        self.empty = EmptyState(theme, EMPTY)
        self._lay_out()
        self._connect()
        self.set_theme(theme)
        self.show_inspection(None)

    def _lay_out(self) -> None:
        self._head, self._tools = QHBoxLayout(), QHBoxLayout()
        self._head.addWidget(self.title)
        self._head.addWidget(self.sentence, 1)
        self._tools.addWidget(self.legend, 1)
        for widget in (self.ask, self.query, self.log, self.more):
            self._tools.addWidget(widget)
        page = QWidget()
        self._column = QVBoxLayout(page)
        self._column.addLayout(self._head)
        self._column.addLayout(self._tools)
        self._column.addWidget(self.bars, 1)
        self._column.addWidget(self.formula)
        self._column.addWidget(self.choices)
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(page)

    def _connect(self) -> None:
        self.query.textChanged.connect(self._on_query)
        self.query.returnPressed.connect(self._on_ask)
        self.log.toggled.connect(self.bars.set_log)
        self.more.clicked.connect(self._on_more)
        self.ask.clicked.connect(self._on_ask)
        self.bars.menu_wanted.connect(self._on_bar_menu)
        self.formula.branch_wanted.connect(self._on_other_u)
        self.formula.force_wanted.connect(self._on_force)
        self.choices.branch_wanted.connect(self._on_other_draw)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        px = theme.px
        for part in (self.title, self.sentence, self.legend, self.bars, self.formula, self.choices, self.empty):
            part.set_theme(theme)
        self._column.setContentsMargins(px(16), px(12), px(16), px(10))
        self._column.setSpacing(px(7))
        self._head.setSpacing(px(12))
        self._tools.setSpacing(px(8))
        for widget in (self.query, self.log, self.ask):
            widget.setFont(theme.font("small"))
        self.query.setFixedWidth(px(152))
        self.more.setIcon(theme.icon("more", "dim"))
        self.more.setIconSize(QSize(px(16), px(16)))
        self.update()

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(420), self.theme.px(270))

    # What is shown

    @property
    def inspection(self) -> Inspection | None:
        return self._found

    def show_inspection(self, found: Inspection | None, hint: str = EMPTY) -> None:
        """``hint``: what to say when there is nothing to show."""
        if found is None:
            self.empty.set_text(hint)
        self._pages.setCurrentIndex(0 if found is None else 1)
        if found is not None and found == self._found:
            return
        self._found = found
        if self._full is not None and (found is None or not self._full.belongs_to(found)):
            self._full = None
        self._show()

    def show_full_row(self, full: FullRow | None) -> None:
        """The answer to ``full_row_wanted``; one that came too late, for another position, is dropped."""
        if full is not None and (self._found is None or not full.belongs_to(self._found)):
            return
        self._full = full
        if self._found is not None:
            self._show_bars()
            if full is not None:
                self.choices.refine([refined(choice, full) for choice in self._found.choices])

    def set_may_branch(self, may_branch: bool, reason: str = "") -> None:
        """``reason``: e.g. "this recording's model is not loaded"."""
        if (may_branch, reason) != (self._may_branch, self._reason):
            self._may_branch, self._reason = may_branch, reason
            self._show()

    def _show(self) -> None:
        found = self._found
        if found is None:
            return
        self.title.set_whole(found.title)
        self.sentence.set_whole(found.subtitle)
        self.legend.show_inspection(found)
        self._show_bars()
        self.formula.show_judgement(found.judgement or found.awaited, self._may_branch, self._reason,
                                    greedy=found.greedy, in_tree=found.in_tree, otherwise=untested(found))
        self.choices.setVisible(not found.greedy)
        kind = found.final if found.final != "none" else "correction" if found.use == "rejected" else (
            "plain" if found.title.endswith("plain step") else "bonus")
        void = found.use == "void"
        may, why = (self._may_branch, self._reason) if not void else (False, inspector_menu.UNTESTED)
        self.choices.show_choices(found.choices, found.round, kind, may, why, movable=not void, undrawn=found.undrawn)
        if self._full is not None:
            self.choices.refine([refined(choice, self._full) for choice in found.choices])

    def _show_bars(self) -> None:
        found = self._found
        assert found is not None
        query = self.query.text()
        bars = self._searched(found, query)
        fate = found.use if found.use in ("accepted", "rejected", "void") else "pending"
        self.bars.show_bars(bars, fate=fate, final=found.final, residual=found.mass is not None, argmax=found.greedy,
                            remark=self._remark(found, bars, query), hint=self._hint(found, query))
        self.ask.setVisible(bool(query) and self._full is None)
        self.ask.setEnabled(self._may_branch)
        self.ask.setToolTip("The full rows of p and q are recomputed for this position" if self._may_branch
                            else self._reason)

    def _searched(self, found: Inspection, query: str) -> Sequence[Bar]:
        if query:
            return search(query, found, self._full)
        if self._full is None:
            return [bar for bar in found.bars if telling(bar)]
        recorded = [bar.token for bar in found.bars]
        beyond = [token for token in self._full.top(LISTED).tolist() if token not in set(recorded)]
        return [bar for bar in bars_of(self._full, found, [*recorded, *beyond]) if telling(bar)]

    def _remark(self, found: Inspection, bars: Sequence[Bar], query: str) -> str:
        if query:
            where = f"{len(self._full.p):,} tokens" if self._full is not None else f"{len(found.bars)} recorded tokens"
            return f"{len(bars):,} of {where} match"
        if self._full is not None:
            return f"{len(bars):,} highest of {len(self._full.p):,} tokens"
        rests = [f"{name} {percent(rest)}" for name, rest in (("p", found.p_rest), ("q", found.q_rest))
                 if rest is not None and rest > 1e-6]
        if found.use == "drafted":
            return "so far only q of the draft is known" if bars else ""
        without = ", the others have neither p nor q" if len(bars) < len(found.bars) else ""
        return f"{counted(len(bars), 'token')} recorded{without}" + (f", the rest: {', '.join(rests)}" if rests else "")

    def _hint(self, found: Inspection, query: str) -> str:
        if query:
            return (f"No token matches “{query}”." if self._full is not None else
                    f"None of the {len(found.bars)} recorded tokens matches “{query}”.")
        return found.notes[0] if found.notes else "Nothing is recorded of p and q here."

    # What is wanted

    def _on_query(self, text: str) -> None:
        if self._found is not None:
            self._show_bars()

    def _on_ask(self) -> None:
        if self._found is not None and self._may_branch and self._full is None:
            self.full_row_wanted.emit(self._found.round, self._found.index)

    def _on_other_u(self, value: float) -> None:
        if self._found is not None and self._may_branch:
            self.what_if_wanted.emit(OtherDraw(round=self._found.round, purpose="accept", index=self._found.index,
                                               value=value))

    def _on_force(self, accept: bool) -> None:
        if self._found is not None and self._may_branch:
            self.what_if_wanted.emit(Forced(round=self._found.round, index=self._found.index, accept=accept))

    def _on_other_draw(self, change: object) -> None:
        self.what_if_wanted.emit(change)

    def _on_more(self) -> None:
        if self._found is not None:
            self._pop_up(self.entries(), self.more.mapToGlobal(QPoint(0, self.more.height())))

    def entries(self, bar: Bar | None = None) -> list[Entry]:
        """What can be done with a token, or with the position."""
        if self._found is None:
            return []
        if bar is not None:
            return inspector_menu.of_token(self._found, bar, self._may_branch, self._reason)
        return inspector_menu.of_position(self._found, self._may_branch, self._reason)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._found is not None:
            self._pop_up(self.entries(), event.globalPos())

    def _on_bar_menu(self, bar: Bar, where: QPoint) -> None:
        if self._found is not None:
            self._pop_up(self.entries(bar), where)

    def _pop_up(self, entries: Sequence[Entry], where: QPoint) -> None:
        self.menu(entries).popup(where)

    def menu(self, entries: Sequence[Entry]) -> QMenu:
        """Gone once it is closed."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for entry in entries:
            if not entry.text:
                menu.addSeparator()
                continue
            action = menu.addAction(entry.text.replace("&", "&&"))
            action.setData(entry)
            action.setEnabled(entry.enabled)
            action.setToolTip(entry.tip)
        menu.triggered.connect(self._on_action)
        return menu

    def _on_action(self, action: QAction) -> None:
        entry = action.data()
        if isinstance(entry, Entry):
            self.do(entry)

    def do(self, entry: Entry) -> None:
        match entry.does:
            case "change":
                self.what_if_wanted.emit(entry.what)
            case "stop":
                self.breakpoint_wanted.emit(entry.what)
            case "row":
                self._on_ask()
            case "text":
                self._copy(str(entry.what), "token")
            case "copy" if self._found is not None:
                self._copy(as_text(self._found), "position as text")
            case "csv" if self._found is not None:
                self._copy(as_csv(self._found), "position as CSV")

    def _copy(self, text: str, what: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.copied.emit(what)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(self.theme.colour("panel"))
        painter.setPen(QPen(self.theme.colour("line"), 1))
        radius = self.theme.px(10)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def telling(bar: Bar) -> bool:
    """Behind top-p most tokens have neither p nor q: bars of nothing would hide what there is."""
    return bool(bar.marks or bar.p or bar.q)


def untested(found: Inspection) -> str:
    """Why there is no verdict."""
    if found.use == "void":
        return found.sentence
    if found.awaited is not None:
        return "not judged yet"
    return "No test here: nothing was drafted." if found.title.endswith("plain step") else (
        "No test here: it follows if all drafts are accepted." if found.use == "computed" else
        "No test here: all drafts were accepted.")
