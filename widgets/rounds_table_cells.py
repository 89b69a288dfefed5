"""How a cell of the rounds table is painted: by hand, since a style sheet takes most of a frame for a full page."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from widgets.protocols import ThemeView
from widgets.rounds_table_columns import COLUMNS, ROUND
from widgets.rounds_table_model import RoundsModel

MARGIN = 9
"""Logical pixels at scale 1 left and right of a text."""


class _Hand:
    """A font, and how wide texts are in it: figures come again and again, and measuring takes longer than painting."""

    def __init__(self, font: QFont) -> None:
        self.font = font
        self.metrics = QFontMetricsF(font)
        self._widths: dict[str, float] = {}

    def width(self, text: str) -> float:
        found = self._widths.get(text)
        if found is None:
            if len(self._widths) > 4096:
                self._widths.clear()
            found = self._widths[text] = self.metrics.horizontalAdvance(text)
        return found


class RoundCells(QStyledItemDelegate):
    def __init__(self, model: RoundsModel, theme: ThemeView) -> None:
        super().__init__()
        self._model = model
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self._margin = theme.px(MARGIN)
        bold = theme.font("small")
        bold.setBold(True)
        self._code, self._small, self._bold = _Hand(theme.font("code")), _Hand(theme.font("small")), _Hand(bold)
        self._text, self._later, self._strong = (theme.colour(role) for role in ("text", "faint", "strong"))
        self._here, self._selection = theme.colour("hover"), theme.colour("selection")
        self._selected, self._edge = theme.colour("selection_text"), theme.colour("focus")

    def paint(self, painter: QPainter, option: QStyleOptionViewItem,
              index: QModelIndex | QPersistentModelIndex) -> None:
        model, place = self._model, index.column()
        round = model.order.rounds[index.row()]
        rect = option.rect
        left, top, wide, high = rect.left(), rect.top(), rect.width(), rect.height()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        here, later = round == model.current, round >= model.happened
        if selected or here:
            painter.fillRect(rect, self._selection if selected else self._here)
        if here and place == ROUND:
            painter.fillRect(left, top, max(2, self._margin // 3), high, self._edge)
        kind = COLUMNS[place].kind
        hand = self._code if kind == "text" else self._bold if here and place == ROUND else self._small
        shown, room = model.shown(round)[place], wide - 2 * self._margin
        width = hand.width(shown)
        if width > room:
            shown = hand.metrics.elidedText(shown, Qt.TextElideMode.ElideRight, room)
            width = room
        x = left + self._margin + (room - width if kind in ("count", "figure") else 0)
        painter.setFont(hand.font)
        painter.setPen(self._ink(selected, here, later))
        painter.drawText(QPointF(x, top + (high + hand.metrics.ascent() - hand.metrics.descent()) / 2), shown)

    def _ink(self, selected: bool, here: bool, later: bool) -> QColor:
        if later:
            return self._later
        return self._selected if selected else self._strong if here else self._text
