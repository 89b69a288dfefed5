"""The token stream of one lane: every token marked by what became of it, ghosts where they were proposed.

Only visible lines are painted, whole lines only, so that nothing is ever clipped in half.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from widgets.marks import WORDS
from widgets.panel import Panel, lane_version
from widgets.protocols import CellView, LaneView, StoreView, ThemeView
from widgets.text_layout import Line, TextLayout, line_of
from widgets.token_painter import TokenPainter

LAYOUT_BUDGET = 3000
"""Cells laid out in one frame at most: after a resize a very long stream comes back over a few frames."""


class TokenStream(Panel, QAbstractScrollArea):
    hovered = Signal(object, QPoint)
    """The cell under the mouse, or None; and where, on the whole screen."""

    def __init__(self, store: StoreView, theme: ThemeView, lane: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self.lane = lane
        self._following = True
        self._source: LaneView | None = None
        self._hovered: CellView | None = None
        self._shown_selection: object = None
        self._wheel = 0.0
        self._ghosts, self._prompt = True, False
        self._least = 2
        self._tail: Line | None = None
        """What is seen at the end where there is room for one line only: the last tokens that fit."""
        self._ring = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.verticalScrollBar().setSingleStep(1)
        self.restyle()

    # Switches

    def set_ghosts(self, shown: bool) -> None:
        self._ghosts = self._layout.ghosts = shown
        self._relayout()

    def set_prompt(self, shown: bool) -> None:
        self._prompt = self._layout.prompt = shown
        self._relayout()

    def set_least(self, lines: int) -> None:
        """So many lines are shown at least. One alone is always full, of the newest tokens."""
        self._least = lines
        self.mark_dirty()
        self.setMinimumHeight(lines * self._painter.line_height)

    @property
    def following(self) -> bool:
        """The newest token stays in view, until the person scrolls up."""
        return self._following

    def restyle(self) -> None:
        self._painter = TokenPainter(self.theme)
        self._layout = TextLayout(self._painter.measure, self._painter.advance)
        self._lines: list[Line] = []
        self._layout.ghosts, self._layout.prompt = self._ghosts, self._prompt
        self.setMinimumHeight(self._least * self._painter.line_height)
        self._relayout()

    # Once a frame

    def version(self) -> object:
        return lane_version(self.store, self.lane)

    def sync(self) -> None:
        lane, before = self.store.lane(self.lane), self._source
        self._source = lane
        if (lane and lane.base) is not (before and before.base):
            self._following = True
            self._layout.reset(self._text_width())
            self.setAccessibleName(f"{lane.title}: token stream" if lane else "token stream")
        if lane is None:
            self._lines = []
        else:
            base = lane.base  # laid out whole, so that any moment of it is at hand
            if not self._layout.sync(base.cells, base.settled, LAYOUT_BUDGET):
                self.mark_dirty()
            self._lines = self._layout.lines if lane is base else self._layout.as_of(lane.cells, lane.settled)
        room = self._text_width() - 2 * self._painter.unit  # the caret's
        self._tail = self._layout.last(lane.cells, room) if lane is not None and self._one_line else None
        self._update_scroll_bar()
        self._follow_selection()
        self.viewport().update()

    def _relayout(self) -> None:
        self._layout.reset(self._text_width())
        self.mark_dirty()

    def _text_width(self) -> float:
        return self.viewport().width() - 2 * self._painter.unit - 1

    def _rows(self) -> int:
        return max(1, self.viewport().height() // self._painter.line_height)

    @property
    def _one_line(self) -> bool:
        return self._least == 1 and self._rows() == 1

    def _lines_in_view(self) -> list[Line]:
        first = self.verticalScrollBar().value()
        if self._tail is not None and self._following:
            return [self._tail]
        return self._lines[first : first + self._rows()]

    def _shown_lines(self) -> int:
        """A last, empty line counts only while text may still come."""
        lines = self._lines
        if lines and not lines[-1].fragments and self._source is not None and self._source.status != "running":
            return len(lines) - 1
        return len(lines)

    def _update_scroll_bar(self) -> None:
        bar = self.verticalScrollBar()
        bar.setPageStep(self._rows())
        last = max(0, self._shown_lines() - self._rows())
        following = self._following
        bar.setRange(0, last)
        bar.setEnabled(last > 0)
        if following:
            bar.setValue(last)
            self._following = True

    def _scrolled(self, value: int) -> None:
        self._following = value >= self.verticalScrollBar().maximum()
        self.viewport().update()

    def _follow_selection(self) -> None:
        """A token selected elsewhere is scrolled into view, once."""
        selection = self.store.selection
        if selection is self._shown_selection:
            return
        self._shown_selection = selection
        outlined = self._outlined()
        line = line_of(self._lines, outlined[0]) if outlined else None
        if line is None:
            return
        bar = self.verticalScrollBar()
        if not bar.value() <= line < bar.value() + self._rows():
            bar.setValue(line - self._rows() // 2)

    def _outlined(self) -> tuple[int, int] | None:
        """The selected cells, from … to (exclusive): a draft or round of this lane, or the token at that position."""
        selection, lane = self.store.selection, self._source
        if selection is None or lane is None:
            return None
        mine = selection.lane == self.lane
        if mine and selection.position is None and selection.index is None and selection.round is not None:
            if selection.round < len(lane.rounds):
                chosen = lane.rounds[selection.round]
                return chosen.first_cell, chosen.last_cell
            return None
        cell = lane.find(selection.position, selection.round if mine else None, selection.index if mine else None)
        return None if cell is None else (cell, cell + 1)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        lane, lines = self._source, self._lines
        if lane is None or not lines:
            return
        unit, height = self._painter.unit, self._painter.line_height
        painter.translate(unit, 0)
        outlined = self._outlined()
        in_view = self._lines_in_view()
        for row, line in enumerate(in_view):
            self._painter.paint_line(painter, line, row * height, lane.cells, lane.settled)
            if outlined is not None:
                self._painter.paint_outline(painter, line, row * height, *outlined)
        at_end = bool(in_view) and (in_view[-1] is self._tail or in_view[-1] is lines[-1])
        if lane.status == "running" and lane.committed and at_end:
            self._painter.paint_caret(painter, self._caret_x(lane, in_view[-1]), (len(in_view) - 1) * height)
        if self._ring:
            painter.translate(-unit, 0)
            painter.setPen(self.theme.colour("focus"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def _caret_x(self, lane: LaneView, line: Line) -> float:
        """Behind the newest committed token, before drafts in flight."""
        newest = lane.committed[-1]
        behind = [right for (_, right), fragment in zip(self._painter.spans(line), line.fragments, strict=True)
                  if fragment.cell <= newest]
        return max(behind, default=0.0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        if self._text_width() != self._layout.width:
            self._relayout()
        self.mark_dirty()
        super().resizeEvent(event)

    # Mouse

    def cell_at(self, point: QPointF) -> int | None:
        """Index of the cell under a point of the viewport."""
        row = int(point.y() // self._painter.line_height)
        in_view = self._lines_in_view()
        if not 0 <= row < len(in_view):
            return None
        line = in_view[row]
        x = point.x() - self._painter.unit
        for (left, right), fragment in zip(self._painter.spans(line), line.fragments, strict=True):
            if left <= x < right:
                return fragment.cell
        return None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        index = self.cell_at(event.position())
        cell = self._source.cells[index] if index is not None and self._source is not None else None
        self._hover(cell, event.globalPosition().toPoint())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            index = self.cell_at(event.position())
            if index is None:
                self.store.deselect()
            else:
                self.select_cell(index)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(None, QPoint())
        return bool(super().viewportEvent(event))

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._wheel -= event.angleDelta().y() / 40  # three lines a notch, fractions of touchpads kept
        steps = int(self._wheel)
        self._wheel -= steps
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() + steps)
        event.accept()

    def _hover(self, cell: CellView | None, point: QPoint) -> None:
        if cell is not self._hovered:
            self._hovered = cell
            self.hovered.emit(cell, point)

    # Selection and keyboard

    def select_cell(self, index: int) -> None:
        assert self._source is not None
        cell = self._source.cells[index]
        if cell.kind != "prompt":
            self.store.select(self.lane, cell.position, cell.round, cell.index if cell.index >= 0 else None)
            self._shown_selection = self.store.selection
            self.setAccessibleDescription(f"token {cell.label}, {WORDS[cell.kind]}, position {cell.position}")
            self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            if self._source is not None:
                QGuiApplication.clipboard().setText(self._source.output)
        elif event.key() == Qt.Key.Key_Escape and self.store.selection is not None:
            self.store.deselect()
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home,
                             Qt.Key.Key_End):
            target = self._neighbour(Qt.Key(event.key()))
            if target is not None:
                self.select_cell(target)
                self._reveal(target)
        elif event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            step = self._rows() if event.key() == Qt.Key.Key_PageDown else -self._rows()
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() + step)
        else:
            event.ignore()

    def _neighbour(self, key: Qt.Key) -> int | None:
        """The shown cell that an arrow key leads to from the selected one."""
        lines = [line for line in self._lines if line.fragments]
        if not lines:
            return None
        outlined = self._outlined()
        number = line_of(self._lines, outlined[0]) if outlined else None
        if outlined is None or number is None:
            return lines[0].fragments[0].cell if key == Qt.Key.Key_Home else lines[-1].fragments[-1].cell
        line = self._lines[number]
        if key == Qt.Key.Key_Home:
            return line.fragments[0].cell
        if key == Qt.Key.Key_End:
            return line.fragments[-1].cell
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            other = number + (1 if key == Qt.Key.Key_Down else -1)
            return self._nearest(other, line, outlined[0])
        step = 1 if key == Qt.Key.Key_Right else -1
        cell = outlined[0] + step
        while self._source is not None and 0 <= cell < len(self._source.cells):
            if self._source.cells[cell].kind != "prompt" and line_of(self._lines, cell) is not None:
                return cell
            cell += step
        return None

    def _nearest(self, number: int, line: Line, cell: int) -> int | None:
        if not 0 <= number < len(self._lines) or not self._lines[number].fragments:
            return None
        x = next(fragment.x for fragment in line.fragments if fragment.cell == cell)
        other = self._lines[number]
        spans = self._painter.spans(other)
        best = min(range(len(spans)), key=lambda i: max(spans[i][0] - x, x - spans[i][1], 0.0))
        return other.fragments[best].cell

    def _reveal(self, cell: int) -> None:
        number = line_of(self._lines, cell)
        bar = self.verticalScrollBar()
        if number is not None:
            bar.setValue(min(number, max(bar.value(), number - self._rows() + 1)))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Who came here by keyboard sees where the focus is; who clicked knows."""
        self._ring = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason,
                                        Qt.FocusReason.ShortcutFocusReason)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        self.viewport().update()
