"""Where the panels of the Debug perspective stand, and how they share the room. What they show is debug_view's."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from app.combo_box import ComboBox
from app.screen import Screen
from app.theme import Theme
from engine.debugger.watches import evaluate
from widgets.branch_panel import BranchPanel
from widgets.breakpoint_list import BreakpointList
from widgets.cache_panel import CachePanel
from widgets.draft_tree import DraftTreePanel
from widgets.inspector import Inspector
from widgets.round_strip import RoundStrip
from widgets.rounds_table import MakeFilter, RoundsTable
from widgets.state_panel import StatePanel
from widgets.timeline import Timeline
from widgets.verify_panel import VerifyPanel

Page = Literal["timeline", "rounds", "branch"]
PAGES: dict[Page, str] = {"timeline": "Timeline", "rounds": "Rounds", "branch": "Branch"}
Side = Literal["breakpoints", "state"]
SIDES: dict[Side, str] = {"breakpoints": "Breakpoints", "state": "State"}
LEFT, RIGHT, FOOT = 268, 284, 166
"""Widths of the side columns and height of the foot, at scale 1."""
ENOUGH, ENOUGH_WITH_TREE = 600, 820
"""Height, at scale 1, for columns and foot at once."""
TREE_SHARE, LEAST_TREE = 0.42, 130
"""Of the middle's height, for a draft tree with figures under its tokens; one that needs more to be seen whole gets it.
Where there isn't the least, there is no tree."""
READABLE, READABLE_GREEDY = 390, 276
"""The inspector's height under a tree; greedy runs have no draws to show."""
FILTER_HINT = "Filter: a word, or accepted < 2 and overlap_min < 0.5"


class DebugStage(QWidget):
    turned = Signal()
    """To another page, or in other clothes."""

    def __init__(self, screen: Screen, theme: Theme, filter_with: MakeFilter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._foot_open: bool | None = None
        """By a person's will; None: by the room there is."""
        self.page: Page = "timeline"
        self.side: Side = "breakpoints"

        self.chooser = ComboBox()
        self.chooser.setAccessibleName("lane")
        self.chooser.setToolTip("Which lane is debugged")
        self.strip = RoundStrip(theme)
        self.breakpoints = BreakpointList(theme)
        self.state = StatePanel(theme, evaluate)
        self.tree = DraftTreePanel(theme)
        self.tree.hide()
        self._tree_rows, self._greedy = 0, False
        self.inspector = Inspector(theme)
        self.verify = VerifyPanel(theme)
        self.cache = CachePanel(theme)
        self.timeline = Timeline(screen, theme)
        self.rounds = RoundsTable(screen, theme, filter_with, FILTER_HINT)
        self.branch = BranchPanel(theme)
        self._sides, self._foot = QStackedWidget(), QStackedWidget()
        self._tabs: dict[str, QToolButton] = {}
        self._build()
        self.set_theme(theme)

    def turn_to(self, page: Page) -> None:
        self.page = page
        self._foot.setCurrentIndex(list(PAGES).index(page))
        if self._foot.isHidden():
            self._foot_open = True
            self._share()
        self._check_tabs()
        self.turned.emit()

    def turn_side(self, side: Side) -> None:
        self.side = side
        self._sides.setCurrentIndex(list(SIDES).index(side))
        self._check_tabs()
        self.turned.emit()

    def _build(self) -> None:
        for panel in (self.breakpoints, self.state):
            self._sides.addWidget(panel)
        for part in (self.timeline, self.rounds, self.branch):
            self._foot.addWidget(part)
        self._left, self._right, self._middle = QVBoxLayout(), QVBoxLayout(), QVBoxLayout()
        self._side_tabs, self._foot_tabs = QHBoxLayout(), QHBoxLayout()
        for side, title in SIDES.items():
            self._side_tabs.addWidget(self._tab(f"side.{side}", title))
        self._side_tabs.addStretch(1)
        for page, title in PAGES.items():
            self._foot_tabs.addWidget(self._tab(f"page.{page}", title))
        self._foot_tabs.addStretch(1)
        left, right = QWidget(), QWidget()
        left.setLayout(self._left)
        right.setLayout(self._right)
        self._left.addWidget(self.chooser)
        self._left.addWidget(self.strip, 6)
        self._left.addLayout(self._side_tabs)
        self._left.addWidget(self._sides, 5)
        self._right.addWidget(self.verify, 6)
        self._right.addWidget(self.cache, 5)
        for column in (self._left, self._right):
            column.setContentsMargins(0, 0, 0, 0)
        self._columns = QSplitter(Qt.Orientation.Horizontal)
        self._centre = QSplitter(Qt.Orientation.Vertical)
        self._centre.addWidget(self.tree)
        self._centre.addWidget(self.inspector)
        for widget in (left, self._centre, right):
            self._columns.addWidget(widget)
        self._columns.setStretchFactor(1, 1)
        foot = QWidget()
        self._foot_column = QVBoxLayout(foot)
        self._foot_column.setContentsMargins(0, 0, 0, 0)
        self._foot_column.addLayout(self._foot_tabs)
        self._foot_column.addWidget(self._foot, 1)
        self._rows = QSplitter(Qt.Orientation.Vertical)
        self._rows.addWidget(self._columns)
        self._rows.addWidget(foot)
        self._rows.setStretchFactor(0, 1)
        for splitter in (self._columns, self._rows, self._centre):
            splitter.setChildrenCollapsible(False)
            splitter.splitterMoved.connect(self._on_split_moved)
        self._split_by_hand = False
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._rows, 1)
        self._check_tabs()

    def _tab(self, name: str, title: str) -> QToolButton:
        button = QToolButton()
        button.setText(title)
        button.setCheckable(True)
        button.setProperty("kind", "tab")
        button.setObjectName(name)
        button.clicked.connect(self._on_tab)
        self._tabs[name] = button
        return button

    def _on_tab(self) -> None:
        sender = self.sender()
        kind, _, name = sender.objectName().partition(".")
        if kind == "side":
            self.turn_side(name)  # type: ignore[arg-type]  # made from SIDES
        elif name == self.page and not self._foot.isHidden():  # once more: out of the way
            self._foot_open = False
            self._share()
            self._check_tabs()
        else:
            self.turn_to(name)  # type: ignore[arg-type]  # made from PAGES

    def _check_tabs(self) -> None:
        shown = {f"side.{self.side}", "" if self._foot.isHidden() else f"page.{self.page}"}
        for name, tab in self._tabs.items():
            tab.setChecked(name in shown)

    def _on_split_moved(self) -> None:
        self._split_by_hand = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(900), self._theme.px(480))

    def _share(self) -> None:
        """Where height is short, the foot is but its tabs, until one is clicked."""
        px, height = self._theme.px, self.height()
        enough = px(ENOUGH_WITH_TREE if self._tree_rows else ENOUGH)
        shown = height >= enough if self._foot_open is None else self._foot_open
        if shown == self._foot.isHidden():
            self._foot.setVisible(shown)
            self._check_tabs()
            self._split_by_hand = False
        if self._split_by_hand:
            return
        wide = max(1.0, self.width() / px(1440))
        left, right = round(px(LEFT) * wide ** 0.5), round(px(RIGHT) * wide ** 0.5)
        self._columns.setSizes([left, max(px(420), self.width() - left - right), right])
        foot = max(px(FOOT), round(0.24 * height)) if shown else px(28)
        self._rows.setSizes([height - foot, foot])
        middle = height - foot - px(16)
        left_over = middle - px(READABLE_GREEDY if self._greedy else READABLE)
        self.tree.setVisible(self._tree_rows > 0 and left_over >= px(LEAST_TREE))
        ample = min(self.tree.height_for(self._tree_rows, roomy=True), round(TREE_SHARE * middle))
        tree = min(max(self.tree.height_for(self._tree_rows), ample), left_over)
        self._centre.setSizes([tree, middle - tree])

    def show_tree(self, rows: int, greedy: bool) -> None:
        """The draft tree stands over the inspector, in lanes that draft one; ``rows``: of such a tree, 0 elsewhere."""
        if (rows, greedy) != (self._tree_rows, self._greedy):
            if (rows > 0) != (self._tree_rows > 0):
                self._split_by_hand = False
            self._tree_rows, self._greedy = rows, greedy
            self._share()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for panel in (self.strip, self.breakpoints, self.state, self.tree, self.inspector, self.verify, self.cache,
                      self.timeline, self.rounds, self.branch):
            panel.set_theme(theme)
        px = theme.px
        self._column.setContentsMargins(px(12), px(10), px(12), px(6))
        self._column.setSpacing(px(6))
        for column in (self._left, self._right):
            column.setSpacing(px(8))
        for splitter in (self._columns, self._rows, self._centre):
            splitter.setHandleWidth(px(10))
        self._foot_column.setSpacing(px(4))
        self.strip.setMinimumHeight(px(150))
        self._sides.setMinimumHeight(px(128))
        for tab in self._tabs.values():
            tab.setFixedHeight(px(26))
        self._share()
        self.turned.emit()
