"""Target's and drafter's key-value slots as cells; a commit's cut is seen to happen."""

from __future__ import annotations

import time

from PySide6.QtCore import QEasingCurve, QSize, QVariantAnimation
from PySide6.QtWidgets import QWidget

from engine.debugger.cache_cells import CacheCells, cache_cells
from engine.debugger.history import Moment
from widgets.cache_grid import CacheGrid
from widgets.moment_card import MomentCard
from widgets.protocols import ThemeView

CUT_MS = 220
HURRIED = 0.35
"""Seconds: who steps faster than this wants no animation."""
ONE_STEP = 3
"""Records at most: a step may pass a vocabulary record or two."""


class CachePanel(MomentCard[CacheCells]):
    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Cache", "The slots of the two caches appear once a run has started.", parent)
        self.grid = CacheGrid(theme)
        self._stepped = 0.0
        self._cut = QVariantAnimation(self)
        self._cut.setStartValue(0.0)
        self._cut.setEndValue(1.0)
        self._cut.setDuration(CUT_MS)
        self._cut.setEasingCurve(QEasingCurve.Type.InOutQuad)
        self._cut.valueChanged.connect(self.grid.set_progress)
        self.hold(self.grid)

    def show_moment(self, moment: Moment | None) -> None:
        super().show_moment(moment)
        self._stepped = time.monotonic()

    def read(self, moment: Moment) -> CacheCells | None:
        return cache_cells(moment)

    def present(self, model: CacheCells, before: Moment | None) -> None:
        self._cut.stop()
        self.grid.show_cells(model, self.moment)
        if self._calmly_forward(before) and model.target.count("cut") + model.drafter.count("cut"):
            self._cut.start()
        else:
            self.grid.set_progress(1.0)

    @property
    def animating(self) -> bool:
        return self._cut.state() == QVariantAnimation.State.Running

    def _calmly_forward(self, before: Moment | None) -> bool:
        """Is this one step onwards, on a screen that someone is looking at and at a pace that lets them?"""
        now = self.moment
        return (before is not None and now is not None and before.lane == now.lane and self.isVisible()
                and 0 < now.index - before.index <= ONE_STEP and time.monotonic() - self._stepped > HURRIED)

    def restyle(self) -> None:
        self.grid.set_theme(self.theme)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(330), self.theme.px(280))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(220), self.theme.px(170))
