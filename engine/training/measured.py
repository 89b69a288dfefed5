"""Agreement with the target on held-out answers, teacher-forced: what α will be about, without decoding."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Measured:
    """Sums over the answers' positions, by place in the draft, from 0."""

    rows: dict[int, float] = field(default_factory=dict)
    hits: dict[int, float] = field(default_factory=dict)
    overlap: dict[int, float] = field(default_factory=dict)

    def add(self, place: int, rows: int, hits: float, overlap: float) -> None:
        """``hits``: at how many rows the drafter's most probable token is the target's; ``overlap``: the sum of
        Σ min(p, q)."""
        for sums, value in ((self.rows, rows), (self.hits, hits), (self.overlap, overlap)):
            sums[place] = sums.get(place, 0.0) + value

    @property
    def greedy(self) -> list[float]:
        """Share accepted at temperature 0, by place, had all drafts before it been accepted."""
        return [self.hits[i] / max(1.0, self.rows[i]) for i in sorted(self.rows)]

    @property
    def sampled(self) -> list[float]:
        """The same at temperature 1."""
        return [self.overlap[i] / max(1.0, self.rows[i]) for i in sorted(self.rows)]
