"""A finished round as one row of figures: what the rounds table lists, sorts and filters by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.debugger.history import History, RoundSoFar
from engine.records import RunStarted, Timings, Totals


@dataclass(frozen=True, slots=True)
class RoundRow:
    """``None``: not known, or there is no such thing in this round."""

    round: int
    """From 0."""
    position: int
    """Of its first committed token."""
    k: int
    tested: int
    accepted: int
    committed: int
    final: str
    committed_text: str | None
    drafted_texts: tuple[str, ...] | None
    p: float | None
    """Of the last tested draft, as q, overlap and draw."""
    q: float | None
    overlap: float | None
    """Σ min(p, q) over the whole vocabulary."""
    draw: float | None
    """u of the test u·q(y) < p(y)."""
    residual_mass: float | None
    """Σ max(p − q, 0) where the correction was drawn."""
    seconds: Timings | None
    totals: Totals
    """After this round."""

    @property
    def rejected(self) -> int:
        return self.tested - self.accepted

    @property
    def void(self) -> int:
        """Drafted but never tested."""
        return self.k - self.tested

    @property
    def ratio(self) -> float | None:
        """p/q of the last tested draft: below 1 it is accepted with just that probability."""
        return self.p / self.q if self.p is not None and self.q else None

    @property
    def alpha(self) -> float | None:
        """Accepted drafts / tested drafts of all rounds up to this one."""
        return self.totals.acceptance_rate


def round_row(history: History, number: int) -> RoundRow:
    """Of a finished round of a lane, counted from 0. Raises IndexError for one that hasn't ended."""
    if not 0 <= number < len(history.ends):
        raise IndexError(f"round {number} hasn't ended; {len(history.ends)} have")
    return _row(history.round(number), history.totals_after(number + 1), _unknown(history))


def _unknown(history: History) -> tuple[str, ...]:
    for record in history.records[:2]:
        if isinstance(record, RunStarted):
            return record.unknown
    return ()


def _row(round: RoundSoFar, totals: Totals, unknown: tuple[str, ...]) -> RoundRow:
    done = round.committed
    assert done is not None
    last = round.judged[-1] if round.judged else None
    contrast = round.row(last.index) if last is not None else None
    overlap = contrast.overlap if contrast is not None else None
    texts = tuple(draft.text for draft in round.drafted) if len(round.drafted) == done.drafted else None
    return RoundRow(
        round.round, done.position, done.drafted, done.tested, done.accepted, len(done.tokens), done.final,
        None if "texts" in unknown else "".join(done.texts), None if "texts" in unknown else texts,
        last.p if last is not None else None, last.q if last is not None else None,
        None if overlap is None or math.isnan(overlap) else overlap, last.draw if last is not None else None,
        done.residual_mass, None if "seconds" in unknown else done.seconds, totals)
