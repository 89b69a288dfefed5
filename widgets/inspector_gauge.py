"""The accept threshold min(1, p/q) and the draw on it: below it accepts, from it on rejects."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen

from engine.debugger.judgement import Judgement, figure
from widgets.dart import HIGHEST, DartTrack, hatch


class ThresholdGauge(DartTrack):
    ABOVE, THICK = 14.0, 14.0
    _judgement: Judgement | None = None

    def show_judgement(self, judgement: Judgement | None, movable: bool) -> None:
        self._judgement = judgement
        self.set_draw(judgement.draw if judgement is not None else None, movable)
        if judgement is not None and judgement.threshold is not None and judgement.draw is not None:
            self.setAccessibleName(f"threshold {judgement.threshold:.4f}, draw {judgement.draw:.4f}")

    def next_edge(self, at: float, *, forward: bool) -> float:
        assert self._judgement is not None
        threshold = self._judgement.threshold or 0.0
        middle = (threshold + 1) / 2 if forward else threshold / 2
        return min(middle, HIGHEST)

    def explain(self, value: float) -> str:
        judgement = self._judgement
        if judgement is None or judgement.threshold is None:
            return ""
        assert judgement.p is not None
        assert judgement.q is not None
        return (f"accepted when u < min(1, p/q) = min(1, {judgement.p:.6g} / {judgement.q:.6g}) = "
                f"{judgement.threshold:.6g}\na draw of {figure(value)} would "
                + ("accept" if judgement.accepts(value) else "reject"))

    def paintEvent(self, event: QPaintEvent) -> None:
        judgement = self._judgement
        if judgement is None or judgement.threshold is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track, x = self.track(), self.x_of(judgement.threshold)
        accept, reject = QRectF(track), QRectF(track)
        accept.setRight(x)
        reject.setLeft(x)
        self._paint_zone(painter, accept, "accepted", hatched=False)
        self._paint_zone(painter, reject, "rejected", hatched=True)
        self.paint_focus(painter)
        text = self._paint_threshold(painter, x)
        if self._draw is None:
            return
        if self._tried is not None:
            self.paint_dart(painter, self._draw, "", ghost=True)
        at = self._tried if self._tried is not None else self._draw
        self.paint_dart(painter, at, self._beside(at, text))

    def _paint_zone(self, painter: QPainter, box: QRectF, role: str, *, hatched: bool) -> None:
        if box.width() <= 0:
            return
        colour = self.theme.colour(role)
        wash = QColor(colour)
        wash.setAlphaF(0.18 if hatched else 0.75)
        painter.fillRect(box, wash)
        if hatched:
            hatch(painter, box, colour, self.theme.px(7), max(1.0, self.theme.scale))

    def _paint_threshold(self, painter: QPainter, x: float) -> QRectF:
        """A tick at it, with its figure beneath; where the figure is."""
        assert self._judgement is not None
        theme, track = self.theme, self.track()
        threshold = self._judgement.threshold or 0.0
        painter.setPen(QPen(theme.colour("text"), max(1.0, 1.5 * theme.scale)))
        painter.drawLine(QPointF(x, track.top() - theme.px(2)), QPointF(x, track.bottom() + theme.px(3)))
        font = theme.font("small")
        metrics = QFontMetricsF(font)
        text = f"p/q = {figure(threshold)}" if threshold < 1 else "p ≥ q: always"
        width = metrics.horizontalAdvance(text)
        left = min(max(0.0, x - width / 2), self.width() - width)
        painter.setFont(font)
        painter.setPen(theme.colour("dim"))
        painter.drawText(QPointF(left, track.bottom() + theme.px(3) + metrics.ascent()), text)
        return QRectF(left - theme.px(8), 0, width + theme.px(16), 1)

    def _beside(self, value: float, taken: QRectF) -> str:
        """The draw's figure, unless the threshold's stands there."""
        text = f"u = {figure(value)}"
        width = QFontMetricsF(self.theme.font("small")).horizontalAdvance(text)
        left = min(max(0.0, self.x_of(value) - width / 2), self.width() - width)
        return "" if left < taken.right() and left + width > taken.left() else text
