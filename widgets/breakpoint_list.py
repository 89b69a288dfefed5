"""The breakpoints: a dot that turns each on and off, what it stops at in words, and how often that has happened."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from widgets.breakpoint_row import BreakpointRow, RowPainter, spoken
from widgets.moment_card import Heading, dress
from widgets.protocols import ThemeView

HINT = "A run stops where one of these happens: a rejection, a small overlap, a token you name\u00a0…"
KEYS = "Space turns it on or off, Enter changes it, Delete removes it."


class BreakpointList(QFrame):
    """Given rows, it shows them; what a person wants is told by signals, and nothing changes until new rows come."""

    toggled = Signal(str)
    removed = Signal(str)
    edit_wanted = Signal(str)
    add_wanted = Signal()

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._rows: tuple[BreakpointRow, ...] = ()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("breakpoints")
        self._heading = Heading(theme)
        self._hint = QLabel(HINT)
        self._hint.setWordWrap(True)
        self.list = _Rows(theme)
        self.add = QPushButton("+ when …")
        self.add.setProperty("kind", "dashed")
        self.add.setToolTip("Stop when something happens: choose what.")
        self.add.setAccessibleName("add a breakpoint")
        self.add.clicked.connect(self.add_wanted)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._heading)
        self._column.addWidget(self._hint)
        self._column.addWidget(self.list)
        self._column.addWidget(self.add)
        self._column.addStretch(1)
        self.list.toggled.connect(self.toggled)
        self.list.removed.connect(self.removed)
        self.list.edit_wanted.connect(self.edit_wanted)
        self.set_theme(theme)
        self.show_rows(())

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        px = theme.px
        self._column.setContentsMargins(px(16), px(12), px(14), px(12))
        self._column.setSpacing(px(6))
        self._heading.set_theme(theme)
        dress(self._hint, theme, "body", "dim")
        self.add.setFont(theme.font("body"))
        self.list.set_theme(theme)
        self.update()

    def show_rows(self, rows: Sequence[BreakpointRow]) -> None:
        """Cheap when they are the same; the current row stays the current one."""
        if tuple(rows) == self._rows and rows:
            return
        self._rows = tuple(rows)
        self.list.show_rows(self._rows)
        self._hint.setVisible(not rows)
        self.list.setVisible(bool(rows))
        self._heading.say("Breakpoints", self._remark())

    @property
    def rows(self) -> tuple[BreakpointRow, ...]:
        return self._rows

    def _remark(self) -> str:
        off = sum(not row.enabled for row in self._rows)
        return f"{off} of {len(self._rows)} off" if off else ""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(self.theme.colour("panel"))
        painter.setPen(QPen(self.theme.colour("line"), 1))
        radius = self.theme.px(10)
        painter.drawRoundedRect(self.rect().toRectF().adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


class _Rows(QListWidget):
    """As tall as its rows, as long as there is room; then it scrolls."""

    toggled = Signal(str)
    removed = Signal(str)
    edit_wanted = Signal(str)

    def __init__(self, theme: ThemeView) -> None:
        super().__init__()
        self.theme = theme
        self._painter = RowPainter(theme, self)
        self.setItemDelegate(self._painter)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("breakpoints")
        self.setAccessibleDescription(KEYS)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("QListWidget { background: transparent; border: none; outline: none; }")
        self._painter.dot_clicked.connect(self.toggled)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._painter.theme = theme
        self.setFont(theme.font("body"))
        self.scheduleDelayedItemsLayout()
        self._fit()

    def show_rows(self, rows: Sequence[BreakpointRow]) -> None:
        current = self.currentRow()
        kept = self._row(self.currentItem())
        same = [row.id for row in rows] == [self._row(self.item(place)).id for place in range(self.count())]
        if not same:
            self.clear()
        for place, row in enumerate(rows):
            item = self.item(place) if same else QListWidgetItem(self)
            item.setData(Qt.ItemDataRole.UserRole, row)
            item.setText(spoken(row))
        if not same and rows:
            ids = [row.id for row in rows]
            self.setCurrentRow(ids.index(kept.id) if kept.id in ids else min(max(0, current), len(rows) - 1))
        fired = next((place for place, row in enumerate(rows) if row.fired), None)
        if fired is not None:
            self.scrollToItem(self.item(fired))
        self._fit()

    @staticmethod
    def _row(item: QListWidgetItem | None) -> BreakpointRow:
        row = item.data(Qt.ItemDataRole.UserRole) if item is not None else None
        return row if isinstance(row, BreakpointRow) else BreakpointRow("", "")

    def _fit(self) -> None:
        self.setMinimumHeight(self._painter.height * min(2, self.count()))
        self.setMaximumHeight(max(1, self._painter.height * self.count()))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(200), self._painter.height * max(1, self.count()))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(80), self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()

    # What a person does

    def keyPressEvent(self, event: QKeyEvent) -> None:
        chosen = self._row(self.currentItem()).id
        if chosen and event.key() == Qt.Key.Key_Space:
            self.toggled.emit(chosen)
        elif chosen and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit(chosen)
        elif chosen and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2):
            self.edit_wanted.emit(chosen)
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """On the dot it is two clicks."""
        item = self.itemAt(event.position().toPoint())
        if item is not None and not self._painter.on_dot(self.visualItemRect(item), event.position().toPoint()):
            self.edit_wanted.emit(self._row(item).id)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        item = self.currentItem() if by_key else self.itemAt(event.pos())
        if item is not None:
            below = self.visualItemRect(item).bottomLeft()
            self.menu_of(self._row(item)).popup(self.viewport().mapToGlobal(below) if by_key else event.globalPos())

    def menu_of(self, row: BreakpointRow) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, what in (("Turn off" if row.enabled else "Turn on", "toggle"), ("Change …", "edit"),
                           ("Remove", "remove")):
            menu.addAction(text).setData((what, row.id))
        menu.triggered.connect(self._on_menu)
        return menu

    def _on_menu(self, action: QAction) -> None:
        what, id = action.data()
        {"toggle": self.toggled, "edit": self.edit_wanted, "remove": self.removed}[what].emit(id)
