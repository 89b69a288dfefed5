"""The marks of the token stream, explained in the marks themselves."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from widgets.marks import MEANINGS, inks, paint_ground, paint_sign
from widgets.panel import Panel
from widgets.protocols import StoreView, ThemeView

ENTRIES = {"accepted": "accepted", "rejected": "rejected", "void": "never tested", "correction": "correction",
           "bonus": "bonus", "plain": "plain"}


class Legend(Panel, QWidget):
    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("legend: " + ", ".join(ENTRIES.values()))
        self.restyle()

    def restyle(self) -> None:
        self._font = self.theme.font("token")
        self._font.setPixelSize(self.theme.px(13))
        self._metrics = QFontMetricsF(self._font)
        self._inks = inks(self.theme)
        self.updateGeometry()
        self.update()

    def boxes(self) -> dict[str, QRectF]:
        """Where each kind's sample stands."""
        result: dict[str, QRectF] = {}
        x, height = 1.0, 1.35 * self._metrics.height()
        for kind, text in ENTRIES.items():
            width = self._metrics.horizontalAdvance(f" {text} ")
            result[kind] = QRectF(x, (self.height() - height) / 2 + 2, width, height)
            x += width + self.theme.px(16)
        return result

    def sizeHint(self) -> QSize:
        return QSize(int(list(self.boxes().values())[-1].right()) + 2, int(2.0 * self._metrics.height()))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        unit = max(1.0, round(self._font.pixelSize() / 7.5))
        for kind, box in self.boxes().items():
            ink = self._inks[kind]
            paint_ground(painter, box, ink, 1.5 * unit)
            painter.setFont(self._font)
            painter.setPen(ink.text)
            baseline = box.center().y() + (self._metrics.ascent() - self._metrics.descent()) / 2
            painter.drawText(QPointF(box.left() + self._metrics.horizontalAdvance(" "), baseline), ENTRIES[kind])
            paint_sign(painter, kind, box, ink, unit)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            kind = next((k for k, box in self.boxes().items() if box.contains(QPointF(event.pos()))), None)
            QToolTip.showText(event.globalPos(), MEANINGS[kind] if kind else "", self)
            return True
        return bool(super().event(event))
