"""The marks by which a token's meaning is seen: a colour and, for the colour-blind, a second sign."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from widgets.protocols import LookView, ThemeView

KINDS = ("accepted", "rejected", "void", "correction", "bonus", "pending", "plain", "prompt")
WORDS = {
    "accepted": "accepted draft",
    "rejected": "rejected draft",
    "void": "draft that was never tested",
    "correction": "correction",
    "bonus": "bonus token",
    "pending": "draft, not judged yet",
    "plain": "plain token",
    "prompt": "prompt",
}
MEANINGS = {
    "accepted": "The drafter guessed it and the target accepted it.",
    "rejected": "The drafter guessed it and the target rejected it: it is not part of the output.",
    "void": "Never tested: a draft before it was rejected, or the output ended first.",
    "correction": "Chosen by the target in place of the rejected draft.",
    "bonus": "All drafts were accepted, so the same forward of the target gave one token more.",
    "pending": "Proposed by the drafter; the target has not judged it yet.",
    "plain": "One forward of the target, one token.",
    "prompt": "Given, not generated.",
}


@dataclass(frozen=True)
class Ink:
    """The colours of one kind of token."""

    text: QColor
    mark: QColor
    wash: QColor | None
    """The faint ground behind it; None for none."""


def inks(theme: ThemeView) -> dict[str, Ink]:
    washed = ("accepted", "correction", "bonus", "rejected")
    return {kind: Ink(theme.colour(f"{kind}_text"), theme.colour(kind),
                      theme.colour(f"{kind}_wash") if kind in washed else None) for kind in KINDS}


def paint_ground(painter: QPainter, box: QRectF, ink: Ink, radius: float) -> None:
    if ink.wash is not None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink.wash)
        painter.drawRoundedRect(box, radius, radius)


def paint_sign(painter: QPainter, kind: str, box: QRectF, ink: Ink, unit: float) -> None:
    """The second sign of a token in ``box``. ``unit`` is the thickness of a line."""
    if kind == "accepted":
        painter.fillRect(QRectF(box.left(), box.bottom() - unit, box.width(), unit), ink.mark)
    elif kind in ("rejected", "void"):
        middle = box.top() + 0.54 * box.height()
        painter.fillRect(QRectF(box.left(), middle, box.width(), max(1.0, unit / 2)), ink.mark)
    elif kind == "pending":
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(ink.mark, max(1.0, unit / 2), Qt.PenStyle.DotLine))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 2 * unit, 2 * unit)
    elif kind == "correction":
        paint_turn(painter, QPointF(box.left() + 2.5 * unit, box.top()), 1.7 * unit, ink.mark)
    elif kind == "bonus":
        paint_plus(painter, QPointF(box.left() + 2.5 * unit, box.top()), 1.8 * unit, ink.mark)


def paint_turn(painter: QPainter, centre: QPointF, radius: float, colour: QColor) -> None:
    """↺, drawn rather than written, so that no font can lack it."""
    pen = QPen(colour, radius * 0.42)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    box = QRectF(centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius)
    painter.drawArc(box, 150 * 16, 275 * 16)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    x, y = centre.x() - 0.87 * radius, centre.y() - 0.5 * radius
    painter.drawPolygon(QPolygonF([QPointF(x - 0.8 * radius, y - 0.3 * radius),
                                   QPointF(x + 0.8 * radius, y - 0.3 * radius),
                                   QPointF(x - 0.1 * radius, y + 0.9 * radius)]))


def paint_plus(painter: QPainter, centre: QPointF, radius: float, colour: QColor) -> None:
    arm = radius * 0.25
    painter.fillRect(QRectF(centre.x() - radius, centre.y() - arm, 2 * radius, 2 * arm), colour)
    painter.fillRect(QRectF(centre.x() - arm, centre.y() - radius, 2 * arm, 2 * radius), colour)


def paint_fork(painter: QPainter, centre: QPointF, radius: float, colour: QColor) -> None:
    """A tree, lying: one stem that parts in three."""
    x, y = centre.x(), centre.y()
    painter.setPen(QPen(colour, max(1.0, 0.34 * radius), Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    root = QPointF(x - radius, y)
    for height in (-0.85, 0.0, 0.85):
        painter.drawLine(root, QPointF(x + radius, y + height * radius))


def swatch_path(shape: str, box: QRectF) -> QPainterPath:
    """A lane's shape: its second sign beside its colour."""
    path = QPainterPath()
    centre, r = box.center(), box.width() / 2
    if shape == "circle":
        path.addEllipse(box)
    elif shape == "square":
        path.addRoundedRect(box.adjusted(0.08 * r, 0.08 * r, -0.08 * r, -0.08 * r), 0.3 * r, 0.3 * r)
    else:
        corners = {
            "diamond": [(0, -1.15), (1.15, 0), (0, 1.15), (-1.15, 0)],
            "triangle": [(0, -1.1), (1.15, 0.9), (-1.15, 0.9)],
            "pentagon": [(0, -1.1), (1.08, -0.3), (0.68, 1), (-0.68, 1), (-1.08, -0.3)],
            "cross": [(-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4), (0.4, 1.1),
                      (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4), (-1.1, -0.4), (-0.4, -0.4)],
        }[shape]
        path.addPolygon(QPolygonF([QPointF(centre.x() + r * x, centre.y() + r * y) for x, y in corners]))
        path.closeSubpath()
    return path


def paint_swatch(painter: QPainter, look: LookView, box: QRectF) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(look.colour)
    painter.drawPath(swatch_path(look.shape, box))
