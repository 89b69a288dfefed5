"""The state in words, to be read and copied, and beneath it what a person watches."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from engine.debugger.history import Moment
from engine.debugger.state_words import Fact, as_text, state_words
from widgets.copied_table import CopiedTable
from widgets.moment_card import MomentCard
from widgets.protocols import ThemeView
from widgets.watch_list import Evaluate, WatchList

LOW = 300
"""Logical pixels of height at scale 1: below, there isn't room for two lists that scroll by themselves."""
UNBOUND = (1 << 24) - 1
"""Qt's word for no largest size."""


class StatePanel(MomentCard[tuple[Fact, ...]]):
    watches_changed = Signal(object)
    """The watched expressions, a tuple of str."""

    def __init__(self, theme: ThemeView, evaluate: Evaluate, parent: QWidget | None = None) -> None:
        super().__init__(theme, "State", "What the lane knows at the cursor appears once a run has started.", parent)
        self.facts = CopiedTable(theme, "state of the lane", 0.4)
        self.facts.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)  # watches have precedence
        self.facts.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.facts.customContextMenuRequested.connect(self._on_menu)
        self.watch = WatchList(theme, evaluate)
        self.watch.changed.connect(self.watches_changed)
        self._room = QScrollArea()
        self._room.setFrameShape(QFrame.Shape.NoFrame)
        self._room.setWidgetResizable(True)
        self._room.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._room.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._room.viewport().setAutoFillBackground(False)
        contents = QWidget()
        self._stack = QVBoxLayout(contents)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.facts, 1)
        self._stack.addWidget(self.watch)
        self._room.setWidget(contents)
        contents.setAutoFillBackground(False)  # the card shines through
        self.facts.fitted.connect(self._fit)
        self.watch.table.fitted.connect(self._fit)
        self.hold(self._room)

    def show_moment(self, moment: Moment | None) -> None:
        super().show_moment(moment)
        self.watch.show_moment(moment)

    def read(self, moment: Moment) -> tuple[Fact, ...] | None:
        return state_words(moment) or None

    def present(self, model: tuple[Fact, ...], before: Moment | None) -> None:
        self.facts.show_rows(model)

    @property
    def watches(self) -> tuple[str, ...]:
        return self.watch.watches

    def set_watches(self, watches: Sequence[str]) -> None:
        self.watch.set_watches(watches)

    def text(self) -> str:
        """Facts and watched values, for the clipboard."""
        watched = [f"{expression} = {value}" for expression, value in self.watch.table.rows()]
        return "\n".join([as_text(self.model or ()), *watched])

    def restyle(self) -> None:
        self._stack.setSpacing(self.theme.px(10))
        self.facts.set_theme(self.theme)
        self.watch.set_theme(self.theme)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Where the panel is low, both lists stand at full height and scroll as one; else the facts take what the
        watches leave and scroll by themselves."""
        low = self.height() < self.theme.px(LOW)
        least = self.facts.whole_height() if low else self.theme.px(64)
        self.facts.setMinimumHeight(least)
        self.facts.setMaximumHeight(least if low else UNBOUND)
        self.watch.table.show_all(low)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(330), self.theme.px(360))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(240), self.theme.px(120))

    def _on_menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        chosen = menu.addAction("Copy chosen rows") if self.facts.selectedIndexes() else None
        menu.addAction("Copy all")
        picked = menu.exec(self.facts.viewport().mapToGlobal(point))
        if picked is not None:
            QGuiApplication.clipboard().setText(self.facts.copied() if picked is chosen else self.text())
        menu.deleteLater()
