"""How often each outcome came up, with its 95 % interval, beside how often the target gives it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from engine.proof.report import Sampled
from engine.proof.verdict import interval, judge
from widgets.protocols import ThemeView
from widgets.steps import step_up, ticks

WIDEST = 120
"""Logical pixels (at scale 1) of a bar."""
GROUP = 0.74
"""Share of an outcome's room that its two bars take."""


class FrequencyChart(QWidget):
    """p is solid and blue, as everywhere; what was observed is an outline with a whisker, and vermillion with a ≠ where
    chance can't explain it."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sampled: Sampled | None = None
        self._bent: frozenset[int] = frozenset()
        self._top = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.update()

    def show_sampled(self, sampled: Sampled | None) -> None:
        if sampled is self._sampled:
            return
        self._sampled = sampled
        if sampled is not None:
            self._bent = frozenset(judge(sampled).bent)
            tallest = max(*sampled.expected, *(interval(c, sampled.samples)[1] for c in sampled.counts))
            self._top = min(1.0, step_up(1.02 * tallest, 0.01))
            self.setAccessibleName("observed frequencies: " + "; ".join(
                f"{label} {count / sampled.samples:.3f}, target {p:.3f}" for label, count, p in
                zip(sampled.labels, sampled.counts, sampled.expected, strict=True)))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(560), self.theme.px(300))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(280), self.theme.px(170))

    # Where everything stands

    def _fonts(self) -> tuple[QFont, QFont]:
        """Of labels and of numbers: the fewer outcomes, the larger."""
        few = self._sampled is not None and len(self._sampled.labels) <= 4
        return self.theme.font("token_big" if few else "code"), self.theme.font("figure" if few else "small")

    def _plot(self) -> QRectF:
        label, number = (QFontMetricsF(font) for font in self._fonts())
        head = 1.5 * QFontMetricsF(self.theme.font("body")).height()
        left = QFontMetricsF(self.theme.font("axis")).horizontalAdvance("0.000") + self.theme.px(8)
        return QRectF(self.rect()).adjusted(left, head + 1.2 * number.height(), -self.theme.px(4),
                                            -1.5 * label.height())

    def bars(self) -> list[tuple[QRectF, QRectF]]:
        """The target's bar and the observed one of each outcome."""
        sampled, plot = self._sampled, self._plot()
        if sampled is None:
            return []
        room = plot.width() / len(sampled.labels)
        width = min(GROUP * room / 2, self.theme.px(WIDEST))
        found = []
        for i, (p, count) in enumerate(zip(sampled.expected, sampled.counts, strict=True)):
            middle = plot.left() + (i + 0.5) * room
            gap = max(1.0, 0.06 * width)
            heights = [plot.height() * x / self._top for x in (p, count / sampled.samples)]
            found.append((QRectF(middle - width - gap / 2, plot.bottom() - heights[0], width, heights[0]),
                          QRectF(middle + gap / 2, plot.bottom() - heights[1], width, heights[1])))
        return found

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_legend(painter)
        if self._sampled is None:
            return
        self._paint_axis(painter)
        for i, (target, observed) in enumerate(self.bars()):
            self._paint_outcome(painter, self._sampled, i, target, observed)

    def _tone(self, outcome: int) -> QColor:
        return self.theme.colour("danger" if outcome in self._bent else "strong")

    def _paint_legend(self, painter: QPainter) -> None:
        font, px = self.theme.font("body"), self.theme.px
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        size = 0.8 * metrics.ascent()
        entries = [("p", "target’s p"), ("observed", "observed, with 95 % interval")]
        if self._bent:
            entries.append(("bent", "≠  can’t be chance"))
        x = 0.0
        for kind, text in entries:
            box = QRectF(x, metrics.ascent() - size + px(2), size, size)
            if kind == "p":
                painter.fillRect(box, self.theme.colour("p"))
            elif kind == "observed":
                self._outline(painter, box, self.theme.colour("strong"))
            painter.setPen(self.theme.colour("danger" if kind == "bent" else "dim"))
            x += 0 if kind == "bent" else size + px(6)
            painter.drawText(QPointF(x, metrics.ascent() + px(2)), text)
            x += metrics.horizontalAdvance(text) + px(20)

    def _paint_axis(self, painter: QPainter) -> None:
        plot, font = self._plot(), self.theme.font("axis")
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        for value in ticks(self._top, 4):
            y = plot.bottom() - plot.height() * value / self._top
            painter.setPen(QPen(self.theme.colour("line"), 1))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(self.theme.colour("dim"))
            text = f"{value:g}"
            painter.drawText(QPointF(plot.left() - metrics.horizontalAdvance(text) - self.theme.px(8),
                                     y + 0.36 * metrics.ascent()), text)

    def _paint_outcome(self, painter: QPainter, sampled: Sampled, i: int, target: QRectF, observed: QRectF) -> None:
        painter.fillRect(target, self.theme.colour("p"))
        tone = self._tone(i)
        self._outline(painter, observed, tone)
        low, high = interval(sampled.counts[i], sampled.samples)
        top = self._paint_whisker(painter, observed, low, high, tone)
        label_font, number_font = self._fonts()
        f = sampled.counts[i] / sampled.samples
        numbers = QFontMetricsF(number_font)
        painter.setFont(number_font)
        digits = 3 if self._top >= 0.05 else 4
        texts = [(target, target.top(), f"{sampled.expected[i]:.{digits}f}", self.theme.colour("dim")),
                 (observed, top, f"{'≠ ' if i in self._bent else ''}{f:.{digits}f}", tone)]
        if max(numbers.horizontalAdvance(text) for *_, text, _ in texts) <= 1.12 * target.width():
            for bar, y, text, colour in texts:
                painter.setPen(colour)
                painter.drawText(QPointF(bar.center().x() - numbers.horizontalAdvance(text) / 2,
                                         y - 0.28 * numbers.height()), text)
        elif i in self._bent:
            painter.setPen(tone)
            painter.drawText(QPointF(observed.center().x() - numbers.horizontalAdvance("≠") / 2,
                                     top - 0.28 * numbers.height()), "≠")
        room = self._plot().width() / len(sampled.labels)
        if QFontMetricsF(label_font).horizontalAdvance(sampled.labels[i]) > room - self.theme.px(6):
            label_font = self.theme.font("small")
        metrics = QFontMetricsF(label_font)
        text = metrics.elidedText(sampled.labels[i], Qt.TextElideMode.ElideRight, room - self.theme.px(6))
        painter.setFont(label_font)
        painter.setPen(self.theme.colour("text"))
        middle = (target.left() + observed.right()) / 2
        painter.drawText(QPointF(middle - metrics.horizontalAdvance(text) / 2,
                                 self._plot().bottom() + 1.15 * QFontMetricsF(self._fonts()[0]).height()), text)

    def _outline(self, painter: QPainter, box: QRectF, colour: QColor) -> None:
        width = max(1.5, 2.0 * self.theme.scale)
        pen = QPen(colour, width)
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        wash = QColor(colour)
        wash.setAlphaF(0.10)
        painter.setBrush(wash)
        if box.height() > width:
            painter.drawRect(box.adjusted(width / 2, width / 2, -width / 2, 0))
        else:
            painter.drawLine(box.bottomLeft(), box.bottomRight())

    def _paint_whisker(self, painter: QPainter, bar: QRectF, low: float, high: float, colour: QColor) -> float:
        """The interval, and where it ends at the top."""
        plot, x, arm = self._plot(), bar.center().x(), min(0.22 * bar.width(), self.theme.px(10))
        top, bottom = (plot.bottom() - plot.height() * min(value, self._top) / self._top for value in (high, low))
        painter.setPen(QPen(colour, max(1.5, 2.0 * self.theme.scale)))
        painter.drawLine(QPointF(x, top), QPointF(x, bottom))
        for y in (top, bottom):
            painter.drawLine(QPointF(x - arm, y), QPointF(x + arm, y))
        return min(top, bar.top())

    # The numbers in full

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.explain(QPointF(event.pos())), self)
            return True
        return bool(super().event(event))

    def explain(self, point: QPointF) -> str:
        sampled, plot = self._sampled, self._plot()
        if sampled is None or not plot.left() <= point.x() < plot.right():
            return ""
        i = int((point.x() - plot.left()) / (plot.width() / len(sampled.labels)))
        low, high = interval(sampled.counts[i], sampled.samples)
        return (f"{sampled.labels[i]}\ntarget’s p = {sampled.expected[i]:.6f}\nobserved = {sampled.counts[i]:,} ÷ "
                f"{sampled.samples:,} = {sampled.counts[i] / sampled.samples:.6f}\n"
                f"95 % interval (Wilson): {low:.6f} to {high:.6f}")
