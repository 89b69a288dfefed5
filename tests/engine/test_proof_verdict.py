"""What an experiment says: intervals, bounds that hold for every number of samples, and sentences from counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.proof.report import Sampled
from engine.proof.verdict import by_chance, chance, interval, judge


def sampled(counts: tuple[int, ...], expected: tuple[float, ...] = (0.6, 0.4)) -> Sampled:
    n = sum(counts)
    return Sampled(labels=("B", "A", "C")[: len(counts)], expected=expected, counts=counts, samples=n,
                   total_variation=0.5 * sum(abs(c / n - p) for c, p in zip(counts, expected, strict=True)))


def test_the_interval_is_wilsons() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    assert interval(5, 10) == pytest.approx((0.23659, 0.76341), abs=1e-5)
    assert interval(0, 10)[0] == 0.0
    assert interval(10, 10)[1] == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "p"), [(10, 0.4), (40, 0.05), (25, 0.9)])
def test_the_bound_is_above_the_true_probability(n: int, p: float) -> None:
    probability = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    for count in range(n + 1):
        farther = sum(x for k, x in enumerate(probability) if abs(k - n * p) >= abs(count - n * p) - 1e-9
                      and (k > n * p) == (count > n * p))
        assert 10 ** chance(count, n, p) >= farther * (1 - 1e-9)


def test_what_cannot_happen_is_certain() -> None:
    assert chance(1, 10, 0.0) == -math.inf
    assert chance(9, 10, 1.0) == -math.inf
    assert chance(0, 10, 0.0) == 0.0
    found = judge(sampled((6, 3, 1), (0.6, 0.4, 0.0)))
    assert (found.state, found.outcome) == ("bent", 2)
    assert "the target gives it never. This can’t be chance: a right rule never does that." in found.sentence


def test_the_sentence_follows_from_the_counts() -> None:
    bent = judge(sampled((4390, 5610)))
    assert bent.sentence.startswith("“A” came up 0.561 of the time; the target gives 0.400. This can’t be chance: a "
                                    "right rule strays that far in fewer than 1 of 10")
    assert bent.bent == (0, 1)
    fits = judge(sampled((5980, 4020)))
    assert (fits.state, fits.bent) == ("fits", ())
    assert fits.sentence == ("“A” came up 0.402 of the time; the target gives 0.400: within what chance explains after "
                             "10,000 samples.")
    unsure = judge(sampled((540, 460)))
    assert unsure.state == "open"
    assert "chance strays that far in at most 1 of 100 runs. More samples must decide." in unsure.sentence
    assert judge(sampled((1, 0))).state == "fits"


def test_a_right_rule_is_hardly_ever_blamed() -> None:
    chance = np.random.default_rng(5)
    p = (0.5, 0.3, 0.2)
    states = [judge(sampled(tuple(chance.multinomial(n, p).tolist()), p)).state for n in (20, 500, 20_000)
              for _ in range(300)]
    assert "bent" not in states
    assert states.count("open") < 9


@pytest.mark.parametrize("p", [(0.4, 0.6), (0.97, 0.01, 0.02), tuple([0.5] + [0.0005] * 1000)])
@pytest.mark.parametrize("n", [1, 7, 400])
def test_what_a_right_rule_shows_on_average(p: tuple[float, ...], n: int) -> None:
    chance = np.random.default_rng(11)
    seen = 0.5 * np.abs(chance.multinomial(n, p, size=20_000) / n - np.array(p)).sum(1)
    assert by_chance(np.array(p), n) == pytest.approx(float(seen.mean()), rel=0.06)


def test_it_falls_like_the_root_of_the_samples() -> None:
    p = np.array([0.3, 0.7])
    assert by_chance(p, 100_000) / by_chance(p, 1_000) == pytest.approx(0.1, rel=0.01)
    assert by_chance(np.array([1.0, 0.0]), 100) == 0.0
