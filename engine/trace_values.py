"""Are a record's own values possible? What the types don't say: ranges, lengths, numbers that no display survives."""

from __future__ import annotations

import msgspec
import numpy as np

from engine.records import Committed, Contrast, Drafted, Judged, Record, RunStarted, Verified, Vocabulary
from engine.settings import MAX_GAMMA

LARGEST = 2**64
"""Of any whole number: digests and seeds have 64 bits."""
LARGEST_TOKEN = 2**40
SLACK = 1e-3
"""Sums of rounded probabilities may be that far beyond 0 or 1."""
LONGEST_NAME = 1000
"""Characters of the ids of runs and lanes."""
WIDEST = 1024
"""Positions of one forward, padding included."""
MOST_SLOTS = 2**26
"""Of one cache: what shows them draws each."""


class ImpossibleError(ValueError):
    """What can't be, in half a sentence."""


def require(ok: bool, why: str) -> None:
    if not ok:
        raise ImpossibleError(why)


def check_values(record: Record) -> None:
    """Raises :class:`ImpossibleError`."""
    require(len(record.run) <= LONGEST_NAME and len(record.lane) <= LONGEST_NAME, "its run or lane has an endless name")
    match record:
        case RunStarted():
            check_figures(record.target)
            check_figures(record.exactness)
            require(record.gamma <= MAX_GAMMA, f"γ is {record.gamma}, beyond {MAX_GAMMA}")
            require(record.slots <= MOST_SLOTS, f"a cache of {record.slots} slots")
            _tokens(record.prompt)
            _tokens(record.eos)
        case Vocabulary():
            require(bool(record.texts), "a vocabulary without texts")
            require(min(record.texts) >= 0 and max(record.texts) <= LARGEST_TOKEN, "a token id is out of range")
        case Drafted():
            _probability(record.q, "q")
            _draw(record.draw)
        case Verified():
            require(record.k <= MAX_GAMMA, f"k is {record.k}, beyond {MAX_GAMMA}")
            require(record.width <= WIDEST, f"a forward of {record.width} positions")
            _digests(record.digests)
            _rows(record.rows)
        case Judged():
            _probability(record.p, "p")
            _probability(record.q, "q")
            _draw(record.draw)
            if record.best is not None:
                _tokens((record.best,))
        case Committed():
            _tokens(record.tokens)
            _digests(record.digests)
            _draw(record.final_draw)
            _probability(record.residual_mass, "the residual's mass")
            for p in record.p:
                _probability(p, "p")
        case _:
            pass


def _rows(rows: tuple[Contrast, ...]) -> None:
    for row in rows:
        size = len(row.ids)
        require(len(row.p) == size and len(row.q) in (0, size), "a row's ids, p and q have different lengths")
        _probability(row.p_rest, "p's rest")
        _probability(row.q_rest, "q's rest")
        _probability(row.overlap, "the overlap")
        require(-SLACK <= row.p_entropy <= 100 and -SLACK <= row.q_entropy <= 100, "an entropy is out of range")
    if any(len(row.ids) for row in rows):  # all at once: many small arrays would take longer to ask than to read
        ids = np.concatenate([row.ids for row in rows])
        found = np.concatenate([part for row in rows for part in (row.p, row.q)])
        require(int(ids.min()) >= 0, "a token id is out of range")
        _probability(float(found.min()), "p or q")
        _probability(float(found.max()), "p or q")


def _probability(value: float | None, what: str) -> None:
    require(value is None or -SLACK <= value <= 1 + SLACK, f"{what} is {value}, no probability")


def _draw(value: float | None) -> None:
    require(value is None or 0 <= value < 1, f"a draw is {value}, not in [0, 1)")


def _tokens(ids: tuple[int, ...]) -> None:
    require(not ids or (min(ids) >= -1 and max(ids) <= LARGEST_TOKEN), "a token id is out of range")


def _digests(digests: tuple[int, ...]) -> None:
    require(not digests or (min(digests) >= -LARGEST and max(digests) <= LARGEST), "a digest is out of range")


def check_figures(facts: msgspec.Struct) -> None:
    """Of a model or a measurement."""
    for name in facts.__struct_fields__:
        value = getattr(facts, name)
        require(not isinstance(value, (int, float)) or abs(value) <= LARGEST, f"its {name} is beyond any model's")
