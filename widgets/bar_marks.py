"""Beneath a token's bars: was it drafted, was it drawn? In words and with the sign it has everywhere."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

from engine.debugger.bars import Bar
from widgets.marks import paint_plus, paint_turn
from widgets.protocols import ThemeView


def mark_lines(bar: Bar, final: str, argmax: bool) -> list[tuple[str, str]]:
    """(kind, word) of each line: what was drawn (or, ``argmax``, chosen as such), what was drafted."""
    lines = []
    if "drawn" in bar.marks:
        lines.append((final, "argmax" if argmax else "drawn"))
    elif argmax and "best" in bar.marks:
        lines.append(("plain", "argmax"))
    if "drafted" in bar.marks:
        lines.append(("draft", "drafted"))
    return lines


def paint_marks(painter: QPainter, theme: ThemeView, lines: list[tuple[str, str]], fate: str, room: QRectF) -> None:
    """From the top of ``room`` down, in its middle. ``fate``: of the draft."""
    font = theme.font("small")
    metrics = QFontMetricsF(font)
    top = room.top()
    for kind, word in lines:
        role = fate if kind == "draft" else kind if kind in ("correction", "bonus") else "plain"
        colour = theme.colour(role)
        if role in ("rejected", "accepted"):
            colour = theme.colour("danger" if role == "rejected" else "good")
        sign = 0.9 * metrics.ascent() if kind in ("correction", "bonus") else 0.0
        gap = 0.4 * sign
        text = metrics.elidedText(word, Qt.TextElideMode.ElideRight, room.width() - sign - gap)
        width = metrics.horizontalAdvance(text)
        left, baseline = room.center().x() - (width + sign + gap) / 2, top + metrics.ascent()
        centre = QPointF(left + sign / 2, baseline - 0.38 * metrics.ascent())
        if kind == "correction":
            paint_turn(painter, centre, 0.38 * sign, colour)
        elif kind == "bonus":
            paint_plus(painter, centre, 0.42 * sign, colour)
        painter.setFont(font)
        painter.setPen(colour)
        painter.drawText(QPointF(left + sign + gap, baseline), text)
        if kind == "draft":
            _underscore(painter, role, QRectF(left, baseline, width, 1), metrics, theme)
        top += 1.15 * metrics.height()


def _underscore(painter: QPainter, fate: str, text: QRectF, metrics: QFontMetricsF, theme: ThemeView
                ) -> None:
    """Accepted: underlined. Rejected and void: struck through."""
    thick = max(1.0, 1.2 * theme.scale)
    if fate == "accepted":
        painter.fillRect(QRectF(text.left(), text.top() + 0.16 * metrics.height(), text.width(), thick),
                         theme.colour("accepted"))
    elif fate in ("rejected", "void"):
        painter.fillRect(QRectF(text.left(), text.top() - 0.3 * metrics.ascent(), text.width(), thick),
                         theme.colour(fate))
