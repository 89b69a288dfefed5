"""What a right click on a round offers: stop there, or wherever it is like there."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from engine.debugger.round_rows import RoundRow


class Offer(NamedTuple):
    """A breakpoint that can be had: the menu's words, and a plain description of it."""

    text: str
    breakpoint: tuple[str, float]


def offers(row: RoundRow) -> list[Offer]:
    """Of a round. Descriptions: ("round", n) counted from 0 as records are; ("slower", ms); ("slower than median",
    times); ("fewer accepted", n); ("overlap below", x); ("p/q below", x); ("residual below", x)."""
    found = [Offer(f"Break at round {row.round + 1:,}", ("round", row.round))]
    if row.seconds is not None:
        ms = 1e3 * row.seconds.total
        found.append(Offer(f"Break when a round takes {ms:.1f} ms or longer", ("slower", round(ms, 1))))
        found.append(Offer("Break when a round takes twice the median", ("slower than median", 2.0)))
    if row.rejected:
        found.append(Offer(f"Break when fewer than {row.accepted + 1} are accepted",
                           ("fewer accepted", row.accepted + 1)))
    below = (("overlap", "overlap below", row.overlap), ("p/q", "p/q below", row.ratio),
             ("residual mass", "residual below", row.residual_mass))
    for name, kind, value in below:
        if value is not None and value > 0:
            bound = float(f"{1.0001 * value:.3g}")
            bound = bound if bound > value else float(f"{1.01 * value:.3g}")
            found.append(Offer(f"Break when {name} < {bound:g}", (kind, bound)))
    return found


class RoundMenu(QMenu):
    wanted = Signal(object)
    """The description of the breakpoint that was chosen."""

    def __init__(self, row: RoundRow, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._offers = offers(row)
        for place, offer in enumerate(self._offers):
            self.addAction(offer.text).setData(place)
        self.triggered.connect(self._on_choice)

    def _on_choice(self, action: QAction) -> None:
        place = action.data()
        if isinstance(place, int):
            self.wanted.emit(self._offers[place].breakpoint)
