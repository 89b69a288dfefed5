"""An original's tokens and a branch's, one row above the other: dim while they agree, marked by kind once they part."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from widgets.branch_columns import Columns
from widgets.branch_comparison import Comparison, Side
from widgets.marks import WORDS, inks, paint_ground, paint_sign, paint_swatch
from widgets.protocols import CellView, ThemeView

NAMES = ("original", "branch")
LONGEST = 20
"""Characters of a token's label, at most; longer ones end in an ellipsis and stand whole in the tooltip."""
TOLD = 200
"""Characters of it there."""
END = "end"
GAP = 13
"""Between a pair of rows and the next."""


class BranchRows(QAbstractScrollArea):
    selected = Signal(str, int)
    """Lane and position of a token."""

    def __init__(self, theme: ThemeView, comparison: Comparison, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._comparison = comparison
        self._columns = Columns()
        self._widths: dict[str, float] = {}
        self._follows = True
        """Until someone scrolls: what matters is kept in view, the difference or the branch's newest token."""
        self._chosen: tuple[int, int] | None = None
        """Side and place."""
        self._ring = False
        self._wheel = 0.0
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("original and branch, token by token")
        self.verticalScrollBar().actionTriggered.connect(self._on_scrolled)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._font, self._small = theme.font("token"), theme.font("small")
        self._metrics, self._small_metrics = QFontMetricsF(self._font), QFontMetricsF(self._small)
        self._unit = max(1.0, round(self._font.pixelSize() / 7.5))
        self._inks = inks(theme)
        self._head = round(0.26 * self._metrics.height())
        self.row_height = self._head + round(1.16 * self._metrics.height())
        self.line_height = 2 * self.row_height + theme.px(GAP)
        self._gutter = theme.px(22)
        self._columns.least = self._small_metrics.horizontalAdvance(END) + theme.px(10)
        self._widths.clear()
        self.reload()

    # What is shown

    def reload(self) -> None:
        """Another pair of lanes, or other fonts."""
        self._columns.clear()
        for number, side in enumerate(self._comparison.sides):
            self._columns.extend(number, self._measured(side, 0))
        self._follows, self._chosen = True, None
        self._rewrap(0)

    def update_rows(self) -> None:
        """The comparison has changed by what was written since, or by a rewind."""
        first = len(self._columns)
        for number, side in enumerate(self._comparison.sides):
            before = self._columns.length(number)
            if before == len(side) and side.grown_from == before:
                continue
            first = min(first, side.grown_from, before)
            self._columns.cut(number, side.grown_from)
            self._columns.extend(number, self._measured(side, self._columns.length(number)))
        self._rewrap(first)

    def _measured(self, side: Side, first: int) -> list[float]:
        if side.lane is None:
            return []
        cells = side.lane.cells
        return [self._width(cells[place].label) for place in side.lane.committed[first:]]

    def _width(self, label: str) -> float:
        """Of a column that holds it."""
        width = self._widths.get(label)
        if width is None:
            width = self._metrics.horizontalAdvance(label[:2 * LONGEST])
            width = self._widths[label] = min(width, LONGEST * self._metrics.averageCharWidth()) + 5 * self._unit
        return width

    def _rewrap(self, first: int) -> None:
        room = max(1.0, self.viewport().width() - self._gutter - self._unit)
        if room != self._columns.room:
            self._columns.room, first = room, 0
        self._columns.wrap(first)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self._columns.lines - self.shown_lines))
        bar.setPageStep(self.shown_lines)
        if self._follows:
            self._reveal_what_matters()
        self.viewport().update()

    @property
    def shown_lines(self) -> int:
        """Pairs of rows that are in view, each as a whole."""
        return max(1, (self.viewport().height() + self.theme.px(GAP)) // self.line_height)

    @property
    def difference(self) -> int | None:
        return self._comparison.cost.index if self._comparison.cost is not None else None

    def go_to_difference(self) -> None:
        self._follows = True
        self._reveal_what_matters()

    def _reveal_what_matters(self) -> None:
        """The first difference beneath the line before it; while there is none, where the branch is now."""
        bar = self.verticalScrollBar()
        if self.difference is not None:
            bar.setValue(self._columns.line_of(self.difference) - int(self.shown_lines > 1))
        else:
            self._reveal(len(self._comparison.branch))

    def _reveal(self, column: int) -> None:
        """Scroll no further than it takes."""
        bar, line = self.verticalScrollBar(), self._columns.line_of(column)
        bar.setValue(max(min(bar.value(), line), line + 1 - self.shown_lines))

    def _on_scrolled(self, action: int) -> None:
        self._follows = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._rewrap(len(self._columns))

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        first = self.verticalScrollBar().value()
        for line in range(first, min(first + self.shown_lines, self._columns.lines)):
            self._paint_line(painter, line, (line - first) * self.line_height)
        if self._ring:
            painter.setPen(self.theme.colour("focus"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def _paint_line(self, painter: QPainter, line: int, top: float) -> None:
        columns = self._columns.of_line(line)
        for number, side in enumerate(self._comparison.sides):
            y = top + number * self.row_height
            if side.lane is not None:
                self._paint_swatch(painter, side.lane.look, y)
            for index in columns:
                cell = side.cell(index)
                if cell is not None:
                    self._paint_token(painter, cell, self.box(number, index), shared=index < self._comparison.shared)
                elif index == len(side) and side.lane is not None and len(side):
                    self._paint_end(painter, side, self.box(number, index))
        if self.difference is not None and self.difference in columns:
            x = self._gutter + self._columns.span(self.difference)[0] - 0.5 * self._unit
            bar = QRectF(x - 0.5 * self._unit, top, self._unit, 2 * self.row_height + 0.5 * self._head)
            painter.fillRect(bar, self.theme.colour("focus"))
        if self._chosen is not None and self._chosen[1] in columns:
            painter.setPen(QPen(self.theme.colour("strong"), max(1.0, 0.75 * self._unit)))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.box(*self._chosen).adjusted(-1, -1, 1, 1), 2 * self._unit, 2 * self._unit)

    def box(self, side: int, index: int) -> QRectF:
        """The ground of a token, in the viewport."""
        left, right = self._columns.span(index)
        line = self._columns.line_of(index) - self.verticalScrollBar().value()
        top = line * self.line_height + side * self.row_height + self._head
        return QRectF(self._gutter + left + 0.5 * self._unit, top, right - left - 1.5 * self._unit,
                      self.row_height - self._head - 1)

    def _paint_swatch(self, painter: QPainter, look: int, top: float) -> None:
        size = float(self.theme.px(10))
        middle = top + self._head + (self.row_height - self._head) / 2
        paint_swatch(painter, self.theme.lane_look(look), QRectF(1, middle - size / 2, size, size))

    def _paint_token(self, painter: QPainter, cell: CellView, box: QRectF, *, shared: bool) -> None:
        ink = self._inks[cell.kind]
        if not shared:
            paint_ground(painter, box, ink, 1.5 * self._unit)
        room = box.width() - 2 * self._unit
        label = cell.label
        if self._metrics.horizontalAdvance(label[:2 * LONGEST]) > room + 1 or len(label) > 2 * LONGEST:
            label = self._metrics.elidedText(label[:2 * LONGEST] + "…", Qt.TextElideMode.ElideRight, room)
        painter.setFont(self._font)
        painter.setPen(self.theme.colour("dim") if shared else ink.text)
        painter.drawText(QPointF(box.left() + self._unit, round(self._baseline(box))), label)
        if not shared:
            paint_sign(painter, cell.kind, box, ink, self._unit)

    def _paint_end(self, painter: QPainter, side: Side, box: QRectF) -> None:
        """Behind an output's last token: that it has ended, or a caret where its next one will go."""
        if side.lane is not None and side.lane.finished is None:
            painter.fillRect(QRectF(box.left() + self._unit, box.top(), self._unit, box.height()),
                             self.theme.colour("strong"))
            return
        painter.setFont(self._small)
        painter.setPen(self.theme.colour("faint"))
        painter.drawText(QPointF(box.left() + 2 * self._unit, round(self._baseline(box))), END)

    def _baseline(self, box: QRectF) -> float:
        return box.center().y() + (self._metrics.ascent() - self._metrics.descent()) / 2

    # Mouse and keys

    def place_at(self, point: QPointF) -> tuple[int, int] | None:
        """Side and place of the token under a point of the viewport."""
        row, y = divmod(point.y(), self.line_height)
        if not 0 <= row < self.shown_lines:
            return None
        side = int(y // self.row_height)
        column = self._columns.column_at(self.verticalScrollBar().value() + int(row), point.x() - self._gutter)
        if column is None or side > 1 or self._comparison.sides[side].cell(column) is None:
            return None
        return side, column

    def select(self, lane: str, position: int | None) -> None:
        """Outline a token; nothing is emitted."""
        chosen = None
        for number, side in enumerate(self._comparison.sides):
            if position is not None and side.lane is not None and side.lane.id == lane and len(side):
                index = position - side.first_position
                chosen = (number, index) if side.cell(index) is not None else None
        if chosen != self._chosen:
            self._chosen = chosen
            self.viewport().update()

    def _choose(self, side: int, index: int) -> None:
        cell, lane = self._comparison.sides[side].cell(index), self._comparison.sides[side].lane
        if cell is None or lane is None:
            return
        self._chosen = side, index
        self.setAccessibleDescription(explain(self._comparison, index))
        self.viewport().update()
        self.selected.emit(lane.id, cell.position)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position())
        if place is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(*place)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._follows = False
        self._wheel -= event.angleDelta().y() / 120  # a pair of rows a notch, fractions of touchpads kept
        steps = int(self._wheel)
        self._wheel -= steps
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() + steps)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}
        move = moves.get(Qt.Key(event.key()))
        if move is None or not len(self._comparison):
            super().keyPressEvent(event)
            return
        self._follows = False
        if self._chosen is None:
            side, index = 1, min(self.difference or 0, len(self._comparison.branch) - 1)
        else:
            side, index = self._moved(*self._chosen, *move)
        if self._comparison.sides[side].cell(index) is not None:
            self._choose(side, index)
            self._reveal(index)

    def _moved(self, side: int, index: int, down: int, right: int) -> tuple[int, int]:
        """The place an arrow key leads to: along its row, to the row beside it, or to the next pair of rows."""
        if not down or 0 <= side + down <= 1:
            return side + down, index + right
        left, end = self._columns.span(index)
        line = self._columns.line_of(index) + down
        column = self._columns.column_at(line, (left + end) / 2)
        if column is None and 0 <= line < self._columns.lines:
            column = self._columns.of_line(line)[-1]
        return (side, index) if column is None else (1 - side, column)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(120), 2 * self.row_height + 1)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = self.place_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), explain(self._comparison, place[1]) if place else "", self)
            return True
        return bool(super().viewportEvent(event))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Who came here by keyboard sees where the focus is; who clicked knows."""
        self._ring = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason,
                                        Qt.FocusReason.ShortcutFocusReason)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        self.viewport().update()


def explain(comparison: Comparison, index: int) -> str:
    """Both tokens of a place in full."""
    told = [f"token {index + 1:,}" + (": before the first difference" if index < comparison.shared else "")]
    for name, side in zip(NAMES, comparison.sides, strict=True):
        cell = side.cell(index)
        if cell is not None:
            label = cell.label if len(cell.label) <= TOLD else cell.label[:TOLD] + "…"
            told.append(f"{name}: “{label}”, {WORDS[cell.kind]}, round {cell.round + 1:,}")
        else:
            told.append(f"{name}: {'ended before' if side.over else 'not there yet'}")
    return "\n".join(told)
