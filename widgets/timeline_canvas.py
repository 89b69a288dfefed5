"""The slices themselves, on an axis of their own: painted, zoomed, panned, pointed at."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from engine.debugger.history import Moment
from widgets.protocols import LaneView, ThemeView
from widgets.steps import step_up
from widgets.timeline_axis import Axis
from widgets.timeline_picture import TEXT, Picture, Row, Scene
from widgets.timeline_tracks import STEPS, Step, Track
from widgets.timeline_words import crowd, explain

Part = Step | Literal["plain", "prefill"]

AT_FIRST = 14
"""Rounds in sight of a run that is too long to show whole: few enough to see each of their steps."""
DRAGGED = 4
"""Logical pixels: a press that moves less is a click."""


class Hit(NamedTuple):
    """What is under the pointer."""

    part: Part
    round: int
    draft: int
    """Which one; -1 for what isn't one."""


class TimelineCanvas(QWidget):
    selected = Signal(int, int)
    pointed = Signal(int, QPoint)
    """Right click: on this round, at this global point."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.axis = Axis()
        self.lane: LaneView | None = None
        self.track = Track()
        self.plain: Track | None = None
        self.plain_lane: LaneView | None = None
        self.moment: Moment | None = None
        self.reached = 0.0
        self.message: tuple[str, str] | None = None
        """Shown instead of slices: what is missing, and what to do."""
        self.chosen: tuple[int, int] | None = None
        self._by_hand = False
        """Has the person chosen what is in sight?"""
        self._hovered: Hit | None = None
        self._pressed: tuple[QPointF, float] | None = None
        self._dragging = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("timeline")
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.picture = Picture(theme)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(800), self.theme.px(120))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(240), self.theme.px(96))

    # What is shown

    def show_tracks(self, lane: LaneView | None, track: Track, plain_lane: LaneView | None, plain: Track | None,
                    moment: Moment | None) -> None:
        """Follows the moment: where it moves to comes into sight, until the person looks elsewhere."""
        other = lane is not self.lane
        moved = other or (moment is not None and (self.moment is None or moment.index != self.moment.index))
        self.lane, self.track, self.plain_lane, self.plain, self.moment = lane, track, plain_lane, plain, moment
        self.reached = track.reached(moment)
        own = max(track.end, self.reached)
        full = max(own, plain.end if plain is not None else 0.0)
        if other:
            self.axis, self.chosen, self._by_hand = Axis(), None, False
        running = lane is not None and lane.finished is None
        self.axis.grow(*(step_up(end, 0.1) if running else end for end in (full, own)))
        if not self._by_hand and self.axis.fitted and len(track) > 2 * AT_FIRST:
            self.axis.show(self.reached - AT_FIRST / 2 * track.mean_round, AT_FIRST * track.mean_round)
        if moved and not self.axis.fitted:
            framed = self.framed_span()
            if framed is not None:
                self.axis.reveal(*framed)
        self.update()

    @property
    def rows(self) -> list[Row]:
        rows: list[Row] = ["verify", "judge", "commit"]
        if self.lane is not None and not self.lane.plain:
            rows.insert(0, "draft")
        if self.plain is not None:
            rows.append("plain")
        return rows

    def choose(self, round: int | None, index: int = -1) -> None:
        """Frame this round instead of the moment's; None: the moment's again."""
        chosen = None if round is None else (round, index)
        if chosen != self.chosen:
            self.chosen = chosen
            span = self.framed_span()
            if span is not None and not self.axis.fitted:
                self.axis.reveal(*span)
            self.update()

    @property
    def framed(self) -> int | None:
        """The round that is looked at."""
        if self.chosen is not None:
            return self.chosen[0]
        return self.moment.round.round if self.moment is not None and self.moment.round is not None else None

    def framed_span(self) -> tuple[float, float] | None:
        round = self.framed
        if round is None or round > len(self.track):
            return None
        if round < len(self.track):
            return self.track.span(round)
        return (self.track.end, self.reached) if self.reached > self.track.end else None

    # Where everything stands

    def plot(self) -> QRectF:
        return self.picture.plot(QRectF(self.rect()))

    def x_of(self, time: float) -> float:
        plot = self.plot()
        return plot.left() + (time - self.axis.start) / self.axis.span * plot.width()

    def time_at(self, x: float) -> float:
        plot = self.plot()
        return self.axis.start + (x - plot.left()) / max(plot.width(), 1.0) * self.axis.span

    def hit(self, point: QPointF) -> Hit | None:
        """The slice there, or in its row the nearest within two pixels; between rows and slices, the round alone."""
        plot, time = self.plot(), self.time_at(point.x())
        if self.lane is None or self.message is not None or not plot.contains(point):
            return None
        row = self.rows[min(int((point.y() - plot.top()) / plot.height() * len(self.rows)), len(self.rows) - 1)]
        near = 2.0 / plot.width() * self.axis.span
        if row == "plain" and self.plain is not None:
            place = self.plain.round_at(time)
            return Hit("plain", place, -1) if place is not None else None
        round = self.track.round_at(time)
        if round is None:
            return Hit("prefill", -1, -1) if 0 <= time < self.track.prefill else None
        if row == "draft":
            starts, ends = self.track.drafts(round, round + 1)
            inside = np.flatnonzero((starts - near <= time) & (time <= ends + near))
            if len(inside):
                nearest = inside[np.argmin(np.abs((starts + ends)[inside] / 2 - time))]
                return Hit("draft", round, int(nearest))
        here = time - self.track.span(round)[0]
        for step in STEPS:
            here -= self.track.seconds(round, step)
            if here < 0:
                return Hit(step, round, -1)
        return Hit("commit", round, -1)

    def explain(self, point: QPointF) -> str:
        """What a tooltip says there."""
        hit = self.hit(point)
        if hit is None or self.lane is None:
            return ""
        track = self.plain if hit.part == "plain" and self.plain is not None else self.track
        pixel = self.axis.span / self.plot().width()
        time = self.time_at(point.x())
        first, last = track.between(time - pixel / 2, time + pixel / 2)
        if last - first > 2 and hit.part != "prefill":
            shares = track.shares(np.array([time - pixel / 2, time + pixel / 2]))
            return crowd(first, last, {step: float(share[0]) for step, share in shares.items()}, pixel)
        return explain(self.lane, track, hit.part, hit.round, hit.draft)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.picture.paint(painter, QRectF(self.rect()), self._scene(), self.devicePixelRatioF())

    def _scene(self) -> Scene:
        now = self.moment.round if self.moment is not None else None
        flying = now if now is not None and now.committed is None and now.round >= len(self.track) else None
        draft = self.chosen[1] if self.chosen is not None else -1
        return Scene(
            self.axis, self.rows, self.track, self.plain, self.reached, self.reached < self.axis.full * (1 - 1e-9),
            self.framed_span(), self.framed, draft, self._hovered, flying, self._labels(), self.message)

    def _labels(self) -> dict[tuple[int, int], str]:
        """Of the drafts in sight, if their slices are wide enough to bear a text."""
        if self.lane is None or self.track.mean_draft / self.axis.span * self.width() < TEXT * self.theme.scale:
            return {}
        found = {}
        first, last = self.track.between(self.axis.start, self.axis.end)
        for round in range(first, last):
            for index in range(self.track.first_draft(round + 1) - self.track.first_draft(round)):
                cell = self.lane.find(None, round, index)
                if cell is not None:
                    found[round, index] = self.lane.cells[cell].label
        return found

    # Pointer and keys

    def wheelEvent(self, event: QWheelEvent) -> None:
        along, across = event.angleDelta().y(), event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            along, across = 0, along or across
        if across and abs(across) > abs(along):
            self.axis.pan(-across / 1200 * self.axis.span)
        elif along:
            self.axis.zoom(self.time_at(event.position().x()), 1.25 ** (-along / 120))
        event.accept()
        self._moved()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = (event.position(), self.axis.start)
            self._dragging = False
        elif event.button() == Qt.MouseButton.RightButton:
            round = self._round_at(event.position())
            if round is not None:
                self.pointed.emit(round, event.globalPosition().toPoint())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None:
            came, start = self._pressed
            moved = event.position().x() - came.x()
            if self._dragging or abs(moved) >= DRAGGED:
                self._dragging = True
                self.setCursor(Qt.CursorShape.ClosedHandCursor)
                self.axis.show(start - moved / self.plot().width() * self.axis.span, self.axis.span)
                self._moved()
            return
        hovered = self.hit(event.position())
        if hovered != self._hovered:
            self._hovered = hovered
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        self._pressed = None
        self.unsetCursor()
        round = self._round_at(event.position())
        if not self._dragging and round is not None:
            hit = self.hit(event.position())
            self.selected.emit(round, hit.draft if hit is not None and hit.part == "draft" else -1)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = None
        self.update()

    @property
    def hovered(self) -> Hit | None:
        return self._hovered

    def _round_at(self, point: QPointF) -> int | None:
        """The shown lane's round at that time, whichever row the point is in."""
        if self.message is not None or not self.plot().contains(point):
            return None
        time = self.time_at(point.x())
        found = self.track.round_at(time)
        return len(self.track) if found is None and self.track.end <= time < self.reached else found

    def keyPressEvent(self, event: QKeyEvent) -> None:
        axis = self.axis
        match event.key():
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom(1 / 1.5)
            case Qt.Key.Key_Minus:
                self.zoom(1.5)
            case Qt.Key.Key_Left:
                axis.pan(-0.1 * axis.span)
            case Qt.Key.Key_Right:
                axis.pan(0.1 * axis.span)
            case Qt.Key.Key_Home:
                axis.show(0.0, axis.span)
            case Qt.Key.Key_End:
                axis.show(axis.full, axis.span)
            case Qt.Key.Key_0 | Qt.Key.Key_F:
                axis.fit()
            case _:
                super().keyPressEvent(event)
                return
        self._moved()

    def fit(self) -> None:
        """The whole of the shown lane; plain decoding may go on to the right."""
        self.axis.fit()
        self._moved()

    def zoom(self, factor: float) -> None:
        """``factor`` times as much time in sight, about the cursor if it is in sight, else about the middle."""
        axis = self.axis
        about = self.reached if axis.start <= self.reached <= axis.end else (axis.start + axis.end) / 2
        axis.zoom(about, factor)
        self._moved()

    def _moved(self) -> None:
        self._by_hand = True
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.explain(QPointF(event.pos())), self)
            return True
        return bool(super().event(event))
