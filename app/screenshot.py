"""``--screenshot``: a picture of the window as it runs, after a while, then the program ends."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QSize, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from engine.errors import SpecScopeError

DEFAULT_AFTER = 4.0
WIDTH_HEIGHT = tuple[int, int]


def fit(window: QWidget, pixels: WIDTH_HEIGHT) -> None:
    """Make the picture that many pixels: on a screen of ratio 2, half as many of Qt's."""
    ratio = window.devicePixelRatioF()
    window.resize(QSize(round(pixels[0] / ratio), round(pixels[1] / ratio)))


def save_picture(window: QWidget, path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise SpecScopeError(f"The picture {path} must have a name that ends in .png.")
    # Between a text that has changed and the next repaint: its label would be shown in the old one's room, cut off.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    if not window.grab().save(str(path), "PNG"):
        raise SpecScopeError(f"The picture {path} could not be written; check that its folder exists and is writable.")


class Photographer:
    """Takes the picture when the time has come. ``problem`` is what went wrong, to be raised once Qt has ended."""

    def __init__(self, window: QWidget, path: Path, after: float) -> None:
        self.problem: SpecScopeError | None = None
        self._window = window
        self._path = path
        QTimer.singleShot(round(1000 * after), window, self._take)

    def give_up(self, reason: str) -> None:
        """What was to be seen can't be shown: no picture, and no wait for one."""
        self.problem = self.problem or SpecScopeError(reason)
        self._leave()

    def _take(self) -> None:
        if self.problem is not None:
            return
        try:
            save_picture(self._window, self._path)
        except SpecScopeError as error:
            self.problem = error
        self._leave()

    def _leave(self) -> None:
        self._window.close()
        QApplication.quit()
