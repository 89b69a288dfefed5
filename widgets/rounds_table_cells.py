"""How a cell of the rounds table is painted: by hand, since a style sheet takes most of a frame for a full page."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from widgets.protocols import ThemeView
from widgets.rounds_table_columns import COLUMNS, ROUND
from widgets.rounds_table_model import RoundsModel

MARGIN = 9
"""Logical pixels at scale 1 left and right of a text."""


class RoundCells(QStyledItemDelegate):
    def __init__(self, model: RoundsModel, theme: ThemeView) -> None:
        super().__init__()
        self._model = model
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self._margin = theme.px(MARGIN)
        self._fonts = {"text": theme.font("code")}
        self._small, self._bold = theme.font("small"), theme.font("small")
        self._bold.setBold(True)
        self._metrics = {"text": QFontMetricsF(self._fonts["text"])}
        self._small_metrics, self._bold_metrics = QFontMetricsF(self._small), QFontMetricsF(self._bold)
        self._text, self._later, self._strong = (theme.colour(role) for role in ("text", "faint", "strong"))
        self._here, self._selection = theme.colour("hover"), theme.colour("selection")
        self._selected, self._edge = theme.colour("selection_text"), theme.colour("focus")

    def paint(self, painter: QPainter, option: QStyleOptionViewItem,
              index: QModelIndex | QPersistentModelIndex) -> None:
        model, column = self._model, COLUMNS[index.column()]
        round = model.order.rounds[index.row()]
        rect = option.rect
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        here, later = round == model.current, round >= model.happened
        ground = self._selection if selected else self._here if here else None
        if ground is not None:
            painter.fillRect(rect, ground)
        if here and index.column() == ROUND:
            painter.fillRect(rect.left(), rect.top(), max(2, self._margin // 3), rect.height(), self._edge)
        if column.kind == "text":
            font, metrics = self._fonts["text"], self._metrics["text"]
        elif here and index.column() == ROUND:
            font, metrics = self._bold, self._bold_metrics
        else:
            font, metrics = self._small, self._small_metrics
        painter.setFont(font)
        painter.setPen(self._ink(selected, here, later))
        room = rect.adjusted(self._margin, 0, -self._margin, 0)
        shown = metrics.elidedText(str(index.data()), Qt.TextElideMode.ElideRight, room.width())
        side = Qt.AlignmentFlag.AlignLeft if column.kind in ("text", "word") else Qt.AlignmentFlag.AlignRight
        painter.drawText(room, side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)

    def _ink(self, selected: bool, here: bool, later: bool) -> QColor:
        if later:
            return self._later
        return self._selected if selected else self._strong if here else self._text
