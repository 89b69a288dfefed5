"""What a right click on a round offers: to stop there, or wherever it is like there."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from engine.debugger.combined import AnyCondition
from engine.debugger.conditions import (
    FewerAccepted,
    LowOverlap,
    LowRatio,
    LowResidual,
    RoundReached,
    SlowerThanMedian,
    SlowRound,
)
from engine.debugger.round_rows import RoundRow


def offers(row: RoundRow) -> list[AnyCondition]:
    """Conditions that this very round meets, as a rule, so that others like it are found."""
    found: list[AnyCondition] = [RoundReached(number=row.round + 1)]
    if row.seconds is not None and row.seconds.total >= 1e-4:
        found += [SlowRound(milliseconds=math.floor(1e4 * row.seconds.total) / 10), SlowerThanMedian(times=2.0)]
    if row.rejected:
        found.append(FewerAccepted(count=row.accepted + 1))
    bounds: tuple[tuple[float | None, float, Callable[[float], AnyCondition]], ...] = (
        (row.overlap, 1.0, lambda below: LowOverlap(below=below)),
        (row.ratio, 1e6, lambda below: LowRatio(below=below)),
        (row.residual_mass, 1.0, lambda below: LowResidual(below=below)))
    for value, most, make in bounds:
        below = _above(value) if value is not None else 0.0
        if 0 < below <= most:
            found.append(make(below))
    return found


def _above(value: float) -> float:
    """The next number of two digits above it."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{(math.floor(value / unit) + 1) * unit:.6g}")


class RoundMenu(QMenu):
    wanted = Signal(object)
    """The condition that was chosen."""

    def __init__(self, row: RoundRow, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._offers = offers(row)
        for place, condition in enumerate(self._offers):
            self.addAction(f"Break when {condition.words}").setData(place)
        self.triggered.connect(self._on_choice)

    def _on_choice(self, action: QAction) -> None:
        place = action.data()
        if isinstance(place, int):
            self.wanted.emit(self._offers[place])
