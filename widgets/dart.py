"""A track from 0 to 1 with a dart on it, which marks a draw and can be put elsewhere: by mouse, by keys."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from widgets.protocols import ThemeView

HIGHEST = math.nextafter(1.0, 0.0)
STEP, LEAP = 0.001, 0.01
"""What an arrow key moves the dart by, and with Shift."""


class DartTrack(QWidget):
    """The derived class paints the track and says what a place on it means."""

    moved = Signal(object)
    """The value tried, or None: back at the recorded draw."""
    branch_wanted = Signal(float)
    """Enter was pressed on a tried value."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draw: float | None = None
        self._tried: float | None = None
        self._movable = False
        self._dragging = False
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.updateGeometry()
        self.update()

    @property
    def draw(self) -> float | None:
        """As recorded; None: not drawn."""
        return self._draw

    @property
    def tried(self) -> float | None:
        """Where the dart was put; None: it stands at the recorded draw."""
        return self._tried

    def set_draw(self, draw: float | None, movable: bool) -> None:
        """Another draw is shown; nothing is tried."""
        self._draw, self._tried, self._dragging = draw, None, False
        self._movable = movable and draw is not None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if self._movable else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.SizeHorCursor if self._movable else Qt.CursorShape.ArrowCursor)
        self.update()

    def try_value(self, value: float | None) -> None:
        """Put the dart at ``value``, clamped to [0, 1); None: back."""
        if value is not None:
            value = None if value == self._draw else min(max(value, 0.0), HIGHEST)
        if value != self._tried:
            self._tried = value
            self.moved.emit(value)
            self.update()

    # Where everything stands

    def track(self) -> QRectF:
        """Room for half a figure at either end, for the dart's above and below."""
        side, above = self.theme.px(9), self.theme.px(self.ABOVE)
        return QRectF(side, above, self.width() - 2 * side, self.theme.px(self.THICK))

    ABOVE, THICK = 15.0, 24.0
    """Logical pixels at scale 1: from the top to the track, and of the track."""

    def sizeHint(self) -> QSize:
        below = 1.25 * QFontMetricsF(self.theme.font("small")).height()
        return QSize(self.theme.px(320), int(self.theme.px(self.ABOVE) + self.theme.px(self.THICK) + below))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(80), self.sizeHint().height())

    def x_of(self, value: float) -> float:
        track = self.track()
        return track.left() + value * track.width()

    def value_at(self, x: float) -> float:
        """Rounded to what a pixel tells."""
        track = self.track()
        value = (x - track.left()) / max(1.0, track.width())
        digits = 3 if track.width() < 1500 else 4
        return min(max(round(value, digits), 0.0), HIGHEST)

    # Painting

    def paint_dart(self, painter: QPainter, value: float, text: str, *, ghost: bool = False) -> None:
        """A pin through the track, with its figure beneath."""
        theme, track, x = self.theme, self.track(), self.x_of(value)
        radius = float(theme.px(5))
        colour = theme.colour("dim" if ghost else "strong")
        painter.setPen(QPen(theme.colour("panel"), theme.px(4)))
        top = track.top() - radius
        if not ghost:
            painter.drawLine(QPointF(x, top), QPointF(x, track.bottom()))
        painter.setPen(QPen(colour, max(1.0, theme.px(2 if not ghost else 1)),
                            Qt.PenStyle.DotLine if ghost else Qt.PenStyle.SolidLine))
        painter.drawLine(QPointF(x, top), QPointF(x, track.bottom() + theme.px(3)))
        painter.setPen(QPen(colour, max(1.0, 1.5 * theme.scale)))
        painter.setBrush(theme.colour("panel") if ghost else colour)
        painter.drawEllipse(QPointF(x, top - radius / 2), radius, radius)
        if text:
            font = theme.font("small")
            metrics = QFontMetricsF(font)
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, self.width())
            width = metrics.horizontalAdvance(text)
            painter.setFont(font)
            left = min(max(0.0, x - width / 2), self.width() - width)
            painter.drawText(QPointF(left, track.bottom() + theme.px(3) + metrics.ascent()), text)

    def paint_focus(self, painter: QPainter) -> None:
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(self.theme.colour("focus"), max(1.0, 1.5 * self.theme.scale)))
            radius = self.theme.px(6)
            painter.drawRoundedRect(self.track().adjusted(-2, -2, 2, 2), radius, radius)

    # Mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._movable and event.button() == Qt.MouseButton.LeftButton:
            self._dragging = True
            if abs(event.position().x() - self.x_of(self._tried if self._tried is not None else self._draw or 0.0)
                   ) > self.theme.px(6):
                self.try_value(self.value_at(event.position().x()))
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragging:
            self.try_value(self.value_at(event.position().x()))
        else:
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragging = False
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.try_value(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, shift = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        at = self._tried if self._tried is not None else self._draw
        if not self._movable or at is None:
            super().keyPressEvent(event)
            return
        step = LEAP if shift else STEP
        steps: dict[int, float] = {Qt.Key.Key_Left: at - step, Qt.Key.Key_Right: at + step, Qt.Key.Key_Home: 0.0,
                                   Qt.Key.Key_End: HIGHEST}
        if key in steps:
            self.try_value(steps[key])
        elif key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.try_value(self.next_edge(at, forward=key == Qt.Key.Key_PageUp))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._tried is not None:
            self.branch_wanted.emit(self._tried)
        elif key == Qt.Key.Key_Escape and self._tried is not None:
            self.try_value(None)
        else:
            super().keyPressEvent(event)

    def next_edge(self, at: float, *, forward: bool) -> float:
        """The middle of the next thing on the track, on that side."""
        raise NotImplementedError

    def explain(self, value: float) -> str:
        """The tooltip at a place on the track."""
        raise NotImplementedError

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            inside = self.track().adjusted(0, -self.height(), 0, self.height()).contains(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.explain(self.value_at(event.pos().x())) if inside else "", self)
            return True
        return bool(super().event(event))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()


def hatch(painter: QPainter, box: QRectF, colour: QColor, gap: float, width: float) -> None:
    """Diagonal lines: the second sign of what its colour means."""
    painter.save()
    painter.setClipRect(box, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(colour, width))
    x = box.left() - box.height()
    x -= x % gap  # neighbours' lines run on
    while x < box.right():
        painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()))
        x += gap
    painter.restore()
