"""All rounds of the shown lane in figures: sorted by any column, filtered by an expression, copied as text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from engine.debugger.expressions import ExpressionError
from engine.debugger.history import History, Moment
from engine.debugger.round_rows import RoundRow
from engine.errors import SpecScopeError
from widgets.card import Card, CardTitle
from widgets.empty_state import EmptyState
from widgets.figures import ElidedLabel
from widgets.protocols import LaneView, StoreView, ThemeView
from widgets.rounds_menu import RoundMenu
from widgets.rounds_table_model import RoundsModel
from widgets.rounds_table_order import Wanted
from widgets.rounds_table_view import RoundsView

NO_LANE = ("No lane is shown", "Run something, or open a recording: its rounds are listed here.")
NOTHING_YET = ("No round has ended yet", "Step, or continue: each round is listed when it ends.")
NO_MATCH = ("No round matches", "Change the filter above, or clear it to see all rounds.")
PAUSE = 160
"""Milliseconds after the last key before the filter is applied."""

LOW = 240
"""Logical pixels of height at scale 1: below, the filter stands beside the title, so that more rows fit."""

MakeFilter = Callable[[str], Wanted]


def by_text(text: str) -> Wanted:
    """Rounds in whose texts this occurs, in small letters or capitals."""
    sought = text.casefold()

    def wanted(row: RoundRow) -> bool:
        texts = (row.committed_text or "", "".join(row.drafted_texts or ()), row.final)
        return any(sought in one.casefold() for one in texts)

    return wanted


class _Note(ElidedLabel):
    """What is wrong, on one line; the whole of it in its tooltip, with more about it."""

    more = ""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.more:
            self.setToolTip(f"{self.accessibleName()}\n{self.more}")


class RoundsTable(Card):
    """Whoever shows a lane calls :meth:`show_lane` each frame: it costs next to nothing when nothing has changed."""

    selected = Signal(int)
    """Enter, or a click on a row: this round, counted from 0."""
    breakpoint_wanted = Signal(object)
    """A condition to stop at; see :func:`widgets.rounds_menu.offers`."""

    def __init__(self, store: StoreView, theme: ThemeView, filter_with: MakeFilter = by_text,
                 hint: str = "Filter by text", parent: QWidget | None = None) -> None:
        """``filter_with``: makes a filter of what is typed, or raises :class:`SpecScopeError` with a sentence that is
        shown. The filter itself may raise it too, for a round that it can't judge: that round isn't listed."""
        self._dressing: QTimer | None = None
        super().__init__(store, theme, parent)
        self._filter_with = filter_with
        self._lane: LaneView | None = None
        self._history: History | None = None
        self._moment: Moment | None = None
        self._told: object = None
        self._problem = ""
        self._names: tuple[str, ...] = ()
        """Those that a filter may use, when it used another."""
        self.model = RoundsModel()
        self.view = RoundsView(theme, self.model)
        self.field = QLineEdit()
        self.field.setPlaceholderText(hint)
        self.field.setAccessibleName("filter of rounds")
        self._note = _Note(theme, "small", "danger")
        self._title = CardTitle(theme, "Rounds", "")
        self._copy = QToolButton()
        self._copy.setText("Copy all as CSV")
        self._copy.setToolTip("Copy all as CSV: every listed round, in this order, with its figures in full")
        self._copy.setAccessibleName("Copy all as CSV")
        self._copy.setProperty("kind", "flat")
        self._empty = EmptyState(theme, *NO_LANE)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.view)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PAUSE)
        self._build()
        self._timer.timeout.connect(self.apply_filter)
        self.field.textChanged.connect(self._on_typing)
        self.field.returnPressed.connect(self.apply_filter)
        self._copy.clicked.connect(self.copy_all)
        self.view.chosen.connect(self.selected)
        self.view.copied.connect(self.copy_rows)
        self.view.customContextMenuRequested.connect(self._on_menu)
        self.restyle()
        self._dressing = QTimer(self)
        self._dressing.setSingleShot(True)
        self._dressing.timeout.connect(self.restyle)
        self._say()

    def _build(self) -> None:
        self._head = QHBoxLayout()
        self._head.addWidget(self._title, 1)
        self._head.addWidget(self._copy)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(self.field)
        self._column.addWidget(self._note)
        self._column.addWidget(self._pages, 1)
        self.setTabOrder(self.field, self.view)
        self.setTabOrder(self.view, self._copy)

    def restyle(self) -> None:
        px = self.theme.px
        self._column.setContentsMargins(px(14), px(6), px(14), px(6))
        self._column.setSpacing(px(3))
        self._title.set_theme(self.theme)
        self._copy.setFont(self.theme.font("small"))
        self._copy.setFixedHeight(px(22))
        self._copy.setIcon(self.theme.icon("copy", "dim"))
        self._copy.setIconSize(QSize(px(14), px(14)))
        self.field.setFont(self.theme.font("code"))
        self._note.set_theme(self.theme)
        self._empty.set_theme(self.theme)
        self.view.set_theme(self.theme)

    def changeEvent(self, event: QEvent) -> None:
        """Another parent or style sheet above makes all within fall back to their first fonts and colours, after this
        is told; so they are set anew."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and self._dressing is not None:
            self._dressing.start()

    def version(self) -> object:
        """Nothing of the store by itself: the lane and the moment are handed to it."""
        return None

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(280), self.theme.px(120))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        roomy = self.width() >= self.theme.px(520)
        beside = roomy and self.height() < self.theme.px(LOW)
        if beside != (self._head.indexOf(self.field) >= 0):
            if beside:
                self._head.insertWidget(1, self.field, 1)
            else:
                self._column.insertWidget(1, self.field)
        self._copy.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon if roomy
                                      else Qt.ToolButtonStyle.ToolButtonIconOnly)

    # What is shown

    def show_lane(self, lane: LaneView | None, moment: Moment | None) -> None:
        """``moment``: of ``lane``; its history is what is listed. Rounds after it are listed too, but pale."""
        told = (lane, lane.revision if lane is not None else 0, moment.index if moment is not None else -1)
        if told == self._told:
            return
        self._told, self._moment = told, moment
        history = moment.history if moment is not None else None
        if lane is not self._lane or (history is not None and history is not self._history):
            self._lane, self._history = lane, history
            self.model.happened, self.model.current = 0, None
            self.model.order.wanted = None
            self.model.show(history if lane is not None else None)
            self.apply_filter()
        else:
            self.model.catch_up()
        self._mark(moment)
        self._say()

    def _mark(self, moment: Moment | None) -> None:
        """Which rounds have happened, and which the moment is in: that one stays in sight."""
        happened = moment.totals.rounds if moment is not None else self.model.count
        current = moment.round.round if moment is not None and moment.round is not None else None
        if (happened, current) == (self.model.happened, self.model.current):
            return
        self.model.happened, moved = happened, current != self.model.current
        self.model.current = current
        self.view.viewport().update()
        if moved:
            self.view.show_current()

    def _say(self) -> None:
        model = self.model
        listed = len(model.order.rounds)
        remark = f"{model.count:,} round{'s' * (model.count != 1)}"
        if model.order.wanted is not None:
            remark = f"{listed:,} of {remark} match{'es' * (listed == 1)}"
        elif model.happened < model.count:
            remark = f"{model.happened:,} of {remark}"
        if model.happened < model.count and model.current is not None:
            remark += f" · as of round {model.current + 1:,}"
        self._title.set_remark(remark if self._lane is not None else "")
        problem = self._problem or (str(model.order.problem) if model.order.problem is not None else "")
        self._note.set_whole(problem)
        self._note.more = f"The names are {', '.join(self._names)}." if self._names else ""
        self._note.setVisible(bool(problem))
        if self.field.property("fault") != bool(self._problem):
            self.field.setProperty("fault", bool(self._problem))
            self.field.style().polish(self.field)
        self._copy.setEnabled(bool(listed))
        if listed:
            self._pages.setCurrentWidget(self.view)
            return
        words = NO_LANE if self._lane is None else NOTHING_YET if not model.count else NO_MATCH
        self._empty.set_text(*words)
        self._pages.setCurrentWidget(self._empty)

    # Filter

    def _on_typing(self) -> None:
        self._timer.start()

    def apply_filter(self) -> None:
        """Now, without waiting for more keys. What can't be read filters nothing, and it is said why."""
        self._timer.stop()
        text, wanted = self.field.text().strip(), None
        self._problem, self._names = "", ()
        try:
            wanted = self._filter_with(text) if text else None
        except SpecScopeError as error:
            self._problem = str(error)
            self._names = error.names if isinstance(error, ExpressionError) else ()
        if wanted is not None or self.model.order.wanted is not None:
            self.view.keep_place(lambda: self.model.filter(wanted))
        self._say()

    # Clipboard and menu

    def copy_rows(self) -> None:
        """The selected rows with the header, as tab-separated text."""
        lines = self.view.lines()
        if lines:
            QGuiApplication.clipboard().setText(self.model.as_tsv(self.model.order.rounds[line] for line in lines))

    def copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self.model.as_csv(self.model.order.rounds))

    def _on_menu(self, point: QPoint) -> None:
        index = self.view.indexAt(point)
        if index.isValid():
            self.menu(index).popup(self.view.viewport().mapToGlobal(point))

    def menu(self, index: QModelIndex) -> RoundMenu:
        """What a right click on that row offers."""
        menu = RoundMenu(self.model.row(self.model.order.rounds[index.row()]), self)
        menu.wanted.connect(self.breakpoint_wanted)
        menu.addSeparator()
        copy = menu.addAction("Copy selected rows")
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.triggered.connect(self.copy_rows)
        menu.addAction("Copy all as CSV").triggered.connect(self.copy_all)
        return menu
