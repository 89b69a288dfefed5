"""One lane: what it is, how fast it is, its tokens and its rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication, QPalette, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from widgets import lane_figures
from widgets.card import Card
from widgets.figures import ElidedLabel, Figure, Swatch
from widgets.panel import lane_version
from widgets.protocols import LaneView, StoreView, ThemeView
from widgets.round_ribbon import RoundRibbon
from widgets.token_stream import TokenStream

NARROW = 700
"""Logical pixels (at scale 1) under which the smaller figures give way."""
TIGHT, DENSE = 190, 104
"""Heights (at scale 1) under which margins give way; and the figures' size and the second line of text."""


class LaneCard(Card):
    hovered = Signal(str, object, QPoint)
    """Lane id, the cell under the mouse or None, and where on the whole screen."""
    difference_wanted = Signal(str)
    """The lane parts from plain decoding, and someone wants to see where."""

    def __init__(self, store: StoreView, theme: ThemeView, lane: str, parent: QWidget | None = None, *,
                 guesses: Callable[[], Sequence[str]] = tuple) -> None:
        """``guesses``: how the lane's method guesses, from more words to fewer, for where its own sentence has no
        room."""
        super().__init__(store, theme, parent)
        self.lane = lane
        self._guesses = guesses
        self.stream = TokenStream(store, theme, lane)
        self.ribbon = RoundRibbon(store, theme, lane)
        self.stream.hovered.connect(self._pass_on)
        self._swatch = Swatch(theme, 0)
        self._title = ElidedLabel(theme, "title", "text", yields=False)
        self._about = ElidedLabel(theme, "body", "dim")
        self._verdict = ElidedLabel(theme, "small", "warning", yields=False)
        self._verdict.hide()
        self._status = ElidedLabel(theme, "small", "dim", yields=False)
        self._status.clicked.connect(self._on_status)
        self._rounds = Figure(theme, "figure", "rounds", "000")
        self._acceptance = Figure(theme, "figure", "α", "0.00")
        self._mean = Figure(theme, "figure", "tokens a round", "0.00")
        self._speed = Figure(theme, "big_figure", "tok/s", "00.0")
        self._speedup = Figure(theme, "big_figure", "", "0.00×")
        self._small = (self._rounds, self._acceptance, self._mean)
        self._figures = (*self._small, self._speed, self._speedup)
        self._failure = _Failure(theme)
        self._failure.hide()
        self._notice = QLabel()
        self._notice.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._notice.setWordWrap(True)
        self._body = QStackedWidget()
        for page in (self.stream, self._notice):
            self._body.addWidget(page)
        self._said = ""
        """How exact it is, in a sentence."""
        self._arranged: tuple[bool, bool, float] | None = None
        self._lay_out()
        self.restyle()

    def set_ghosts(self, shown: bool) -> None:
        self.stream.set_ghosts(shown)

    def set_prompt(self, shown: bool) -> None:
        self.stream.set_prompt(shown)

    # Once a frame: the parts are refreshed here, so that a window need only know its cards

    def refresh(self) -> None:
        super().refresh()
        self.stream.refresh()
        self.ribbon.refresh()

    def version(self) -> object:
        plain = self.store.plain
        return lane_version(self.store, self.lane), plain.revision if plain is not None else 0

    def sync(self) -> None:
        lane = self.store.lane(self.lane)
        if lane is None:
            return
        self._title.set_whole(lane.title if lane.plain or not lane.gamma else f"{lane.title} · γ {lane.gamma}")
        verdict, sentence = lane_figures.exactness(self.store, lane)
        self._said = sentence
        self._verdict.set_whole(verdict, sentence)
        self._verdict.setVisible(bool(verdict))
        self._swatch.set_look(self.theme, lane.look)
        self.setAccessibleName(lane.title)
        for figure, shown in zip(self._figures, (
                lane_figures.rounds(lane), lane_figures.acceptance(lane), lane_figures.tokens_a_round(lane),
                lane_figures.speed(lane), lane_figures.speedup(self.store, lane)), strict=True):
            figure.set(shown.value, shown.tooltip, shown.tone, shown.unit)
        self._show_body(lane)
        self._arrange()

    def _show_body(self, lane: LaneView) -> None:
        """Tokens, as soon as there are any; a failure is told above them, so that none is hidden by it."""
        failed = lane.status == "failed"
        self._failure.setVisible(failed)
        if failed:
            self._failure.show_failure(lane.message or "It failed, and nothing is known of why.", lane.details)
        page: QWidget = self.stream
        if not lane.committed and len(lane.cells) <= (lane.started is not None and bool(lane.started.prompt_text)):
            page = self._notice
            self._notice.setText({
                "waiting": "Waits for its turn.", "prefilling": "Reads the prompt …", "failed": "",
                "running": "The first token is on its way …", "stopped": "Stopped before its first token.",
            }.get(lane.status, "It ended without a token."))
        self._body.setCurrentWidget(page)
        self._show_link(self.store.divergence(self.lane) is not None)

    def _show_link(self, parted: bool) -> None:
        tone = "link" if parted else "dim"
        if tone != self._status.tone:
            self._status.tone = tone
            self._status.set_theme(self.theme)
            self._status.setCursor(Qt.CursorShape.PointingHandCursor if parted else Qt.CursorShape.ArrowCursor)

    def _on_status(self) -> None:
        if self.store.divergence(self.lane) is not None:
            self.difference_wanted.emit(self.lane)

    # Looks

    def restyle(self) -> None:
        theme = self.theme
        self.stream.set_theme(theme)
        self.ribbon.set_theme(theme)
        for part in (self._title, self._about, self._verdict, self._status, *self._figures, self._failure):
            part.set_theme(theme)
        self._notice.setFont(theme.font("body"))
        palette = QPalette(self._notice.palette())
        palette.setColor(QPalette.ColorRole.WindowText, theme.colour("dim"))
        self._notice.setPalette(palette)
        self._header.setSpacing(theme.px(10))
        self._arranged = None
        self._arrange()
        self.update()

    def _lay_out(self) -> None:
        self._header = QHBoxLayout()
        self._header.setContentsMargins(0, 0, 0, 0)
        for part in (self._swatch, self._title, self._about, self._verdict, self._status):
            self._header.addWidget(part)
        self._header.addStretch(1)
        self._right = QHBoxLayout()
        for figure in self._figures:
            self._right.addWidget(figure)
        self._header.addLayout(self._right)
        self._body.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._header)
        self._column.addWidget(self._failure)
        self._column.addWidget(self._body, 1)
        self._column.addWidget(self.ribbon)

    def _arrange(self) -> None:
        """Give way where room is short: first the smaller figures, then margins."""
        px = self.theme.px
        lane = self.store.lane(self.lane)
        narrow = self.width() < px(NARROW)
        for figure in self._small:
            figure.setVisible(not narrow and not (lane is not None and lane.plain and figure is not self._rounds))
        tight, dense = self.height() < px(TIGHT), self.height() < px(DENSE)
        failed = dense and lane is not None and lane.status == "failed"
        self.ribbon.setVisible(not failed)  # why is worth more than when, where there is no room for both
        self._body.setVisible(not failed or self._body.currentWidget() is self.stream)
        if (tight, dense, self.theme.scale) != self._arranged:
            self._arranged = (tight, dense, self.theme.scale)
            self._settle(tight, dense)
        if lane is not None:
            self._put_words(lane)

    def _settle(self, tight: bool, dense: bool) -> None:
        px = self.theme.px
        self.setMinimumWidth(px(480))  # less than the layout asks for with all figures: they give way instead
        top, bottom = (1, 3) if dense else (6, 8) if tight else (12, 14)
        self._column.setContentsMargins(px(18), px(top), px(14), px(bottom))
        self._column.setSpacing(px(0 if dense else 2 if tight else 8))
        self._right.setSpacing(px(16 if tight else 22))
        for figure in self._figures:
            figure.role = ("title" if figure in self._small else "headline") if dense else (
                "figure" if figure in self._small else "big_figure")
            figure.set_theme(self.theme)
        self.stream.set_least(1 if dense else 2)
        self.ribbon.set_height(10 if dense else 16)
        self._failure.set_dense(dense)

    def _put_words(self, lane: LaneView) -> None:
        """The most words that leave the figures whole: how it guesses gives way before how it does, that at last."""
        abouts = (lane.about, *self._guesses())
        bare = self._body.currentWidget() is self._notice and lane.status != "failed"
        states = ("",) if bare else lane_figures.status(self.store, lane)
        pairs = [*((about, states[0]) for about in abouts), *((abouts[-1], state) for state in states[1:])]
        room = self.width() - self._taken()
        about, state = next((pair for pair in pairs if self._long(*pair) <= room), pairs[-1])
        self._about.set_whole(about, "\n".join(filter(None, (abouts[0] if about != abouts[0] else "", self._said))))
        self._about.setAccessibleName(abouts[0])
        self._status.set_whole(state, states[0] if state != states[0] else "")
        self._status.setVisible(bool(state))

    def _long(self, about: str, state: str) -> int:
        """Logical pixels that these words take."""
        return sum(label.fontMetrics().horizontalAdvance(words) + 2 + self._header.spacing()
                   for label, words in ((self._about, about), (self._status, state)) if words)

    def _taken(self) -> int:
        """Logical pixels of the header that are no words."""
        margins, figures = self._column.contentsMargins(), [f for f in self._figures if not f.isHidden()]
        shown = [self._swatch, self._title, *([] if self._verdict.isHidden() else [self._verdict])]
        return (margins.left() + margins.right() + sum(one.sizeHint().width() for one in (*shown, *figures))
                + self._header.spacing() * (len(shown) + 1) + self._right.spacing() * (len(figures) - 1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()
        super().resizeEvent(event)

    def _pass_on(self, cell: object, point: QPoint) -> None:
        self.hovered.emit(self.lane, cell, point)


class _Failure(QWidget):
    """Why a lane failed and what to do; the details can be copied."""

    def __init__(self, theme: ThemeView) -> None:
        super().__init__()
        self._icon = QLabel()
        self._message = QLabel()
        self._message.setWordWrap(True)
        self._message.setTextFormat(Qt.TextFormat.PlainText)
        self._message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._message.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._line = ElidedLabel(theme, "body", "text")
        self._line.hide()
        self._copy = QPushButton("Copy details")
        self._copy.clicked.connect(self._copy_details)
        self._details = ""
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(theme.px(10))
        layout.addWidget(self._icon)
        layout.addWidget(self._message, 1)
        layout.addWidget(self._line, 1)
        layout.addWidget(self._copy)
        self._layout = layout
        self.set_dense(False)
        self.set_theme(theme)

    def show_failure(self, message: str, details: str) -> None:
        self._message.setText(message)
        self._message.setToolTip(message)
        self._line.set_whole(message)
        self._details = f"{message}\n\n{details}".strip()

    def set_dense(self, dense: bool) -> None:
        """On one line, the rest in its tooltip, where there is no room for more."""
        for part in (self._icon, self._copy):
            self._layout.setAlignment(part, Qt.AlignmentFlag.AlignVCenter if dense else Qt.AlignmentFlag.AlignTop)
        self._message.setVisible(not dense)
        self._line.setVisible(dense)
        self._layout.setContentsMargins(0, 0 if dense else 4, 0, 0)

    def set_theme(self, theme: ThemeView) -> None:
        self._line.set_theme(theme)
        size = theme.px(20)
        self._icon.setPixmap(theme.pixmap("warning", "danger", size, self.devicePixelRatioF()))
        self._copy.setIcon(theme.icon("copy"))
        font = QFont(theme.font("body"))
        self._message.setFont(font)
        palette = QPalette(self._message.palette())
        palette.setColor(QPalette.ColorRole.WindowText, theme.colour("text"))
        self._message.setPalette(palette)

    def _copy_details(self) -> None:
        QGuiApplication.clipboard().setText(self._details)
