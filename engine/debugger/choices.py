"""The inverse CDF by which a draw became a token, as far as a recorded row tells it, in the engine's own order.

That order is the 64 most probable by falling mass (ties: lower id), then the rest by id: see
:func:`engine.sampling.choose`. A record keeps the tops of p and of q and the round's own tokens; what else there is
mass for becomes one segment, the rest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.records import Contrast

HEAD = 64
"""As in engine.sampling, which needs torch (a test holds the two together)."""
ROUNDING = 2e-6
"""Float32 rows sum to 1 up to this much: a smaller rest is no rest."""
DIGITS = 2e-3
"""A trace keeps four digits of each probability, so an edge of the CDF may be off by a little: at most by this."""

Source = Literal["q", "residual", "p"]
Weights = tuple[NDArray[np.int64], NDArray[np.float64], float]
"""Tokens in the order of the CDF, their weights, and the weight of the rest behind them (0: none)."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The draws from ``left`` up to ``right`` choose this token."""

    token: int | None
    """None: one of the rest, whose order isn't recorded."""
    label: str
    left: float
    right: float

    @property
    def share(self) -> float:
        return self.right - self.left


@dataclass(frozen=True)
class Choice:
    """One draw that chose, or is about to choose, a token from a distribution."""

    purpose: Literal["draft", "final"]
    index: int
    """As :class:`engine.debugger.what_if.OtherDraw` counts: the draft, or how many drafts stand before the final."""
    source: Source
    draw: float | None
    """None: not drawn yet."""
    token: int | None
    """What it chose; None: nothing yet."""
    label: str
    segments: tuple[Segment, ...]
    mass: float
    """What the weights summed to before they were normalised: 1, or the residual's mass."""
    exact: Callable[[float], int] | None = field(default=None, compare=False, repr=False)
    """Which token a draw chooses, from the full row; None: only the record is at hand."""

    def segment_at(self, value: float) -> Segment | None:
        """Where a draw falls. The chosen token's own segment for its own draw; None where nothing is recorded."""
        if not self.segments:
            return None
        place = bisect_right([segment.left for segment in self.segments], value) - 1
        return self.segments[max(0, place)]

    def token_at(self, value: float) -> int | None:
        """Which token the draw ``value`` in [0, 1) would choose; None where the record can't tell (in the rest)."""
        if value == self.draw and self.token is not None:
            return self.token
        if self.exact is not None:
            return self.exact(value)
        segment = self.segment_at(value)
        return segment.token if segment is not None else None


def of_p(row: Contrast) -> Weights:
    return _certain(row.ids, row.p.astype(np.float64), row.p_rest, 0.0, np.arange(len(row.ids)))


def of_q(row: Contrast) -> Weights:
    """(``row`` has a q.)"""
    return _certain(row.ids, row.q.astype(np.float64), row.q_rest, 0.0, np.lexsort((row.ids, -row.q)))


def of_residual(row: Contrast, mass: float) -> Weights:
    """``mass``: Σ max(p − q, 0) over the whole vocabulary. A token that isn't recorded may have more residual than one
    that is, but no more than the least of p's recorded top: only what has more than that surely stands at its place."""
    left = np.maximum(row.p - row.q, 0).astype(np.float64)
    rest = min(max(0.0, mass - float(left.sum())), row.p_rest)
    highest = min(float(row.p[HEAD - 1]) if len(row.p) >= HEAD else row.p_rest, row.p_rest)
    return _certain(row.ids, left, rest, highest, np.lexsort((row.ids, -left)))


def _certain(ids: NDArray[np.integer], weights: NDArray[np.float64], rest: float, highest: float,
             order: NDArray[np.intp]) -> Weights:
    """``highest``: no token outside ``ids`` weighs more. ``order``: by falling weight."""
    order = order[weights[order] > 0]
    head, tail = order[:HEAD], order[HEAD:]
    if rest > ROUNDING:
        head = head[weights[head] > highest]
        rest += float(weights[order[len(head):]].sum())
    else:  # nothing but what is recorded has weight, so the tail's order is known too
        head, rest = np.concatenate([head, tail[np.argsort(ids[tail])]]), 0.0
    return ids[head].astype(np.int64), weights[head], rest


def segments(weights: Weights, label: Callable[[int], str], drawn: tuple[float, int] | None) -> tuple[Segment, ...]:
    """``drawn``: a draw and what it chose. That is a fact, while the weights may be rounded: where the two differ by no
    more than rounding explains, order and edges give way."""
    tokens, masses, rest = weights
    if drawn is not None:
        tokens = _reordered(tokens, masses, rest, *drawn)
    edges = np.concatenate([[0.0], masses, [rest] if rest > 0 else []]).cumsum()
    if not edges[-1] > 0:
        return ()
    edges /= edges[-1]
    if drawn is not None:
        _give_way(edges, tokens, *drawn)
    names: list[tuple[int | None, str]] = [(int(token), label(int(token))) for token in tokens]
    if rest > 0:
        names.append((None, "rest"))
    return tuple(Segment(token, name, float(left), float(right))
                 for (token, name), left, right in zip(names, edges[:-1], edges[1:], strict=True))


def _reordered(tokens: NDArray[np.int64], masses: NDArray[np.float64], rest: float, draw: float, token: int
               ) -> NDArray[np.int64]:
    """Tokens that rounding has made equal may stand in any order: the drawn one stands where its draw fell."""
    own = np.flatnonzero(tokens == token)
    there = int(np.searchsorted(masses.cumsum(), draw * (float(masses.sum()) + rest), "right"))
    if not len(own) or there >= len(tokens) or abs(masses[there] - masses[own[0]]) > DIGITS * masses[there]:
        return tokens
    swapped = tokens.copy()
    swapped[own[0]], swapped[there] = tokens[there], token
    return swapped


def _give_way(edges: NDArray[np.float64], tokens: NDArray[np.int64], draw: float, token: int) -> None:
    found = np.flatnonzero(tokens == token)
    place = int(found[0]) if len(found) else len(tokens)
    if place >= len(edges) - 1:
        return
    if edges[place] > draw and edges[place] - draw < DIGITS:
        edges[1:place + 1] = np.minimum(edges[1:place + 1], draw)
    elif edges[place + 1] <= draw and draw - edges[place + 1] < DIGITS:
        edges[place + 1:-1] = np.maximum(edges[place + 1:-1], np.nextafter(draw, 1.0))


class Inverse:
    """The inverse CDF of a whole row of weights: what :func:`engine.sampling.choose` computes, without torch."""

    def __init__(self, weights: NDArray[np.floating]) -> None:
        """``weights`` (V,), not negative, with any mass above 0."""
        exact = weights.astype(np.float64)
        count = min(HEAD, len(exact))
        least = np.partition(exact, len(exact) - count)[len(exact) - count]
        few = np.flatnonzero(exact >= least)
        self.head = few[np.lexsort((few, -exact[few]))][:count]
        rest = exact.copy()
        rest[self.head] = 0.0
        self._cumulative = np.concatenate([exact[self.head], rest]).cumsum()
        self.mass = float(self._cumulative[-1])
        self.weights = exact

    def token_at(self, value: float) -> int:
        wanted = self.mass * value
        place = min(int(np.searchsorted(self._cumulative, wanted, "right")),
                    int(np.searchsorted(self._cumulative, self.mass)))
        return int(self.head[place]) if place < len(self.head) else place - len(self.head)

    def certain(self) -> Weights:
        masses = self.weights[self.head]
        some = masses > 0
        rest = max(0.0, self.mass - float(masses.sum()))
        return self.head[some].astype(np.int64), masses[some], rest if rest > 1e-12 * self.mass else 0.0
