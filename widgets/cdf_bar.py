"""The inverse CDF a draw went through: each token as wide as its share, in the order it was chosen by, and the dart."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from engine.debugger.choices import Choice, Segment
from engine.debugger.judgement import percent
from widgets.dart import DartTrack, hatch
from widgets.protocols import ThemeView

NARROWEST = 1.5
"""Device-independent pixels: what is narrower is drawn together with its neighbours."""


class CdfBar(DartTrack):
    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        self._choice: Choice | None = None
        super().__init__(theme, parent)

    def show_choice(self, choice: Choice | None, movable: bool) -> None:
        self._choice = choice
        self.set_draw(choice.draw if choice is not None else None, movable)
        if choice is not None:
            where = f", draw {choice.draw:.4f} chose {choice.label}" if choice.draw is not None else ""
            self.setAccessibleName(f"cumulative distribution{where}")

    def refine(self, choice: Choice) -> None:
        """The same choice, known more exactly: what is tried stays."""
        self._choice = choice
        self.update()

    @property
    def choice(self) -> Choice | None:
        return self._choice

    def chosen(self) -> Segment | None:
        """Where the dart is now."""
        at = self._tried if self._tried is not None else self._draw
        return self._choice.segment_at(at) if self._choice is not None and at is not None else None

    def says(self) -> str:
        """What the tried value would choose."""
        if self._choice is None or self._tried is None:
            return ""
        segment = self.chosen()
        assert segment is not None
        if segment.token is not None:
            return f"{self._tried:.4g} would choose {segment.label}"
        token = self._choice.token_at(self._tried)
        return (f"{self._tried:.4g} falls in the rest" if token is None
                else f"{self._tried:.4g} would choose #{token}, one of the rest")

    def next_edge(self, at: float, *, forward: bool) -> float:
        assert self._choice is not None
        ahead = [(s.left + s.right) / 2 for s in self._choice.segments
                 if (s.left > at if forward else s.right <= at)]
        return (ahead[0] if forward else ahead[-1]) if ahead else at

    def explain(self, value: float) -> str:
        segment = self._choice.segment_at(value) if self._choice is not None else None
        if segment is None:
            return ""
        name = segment.label if segment.token is not None else "the rest: tokens that are not recorded one by one"
        return (f"{name}\ndraws from {segment.left:.4f} to {segment.right:.4f} choose it: {percent(segment.share)}"
                "\nIn order: the 64 most probable, then the rest by id.")

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        choice, theme, track = self._choice, self.theme, self.track()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("sunken"))
        painter.drawRoundedRect(track, theme.px(3), theme.px(3))
        if choice is None:
            return
        self._paint_segments(painter, choice, track)
        self.paint_focus(painter)
        if self._draw is not None:
            if self._tried is not None:
                self.paint_dart(painter, self._draw, "", ghost=True)
                self.paint_dart(painter, self._tried, self.says())
            else:
                self.paint_dart(painter, self._draw, f"draw {self._draw:.4f} → {choice.label}")

    def _paint_segments(self, painter: QPainter, choice: Choice, track: QRectF) -> None:
        base = self._base()
        now = self.chosen()
        gap = max(1.0, self.theme.scale)
        crowd: float | None = None
        for place, segment in enumerate(choice.segments):
            left, right = self.x_of(segment.left), self.x_of(segment.right)
            if right - left < NARROWEST + gap and segment is not now and segment.token is not None:
                crowd = left if crowd is None else crowd  # too narrow to be told apart
                continue
            if crowd is not None:
                painter.fillRect(QRectF(crowd, track.top(), left - crowd, track.height()), _faded(base, 0.3))
                crowd = None
            box = QRectF(left, track.top(), max(1.0, right - left - gap), track.height())
            self._paint_segment(painter, segment, box, base, segment is now, place)
        if crowd is not None:
            painter.fillRect(QRectF(crowd, track.top(), track.right() - crowd, track.height()), _faded(base, 0.3))

    def _base(self) -> QColor:
        return self.theme.colour(self._choice.source if self._choice is not None else "p")

    def _upon(self, ground: QColor) -> QColor:
        """Whichever of the theme's extremes reads better on it."""
        extremes = [self.theme.colour("panel"), self.theme.colour("strong")]
        return max(extremes, key=lambda colour: abs(_luminance(colour) - _luminance(ground)))

    def _paint_segment(self, painter: QPainter, segment: Segment, box: QRectF, base: QColor, now: bool, place: int
                       ) -> None:
        theme = self.theme
        if segment.token is None:
            hatch(painter, box, theme.colour("faint"), theme.px(6), max(1.0, theme.scale))
        else:
            painter.fillRect(box, _faded(base, 0.95 if now else 0.5 if place % 2 else 0.38))
        if now:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour("strong"), max(1.0, 1.5 * theme.scale)))
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
        self._paint_label(painter, segment, box, now)

    def _paint_label(self, painter: QPainter, segment: Segment, box: QRectF, now: bool) -> None:
        """Where it fits; beside the dart where that stands in it."""
        theme, font = self.theme, self.theme.font("code")
        metrics = QFontMetricsF(font)
        pad, room = float(theme.px(6)), box
        at = self._tried if self._tried is not None else self._draw
        if now and at is not None:
            x = self.x_of(at)
            room = (QRectF(x, box.top(), box.right() - x, box.height()) if box.right() - x >= x - box.left()
                    else QRectF(box.left(), box.top(), x - box.left(), box.height()))
        free = room.width() - 2 * pad
        if free < min(metrics.horizontalAdvance(segment.label), metrics.horizontalAdvance("mmmmm…")):
            return
        text = metrics.elidedText(segment.label, Qt.TextElideMode.ElideRight, free)
        painter.setFont(font)
        painter.setPen(theme.colour("dim") if segment.token is None else theme.colour("text") if not now
                       else self._upon(self._base()))
        painter.drawText(QPointF(room.left() + pad, box.center().y() + 0.36 * metrics.ascent()), text)


def _faded(colour: QColor, alpha: float) -> QColor:
    faded = QColor(colour)
    faded.setAlphaF(alpha)
    return faded


def _luminance(colour: QColor) -> float:
    """As the eye weighs it, about."""
    return float(0.3 * colour.redF() + 0.59 * colour.greenF() + 0.11 * colour.blueF())
