"""What an experiment says so far: intervals, how far chance reaches, and one sentence. Computed from counts alone,
without torch, so that whoever paints them needs nothing else.

Each bound used here is a theorem for every number of samples (Hoeffding 1963), not an approximation for large ones: a
sentence that says "this can't be chance" never rests on a normal curve's tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.proof.report import Sampled

Z95 = 1.959963984540054
CERTAIN = -6.0
"""log10: more seldom than one run in a million is called impossible."""
OPEN = -2.0
"""log10: between one in a hundred and one in a million, more samples must decide."""
SAYABLE = -99.0
"""log10: smaller chances are all said as this one."""

State = Literal["fits", "open", "bent"]


@dataclass(frozen=True)
class Verdict:
    state: State
    outcome: int
    """The one that chance explains worst."""
    bent: tuple[int, ...]
    """All that it can't explain."""
    sentence: str


def interval(count: int, samples: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a probability: never outside 0 … 1, and honest for few samples."""
    if samples == 0:
        return 0.0, 1.0
    f, z2 = count / samples, Z95 * Z95
    middle = (f + z2 / (2 * samples)) / (1 + z2 / samples)
    half = Z95 * math.sqrt(f * (1 - f) / samples + z2 / (4 * samples * samples)) / (1 + z2 / samples)
    return max(0.0, middle - half), min(1.0, middle + half)


def chance(count: int, samples: int, p: float, outcomes: int = 1) -> float:
    """log10 of a bound on the probability that a right rule strays this far or farther, in any of ``outcomes``.

    2·exp(−n·KL(f ‖ p)) for both sides, times the outcomes that were looked at; −inf where it can't happen at all.
    """
    if samples == 0:
        return 0.0
    f = count / samples
    if (p <= 0.0 and count) or (p >= 1.0 and count < samples):
        return -math.inf
    kl = (f * math.log(f / p) if f else 0.0) + ((1 - f) * math.log((1 - f) / (1 - p)) if f < 1 else 0.0)
    return min(0.0, (math.log(2 * outcomes) - samples * max(0.0, kl)) / math.log(10))


def judge(sampled: Sampled) -> Verdict:
    """The sentence follows from the counts, never from which rule was chosen."""
    outcomes = len(sampled.labels)
    chances = [chance(count, sampled.samples, p, outcomes)
               for count, p in zip(sampled.counts, sampled.expected, strict=True)]
    worst = min(range(outcomes), key=lambda i: (round(chances[i], 6), sampled.counts[i] < sampled.samples *
                                                sampled.expected[i]))  # of two outcomes the one that comes too often
    bent = tuple(i for i in range(outcomes) if chances[i] <= CERTAIN)
    state: State = "bent" if bent else "open" if chances[worst] <= OPEN else "fits"
    return Verdict(state, worst, bent, _sentence(sampled, state, worst, chances[worst]))


def _sentence(sampled: Sampled, state: State, outcome: int, log10: float) -> str:
    f, p = sampled.counts[outcome] / max(1, sampled.samples), sampled.expected[outcome]
    digits = 3 if min(f, p) >= 0.01 or p == 0 else 5
    came = (f"“{sampled.labels[outcome]}” came up {f:.{digits}f} of the time; the target gives "
            f"{'it never' if p == 0 else f'{p:.{digits}f}'}")
    if state == "fits":
        return f"{came}: within what chance explains after {sampled.samples:,} samples."
    if state == "open":
        return f"{came}: chance strays that far in {_one_in(log10)}. More samples must decide."
    why = "a right rule never does that" if log10 == -math.inf else f"a right rule strays that far in {_one_in(log10)}"
    return f"{came}. This can’t be chance: {why}."


def _one_in(log10: float) -> str:
    if log10 > -6:
        return f"at most 1 of {10 ** math.floor(-log10):,} runs"
    exponent = str(math.floor(-max(log10, SAYABLE))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"fewer than 1 of 10{exponent} runs"


def by_chance(p: NDArray[np.float64], samples: int) -> float:
    """The total variation that a right rule shows on average after so many samples: ½ Σ E|count/n − p|, exactly.

    De Moivre: E|X − np| = 2 ν C(n, ν) p^ν (1 − p)^(n−ν+1) with ν = ⌊np⌋ + 1. It falls like 1/√n, and more slowly as
    long as many outcomes are too rare to have come up at all.
    """
    inside = p[(p > 0) & (p < 1)].astype(np.float64)
    rare = inside[samples * inside < 1]
    total = float((2 * samples * rare * np.exp(samples * np.log1p(-rare))).sum())
    for x in inside[samples * inside >= 1].tolist():
        nu = min(math.floor(samples * x) + 1, samples)
        choose = math.lgamma(samples + 1) - math.lgamma(nu + 1) - math.lgamma(samples - nu + 1)
        total += 2 * math.exp(math.log(nu) + choose + nu * math.log(x) + (samples - nu + 1) * math.log1p(-x))
    return total / (2 * samples)
