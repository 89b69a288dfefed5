"""A round's draft tree: who continues whom, which way was accepted, and each draft's figures."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from engine.debugger.history import Moment
from engine.debugger.tree_nodes import DraftTree, TreeNode, draft_tree, why_no_tree
from widgets.draft_tree_paint import COMPACT, LEAST_COLUMN, MOST_COLUMN, ROOMY, TreePainter
from widgets.draft_tree_words import explain, spoken
from widgets.moment_card import MomentCard
from widgets.protocols import ThemeView
from widgets.tree_layout import TreeLayout, fit, lay_out, neighbour

HINT = "The tree of guesses appears with the first round: step on, or press Run."
_KEYS = {Qt.Key.Key_Left: "left", Qt.Key.Key_Right: "right", Qt.Key.Key_Up: "up", Qt.Key.Key_Down: "down"}


class DraftTreePanel(MomentCard[DraftTree]):
    selected = Signal(int, int)
    """Round and place."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Draft tree", HINT, parent)
        self.canvas = TreeCanvas(theme)
        self.canvas.selected.connect(self.selected)
        self.hold(self.canvas)

    def show_moment(self, moment: Moment | None) -> None:
        super().show_moment(moment)
        without = why_no_tree(moment) if moment is not None else ""
        self._hint.setText(without or HINT)
        if without and moment is not None and moment.round is not None:
            self.heading.say(f"Draft tree of round {moment.round.round + 1:,}", "none")

    def read(self, moment: Moment) -> DraftTree | None:
        return draft_tree(moment)

    def height_for(self, rows: int, *, roomy: bool = False) -> int:
        """That shows so many rows at once; ``roomy``: with the figures under the tokens."""
        margins = self._column.contentsMargins()
        around = margins.top() + self.heading.sizeHint().height() + self._column.spacing() + margins.bottom()
        return around + rows * self.theme.px(ROOMY if roomy else COMPACT) + 1

    def present(self, model: DraftTree, before: Moment | None) -> None:
        self.heading.say(f"Draft tree of round {model.round + 1:,}", model.remark)
        self.canvas.show_tree(model)

    def select(self, place: int | None) -> None:
        """Mark the draft at this place of the round that is shown; None: no one."""
        self.canvas.select(place)

    def restyle(self) -> None:
        self.canvas.set_theme(self.theme)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(640), self.theme.px(240))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(320), self.height_for(2))


class TreeCanvas(QAbstractScrollArea):
    selected = Signal(int, int)

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tree: DraftTree | None = None
        self._layout: TreeLayout = lay_out(())
        self._place: int | None = None
        self._focus: int | None = None
        """The node that keys go on from: of two that share a place, the one that was gone to."""
        self._ring = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setCornerWidget(QWidget())
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("draft tree")
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._painter = TreePainter(theme)
        self._arrange()

    def show_tree(self, tree: DraftTree) -> None:
        before, self._tree = self._tree, tree
        parents = [node.parent for node in tree.nodes]
        if before is None or [node.parent for node in before.nodes] != parents:
            self._layout = lay_out(parents)
        if before is None or before.round != tree.round:
            self._focus = None
            self.verticalScrollBar().setValue(0)
            self.horizontalScrollBar().setValue(0)
        self._arrange()

    def select(self, place: int | None) -> None:
        if place == self._place:
            return
        self._place = place
        if self._focus is not None and self._node(self._focus).place != place:
            self._focus = None
        if (node := self.marked) is not None:
            self.reveal(node.index)
            self.setAccessibleDescription(spoken(node))
        self.viewport().update()

    @property
    def marked(self) -> TreeNode | None:
        """What is framed."""
        if self._tree is None or self._place is None:
            return None
        if self._focus is not None and self._focus < len(self._tree.nodes):
            return self._node(self._focus)
        return next((node for node in self._tree.nodes if node.place == self._place), None)

    def _node(self, index: int) -> TreeNode:
        assert self._tree is not None
        return self._tree.nodes[min(index, len(self._tree.nodes) - 1)]

    # Where things stand

    def _arrange(self) -> None:
        room, px = self.viewport().size(), self.theme.px
        root = self._painter.root_width(self._tree.root if self._tree is not None else "")
        self._grid = fit(self._layout, room.width(), room.height(), root=root, least_column=px(LEAST_COLUMN),
                         most_column=px(MOST_COLUMN), compact=px(COMPACT), roomy=px(ROOMY))
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        across.setRange(0, max(0, round(self._grid.width) - room.width()))
        across.setPageStep(room.width())
        across.setSingleStep(max(1, round(self._grid.column)))
        down.setRange(0, self._layout.rows - self._grid.shown)  # in rows, so that none is cut
        down.setPageStep(self._grid.shown)
        down.setSingleStep(1)
        self.viewport().update()

    def box(self, index: int) -> QRectF:
        """Of a node, in the viewport. Of what is scrolled to, the ancestors stay in sight: in the first row, where
        their column is free."""
        place, grid, first = self._layout.places[index], self._grid, self.verticalScrollBar().value()
        row = max(place.row - first, min(0, self._layout.lasts[index] - first))
        return QRectF(grid.left + place.column * grid.column - self.horizontalScrollBar().value(), row * grid.row,
                      grid.column, grid.row)

    def node_at(self, point: QPointF) -> TreeNode | None:
        if self._tree is None:
            return None
        return next((node for node in self._tree.nodes if self._painter.pill(self.box(node.index), self._grid.roomy,
                                                                             node).contains(point)), None)

    def reveal(self, index: int) -> None:
        """Scroll no further than it takes to see that node."""
        box, across, down = self.box(index), self.horizontalScrollBar(), self.verticalScrollBar()
        if box.left() < 0:
            across.setValue(across.value() + round(box.left()))
        elif box.right() > self.viewport().width():
            across.setValue(across.value() + round(box.right() - self.viewport().width()))
        row = self._layout.places[index].row
        down.setValue(max(min(down.value(), row), row - self._grid.shown + 1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._tree is None:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes = [self.box(node.index) for node in self._tree.nodes]
        root = QRectF(-self.horizontalScrollBar().value(), 0, self._grid.left, self._grid.row)
        self._painter.paint(painter, self._tree, root, boxes, self._grid.roomy, self.marked)
        if self._ring:
            painter.setPen(self.theme.colour("focus"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    # Mouse and keys

    def _choose(self, node: TreeNode) -> None:
        assert self._tree is not None
        self._place, self._focus = node.place, node.index
        self.reveal(node.index)
        self.setAccessibleDescription(spoken(node))
        self.viewport().update()
        self.selected.emit(self._tree.round, node.place)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        node = self.node_at(event.position())
        if node is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(node)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        over = self.node_at(event.position()) is not None
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, tree, marked = Qt.Key(event.key()), self._tree, self.marked
        if tree is None or key not in (*_KEYS, Qt.Key.Key_Home, Qt.Key.Key_End):
            super().keyPressEvent(event)
            return
        if key in _KEYS and marked is not None:
            found = neighbour(self._layout, [node.parent for node in tree.nodes], marked.index, _KEYS[key])
        else:  # to the first guess, or to where the round ended
            found = len(tree.nodes) - 1 if key == Qt.Key.Key_End else 0
        if found is not None:
            self._choose(tree.nodes[found])

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Who came here by keyboard sees where the focus is; who clicked knows."""
        self._ring = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason,
                                        Qt.FocusReason.ShortcutFocusReason)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            node = self.node_at(QPointF(event.pos()))
            words = explain(self._tree, node) if node is not None and self._tree is not None else ""
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return bool(super().viewportEvent(event))
