"""What a lane is shown by: its tokens as cells, its finished rounds as summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.debugger.history import RoundSoFar
from engine.records import FinalKind, Timings, Totals

CellKind = Literal["prompt", "plain", "accepted", "rejected", "void", "pending", "correction", "bonus"]

NEVER = 2**62
"""A serial number no record reaches: "not yet judged"."""


@dataclass(slots=True, eq=False)
class Cell:
    """One token on screen: of the prompt, committed, or only proposed. ``None`` means not known or not applicable."""

    id: int
    text: str
    """What it adds to the output (a ghost: what it would have added); a sign in its place where texts are unknown."""
    label: str
    """Readable on its own: spaces, newlines and bytes shown."""
    kind: CellKind
    round: int
    index: int
    """Which draft of its round it was; -1 for a token that was not drafted."""
    position: int
    p: float | None = None
    q: float | None = None
    overlap: float | None = None
    draw: float | None = None
    """The draw of the test (a draft) or of the choice (correction, bonus, plain)."""
    draft_draw: float | None = None
    """The draw by which the drafter chose it."""
    best: int | None = None
    """The target's argmax at its position."""
    seconds: float | None = None
    """Its draft step."""
    source: str = ""
    tree: str = ""
    """Of the first one in sight of a tree: how large it is."""
    aside: bool = False
    """A draft of a tree, off the way that was tested: the stream, a line of text, has no place for it."""
    born: int = 0
    judged: int = NEVER


@dataclass(frozen=True, slots=True)
class RoundSummary:
    """One finished round."""

    round: int
    position: int
    """Of its first committed token."""
    k: int
    tested: int
    accepted: int
    committed: int
    final: FinalKind
    first_cell: int
    last_cell: int
    """Its cells are ``cells[first_cell:last_cell]``: drafts in order, then the correction, bonus or plain token."""
    start: float
    """On the lane's own clock, prefill included."""
    seconds: Timings
    serial: int
    """Of its ``Committed``."""
    totals: Totals
    """After it."""
    depth: int = 0
    """Levels of its tree; 0: it drafted a chain, or nothing."""

    @property
    def rejected(self) -> int:
        return self.tested - self.accepted

    @property
    def void(self) -> int:
        """Drafted, but never tested: an earlier draft of the round was rejected (or the run ended)."""
        return self.k - self.tested


def show_tree(round: RoundSoFar, cells: Sequence[Cell]) -> None:
    """Which of a tree round's drafts are in sight, and which one carries the tree's mark."""
    first = min(round.in_sight, default=-1)
    for cell in cells:
        if cell.index >= 0:
            cell.aside = cell.index not in round.in_sight
            cell.tree = round.tree_size if cell.index == first else ""
