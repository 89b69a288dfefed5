"""The signs of the inspector's bars, and how much p and q overlap."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from engine.debugger.inspection import Inspection
from engine.debugger.judgement import figure
from widgets.dart import hatch
from widgets.protocols import ThemeView

Entry = tuple[str, str, str, str]
"""Kind, name, short name, what it means."""
P: Entry = ("p", "p target", "p", "p: the target’s probabilities here, after temperature, top-k, top-p and min-p")
Q: Entry = ("q", "q drafter", "q", "q: the drafter’s probabilities here")
RESIDUAL: Entry = ("residual", "residual", "residual",
                   "max(p − q, 0): what a correction is drawn from, divided by its sum, 1 − overlap")


class InspectorLegend(QWidget):
    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: list[Entry] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.updateGeometry()
        self.update()

    def show_inspection(self, found: Inspection | None) -> None:
        entries: list[Entry] = []
        if found is not None:
            bars = found.bars
            entries += [P] if any(bar.p is not None for bar in bars) else []
            entries += [Q] if any(bar.q is not None for bar in bars) else []
            entries += [RESIDUAL] if any(bar.residual for bar in bars) else []
            if found.overlap is not None and found.use != "void":
                text = f"overlap {figure(found.overlap, 2)}"
                at = " at temperature 1, for showing" if found.greedy else ": the chance that a draft is accepted here"
                entries.append(("overlap", text, text, f"Σ min(p, q) = {found.overlap:.6g}{at}"))
        self._entries = entries
        self.setAccessibleName("legend: " + ", ".join(name for _, name, *_ in entries))
        self.updateGeometry()
        self.update()

    def places(self) -> list[tuple[QRectF, str, Entry]]:
        """The room, text and meaning of each entry; short names where room is short, and none that doesn't fit."""
        metrics, px = QFontMetricsF(self.theme.font("small")), self.theme.px
        box = px(13)
        for which in (1, 2):
            x, found = 0.0, []
            for entry in self._entries:
                width = box + px(5) + metrics.horizontalAdvance(entry[which])
                found.append((QRectF(x, 0, width, self.height()), entry[which], entry))
                x += width + px(14)
            if x - px(14) <= self.width():
                break
        return [place for place in found if place[0].right() <= self.width()] if self._entries else []

    def sizeHint(self) -> QSize:
        metrics, px = QFontMetricsF(self.theme.font("small")), self.theme.px
        wide = sum(px(32) + metrics.horizontalAdvance(entry[1]) for entry in self._entries)
        return QSize(int(wide), int(1.5 * metrics.height()))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.theme.font("small")
        metrics = QFontMetricsF(font)
        size = float(self.theme.px(13))
        for room, text, (kind, *_) in self.places():
            self._paint_sign(painter, kind, QRectF(room.left(), room.center().y() - size / 2, size, size))
            painter.setFont(font)
            painter.setPen(self.theme.colour("dim"))
            baseline = room.center().y() + (metrics.ascent() - metrics.descent()) / 2
            painter.drawText(QPointF(room.left() + size + self.theme.px(5), baseline), text)

    def _paint_sign(self, painter: QPainter, kind: str, box: QRectF) -> None:
        theme = self.theme
        p = theme.colour("p")
        if kind == "p":
            painter.fillRect(box, p)
        elif kind == "residual":
            ground = theme.colour("p")
            ground.setAlphaF(0.30)
            painter.fillRect(box, ground)
            hatch(painter, box, theme.colour("residual"), theme.px(5), max(1.4, 1.8 * theme.scale))
        else:
            if kind == "overlap":
                p.setAlphaF(0.32)
                painter.fillRect(box, p)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            width = max(1.2, 1.6 * theme.scale)
            painter.setPen(QPen(theme.colour("q"), width))
            painter.drawRect(box.adjusted(width / 2, width / 2, -width / 2, -width / 2))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            point = QPointF(event.pos())
            QToolTip.showText(event.globalPos(), next(
                (entry[3] for room, _, entry in self.places() if room.contains(point)), ""), self)
            return True
        return bool(super().event(event))
