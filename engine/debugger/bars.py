"""One token at one position: what the bars of a chart show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal["drafted", "drawn", "best"]
"""Drafted: y itself. Drawn: the correction, bonus or plain token. Best: the target's argmax."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One token at this position."""

    token: int
    label: str
    p: float | None
    """None: unknown, or not computed yet; so too q, or nothing was proposed."""
    q: float | None
    residual: float | None
    """max(p − q, 0) / (1 − overlap): its share of what a correction is drawn from; None where there is no residual."""
    marks: frozenset[Mark] = frozenset()
