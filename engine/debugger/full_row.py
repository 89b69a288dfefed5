"""p and q over the whole vocabulary at one position, recomputed on demand: any token can be looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.debugger.bars import Bar
from engine.debugger.choices import Choice, Inverse, segments
from engine.debugger.token_words import readable

if TYPE_CHECKING:
    from engine.debugger.inspection import Inspection

MOST = 500
"""Hits of a search that are listed."""


@dataclass(frozen=True, eq=False)
class FullRow:
    round: int
    index: int
    p: NDArray[np.floating]
    """(V,)"""
    q: NDArray[np.floating] | None
    """(V,); None where nothing was proposed."""
    texts: Sequence[str]
    """By id."""

    def belongs_to(self, inspection: Inspection) -> bool:
        return (self.round, self.index) == (inspection.round, inspection.index)

    def weights(self, source: str) -> NDArray[np.floating]:
        if source == "p":
            return self.p
        assert self.q is not None
        return self.q if source == "q" else np.maximum(self.p - self.q, 0)

    def top(self, count: int) -> NDArray[np.int64]:
        """The ids of the ``count`` largest max(p, q), in falling order."""
        height = self.p if self.q is None else np.maximum(self.p, self.q)
        count = min(count, len(height))
        few = np.argpartition(-height, count - 1)[:count]
        return few[np.lexsort((few, -height[few]))].astype(np.int64)


def bars_of(full: FullRow, inspection: Inspection, tokens: Sequence[int]) -> tuple[Bar, ...]:
    """Bars of any tokens, marked as the recorded ones are."""
    known = {bar.token: bar for bar in inspection.bars}
    bars = []
    for token in tokens:
        p, q = float(full.p[token]), float(full.q[token]) if full.q is not None else None
        left = None
        if q is not None and inspection.mass is not None:
            left = max(p - q, 0.0) / inspection.mass if inspection.mass > 0 else 0.0
        marks = known[token].marks if token in known else frozenset()
        bars.append(Bar(token, readable(full.texts[token]) if token < len(full.texts) else f"#{token}", p, q, left,
                        marks))
    return tuple(bars)


def search(query: str, inspection: Inspection, full: FullRow | None) -> tuple[Bar, ...]:
    """Tokens whose text holds ``query`` (or whose id it is, with or without #), the best matches first: the id, the
    whole text, then by falling max(p, q). Without the full row only among the recorded ones."""
    shown, raw = readable(query), query.strip()
    number = int(raw.lstrip("#")) if raw.lstrip("#").isdecimal() else None
    if full is None:
        found = [bar for bar in inspection.bars if shown in bar.label or bar.token == number or raw in bar.label]
        return tuple(sorted(found, key=lambda bar: (
            bar.token != number, bar.label.strip("·") != raw, -max(bar.p or 0.0, bar.q or 0.0))))[:MOST]
    size = len(full.p)
    hits = [token for token, text in enumerate(full.texts[:size]) if query in text]
    if number is not None and number < size and number not in hits:
        hits.append(number)
    height = full.p if full.q is None else np.maximum(full.p, full.q)
    hits.sort(key=lambda token: (token != number, full.texts[token].strip() != raw, -float(height[token])))
    return bars_of(full, inspection, hits[:MOST])


def refined(choice: Choice, full: FullRow) -> Choice:
    """The choice with exact edges, and with an answer for every draw."""
    if choice.source != "p" and full.q is None:
        return choice
    inverse = Inverse(full.weights(choice.source))
    if not inverse.mass > 0:
        return choice

    def label(token: int) -> str:
        return readable(full.texts[token]) if token < len(full.texts) else f"#{token}"

    drawn = (choice.draw, choice.token) if choice.draw is not None and choice.token is not None else None
    return replace(choice, segments=segments(inverse.certain(), label, drawn), exact=inverse.token_at)
