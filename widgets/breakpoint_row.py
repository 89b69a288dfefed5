"""One breakpoint in its list: how it is painted, and what is read out of it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QHelpEvent, QMouseEvent, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QToolTip

from widgets.protocols import ThemeView

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class BreakpointRow:
    id: str
    words: str
    """What it stops at."""
    enabled: bool = True
    hits: int | None = None
    """How often that has happened in the shown run so far; None: no run."""
    fired: bool = False
    """It is why the run stands where it stands."""
    lane: str = ""
    """The title of the only lane it is for; "" for all."""


def remark(row: BreakpointRow) -> str:
    if not row.enabled:
        return "off"
    return f"hit {row.hits:,}" if row.hits is not None else ""


def sentence(row: BreakpointRow) -> str:
    return f"{row.words} · {row.lane}" if row.lane else row.words


def spoken(row: BreakpointRow) -> str:
    """For screen readers."""
    parts = [sentence(row), remark(row), "stopped here" if row.fired else ""]
    return ", ".join(part for part in parts if part)


class RowPainter(QStyledItemDelegate):
    dot_clicked = Signal(str)

    def __init__(self, theme: ThemeView, parent: QObject) -> None:
        super().__init__(parent)
        self.theme = theme

    @property
    def height(self) -> int:
        """Of a row with the gap beneath it."""
        return max(self.theme.px(34), QFontMetrics(self.theme.font("body")).height() + self.theme.px(16))

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, self.height)

    # Geometry

    def _ground(self, rect: QRect) -> QRectF:
        return QRectF(rect).adjusted(1, 1, -1, -self.theme.px(4))

    def _dot(self, rect: QRect) -> QRectF:
        size, ground = self.theme.px(9), self._ground(rect)
        return QRectF(ground.left() + self.theme.px(10), ground.center().y() - size / 2, size, size)

    def on_dot(self, rect: QRect, point: QPoint) -> bool:
        """All that is left of the words counts: a dot is small."""
        return self._ground(rect).left() <= point.x() < self._words(rect, 0).left() and rect.contains(point)

    def _words(self, rect: QRect, right: float) -> QRectF:
        """Where the words stand; ``right``: the width of the remark."""
        ground = self._ground(rect)
        gap = self.theme.px(10)
        return ground.adjusted(2 * gap + self.theme.px(8), 0, -gap - (right + gap if right else 0), 0)

    # Painting

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(Qt.ItemDataRole.UserRole)
        if not isinstance(row, BreakpointRow):
            return
        theme, rect, ground = self.theme, option.rect, self._ground(option.rect)
        view = option.widget
        focused = isinstance(view, QAbstractItemView) and view.hasFocus() and view.currentIndex() == index
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(ground, theme.px(6), theme.px(6))
        painter.fillPath(outline, theme.colour("hover" if hovered else "raised"))
        if row.fired:  # a bar at the edge, as beside the line of code that a debugger stands at
            edge = QPainterPath()
            edge.addRect(QRectF(ground.left(), ground.top(), theme.px(4), ground.height()))
            painter.fillPath(outline.intersected(edge), theme.colour("rejected"))
        if focused:
            painter.strokePath(outline, QPen(theme.colour("focus"), 1.2))
        self._paint_dot(painter, row, rect)
        small = theme.font("small")
        tail = ("▸ " if row.fired else "") + remark(row)
        width = float(QFontMetrics(small).horizontalAdvance(tail)) if tail else 0.0
        words = self._words(rect, width)
        painter.setFont(theme.font("strong" if row.fired else "body"))
        painter.setPen(theme.colour("dim" if not row.enabled else "strong" if row.fired else "text"))
        shown = painter.fontMetrics().elidedText(sentence(row), Qt.TextElideMode.ElideRight, int(words.width()))
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        painter.setFont(small)
        painter.setPen(theme.colour("rejected_text" if row.fired else "dim"))
        painter.drawText(ground.adjusted(0, 0, -theme.px(10), 0), Qt.AlignmentFlag.AlignVCenter
                         | Qt.AlignmentFlag.AlignRight, tail)
        painter.restore()

    def _paint_dot(self, painter: QPainter, row: BreakpointRow, rect: QRect) -> None:
        """Filled: on. An empty ring: off, for those who don't see the colour."""
        dot = self._dot(rect)
        if row.enabled:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.theme.colour("rejected"))
        else:
            painter.setPen(QPen(self.theme.colour("faint"), self.theme.px(1.5)))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            dot = dot.adjusted(0.75, 0.75, -0.75, -0.75)
        painter.drawEllipse(dot)

    # Mouse

    def editorEvent(self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index) -> bool:
        if (event.type() in (QEvent.Type.MouseButtonRelease, QEvent.Type.MouseButtonDblClick)
                and isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton
                and self.on_dot(option.rect, event.position().toPoint())):
            row = index.data(Qt.ItemDataRole.UserRole)
            if event.type() == QEvent.Type.MouseButtonRelease and isinstance(row, BreakpointRow):
                self.dot_clicked.emit(row.id)
            return True
        return super().editorEvent(event, model, option, index)

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        row = index.data(Qt.ItemDataRole.UserRole)
        if not isinstance(row, BreakpointRow):
            return super().helpEvent(event, view, option, index)
        if self.on_dot(option.rect, event.pos()):
            tip = "Turn it off" if row.enabled else "Turn it on"
        else:
            tip = f"{sentence(row)}\n{self._in_words(row)}"
        QToolTip.showText(event.globalPos(), tip, view)
        return True

    @staticmethod
    def _in_words(row: BreakpointRow) -> str:
        if row.fired:
            return "The run stands here because of it."
        if not row.enabled:
            return "Off: nothing is counted."
        if row.hits is None:
            return "Nothing has run yet."
        return f"This has happened {row.hits:,} time{'' if row.hits == 1 else 's'} in what is shown."
