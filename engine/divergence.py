"""Where a greedy lane parts from plain decoding, and whether that is a near-tie or a fault.

In half precision a forward of another width may move each logit a little; the start-up check measures by how much, at
most. If the two best logits of the plain run are at most twice that apart, one may have moved up and the other down,
and the order flips without anything being wrong: a near-tie. Anything else is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Divergence:
    index: int
    """Of the first output token that differs."""
    token: int | None
    """The lane's; None when its output ended there."""
    plain_token: int | None
    gap: float | None
    """Difference of the plain run's two best logits there; None where one of the two outputs had ended."""
    near_tie: bool

    @property
    def sentence(self) -> str:
        gap = "" if self.gap is None else f", gap {self.gap:.3g}"
        return f"parts from plain at token {self.index}{gap}: {'near-tie' if self.near_tie else 'fault'}"


def first_divergence(ours: Sequence[int], theirs: Sequence[int], gaps: Sequence[float], row_difference: float, *,
                     ended: bool, start: int = 0) -> Divergence | None:
    """Compare a lane's output ids with the plain lane's, from index ``start`` on. ``gaps``: the plain lane's, one a
    token. ``ended``: both are complete, so that another length is a difference too."""
    for index in range(start, min(len(ours), len(theirs))):
        if ours[index] != theirs[index]:
            gap = gaps[index] if index < len(gaps) else None
            return Divergence(index, ours[index], theirs[index], gap, gap is not None and gap <= 2 * row_difference)
    if ended and len(ours) != len(theirs):
        index = min(len(ours), len(theirs))
        return Divergence(index, next(iter(ours[index:]), None), next(iter(theirs[index:]), None), None, False)
    return None
