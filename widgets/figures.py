"""Small parts that cards are made of: a big figure with its unit, a text that elides, a lane's swatch."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from widgets.marks import paint_swatch
from widgets.protocols import ThemeView


class Figure(QWidget):
    """A value and its unit on one baseline, right-aligned in a width that doesn't change as the digits do."""

    def __init__(self, theme: ThemeView, role: str, unit: str, sample: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.role, self.unit, self.sample = role, unit, sample
        self.value = ""
        self.tone = "text"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._value_metrics = QFontMetricsF(theme.font(self.role))
        self._unit_metrics = QFontMetricsF(theme.font("unit"))
        self.updateGeometry()
        self.update()

    def set(self, value: str, tooltip: str, tone: str = "text", unit: str | None = None) -> None:
        """``unit``: another one from now on, as 1 round is followed by 2 rounds."""
        unit = self.unit if unit is None else unit
        if (value, tone, unit) != (self.value, self.tone, self.unit):
            before = self.sizeHint()
            self.value, self.tone, self.unit = value, tone, unit
            if self.sizeHint() != before:  # else the digits change and nothing moves
                self.updateGeometry()
            self.update()
        if tooltip != self.toolTip():
            self.setToolTip(tooltip)
            self.setAccessibleName(f"{value} {self.unit}")
            self.setAccessibleDescription(tooltip)

    def sizeHint(self) -> QSize:
        advance = self._value_metrics.horizontalAdvance
        width = max(advance(self.sample), advance(self.value)) + self._gap() + self._unit_width() + 1
        return QSize(int(width) + 1, int(self._value_metrics.height()))

    def _gap(self) -> float:
        return 0.4 * self._unit_metrics.height() if self.unit else 0.0

    def _unit_width(self) -> float:
        return self._unit_metrics.horizontalAdvance(self.unit) if self.unit else 0.0

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        baseline = (self.height() + self._value_metrics.ascent() - self._value_metrics.descent()) / 2
        right = self.width() - self._unit_width() - self._gap()
        painter.setFont(self.theme.font(self.role))
        painter.setPen(self.theme.colour(self.tone))
        painter.drawText(QPointF(right - self._value_metrics.horizontalAdvance(self.value), baseline), self.value)
        painter.setFont(self.theme.font("unit"))
        painter.setPen(self.theme.colour("dim"))
        painter.drawText(QPointF(right + self._gap(), baseline), self.unit)


class ElidedLabel(QLabel):
    """A line of text, or a few, that ends in … where room is short; the whole text is in its tooltip then.

    One that doesn't yield keeps its whole width as long as its neighbours have some to give.
    """

    clicked = Signal()

    def __init__(self, theme: ThemeView, role: str, tone: str, parent: QWidget | None = None, *,
                 yields: bool = True, lines: int = 1) -> None:
        """``lines``: that there is always room for, so that nothing moves when the text becomes longer."""
        super().__init__(parent)
        self._whole = self._tip = ""
        self._lines = lines
        self._yields = yields
        self.role, self.tone = role, tone
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.setFont(theme.font(self.role))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.WindowText, theme.colour(self.tone))
        self.setPalette(palette)

    def set_whole(self, text: str, tip: str = "") -> None:
        """``tip``: more about it, in any case in the tooltip."""
        self._tip = tip
        if text != self._whole:
            self._whole = text
            self.setAccessibleName(text)
            self.updateGeometry()
            self.update()

    def minimumSizeHint(self) -> QSize:
        return QSize(0 if self._yields else min(self.sizeHint().width(), 180), self.sizeHint().height())

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self._whole) + 2, self._lines * metrics.height())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self.clicked.emit()

    def broken(self) -> list[str]:
        """The text in as many lines as it needs of those it has."""
        metrics, left, lines = self.fontMetrics(), self._whole, list[str]()
        while len(lines) < self._lines - 1 and metrics.horizontalAdvance(left) > self.width():
            words = left.split(" ")
            fitting = next((n for n in range(len(words) - 1, 0, -1)
                            if metrics.horizontalAdvance(" ".join(words[:n])) <= self.width()), 0)
            if not fitting:
                break
            lines.append(" ".join(words[:fitting]))
            left = " ".join(words[fitting:])
        return [*lines, metrics.elidedText(left, Qt.TextElideMode.ElideRight, self.width())]

    def paintEvent(self, event: QPaintEvent) -> None:
        shown = "\n".join(self.broken())
        whole = self._whole if shown.replace("\n", " ") != self._whole else ""
        self.setToolTip("\n".join(filter(None, (whole, self._tip))))
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


class Swatch(QWidget):
    """A lane's colour and shape."""

    def __init__(self, theme: ThemeView, look: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[ThemeView, int] | None = None
        self.set_look(theme, look)

    def set_look(self, theme: ThemeView, look: int) -> None:
        if self._shown == (theme, look):
            return
        self._shown = (theme, look)
        self._look = theme.lane_look(look)
        self.setFixedSize(theme.px(14), theme.px(14))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inset = 0.12 * self.width()
        paint_swatch(painter, self._look, QRectF(self.rect()).adjusted(inset, inset, -inset, -inset))
