"""The list itself: a Qt table view with the theme's looks and the keys people expect."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from widgets.protocols import ThemeView
from widgets.rounds_table_cells import MARGIN, RoundCells
from widgets.rounds_table_columns import COLUMNS, ROUND
from widgets.rounds_table_model import SIGNS, RoundsModel

_SHEET = """
QTableView {{ background: {panel}; color: {text}; border: none; outline: 0; selection-background-color: {selection};
    selection-color: {selected}; }}
QHeaderView {{ background: {panel}; border: none; }}
QHeaderView::section {{ background: {panel}; color: {dim}; border: none; border-bottom: 1px solid {line};
    padding: {gap}px {pad}px; }}
QHeaderView::section:hover {{ color: {text}; background: {hover}; }}
QAbstractScrollArea::corner {{ background: {panel}; border: none; }}
"""


class RoundsView(QTableView):
    chosen = Signal(int)
    """Enter, or a plain click: the round of that row."""
    copied = Signal()

    def __init__(self, theme: ThemeView, model: RoundsModel) -> None:
        super().__init__()
        self.rounds = model
        self._cells = RoundCells(model, theme)
        self._by_hand = False
        """Has the person set a width? Then none is changed any more."""
        self._sharing = False
        self.setItemDelegate(self._cells)
        self.setModel(model)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)  # the first row is a whole one
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setTabKeyNavigation(False)
        self.setAccessibleName("rounds")
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setSectionsMovable(True)
        header.setHighlightSections(False)
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self.sort_next)
        header.sectionResized.connect(self._on_width)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        colours = {name: theme.colour(role).name() for name, role in (
            ("panel", "panel"), ("text", "text"), ("dim", "dim"), ("line", "line"), ("hover", "hover"),
            ("selection", "selection"), ("selected", "selection_text"))}
        self.setStyleSheet(_SHEET.format(**colours, pad=theme.px(MARGIN), gap=theme.px(2)))
        self.horizontalHeader().setFont(theme.font("caption"))
        self.verticalHeader().setDefaultSectionSize(int(QFontMetricsF(theme.font("code")).height()) + theme.px(5))
        self._cells.set_theme(theme)
        self._widths, self._by_hand = widths(theme), False
        self._share_width()
        self.viewport().update()

    def _share_width(self) -> None:
        """What is left over goes to the texts."""
        if self._by_hand:
            return
        texts = [place for place, column in enumerate(COLUMNS) if column.kind == "text"]
        spare = max(0, self.viewport().width() - sum(self._widths)) // len(texts)
        self._sharing = True
        for column, width in enumerate(self._widths):
            self.setColumnWidth(column, width + (spare if column in texts else 0))
        self._sharing = False

    def _on_width(self) -> None:
        self._by_hand = self._by_hand or not self._sharing

    # Where one is

    def show_line(self, line: int) -> None:
        """Bring a row into sight; sideways nothing moves."""
        bar = self.horizontalScrollBar()
        across = bar.value()
        self.scrollTo(self.rounds.index(line, 0), QAbstractItemView.ScrollHint.EnsureVisible)
        bar.setValue(across)

    def lines(self) -> list[int]:
        """The selected rows from the top; without any, the one that the keys are on."""
        found = sorted(index.row() for index in self.selectionModel().selectedRows())
        here = self.currentIndex()
        return found or ([here.row()] if here.isValid() else [])

    def keep_place(self, change: Callable[[], None]) -> None:
        """List other rounds, or the same in another order: the row the keys are on stays the same round's."""
        here = self.currentIndex()
        round = self.rounds.order.rounds[here.row()] if here.isValid() else None
        change()
        line = self.rounds.order.find(round) if round is not None else None
        if line is not None:
            self.setCurrentIndex(self.rounds.index(line, here.column()))
            self.show_line(line)

    def sort_next(self, column: int) -> None:
        """Rising, falling, as the rounds came, and round again."""
        order = self.rounds.order
        if order.column != column or order.natural:
            falling = column == order.column  # as they came is rising by round already
            self.sort(column, falling)
        elif not order.falling:
            self.sort(column, falling=True)
        else:
            self.sort(ROUND, falling=False)

    def sort(self, column: int, falling: bool) -> None:
        order = Qt.SortOrder.DescendingOrder if falling else Qt.SortOrder.AscendingOrder
        self.keep_place(lambda: self.rounds.sort(column, order))

    def show_current(self) -> None:
        """Bring the moment's round into sight."""
        current = self.rounds.current
        line = self.rounds.order.find(current) if current is not None else None
        if line is not None:
            self.show_line(line)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()
        self.show_current()

    # Keys and pointer

    def keyPressEvent(self, event: QKeyEvent) -> None:
        here = self.currentIndex()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copied.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and here.isValid():
            self._choose(here)
        else:
            super().keyPressEvent(event)
            return
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        plain = event.button() == Qt.MouseButton.LeftButton and event.modifiers() == Qt.KeyboardModifier.NoModifier
        if plain and index.isValid() and len(self.selectionModel().selectedRows()) == 1:
            self._choose(index)

    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(self.rounds.order.rounds[index.row()])


def widths(theme: ThemeView) -> list[int]:
    """Of the columns: their name, with the sort arrow, and what they usually hold fit in."""
    head, body = QFontMetricsF(theme.font("caption")), QFontMetricsF(theme.font("small"))
    code = QFontMetricsF(theme.font("code"))
    held = [(code if column.kind == "text" else body).horizontalAdvance(column.sample) for column in COLUMNS]
    named = [head.horizontalAdvance(f"{SIGNS[True]} {column.name}") for column in COLUMNS]
    return [int(max(pair)) + theme.px(2 * MARGIN + 4) for pair in zip(held, named, strict=True)]
