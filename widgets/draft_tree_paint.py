"""Paints a draft tree: edges, and each node as a token with its marks and figures."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen

from engine.debugger.token_words import one_line
from engine.debugger.tree_nodes import DraftTree, TreeNode
from widgets.draft_tree_words import figures
from widgets.marks import inks, paint_ground, paint_sign
from widgets.protocols import ThemeView

COMPACT, ROOMY = 20.0, 40.0
"""Least height of a node with its token alone, and with figures under it; at scale 1."""
LEAST_COLUMN, MOST_COLUMN = 96.0, 210.0
ON_WAY = ("accepted", "correction", "bonus")


class TreePainter:
    def __init__(self, theme: ThemeView) -> None:
        self.theme = theme
        self._font, self._small = theme.font("code"), theme.font("small")
        self._metrics, self._small_metrics = QFontMetricsF(self._font), QFontMetricsF(self._small)
        self._inks = inks(theme)
        self._unit = max(1.0, round(self._font.pixelSize() / 7.5))

    def root_width(self, label: str) -> float:
        return min(self._metrics.horizontalAdvance(one_line(label)), self.theme.px(90)) + self.theme.px(30)

    def pill(self, box: QRectF, roomy: bool, node: TreeNode) -> QRectF:
        """The part of a node's room that is its own: edges need the rest."""
        px = self.theme.px
        wide = box.width() - px(24)
        text = self._metrics.horizontalAdvance(one_line(node.label)) + px(12)
        beside = self._small_metrics.horizontalAdvance(figures(node))
        text = max(text, beside + px(12)) if roomy else text
        height = (self._metrics.height() + self._small_metrics.height() if roomy else self._metrics.height()) + px(4)
        height = min(height, box.height() - px(1))
        return QRectF(box.left(), box.center().y() - height / 2, max(px(24), min(wide, text)), height)

    def paint(self, painter: QPainter, tree: DraftTree, root: QRectF, boxes: Sequence[QRectF], roomy: bool,
              marked: TreeNode | None) -> None:
        shown = painter.viewport()
        start = self._paint_root(painter, tree, root)
        # What was taken lies on top of what was not.
        for node in sorted(tree.nodes, key=lambda node: node.kind in ON_WAY):
            begin = start if node.parent < 0 else self._leaves(tree.nodes[node.parent], boxes[node.parent], roomy)
            self._paint_edge(painter, node, begin, self.pill(boxes[node.index], roomy, node))
        for node in tree.nodes:
            box = boxes[node.index]
            if -box.height() < box.top() < shown.height() and -box.width() < box.left() < shown.width():
                self._paint_node(painter, node, box, roomy, framed=node is marked)

    def _leaves(self, node: TreeNode, box: QRectF, roomy: bool) -> QPointF:
        """Where the edges to a node's children begin: behind all that is written of it."""
        pill = self.pill(box, roomy, node)
        beside = self._small_metrics.horizontalAdvance(self._beside(node, box, pill)) if not roomy else 0.0
        return QPointF(pill.right() + (beside + self.theme.px(11) if beside else 0.0), pill.center().y())

    def _beside(self, node: TreeNode, box: QRectF, pill: QRectF) -> str:
        """The figures at the right of a node's token, as many as there is room for."""
        return self._fitting(figures(node), box.right() - pill.right() - self.theme.px(30))

    def _fitting(self, text: str, room: float) -> str:
        """Whole figures only."""
        while text and self._small_metrics.horizontalAdvance(text) > room:
            text = text.rpartition("  ")[0]
        return text

    def _paint_root(self, painter: QPainter, tree: DraftTree, box: QRectF) -> QPointF:
        """The newest committed token; returns where its edges begin."""
        px = self.theme.px
        text = self._metrics.elidedText(one_line(tree.root) or "…", Qt.TextElideMode.ElideLeft, box.width() - px(30))
        painter.setFont(self._font)
        painter.setPen(self.theme.colour("dim"))
        y = box.center().y()
        painter.drawText(QPointF(box.left() + px(2), y + (self._metrics.ascent() - self._metrics.descent()) / 2), text)
        return QPointF(box.left() + px(6) + self._metrics.horizontalAdvance(text), y)

    def _paint_edge(self, painter: QPainter, node: TreeNode, start: QPointF, pill: QRectF) -> None:
        end = QPointF(pill.left(), pill.center().y())
        middle = end.x() - self.theme.px(9)
        turn = min(self.theme.px(6), abs(end.y() - start.y()))
        down = turn if end.y() > start.y() else -turn  # up: to a sibling that is scrolled away
        path = QPainterPath(start)
        path.lineTo(middle - (turn if turn else 0), start.y())
        if turn:
            path.quadTo(QPointF(middle, start.y()), QPointF(middle, start.y() + down))
            path.lineTo(middle, end.y() - down)
            path.quadTo(QPointF(middle, end.y()), QPointF(min(end.x(), middle + turn), end.y()))
        path.lineTo(end)
        taken = node.kind in ON_WAY
        colour = self._inks[node.kind].mark if taken or node.kind == "rejected" else self.theme.colour("strong_line")
        style = Qt.PenStyle.SolidLine if taken or node.kind in ("rejected", "pending") else Qt.PenStyle.DotLine
        painter.setPen(QPen(colour, (2.4 if taken else 1.2) * self.theme.scale, style))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)

    def _paint_node(self, painter: QPainter, node: TreeNode, box: QRectF, roomy: bool, *, framed: bool) -> None:
        theme, ink, pill, px = self.theme, self._inks[node.kind], self.pill(box, roomy, node), self.theme.px
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("panel"))
        painter.drawRoundedRect(pill, px(4), px(4))  # edges end at it
        if node.kind != "void":
            paint_ground(painter, pill, ink, 1.5 * self._unit)
        above = px(2) if roomy else (pill.height() - self._metrics.height()) / 2
        text_box = QRectF(pill.left() + px(5), pill.top() + above, pill.width() - px(10), self._metrics.height())
        text = self._metrics.elidedText(one_line(node.label), Qt.TextElideMode.ElideRight, text_box.width() + 1)
        painter.setFont(self._font)
        painter.setPen(theme.colour("dim") if node.kind == "void" else ink.text)
        painter.drawText(QPointF(text_box.left(), text_box.top() + self._metrics.ascent()), text)
        self._paint_mark(painter, node, pill, text_box, self._metrics.horizontalAdvance(text))
        told = self._fitting(figures(node), pill.width() - px(10)) if roomy else self._beside(node, box, pill)
        at = QPointF(text_box.left(), text_box.bottom()) if roomy else QPointF(
            pill.right() + px(7), pill.center().y() - self._small_metrics.height() / 2)
        painter.setFont(self._small)
        painter.setPen(self._figure_ink(node))
        painter.drawText(QPointF(at.x(), at.y() + self._small_metrics.ascent()), told)
        if framed:
            painter.setPen(QPen(theme.colour("strong"), max(1.0, 1.5 * theme.scale)))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(pill.adjusted(-1.5, -1.5, 1.5, 1.5), px(5), px(5))

    def _paint_mark(self, painter: QPainter, node: TreeNode, pill: QRectF, text_box: QRectF, width: float
                    ) -> None:
        """The second sign. A draft that was never tested has none: it is dim, and nobody rejected it."""
        if node.kind == "void":
            return
        struck = QRectF(text_box.left() - 1, text_box.top(), width + 2, text_box.height())
        paint_sign(painter, node.kind, struck if node.kind == "rejected" else pill, self._inks[node.kind], self._unit)

    def _figure_ink(self, node: TreeNode) -> QColor:
        return self.theme.colour("faint" if node.kind == "void" else "dim")
