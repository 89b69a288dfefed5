"""How counts are held against probabilities: the G-test, total variation with an interval, and the randomised
probability integral transform. Pure functions of tensors; everything is float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

LEAST = 5.0
"""Expected counts below this are pooled: χ² describes G only where no cell is nearly empty (Cochran 1954)."""

CELLS = 200
"""About as many cells as a test gets: each holds at least 1/200 of the samples. More would thin out what is wrong."""


@dataclass(frozen=True)
class GTest:
    """G and its degrees of freedom. Tests of independent samples add up."""

    g: float
    freedom: int

    @property
    def p_value(self) -> float:
        """P(χ² ≥ g) = Γ(freedom/2, g/2) / Γ(freedom/2)."""
        if not self.freedom:
            return 0.0 if self.g else 1.0
        half = torch.tensor([self.freedom / 2, self.g / 2], dtype=torch.float64)
        return float(torch.special.gammaincc(half[0], half[1]))

    def __str__(self) -> str:
        return f"p-value {self.p_value:.2g} (G {self.g:.1f}, {self.freedom} degrees of freedom)"


def g_test(counts: torch.Tensor, probabilities: torch.Tensor) -> GTest:
    """Do ``counts`` (V,) come from ``probabilities`` (V,)?

        G = 2 Σ O ln(O / E) over pooled cells, E = n·p;  about χ² with cells − 1 degrees of freedom
        G is divided by 1 + (Σ 1/p − 1) / (6 n (cells − 1)), Williams' correction, for its tail matters here

    An outcome that can't be (p = 0) but was seen makes G infinite.
    """
    counts, p = counts.double(), probabilities.double()
    n = float(counts.sum())
    if bool((counts[p <= 0] > 0).any()):
        return GTest(math.inf, 1)
    cells = pooled(p * n / p.sum(), max(LEAST, n / CELLS))
    size = int(cells.max()) + 1 if n else 1
    if size < 2:
        return GTest(0.0, 0)
    observed = torch.zeros(size, dtype=torch.float64).index_add_(0, cells, counts)
    expected = torch.zeros(size, dtype=torch.float64).index_add_(0, cells, p * n / p.sum())
    g = 2 * float(torch.special.xlogy(observed, observed / expected).sum())
    correction = 1 + (float((n / expected).sum()) - 1) / (6 * n * (size - 1))
    return GTest(max(0.0, g / correction), size - 1)


def together(tests: Iterable[GTest]) -> GTest:
    """One test of several: sums of independent χ² are χ²."""
    tests = list(tests)
    return GTest(sum(t.g for t in tests), sum(t.freedom for t in tests))


def pooled(expected: torch.Tensor, least: float) -> torch.Tensor:
    """(V,) the cell of each outcome: from the most expected down, a cell is closed once ``least`` is expected in it.
    What remains goes to the last one closed."""
    values, order = torch.sort(expected, descending=True, stable=True)
    cell, held = 0, 0.0
    cells = []
    for value in values.tolist():
        cells.append(cell)
        held += value
        if held >= least:
            cell, held = cell + 1, 0.0
    last = max(cell - 1, 0)
    return torch.empty_like(order).scatter_(0, order, torch.tensor(cells, dtype=torch.int64).clamp(max=last))


@dataclass(frozen=True)
class Distance:
    """A total variation distance, and where the true one lies."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


def total_variation(counts: torch.Tensor, probabilities: torch.Tensor, *, confidence: float = 0.95) -> Distance:
    """½ Σ |counts / n − p|, and an interval for ½ Σ |r − p|, where r is what the counts were drawn from.

        one sample moves the value by at most 1/n, so it is within  ε = √(ln(2/δ) / 2n)  of its mean (McDiarmid)
        its mean is at least the true distance, and at most  ½ Σ E|counts/n − r|  above it: noise looks like distance
        E|counts/n − r| ≤ min(√(r(1 − r) / n), 2r)

    r isn't known: the larger of what r = p and r = counts / n would give is taken.
    """
    counts, p = counts.double(), probabilities.double()
    n = max(float(counts.sum()), 1.0)
    seen = counts / n
    value = 0.5 * float((seen - p).abs().sum())
    epsilon = math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))
    noise = max(0.5 * float(torch.minimum((r * (1 - r)).clamp_min(0).div(n).sqrt(), 2 * r).sum()) for r in (p, seen))
    return Distance(value, max(0.0, value - noise - epsilon), min(1.0, value + epsilon))


def transformed(p: torch.Tensor, token: int, v: float) -> float:
    """The randomised probability integral transform:  Σ p(tokens before ``token``) + v·p(token),  for ``v`` uniform.

    If the token was drawn from p, this is uniform on [0, 1), whatever p is; so tokens drawn from different rows can be
    tested together. Tokens come by falling p, so that a rule that favours likely tokens, or unlikely ones, shows.
    """
    p = p.double()
    own = p[token]
    ids = torch.arange(p.shape[0], device=p.device)
    before = (p > own) | ((p == own) & (ids < token))
    return float(torch.where(before, p, 0.0).sum() + v * own)


def uniform(values: torch.Tensor, *, bins: int = 20) -> GTest:
    """Are ``values`` (n,) uniform on [0, 1]? The G-test on equal bins, fewer if n is small."""
    bins = max(1, min(bins, int(len(values) / LEAST)))
    counts = torch.bincount((values.double() * bins).long().clamp(0, bins - 1), minlength=bins)
    return g_test(counts, torch.full((bins,), 1 / bins, dtype=torch.float64))
