"""The k + 1 rows of a round's one forward: which prefix each depends on, and whether it was used."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QContextMenuEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from engine.debugger.history import Moment
from engine.debugger.token_words import one_line, readable
from engine.debugger.verify_rows import VerifyRow, VerifyRows, verify_rows
from widgets.marks import inks, paint_sign
from widgets.moment_card import MomentCard
from widgets.protocols import ThemeView

TOKEN_SHARE = 0.36
"""Of the width, at most, for the token at the right."""
AFTER = "after "


class VerifyPanel(MomentCard[VerifyRows]):
    selected = Signal(int, int)
    """Round and row."""
    breakpoint_wanted = Signal(object)
    """A :class:`engine.debugger.verify_rows.VerifyRow` was clicked with the other button."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Verify", "The rows of the target’s forward appear with the first round: step on, or "
                         "press Run.", parent)
        self.rows = RowList(theme)
        self.rows.selected.connect(self.selected)
        self.rows.breakpoint_wanted.connect(self.breakpoint_wanted)
        self.hold(self.rows)

    def read(self, moment: Moment) -> VerifyRows | None:
        return verify_rows(moment)

    def present(self, model: VerifyRows, before: Moment | None) -> None:
        self.heading.say(model.title, model.remark)
        self.rows.show_rows(model.rows)
        self.rows.reveal(newest(model.rows))

    def select(self, index: int | None) -> None:
        """Mark a row of the round that is shown; None: no one."""
        self.rows.select(index)

    def restyle(self) -> None:
        self.rows.set_theme(self.theme)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(330), self.theme.px(240))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(220), self.theme.px(110))


class RowList(QAbstractScrollArea):
    selected = Signal(int, int)
    breakpoint_wanted = Signal(object)

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[VerifyRow, ...] = ()
        self._index: int | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName("verify rows")
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._mono, self._small = theme.font("code"), theme.font("small")
        self._mono_metrics, self._small_metrics = QFontMetricsF(self._mono), QFontMetricsF(self._small)
        self._inks = inks(theme)
        self.row_height = round(self._mono_metrics.height() + self._small_metrics.height()) + theme.px(14)
        self._set_range()
        self.viewport().update()

    def show_rows(self, rows: tuple[VerifyRow, ...]) -> None:
        other = bool(rows) and bool(self._rows) and rows[0].round != self._rows[0].round
        self._rows = rows
        self._set_range()
        if other:
            self.verticalScrollBar().setValue(0)
        self.setAccessibleDescription("; ".join(f"row {row.index + 1}: {row.status}" for row in rows))
        self.viewport().update()

    def select(self, index: int | None) -> None:
        if index != self._index:
            self._index = index
            if index is not None:
                self.reveal(index)
            self.viewport().update()

    def reveal(self, index: int) -> None:
        """Scroll no further than it takes to see that row."""
        bar, top = self.verticalScrollBar(), index * self.row_height
        bar.setValue(max(min(bar.value(), top), top + self.row_height - self.viewport().height()))

    def row_at(self, point: QPointF) -> VerifyRow | None:
        number = int((point.y() + self.verticalScrollBar().value()) // self.row_height)
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def _set_range(self) -> None:
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, len(self._rows) * self.row_height - self.viewport().height()))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(self.row_height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_range()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        offset, width, height = self.verticalScrollBar().value(), self.viewport().width(), self.viewport().height()
        for number in range(offset // self.row_height, len(self._rows)):
            box = QRectF(0, number * self.row_height - offset, width, self.row_height)
            if box.top() > height:
                break
            self._paint_row(painter, self._rows[number], box, last=number == len(self._rows) - 1)

    def _paint_row(self, painter: QPainter, row: VerifyRow, box: QRectF, *, last: bool) -> None:
        px, theme = self.theme.px, self.theme
        usable = row.use not in ("void", "missing")
        if row.index == self._index:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("hover"))
            painter.drawRoundedRect(box.adjusted(0, 1, 0, -1), px(6), px(6))
        elif not last:
            painter.setPen(QPen(theme.colour("line"), 1))
            painter.drawLine(QPointF(px(14), box.bottom() - 0.5), QPointF(box.right(), box.bottom() - 0.5))
        self._paint_bar(painter, row, QRectF(px(5), box.top() + px(8), px(4), box.height() - px(16)))
        right = box.right() - px(6)
        taken = self._paint_token(painter, row, right, box, usable)
        left = box.left() + px(18)
        self._paint_texts(painter, row, QRectF(left, box.top(), right - taken - px(10) - left, box.height()), usable)

    def _paint_bar(self, painter: QPainter, row: VerifyRow, bar: QRectF) -> None:
        """Solid for a row that was used, hatched for one that never can be, hollow while it isn't known."""
        if row.use == "void":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QBrush(self._inks["void"].mark, Qt.BrushStyle.BDiagPattern))
            painter.drawRect(bar)
        elif row.use in ("computed", "missing"):
            style = Qt.PenStyle.SolidLine if row.use == "computed" else Qt.PenStyle.DotLine
            painter.setPen(QPen(self._inks["pending"].mark, 1, style))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(bar.adjusted(0.5, 0.5, -0.5, -0.5), 1.5, 1.5)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._inks[row.kind].mark)
            painter.drawRoundedRect(bar, 1.5, 1.5)

    def _paint_texts(self, painter: QPainter, row: VerifyRow, room: QRectF, usable: bool) -> None:
        theme, mono, small = self.theme, self._mono_metrics, self._small_metrics
        gap = (room.height() - mono.height() - small.height()) / 2
        baseline = room.top() + gap + mono.ascent()
        painter.setFont(self._mono)
        painter.setPen(theme.colour("faint"))
        painter.drawText(QPointF(room.left(), baseline), AFTER)
        x = room.left() + mono.horizontalAdvance(AFTER)
        prefix = mono.elidedText(row.prefix, Qt.TextElideMode.ElideLeft, room.right() - x)
        painter.setPen(theme.colour("text" if usable else "faint"))
        painter.drawText(QPointF(x, baseline), prefix)
        baseline = room.bottom() - gap - small.descent()
        painter.setFont(self._small)
        if not row.outcome:
            painter.setPen(theme.colour("dim" if usable else "faint"))
            painter.drawText(QPointF(room.left(), baseline),
                             small.elidedText(row.status, Qt.TextElideMode.ElideRight, room.width()))
            return
        told = f"{row.status} → "
        painter.setPen(theme.colour("dim"))
        painter.drawText(QPointF(room.left(), baseline), told)
        x = room.left() + small.horizontalAdvance(told)
        painter.setPen(self._readable(self._inks["correction"].mark))
        outcome = f"↺ {readable(row.outcome)}"
        painter.drawText(QPointF(x, baseline),
                         small.elidedText(outcome, Qt.TextElideMode.ElideRight, room.right() - x))

    def _paint_token(self, painter: QPainter, row: VerifyRow, right: float, box: QRectF, usable: bool) -> float:
        """Returns the width it took."""
        text = one_line(row.label).strip() or readable(row.label) or "+"
        metrics = self._mono_metrics
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, TOKEN_SHARE * box.width())
        width = metrics.horizontalAdvance(text)
        baseline = box.center().y() + (metrics.ascent() - metrics.descent()) / 2
        ink = self._inks[row.kind]
        painter.setFont(self._mono)
        painter.setPen(ink.text if usable or row.kind == "void" else self.theme.colour("dim"))
        painter.drawText(QPointF(right - width, baseline), text)
        if row.kind in ("accepted", "rejected", "void", "bonus") and row.token is not None:
            unit = max(1.0, round(self._mono.pixelSize() / 7.5))
            around = QRectF(right - width - unit, baseline - metrics.ascent(), width + 2 * unit,
                            metrics.height() + unit)
            paint_sign(painter, row.kind, around, ink, unit)
        return width

    def _readable(self, colour: QColor) -> QColor:
        """A mark's colour as small text: darker on white."""
        return colour if self.theme.dark else colour.darker(135)

    # Mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position())
        if row is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None or not self._rows:
            super().keyPressEvent(event)
            return
        place = self._index + step if self._index is not None else 0
        self._choose(self._rows[max(0, min(place, len(self._rows) - 1))])

    def _choose(self, row: VerifyRow) -> None:
        self.select(row.index)
        self.selected.emit(row.round, row.index)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        row = self.row_at(QPointF(event.pos()))
        if row is not None:
            self.breakpoint_wanted.emit(row)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = self.row_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), explain(row) if row is not None else "", self)
            return True
        return bool(super().viewportEvent(event))


def newest(rows: tuple[VerifyRow, ...]) -> int:
    """The row that something has just happened to: the last one used; while drafting the last; else the first."""
    if rows[0].use == "missing":
        return rows[-1].index
    return next((row.index for row in reversed(rows) if row.use in ("accepted", "rejected", "final")), 0)


def explain(row: VerifyRow) -> str:
    """A row in full, for its tooltip."""
    outcome = f" → {readable(row.outcome)}" if row.outcome else ""
    return f"row {row.index + 1}, position {row.position:,}: {row.status}{outcome}\n{AFTER}{row.prefix}"
