"""What all widgets share: they are handed the store and the theme, and repaint at most once a frame, if visible."""

from __future__ import annotations

from typing import cast

from PySide6.QtWidgets import QWidget

from widgets.protocols import StoreView, ThemeView


class Panel:
    """Mix into a QWidget class (named first) and call :meth:`init_panel` in its constructor.

    The window's one timer calls :meth:`refresh` each frame. Nothing happens unless the store has changed, or
    :meth:`mark_dirty` was called, and the widget can be seen; then :meth:`sync` brings it up to date.
    """

    store: StoreView
    theme: ThemeView
    _seen: int
    _dirty: bool

    def init_panel(self, store: StoreView, theme: ThemeView) -> None:
        self.store = store
        self.theme = theme
        self._seen = -1
        self._dirty = True

    def mark_dirty(self) -> None:
        self._dirty = True

    def refresh(self) -> None:
        if not cast(QWidget, self).isVisible():
            return
        revision = self.store.revision
        if self._dirty or revision != self._seen:
            self._dirty = False
            self._seen = revision
            self.sync()

    def sync(self) -> None:
        """Bring the widget up to date with the store. By default all is painted anew."""
        cast(QWidget, self).update()

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.restyle()
        self.mark_dirty()

    def restyle(self) -> None:
        """Take over fonts and colours of the theme."""
