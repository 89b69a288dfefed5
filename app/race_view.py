"""The Race perspective: lanes one above another, the charts below them, the legend at the foot."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.activity import Activity
from app.guesses import guesses
from app.recording_bar import RecordingBar
from app.screen import Screen
from app.store import Change, Store
from app.theme import Theme
from widgets.acceptance_chart import AcceptanceChart
from widgets.empty_state import EmptyState
from widgets.hover_card import HoverCard
from widgets.lane_card import LaneCard
from widgets.legend import Legend
from widgets.panel import Panel
from widgets.race_chart import RaceChart

LANE_HEIGHT, DENSE_LANE = 126, 66
"""Height of a lane's card at least, and where many lanes must share a window; with room to spare they share it, without
even that they scroll."""
CHART_HEIGHT, LOW_CHART = 126, 112
FURNITURE = 110
"""What else stands between the view's edges, a recording's strip included: its coming must not change a card's form."""
FEW = 3
"""Lanes that have their room anywhere; more of them move together."""
GAP, DENSE_GAP = 8, 4
HANDLE, DENSE_HANDLE = 10, 6
CHART_SHARE = 0.27
"""Of the height, for the charts, where the lanes leave them as much."""
LANES, NOTHING = 0, 1


class _Split(QSplitter):
    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class RaceView(QWidget):
    run_wanted = Signal()
    difference_wanted = Signal(str)

    def __init__(self, store: Store, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._screen = screen = Screen(store)
        self._theme = theme
        self._ghosts = True
        self._prompt = False
        self._split_by_hand = False
        self.cards: list[LaneCard] = []
        self.recording_bar = RecordingBar(theme)
        self.activity = Activity()

        self._lanes = QWidget()
        self._lane_column = QVBoxLayout(self._lanes)
        self._lane_column.setContentsMargins(0, 0, 0, 0)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._lanes)
        self.empty = EmptyState(
            theme, "Nothing has run yet", "Choose a prompt on the left, then watch the same answer written twice: "
            "plainly, and speculatively.", icon="lanes", action="Run")
        self.empty.acted.connect(self.run_wanted)
        self._stack = QStackedWidget()
        self._stack.addWidget(scroll)
        self._stack.addWidget(self.empty)

        self.race_chart = RaceChart(screen, theme)
        self.acceptance_chart = AcceptanceChart(screen, theme)
        self._charts = QSplitter(Qt.Orientation.Horizontal)
        self._charts.addWidget(self.race_chart)
        self._charts.addWidget(self.acceptance_chart)
        self._split = _Split(Qt.Orientation.Vertical)
        self._split.addWidget(self._stack)
        self._split.addWidget(self._charts)
        for splitter, weights in ((self._charts, (5, 3)), (self._split, (7, 3))):
            splitter.setChildrenCollapsible(False)
            for place, weight in enumerate(weights):
                splitter.setStretchFactor(place, weight)
        self._split.splitterMoved.connect(self._on_split_moved)
        self._split.resized.connect(self._share_height)

        self.legend = Legend(screen, theme)
        self._foot = QHBoxLayout()
        self._foot.addWidget(self.legend)
        self._foot.addWidget(self.activity, 1)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self.recording_bar)
        self._column.addWidget(self._split, 1)
        self._column.addLayout(self._foot)
        self.hover_card = HoverCard(screen, theme, self)
        self._dress()
        store.changed.connect(self._on_store)
        self._rebuild()

    # --- once a frame -------------------------------------------------------------------------------------------------

    @property
    def _panels(self) -> list[Panel]:
        return [*self.cards, self.race_chart, self.acceptance_chart, self.legend, self.hover_card]

    def refresh(self) -> None:
        for panel in self._panels:
            panel.refresh()

    # --- looks --------------------------------------------------------------------------------------------------------

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for panel in self._panels:
            panel.set_theme(theme)
        self.recording_bar.set_theme(theme)
        self._dress()

    def show_ghosts(self, shown: bool) -> None:
        self._ghosts = shown
        for card in self.cards:
            card.set_ghosts(shown)

    def show_prompt(self, shown: bool) -> None:
        self._prompt = shown
        for card in self.cards:
            card.set_prompt(shown)

    def state(self) -> dict[str, QByteArray]:
        return {"lanes": self._split.saveState() if self._split_by_hand else QByteArray(),
                "charts": self._charts.saveState()}

    def restore(self, lanes: QByteArray, charts: QByteArray) -> None:
        self._split_by_hand = self._split.restoreState(lanes)
        self._charts.restoreState(charts)

    def forget_store(self) -> None:
        """Before the view goes."""
        self._store.changed.disconnect(self._on_store)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._move_together()

    def _move_together(self) -> None:
        """How low the cards and charts may get: many lanes make room for one another before they scroll."""
        px, count = self._theme.px, max(1, len(self.cards))
        chart = px(CHART_HEIGHT if count <= FEW else LOW_CHART)
        room = self.height() - px(FURNITURE) - chart
        dense = count > FEW and room < count * px(LANE_HEIGHT + GAP)
        self._column.setContentsMargins(px(14), px(4 if dense else 8), px(14), px(0 if dense else 4))
        self._column.setSpacing(px(4 if dense else 8))
        self._split.setHandleWidth(px(DENSE_HANDLE if dense else HANDLE))
        self._lane_column.setSpacing(px(DENSE_GAP if dense else GAP))
        card = px(DENSE_LANE) if dense else px(LANE_HEIGHT)
        for one in self.cards:
            one.setMinimumHeight(card)
        for panel in (self.race_chart, self.acceptance_chart):
            panel.setMinimumHeight(chart)
        self._share_height()

    def _on_split_moved(self) -> None:
        self._split_by_hand = True

    def _share_height(self) -> None:
        """Until someone has moved the handle: the charts' share, or less where the lanes need the room."""
        if self._split_by_hand:
            return
        px, count, height = self._theme.px, max(1, len(self.cards)), self._split.height()
        height -= self._split.handleWidth()
        room = height - count * px(LANE_HEIGHT + GAP)
        if count > FEW:  # before charts are too low to be read, cards give way
            room = max(room, min(px(CHART_HEIGHT), height - self._least_lanes()))
        charts = max(self.race_chart.minimumHeight(), min(round(CHART_SHARE * height), room))
        self._split.setSizes([height - charts, charts])

    def _least_lanes(self) -> int:
        px, count = self._theme.px, max(1, len(self.cards))
        return count * px(DENSE_LANE) + (count - 1) * px(DENSE_GAP)

    # --- lanes --------------------------------------------------------------------------------------------------------

    def _on_store(self, change: Change) -> None:
        if change in ("run", "lanes"):
            self._rebuild()

    def _rebuild(self) -> None:
        """Cards for the store's lanes. Those that are right already stay, so that nothing flickers; a lane that comes
        later gets its card behind them."""
        lanes = [lane.id for lane in self._store.lanes]
        if [card.lane for card in self.cards] != lanes[: len(self.cards)] or not self._store.records():
            for card in self.cards:
                self._lane_column.removeWidget(card)
                card.hide()
                card.deleteLater()
            self.cards = []
        self.cards += [self._card(lane) for lane in lanes[len(self.cards):]]
        self.hover_card.hide()
        self._stack.setCurrentIndex(LANES if self.cards else NOTHING)
        self._move_together()

    def _card(self, lane: str) -> LaneCard:
        card = LaneCard(self._screen, self._theme, lane, guesses=partial(self._guesses, lane))
        card.set_ghosts(self._ghosts)
        card.set_prompt(self._prompt)
        card.hovered.connect(self.hover_card.show_cell)
        card.difference_wanted.connect(self.difference_wanted)
        self._lane_column.addWidget(card, 1)
        return card

    def _guesses(self, lane: str) -> tuple[str, ...]:
        state = self._store.lane(lane)
        return guesses(state.kind) if state is not None and state.kind else ()

    def _dress(self) -> None:
        px = self._theme.px
        self._foot.setSpacing(px(18))
        self._charts.setHandleWidth(px(HANDLE))
        self._move_together()
