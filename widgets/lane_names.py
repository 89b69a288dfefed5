"""Which line is whose, beside a chart: where many lanes end close together, names at their ends would hide them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from widgets.marks import paint_swatch
from widgets.protocols import LaneView, ThemeView

WIDEST = 150
"""Logical pixels at scale 1; longer names end in …"""


class LaneNames(QWidget):
    """A swatch and a name a lane, in the order of the cards. Those without room are counted; the tooltip names all."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shown: tuple[tuple[str, int], ...] = ()
        """Title and look of each lane."""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._font = theme.font("small")
        self._metrics = QFontMetricsF(self._font)
        self.updateGeometry()
        self.update()

    def show_lanes(self, lanes: Sequence[LaneView]) -> None:
        shown = tuple((lane.title, lane.look) for lane in lanes)
        if shown != self.shown:
            self.shown = shown
            titles = [title for title, _ in shown]
            self.setToolTip("\n".join(titles))
            self.setAccessibleName("lanes: " + ", ".join(titles))
            self.updateGeometry()
            self.update()

    def boxes(self) -> list[QRectF]:
        """Where each lane's row stands, from the top, as many as fit; closer than usual if they all fit then."""
        usual, least = self._metrics.height() + self.theme.px(4), 0.86 * self._metrics.height()
        height = max(least, min(usual, self.height() / max(1, len(self.shown))))
        count = min(len(self.shown), int(self.height() / height + 1e-6))
        top = max(0.0, (self.height() - count * height) / 2)
        return [QRectF(0, top + row * height, self.width(), height) for row in range(count)]

    def sizeHint(self) -> QSize:
        widest = max((self._metrics.horizontalAdvance(title) for title, _ in self.shown), default=0.0)
        return QSize(self._left() + int(min(widest, self.theme.px(WIDEST))) + 2, 0)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _left(self) -> int:
        """Of the names."""
        return self.theme.px(17)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        boxes, side = self.boxes(), float(self.theme.px(9))
        for row, (box, (title, look)) in enumerate(zip(boxes, self.shown, strict=False)):
            if row == len(boxes) - 1 and len(self.shown) > len(boxes):
                title = f"and {len(self.shown) - row} more"
            else:
                paint_swatch(painter, self.theme.lane_look(look),
                             QRectF(1, box.center().y() - side / 2, side, side))
            name = self._metrics.elidedText(title, Qt.TextElideMode.ElideRight, box.width() - self._left())
            baseline = box.center().y() + (self._metrics.ascent() - self._metrics.descent()) / 2
            painter.setPen(self.theme.colour("text"))
            painter.drawText(QPointF(self._left(), baseline), name)
