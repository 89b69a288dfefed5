"""What all widgets share: they are handed the store and the theme, and repaint at most once a frame, if visible."""

from __future__ import annotations

import time
from typing import cast

from PySide6.QtWidgets import QWidget

from widgets.protocols import StoreView, ThemeView


class Panel:
    """Mix into a QWidget class (named first) and call :meth:`init_panel` in its constructor.

    The window's one timer calls :meth:`refresh` each frame. Nothing happens unless what the widget shows has changed
    (see :meth:`version`), or :meth:`mark_dirty` was called, and the widget can be seen; then :meth:`sync` brings it
    up to date.
    """

    PAUSE = 0.0
    """Least seconds between two updates that only new records ask for: a chart needn't move sixty times a second."""

    store: StoreView
    theme: ThemeView

    def init_panel(self, store: StoreView, theme: ThemeView) -> None:
        self.store = store
        self.theme = theme
        self._seen: object = None
        self._dirty = True
        self._synced = 0.0

    def mark_dirty(self) -> None:
        self._dirty = True

    def refresh(self) -> None:
        if not cast(QWidget, self).isVisible():
            return
        version, now = self.version(), time.monotonic()
        if self._dirty or (version != self._seen and now - self._synced >= self.PAUSE):
            self._dirty = False
            self._seen = version
            self._synced = now
            self.sync()

    def version(self) -> object:
        """Whatever is different once the widget would look different. By default: anything in the store."""
        return self.store.revision

    def sync(self) -> None:
        """Bring the widget up to date with the store. By default all is painted anew."""
        cast(QWidget, self).update()

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.restyle()
        self.mark_dirty()

    def restyle(self) -> None:
        """Take over fonts and colours of the theme."""


def lane_version(store: StoreView, lane: str) -> object:
    """For widgets that show one lane and the selection: other lanes' records leave them alone."""
    state = store.lane(lane)
    return state, state.revision if state is not None else 0, store.selection
