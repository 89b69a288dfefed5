"""Where one is in a lane: a slim slider over its records, with its rejections and where breakpoints hit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from widgets.protocols import ThemeView

TICK_ROOM = 4.0
"""Pixels a tick needs to be told from its neighbour."""
CROWD = 4
"""Pixels: where ticks can't be told apart, they are counted this many pixels at a time."""
LABEL_SHARE = 0.5
"""Of the width, at most, for the words at the right."""


class Scrubber(QWidget):
    """Positions are moments: at ``index`` that many records have happened, 0 … count."""

    moved = Signal(int)
    """The person wants to be at this moment."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._index = self._count = 0
        self._label = ""
        self._live = False
        self._ticks: Sequence[int] = ()
        self._hits: Sequence[int] = ()
        self._rounds: Sequence[int] = ()
        self._shown: tuple[object, ...] = ()
        self._seen: tuple[object, ...] = ()
        self._places: dict[str, NDArray[np.int64]] = {}
        self._crowds = np.zeros(0, dtype=np.int64)
        self._wheel = 0
        self._widest = 0.0
        """Of the labels so far: the track must not change its length at each step."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setAccessibleName("position in the recording")
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._font = theme.font("body")
        self._metrics = QFontMetricsF(self._font)
        self._seen = ()
        self._widest = 0.0
        self.updateGeometry()
        self.update()

    def show_place(self, index: int, count: int, label: str, ticks: Sequence[int] = (), hits: Sequence[int] = (), *,
                   rounds: Sequence[int] = (), live: bool = False) -> None:
        """``ticks``, ``hits``, ``rounds``: indices, in order, of the records that are rejections, at which a breakpoint
        hits, and that end a round; lists that only grow may be handed over again and again. ``live``: the engine is
        running and the knob goes along with it."""
        index = max(0, min(index, count))
        same = alike(ticks, self._ticks) and alike(hits, self._hits)
        shown = (index, count, label, live, len(ticks), len(hits))
        self._rounds = rounds
        if same and shown == self._shown:
            return
        if not same:
            self._seen = ()
        if count < self._count:
            self._widest = 0.0
        self._shown = shown
        self._index, self._count, self._label, self._live = index, count, f"{label} · live" if live else label, live
        self._ticks, self._hits = ticks, hits
        self.setAccessibleDescription(self._label)
        self.update()

    @property
    def index(self) -> int:
        return self._index

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(600), self.theme.px(32))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(160), self.theme.px(32))

    # Geometry

    def _label_width(self) -> float:
        """Wide enough for the words at the end, so that the track doesn't change its length at each step."""
        if not self._label:
            return 0.0
        digits = "".join("0" if c.isdigit() else c for c in self._label)
        longest = self._metrics.horizontalAdvance(digits) + 2 * self._metrics.horizontalAdvance("0")
        dot = self.theme.px(14) if self._live else 0
        self._widest = max(self._widest, self.theme.px(24) * round((longest + dot) / self.theme.px(24) + 0.5))
        return float(min(self._widest, LABEL_SHARE * self.width()))

    def track(self) -> QRectF:
        """Where the knob's centre goes."""
        knob, height = self.theme.px(8), self.theme.px(4)
        right = self.width() - knob - (self._label_width() + self.theme.px(12) if self._label else 0)
        return QRectF(knob, (self.height() - height) / 2, max(1.0, right - knob), height)

    def x_of(self, index: int) -> float:
        track = self.track()
        return track.left() + track.width() * (index / self._count if self._count else 0.0)

    def index_at(self, x: float) -> int:
        track = self.track()
        share = min(1.0, max(0.0, (x - track.left()) / track.width()))
        return round(share * self._count)

    def _places_of(self, kind: str) -> NDArray[np.int64]:
        """The pixels at which there is at least one such record: at most one a pixel, however many records."""
        track = self.track()
        seen = (len(self._ticks), len(self._hits), self._count, track.left(), track.width())
        if seen != self._seen:
            self._seen = seen
            for name, records in (("ticks", self._ticks), ("hits", self._hits)):
                places = np.asarray(records, dtype=np.float64) + 1
                x = track.left() + track.width() * places / max(1, self._count)
                self._places[name] = np.unique(np.round(x).astype(np.int64))
                if name == "ticks":
                    self._crowds = np.bincount(np.maximum(0, (x - track.left()) // CROWD).astype(np.int64))
        return self._places[kind]

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, track, radius = self.theme, self.track(), self.theme.px(2)
        knob = self.x_of(self._index)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("raised" if theme.dark else "line"))
        painter.drawRoundedRect(track, radius, radius)
        painter.setBrush(theme.colour("focus"))
        painter.drawRoundedRect(QRectF(track.left(), track.top(), knob - track.left(), track.height()), radius, radius)
        if self._count:
            self._paint_ticks(painter, track)
            self._paint_hits(painter, track)
            self._paint_knob(painter, QPointF(knob, track.center().y()))
        self._paint_label(painter)

    def _paint_ticks(self, painter: QPainter, track: QRectF) -> None:
        columns, colour = self._places_of("ticks"), self.theme.colour("rejected")
        top, bottom = track.bottom() + self.theme.px(2), track.bottom() + self.theme.px(6)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if len(columns) * TICK_ROOM <= track.width():
            painter.setPen(QPen(colour, 1))
            painter.drawLines([QLineF(x, top, x, bottom) for x in columns.tolist()])
        else:  # too many to tell apart: the more of them, the stronger
            most = int(self._crowds.max())
            for place, count in enumerate(self._crowds.tolist()):
                colour.setAlphaF(0.85 * count / most)
                painter.fillRect(QRectF(track.left() + place * CROWD, top, CROWD, bottom - top), colour)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _paint_hits(self, painter: QPainter, track: QRectF) -> None:
        size = self.theme.px(4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.colour("danger"))
        y = track.top() - self.theme.px(2)
        for x in self._places_of("hits").tolist():
            painter.drawPolygon(QPolygonF([QPointF(x - size, y - 1.4 * size), QPointF(x + size, y - 1.4 * size),
                                           QPointF(x, y)]))

    def _paint_knob(self, painter: QPainter, centre: QPointF) -> None:
        radius = self.theme.px(7)
        if self.hasFocus():
            painter.setPen(QPen(self.theme.colour("focus"), max(1.0, self.theme.px(2))))
        else:
            painter.setPen(QPen(self.theme.colour("strong_line"), 1) if not self.theme.dark else Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.colour("strong" if self.theme.dark else "panel"))
        painter.drawEllipse(centre, radius, radius)

    def _paint_label(self, painter: QPainter) -> None:
        if not self._label:
            return
        theme, width = self.theme, self._label_width()
        left = self.width() - width
        baseline = (self.height() + self._metrics.ascent() - self._metrics.descent()) / 2
        shown = self._metrics.elidedText(self._label, Qt.TextElideMode.ElideRight,
                                         width - (theme.px(14) if self._live else 0))
        x = self.width() - self._metrics.horizontalAdvance(shown)
        if self._live:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("good"))
            painter.drawEllipse(QPointF(max(left + theme.px(4), x - theme.px(10)), self.height() / 2), theme.px(4),
                                theme.px(4))
        painter.setFont(self._font)
        painter.setPen(theme.colour("dim"))
        painter.drawText(QPointF(x, baseline), shown)

    # Mouse, wheel, keys

    def go(self, index: int) -> None:
        """Ask to be there."""
        index = max(0, min(index, self._count))
        if index != self._index:
            self._index = index
            self.update()
            self.moved.emit(index)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and event.position().x() <= self.track().right() + 12:
            self.go(self.index_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.go(self.index_at(event.position().x()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """One notch is one record, as the wheel turns: down is on."""
        delta = event.angleDelta().y() or event.angleDelta().x()
        self._wheel += delta
        steps = int(self._wheel / 120)
        self._wheel -= 120 * steps
        self.go(self._index - steps)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        goals = {
            Qt.Key.Key_Left: self._index - 1, Qt.Key.Key_Right: self._index + 1,
            Qt.Key.Key_PageUp: self._round_before(), Qt.Key.Key_PageDown: self._round_after(),
            Qt.Key.Key_Home: 0, Qt.Key.Key_End: self._count,
        }
        goal = goals.get(Qt.Key(event.key()))
        if goal is None or event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier):
            super().keyPressEvent(event)
        else:
            self.go(goal)

    def _round_before(self) -> int:
        """The last end of a round before here; a round's end is the moment just after its last record."""
        place = bisect_left(self._rounds, self._index - 1)
        return self._rounds[place - 1] + 1 if place else 0

    def _round_after(self) -> int:
        place = bisect_right(self._rounds, self._index - 1)
        return self._rounds[place] + 1 if place < len(self._rounds) else self._count

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            on_track = event.pos().x() <= self.track().right() + 12
            text = f"to record {self.index_at(event.pos().x()):,} of {self._count:,}" if on_track else self._label
            QToolTip.showText(event.globalPos(), text if self._count else "", self)
            return True
        return bool(super().event(event))


def alike(one: Sequence[int], other: Sequence[int]) -> bool:
    return one is other or (len(one) == len(other) and list(one) == list(other))
