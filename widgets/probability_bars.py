"""p and q of the tokens at one position in pairs: p solid, q outlined, what they share shaded, the residual hatched."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from engine.debugger.bars import Bar
from engine.debugger.judgement import percent
from widgets.bar_marks import mark_lines, paint_marks
from widgets.bar_places import Layout, Place, Scale, pages, places
from widgets.dart import hatch
from widgets.protocols import ThemeView

ROOM, WIDEST = 60.0, 108.0
"""Logical pixels at scale 1 of one token's room: the least, and the most."""
FAINT = 0.4  # opacity of the bars of a row that can't be used


class ProbabilityBars(QWidget):
    menu_wanted = Signal(object, QPoint)
    """A :class:`Bar`, and where on the screen."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars: tuple[Bar, ...] = ()
        self._remark = ""
        self._hint = ""
        self._fate = "pending"
        self._final = "none"
        self._residual = False
        self._argmax = False
        self._log = False
        self._page = 0
        self._current: int | None = None
        self._layout: Layout | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._layout = None
        self.update()

    def show_bars(self, bars: Sequence[Bar], *, fate: str, final: str, residual: bool, argmax: bool = False,
                  remark: str = "", hint: str = "") -> None:
        """``fate``: of the draft; ``final``: what the drawn token is; ``residual``: hatch what p has beyond q;
        ``argmax``: mark the target's. ``remark`` is written above the bars, ``hint`` in their place when there are
        none."""
        if tuple(bars) != self._bars:
            self._page, self._current = 0, None
        self._bars, self._fate, self._final, self._residual = tuple(bars), fate, final, residual
        self._argmax, self._remark, self._hint, self._layout = argmax, remark, hint, None
        self.setAccessibleName("probabilities: " + "; ".join(
            f"{bar.label} " + ", ".join(f"{name} {value:.4g}" for name, value in (("p", bar.p), ("q", bar.q))
                                        if value is not None) for bar in self.shown()))
        self.update()

    def set_log(self, log: bool) -> None:
        self._log, self._layout = log, None
        self.update()

    # Where everything stands

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(560), self.theme.px(240))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(220), self.theme.px(130))

    def plot(self) -> QRectF:
        return self._laid_out().plot

    def shown(self) -> list[Bar]:
        """Those of this page."""
        return [place.bar for place in self.places()]

    def places(self) -> list[Place]:
        return self._laid_out().places

    def _laid_out(self) -> Layout:
        """Kept until something else is shown, or the size changes."""
        if self._layout is None or self._layout.size != self.size():
            parts = pages(self._bars, max(2, int((self.width() - self._axis()) // self.theme.px(ROOM))))
            shown = parts[min(self._page, len(parts) - 1)] if parts else []
            plot, scale = self._plot(), Scale.over(shown, log=self._log)
            self._layout = Layout(self.size(), plot, scale, places(shown, plot, scale, self.theme.px(WIDEST)),
                                  len(parts))
        return self._layout

    def _axis(self) -> float:
        return QFontMetricsF(self.theme.font("axis")).horizontalAdvance("100 %") + self.theme.px(8)

    def _plot(self) -> QRectF:
        label, small = (QFontMetricsF(self.theme.font(role)) for role in ("code", "small"))
        rows = max((len(mark_lines(bar, self._final, self._argmax)) for bar in self._bars if bar.marks), default=1) or 1
        below = 1.3 * label.height() + rows * 1.15 * small.height()
        return QRectF(self.rect()).adjusted(self._axis(), 1.25 * small.height(), -self.theme.px(2), -below)

    def bar_at(self, point: QPointF) -> int | None:
        """Which of those shown, from the plot's top down to its label."""
        return next((i for i, place in enumerate(self.places())
                     if place.room.left() <= point.x() < place.room.right() and point.y() > place.room.top()), None)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        found, scale = self.places(), self._laid_out().scale
        if not found:
            self._paint_hint(painter)
            return
        self._paint_axis(painter, scale)
        for i, place in enumerate(found):
            if i == self._current:
                wash = self.theme.colour("hover")
                wash.setAlphaF(0.45)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(wash)
                painter.drawRoundedRect(QRectF(place.room.left() + 1, place.room.top(), place.room.width() - 2,
                                               self.height() - place.room.top()), 4, 4)
            painter.setOpacity(FAINT if self._fate == "void" else 1.0)  # nothing is decided by it
            self._paint_pair(painter, place, scale)
            painter.setOpacity(1.0)
            self._paint_label(painter, place, i == self._current)
        if self._current is not None and self._current < len(found):
            self._paint_figures(painter, found[self._current])
        self._paint_remark(painter)

    def _paint_hint(self, painter: QPainter) -> None:
        painter.setFont(self.theme.font("body"))
        painter.setPen(self.theme.colour("dim"))
        painter.drawText(QRectF(self.rect()).adjusted(12, 0, -12, 0),
                         Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._hint)

    def _paint_axis(self, painter: QPainter, scale: Scale) -> None:
        plot, font = self.plot(), self.theme.font("axis")
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        for value in scale.ticks(int(plot.height() / (2.2 * metrics.height()))):
            y = plot.bottom() - plot.height() * scale.share(value)
            painter.setPen(QPen(self.theme.colour("line"), 1))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            text = f"{100 * value:g} %" if value >= 1e-4 or value == 0 else percent(value).removeprefix("1·")
            painter.setPen(self.theme.colour("dim"))
            painter.drawText(QPointF(plot.left() - metrics.horizontalAdvance(text) - self.theme.px(6),
                                     y + 0.36 * metrics.ascent()), text)

    def _paint_pair(self, painter: QPainter, place: Place, scale: Scale) -> None:
        theme, bar = self.theme, place.bar
        p, q = theme.colour("p"), theme.colour("q")
        plot = self.plot()
        shared = plot.height() * scale.share(min(bar.p or 0.0, bar.q or 0.0))
        if place.p is not None:
            left = self._residual and bar.q is not None and (bar.p or 0.0) > bar.q
            solid = QRectF(place.p)
            if left:
                solid.setTop(plot.bottom() - shared)
                self._paint_residual(painter, QRectF(place.p.left(), place.p.top(), place.p.width(),
                                                     place.p.height() - shared))
            painter.fillRect(solid, p)
            if (bar.p or 0.0) > 0 and place.p.height() < 1:  # too little to see, but not nothing
                painter.fillRect(QRectF(place.p.left(), plot.bottom() - 1, place.p.width(), 1), p)
        if place.q is not None:
            if place.p is not None and shared > 0:
                wash = QColor(p)
                wash.setAlphaF(0.32)
                painter.fillRect(QRectF(place.q.left(), plot.bottom() - shared, place.q.width(), shared), wash)
            self._paint_outline(painter, place.q, q)

    def _paint_residual(self, painter: QPainter, box: QRectF) -> None:
        theme = self.theme
        colour, ground = theme.colour("residual"), theme.colour("p")
        ground.setAlphaF(0.30)
        painter.fillRect(box, ground)
        hatch(painter, box, colour, theme.px(6), max(1.4, 1.8 * theme.scale))
        if box.height() > 2:
            painter.setPen(QPen(colour, max(1.0, theme.scale)))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, 0))

    def _paint_outline(self, painter: QPainter, box: QRectF, colour: QColor) -> None:
        width = max(1.5, 2.0 * self.theme.scale)
        pen = QPen(colour, width)
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if box.height() > width:
            painter.drawRect(box.adjusted(width / 2, width / 2, -width / 2, -width / 2))
        elif box.height() > 0:
            painter.drawLine(QPointF(box.left() + width / 2, box.bottom() - width / 2),
                             QPointF(box.right() - width / 2, box.bottom() - width / 2))

    def _paint_label(self, painter: QPainter, place: Place, current: bool) -> None:
        theme, font, marked = self.theme, self.theme.font("code"), bool(place.bar.marks & {"drafted", "drawn"})
        if marked:
            font.setWeight(QFont.Weight.DemiBold)
        metrics = QFontMetricsF(font)
        text = metrics.elidedText(place.bar.label, Qt.TextElideMode.ElideRight, place.room.width() - theme.px(5))
        y = place.room.bottom() + 0.25 * metrics.height() + metrics.ascent()
        painter.setFont(font)
        painter.setPen(theme.colour("strong" if marked or current else "dim"))
        painter.drawText(QPointF(place.room.center().x() - metrics.horizontalAdvance(text) / 2, y), text)
        paint_marks(painter, theme, mark_lines(place.bar, self._final, self._argmax), self._fate,
                    QRectF(place.room.left(), y + 0.3 * metrics.height(), place.room.width(), 1))

    def _paint_figures(self, painter: QPainter, place: Place) -> None:
        """Above the bars of the token that the mouse or the keys are on."""
        theme, font = self.theme, self.theme.font("small")
        metrics = QFontMetricsF(font)
        both = (place.bar.p, "p"), (place.bar.q, "q")
        parts = [(percent(value), role) for value, role in both if value is not None]
        gap = float(theme.px(8))
        width = sum(metrics.horizontalAdvance(text) for text, _ in parts) + gap * (len(parts) - 1)
        tops = [box.top() for box in (place.p, place.q) if box is not None]
        top = max(0.0, min(tops) - 1.35 * metrics.height())
        left = min(max(0.0, place.room.center().x() - width / 2), self.width() - width - gap)
        painter.setPen(QPen(theme.colour("strong_line"), 1))
        painter.setBrush(theme.colour("raised"))
        painter.drawRoundedRect(QRectF(left - gap, top, width + 2 * gap, 1.25 * metrics.height()), 4, 4)
        painter.setFont(font)
        for text, role in parts:
            painter.setPen(theme.colour(role))
            painter.drawText(QPointF(left, top + 0.1 * metrics.height() + metrics.ascent()), text)
            left += metrics.horizontalAdvance(text) + gap

    def _paint_remark(self, painter: QPainter) -> None:
        if self._current is not None:
            return
        total, font, plot = self._laid_out().pages, self.theme.font("small"), self.plot()
        metrics = QFontMetricsF(font)
        right, text = plot.right(), self._remark
        painter.setFont(font)
        if total > 1:
            at = min(self._page, total - 1)
            text += f"  ·  page {at + 1} of {total}"
            for step, arrow in self._arrows().items():
                painter.setPen(self.theme.colour("text" if 0 <= at + step < total else "disabled"))
                painter.drawText(arrow, Qt.AlignmentFlag.AlignCenter, "‹" if step < 0 else "›")
                right = min(right, arrow.left())
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, right - plot.left())
        painter.setPen(self.theme.colour("dim"))
        painter.drawText(QPointF(right - metrics.horizontalAdvance(text), metrics.ascent()), text)

    def _arrows(self) -> dict[int, QRectF]:
        """Where a click turns the page back and forth."""
        size = QFontMetricsF(self.theme.font("small")).height()
        right = self.plot().right()
        return {-1: QRectF(right - 3 * size, 0, 1.5 * size, size), 1: QRectF(right - 1.5 * size, 0, 1.5 * size, size)}

    # The figures in full

    def explain(self, bar: Bar) -> str:
        lines = [f"{bar.label}   #{bar.token}" if bar.token >= 0 else bar.label]
        lines += [f"{name} = {value:.6g}" for name, value in (("p", bar.p), ("q", bar.q)) if value is not None]
        if bar.p is not None and bar.q is not None:
            lines.append(f"min(p, q) = {min(bar.p, bar.q):.6g}: its part of the overlap")
            if bar.q > 0:
                lines.append(f"p/q = {bar.p / bar.q:.4g}")
        if bar.residual:
            lines.append(f"max(p − q, 0) / residual mass = {bar.residual:.6g}: its share of the residual")
        lines += [_MEANINGS[mark] for mark in sorted(bar.marks) if mark in _MEANINGS]
        return "\n".join(lines)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = self.bar_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.explain(self.places()[at].bar) if at is not None else "", self)
            return True
        return bool(super().event(event))

    # Mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for step, arrow in self._arrows().items():
            if self._laid_out().pages > 1 and arrow.contains(event.position()):
                self.turn(step)
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_current(self.bar_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._set_current(None)
        super().leaveEvent(event)

    def _set_current(self, current: int | None) -> None:
        if current != self._current:
            self._current = current
            self.update()

    def turn(self, pages: int) -> None:
        page = min(max(0, self._page + pages), max(0, self._laid_out().pages - 1))
        if page != self._page:
            self._page, self._current, self._layout = page, None, None
            self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self._laid_out().pages > 1:
            step = event.angleDelta().y() or -event.angleDelta().x()
            self.turn(-1 if step > 0 else 1 if step < 0 else 0)
            event.accept()
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = event.key(), len(self.places()) - 1
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and last >= 0:
            step = 1 if key == Qt.Key.Key_Right else -1
            self._set_current(min(max(0, self._current + step), last) if self._current is not None
                              else (0 if step > 0 else last))
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.turn(1 if key == Qt.Key.Key_PageDown else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current is not None:
            room = self.places()[self._current].room
            self._want_menu(self._current, self.mapToGlobal(room.center().toPoint()))
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        keys = event.reason() == QContextMenuEvent.Reason.Keyboard
        at = self._current if keys else self.bar_at(QPointF(event.pos()))
        if at is not None:
            self._want_menu(at, event.globalPos())
        else:
            event.ignore()

    def _want_menu(self, at: int, where: QPoint) -> None:
        self.menu_wanted.emit(self.places()[at].bar, where)


_MEANINGS = {"drafted": "the token that was drafted here", "drawn": "the token that was committed here",
             "best": "the target’s most probable token"}
