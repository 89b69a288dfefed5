"""When things happened: the shown lane's steps as slices, a row a kind, and plain decoding's steps beneath them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from engine.debugger.history import History, Moment
from engine.debugger.round_rows import round_row
from widgets.card import Card, CardTitle
from widgets.protocols import LaneView, StoreView, ThemeView
from widgets.rounds_menu import RoundMenu
from widgets.timeline_canvas import TimelineCanvas
from widgets.timeline_tracks import Track
from widgets.timeline_words import headline, under_way

NO_LANE = ("No lane is shown", "Run something, or open a recording: its steps appear here as they happen.")
NOTHING_YET = ("No round has ended yet", "Step, or continue: each round’s draft, verify, judge and commit appear here.")
NO_TIMES = ("This recording doesn’t tell how long anything took",
            "It comes from a format that holds no times. All else can be stepped and inspected.")


class Timeline(Card):
    """Whoever shows a lane calls :meth:`show_lane` each frame: it costs next to nothing when nothing has changed."""

    selected = Signal(int, int)
    """A click: this round, and which draft of it (−1: none). Both count from 0."""
    breakpoint_wanted = Signal(object)
    """A condition to stop at; see :func:`widgets.rounds_menu.offers`."""

    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None) -> None:
        self._dressing: QTimer | None = None
        super().__init__(store, theme, parent)
        self._tracks: WeakKeyDictionary[LaneView, Track] = WeakKeyDictionary()
        self._told: object = None
        self._moment: Moment | None = None
        self._history: History | None = None
        self._title = CardTitle(theme, "Timeline", "")
        self.canvas = TimelineCanvas(theme)
        self._buttons: list[tuple[QToolButton, str]] = []
        head = self._head = QHBoxLayout()
        head.addWidget(self._title, 1)
        for icon, tip, action in (("minus", "Show more time (−)", self._zoom_out), ("plus", "Show less time (+)",
                                  self._zoom_in), ("", "Show the whole lane (0, or double click)", self.canvas.fit)):
            button = QToolButton()
            button.setProperty("kind", "flat")
            button.setToolTip(tip)
            button.setAccessibleName(tip)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the slices take all keys
            button.clicked.connect(action)
            head.addWidget(button)
            self._buttons.append((button, icon))
        self._buttons[-1][0].setText("Fit")
        self._column = QVBoxLayout(self)
        self._column.addLayout(head)
        self._column.addWidget(self.canvas, 1)
        self.canvas.selected.connect(self.selected)
        self.canvas.pointed.connect(self._on_pointed)
        self.restyle()
        self._dressing = QTimer(self)
        self._dressing.setSingleShot(True)
        self._dressing.timeout.connect(self.restyle)
        self.show_lane(None, None, None)

    def restyle(self) -> None:
        px = self.theme.px
        self._column.setContentsMargins(px(14), px(8), px(12), px(6))
        self._column.setSpacing(px(4))
        self._head.setSpacing(px(2))
        for button, icon in self._buttons:
            button.setFont(self.theme.font("small"))
            button.setFixedHeight(px(24))
            if icon:
                button.setIcon(self.theme.icon(icon, "dim"))
                button.setIconSize(QSize(px(14), px(14)))
        self._title.set_theme(self.theme)
        self.canvas.set_theme(self.theme)

    def changeEvent(self, event: QEvent) -> None:
        """Another parent or style sheet above makes all within fall back to their first fonts and colours, after this
        is told; so they are set anew."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and self._dressing is not None:
            self._dressing.start()

    def version(self) -> object:
        """Nothing of the store by itself: the lane and the moment are handed to it."""
        return None

    # What is shown

    def show_lane(self, lane: LaneView | None, plain: LaneView | None, moment: Moment | None) -> None:
        """``plain``: the lane to show beneath, if there is one and it isn't ``lane`` itself. ``moment``: of ``lane``;
        None: all that has happened."""
        plain = None if plain is lane else plain
        told = (lane, lane.revision if lane is not None else 0, plain, plain.revision if plain is not None else 0,
                moment.index if moment is not None else -1)
        if told == self._told:
            return
        self._told, self._moment = told, moment
        self._history = moment.history if moment is not None else self._history
        track, beneath = self._track(lane), self._track(plain)
        timed = len(beneath) > 0 and beneath.timed
        self.canvas.message = self._missing(lane, track, moment)
        self.canvas.show_tracks(lane, track, plain if timed else None, beneath if timed else None, moment)
        self._say()

    def choose(self, round: int | None, index: int = -1) -> None:
        """Frame this round (and draft) and tell its figures; None: the moment's."""
        self.canvas.choose(round, index)
        self._say()

    def _track(self, lane: LaneView | None) -> Track:
        if lane is None:
            return Track()
        track = self._tracks.get(lane)
        if track is None:
            track = self._tracks[lane] = Track()
        track.catch_up(lane.records)
        return track

    def _missing(self, lane: LaneView | None, track: Track, moment: Moment | None) -> tuple[str, str] | None:
        if lane is None:
            return NO_LANE
        if lane.started is not None and "seconds" in lane.started.unknown:
            return NO_TIMES
        under_way = moment is not None and moment.round is not None
        return None if len(track) or under_way else NOTHING_YET

    def _say(self) -> None:
        canvas = self.canvas
        round = canvas.framed
        if canvas.message is not None:
            self._title.set_remark("")
        elif round is not None and round < len(canvas.track):
            self._title.set_remark(headline(canvas.track, round, canvas.reached))
        elif self._moment is not None and self._moment.round is not None:
            self._title.set_remark(under_way(self._moment))
        else:
            self._title.set_remark(f"{len(canvas.track):,} rounds recorded")
        for button, _ in self._buttons:
            button.setEnabled(canvas.message is None)

    def _zoom_in(self) -> None:
        self.canvas.zoom(1 / 1.5)

    def _zoom_out(self) -> None:
        self.canvas.zoom(1.5)

    def _on_pointed(self, round: int, at: QPoint) -> None:
        menu = self.menu(round)
        if menu is not None:
            menu.popup(at)

    def menu(self, round: int) -> RoundMenu | None:
        """What a right click on that round offers; None while it hasn't ended."""
        if self._history is None or round >= len(self._history.ends):
            return None
        menu = RoundMenu(round_row(self._history, round), self)
        menu.wanted.connect(self.breakpoint_wanted)
        return menu
