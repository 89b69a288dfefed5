"""The judgement: worked numbers of the teaching notes, and pitfalls 1, 4 to 7, 13."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.sampling import best
from engine.verify import judge_greedy, judge_sampled, leading, residual

D = torch.float64


def sampled(p: list[list[float]], q: list[list[float]] | None, drafts: list[int], accept: list[float],
            final: list[float]):  # type: ignore[no-untyped-def]
    return judge_sampled(torch.tensor(p, dtype=D), None if q is None else torch.tensor(q, dtype=D),
                         torch.tensor(drafts, dtype=torch.long), torch.tensor(accept, dtype=D),
                         torch.tensor(final, dtype=D))


def outcome(p: list[float], q: list[float]) -> list[float]:
    """The distribution of the first committed token, by exact integration over all draws: each test and choice is a
    step function of its draw, so it is enough to try one draw inside each step."""
    total = [0.0] * len(p)
    for y, qy in enumerate(q):
        if not qy:
            continue  # never drafted
        for low, high in pairwise(sorted({0.0, 1.0, min(1.0, p[y] / qy)})):
            verdict = sampled([p, p], [q], [y], [(low + high) / 2], [0.5, 0.5])
            weight = qy * (high - low)
            if int(verdict.accepted):
                total[y] += weight
                continue
            left = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
            at = 0.0
            for token in sorted(range(len(p)), key=lambda t: (-left[t], t)):
                share = left[token] / sum(left)
                if share > 1e-14:  # a smaller one may hold no number between its ends
                    middle = at + share / 2
                    assert int(sampled([p, p], [q], [y], [(low + high) / 2], [middle, 0.5]).final) == token
                    total[token] += weight * share
                at += share
    return total


@pytest.mark.parametrize(("p", "q", "accept_a"), [([0.4, 0.6], [0.8, 0.2], 0.5), ([0.3, 0.7], [0.6, 0.4], 0.5)])
def test_worked_examples(p: list[float], q: list[float], accept_a: float) -> None:
    below, above = accept_a - 1e-9, accept_a + 1e-9
    assert int(sampled([p, p], [q], [0], [below], [0.5, 0.5]).accepted) == 1
    assert int(sampled([p, p], [q], [0], [above], [0.5, 0.5]).accepted) == 0
    assert int(sampled([p, p], [q], [1], [0.999999], [0.5, 0.5]).accepted) == 1  # B is always accepted
    rejected = sampled([p, p], [q], [0], [above], [0.0, 0.0])
    assert int(rejected.final) == 1  # the residual is [0, 1]
    assert float(rejected.mass) == pytest.approx(1 - sum(map(min, p, q)))
    assert outcome(p, q) == pytest.approx(p, abs=1e-12)


def test_the_tempting_bug_is_as_wrong_as_the_notes_say() -> None:
    """Redrawing from p after a rejection gives A 0.56 instead of 0.4; the real rule doesn't."""
    p, q = [0.4, 0.6], [0.8, 0.2]
    rejected = 1 - sum(map(min, p, q))
    assert min(p[0], q[0]) + rejected * p[0] == pytest.approx(0.56)
    assert outcome(p, q)[0] == pytest.approx(0.4)


@given(st.integers(2, 5).flatmap(lambda n: st.tuples(*[
    st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0]), min_size=n, max_size=n).filter(any)] * 2)))
def test_first_token_is_distributed_as_p(rows: tuple[list[float], list[float]]) -> None:
    p, q = ([x / sum(row) for x in row] for row in rows)
    assert outcome(p, q) == pytest.approx(p, abs=1e-12)


def test_p_zero_is_never_accepted_even_by_a_draw_of_zero() -> None:  # pitfall 4
    assert int(sampled([[0.0, 1.0], [0.5, 0.5]], [[1.0, 0.0]], [0], [0.0], [0.0, 0.0]).accepted) == 0


def test_q_zero_for_a_proposed_token_is_rejected() -> None:  # pitfall 7
    verdict = sampled([[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0]], [0], [0.0], [0.0, 0.0])
    assert int(verdict.accepted) == 0
    assert torch.isfinite(verdict.mass)


def test_equal_rows_and_a_rejection_draw_from_p() -> None:  # pitfall 5
    """u·q < p fails for p = q only by rounding; a draw of 1 stands for it."""
    verdict = sampled([[0.25, 0.75], [0.5, 0.5]], [[0.25, 0.75]], [1], [1.0], [0.8, 0.0])
    assert int(verdict.accepted) == 0
    assert float(verdict.mass) == 0.0  # which the records report
    assert int(verdict.final) == 0  # the inverse CDF of p at 0.8: token 1 holds [0, 0.75)


def test_deterministic_proposals_have_one_hot_q() -> None:  # pitfall 1
    p = [[0.3, 0.7], [0.5, 0.5]]
    assert int(sampled(p, None, [0], [0.299], [0.0, 0.0]).accepted) == 1
    rejected = sampled(p, None, [0], [0.301], [0.0, 0.0])
    assert int(rejected.accepted) == 0
    assert int(rejected.final) == 1  # never the rejected token: its residual is 0
    assert float(rejected.mass) == pytest.approx(0.7)
    assert rejected.q.tolist() == [1.0]


def test_one_hot_q_dense_and_implied_agree() -> None:
    generator = torch.Generator().manual_seed(0)
    p = torch.softmax(torch.randn(4, 9, generator=generator, dtype=D), -1)
    drafts = torch.tensor([2, 5, 1])
    dense = torch.nn.functional.one_hot(drafts, 9).to(D)
    for _ in range(50):
        u, v = torch.rand(3, generator=generator, dtype=D), torch.rand(4, generator=generator, dtype=D)
        a, b = judge_sampled(p, None, drafts, u, v), judge_sampled(p, dense, drafts, u, v)
        assert (int(a.accepted), int(a.final), float(a.mass)) == (int(b.accepted), int(b.final), float(b.mass))


def test_testing_stops_at_the_first_rejection() -> None:
    assert int(leading(torch.tensor([True, False, True, True]))) == 1
    assert int(leading(torch.tensor([], dtype=torch.bool))) == 0


def test_all_accepted_draws_a_bonus_from_the_last_row() -> None:
    p = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    verdict = sampled(p, [p[0], p[1]], [0, 1], [0.1, 0.1], [0.0, 0.0, 0.7])
    assert (int(verdict.accepted), int(verdict.final), float(verdict.mass)) == (2, 2, 1.0)


def test_greedy_accepts_by_argmax_not_by_ratio() -> None:  # pitfall 13
    scores = torch.tensor([[2.0, 1.9, 0.0], [0.0, 3.0, 0.0]])
    p = torch.softmax(scores, -1)
    q = torch.tensor([[0.01, 0.99, 0.0]])
    verdict = judge_greedy(best(scores), p, q, torch.tensor([1]))
    assert (int(verdict.accepted), int(verdict.final)) == (0, 0)
    assert int(judge_greedy(best(scores), p, q, torch.tensor([0])).final) == 1


def test_worked_greedy_example() -> None:
    """I | like green tea, where the target says: like, black."""
    like, green, tea, black = range(4)
    scores = torch.nn.functional.one_hot(torch.tensor([like, black, tea, tea]), 4).float()
    verdict = judge_greedy(best(scores), torch.softmax(scores, -1), None, torch.tensor([like, green, tea]))
    assert (int(verdict.accepted), int(verdict.final)) == (1, black)


def test_residual_of_near_equal_rows_keeps_its_mass() -> None:
    p = torch.full((1000,), 1e-3)
    q = p.clone()
    q[0] -= 1e-9
    left = residual(p, q)
    assert left.sum(dtype=D) > 0
    assert bool((left >= 0).all())
