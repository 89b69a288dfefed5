"""The judgement of a tree: worked numbers, a chain's own verdict, and exactness by integration over all draws."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.drafters.tree import without
from engine.tree import Tree
from engine.verify import judge_greedy, judge_sampled
from engine.verify_tree import TreeVerdict, judge_tree_greedy, judge_tree_sampled

D = torch.float64


def judged(p: Sequence[Sequence[float]], q: Sequence[torch.Tensor | None], drafts: Sequence[int], parents: list[int],
           accept: Sequence[float], final: float = 0.5, dtype: torch.dtype = D) -> TreeVerdict:
    return judge_tree_sampled(torch.tensor(p, dtype=dtype), q, drafts, Tree(parents), accept.__getitem__,
                              lambda depth: final)


class TestWorked:
    P = ((0.2, 0.3, 0.5), (0.6, 0.2, 0.2), (0.1, 0.8, 0.1))

    def test_the_second_child_is_tested_against_what_is_left(self) -> None:
        q = torch.tensor([0.5, 0.3, 0.2], dtype=D)
        second = without(q, 0)  # (0, 0.6, 0.4)
        verdict = judged(self.P, [q, second], [0, 1], [-1, -1], [0.41, 0.0])
        # token 0: 0.41 · 0.5 ≥ 0.2, rejected; left (0, 0, 0.3): token 1 has nothing left
        assert [(t.draft, t.p, t.q) for t in verdict.tests] == [
            (0, pytest.approx(0.2), 0.5), (1, 0.0, pytest.approx(0.6))]
        assert verdict.path == ()
        assert int(verdict.final) == 2
        assert float(verdict.mass) == pytest.approx(0.6)  # (0, 0, 1) less (0, 0.6, 0.4)

    def test_it_walks_down_the_accepted_child(self) -> None:
        verdict = judged(self.P, [None, None], [0, 1], [-1, 0], [0.1, 0.3])
        assert verdict.path == (0,)  # 0.1 < 0.2; then 0.3 ≥ p(1 | 0) = 0.2
        assert float(verdict.mass) == pytest.approx(0.8)
        assert int(verdict.final) == 0

    def test_never_by_the_longest_match(self) -> None:
        """The first child passes and is a leaf; the second would have led further."""
        p = [[0.6, 0.4, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
        verdict = judged(p, [None] * 3, [0, 1, 2], [-1, -1, 1], [0.5, 0.0, 0.0])
        assert verdict.path == (0,)
        assert int(verdict.final) == 2

    def test_an_empty_residual_is_told_and_p_serves(self) -> None:
        row = torch.tensor([0.5, 0.5], dtype=D)
        verdict = judged([[0.5, 0.5], [1.0, 0.0]], [row * (1 + 1e-15)], [0], [-1], [1 - 2**-53])
        assert verdict.path in ((), (0,))
        verdict = judged([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]], [row, torch.tensor([0.0, 1.0], dtype=D)], [0, 1],
                         [-1, -1], [1.0, 1.0])
        assert verdict.tests[1].p == 0.5  # p once more, since nothing was left of it
        assert verdict.path == ()

    def test_greedy_takes_the_child_that_is_the_argmax(self) -> None:
        p = torch.full((4, 5), 0.2)
        verdict = judge_tree_greedy([3, 0, 4, 1], p, [None] * 3, [2, 3, 4], Tree([-1, -1, 1]))
        assert verdict.path == (1, 2)
        assert [test.draft for test in verdict.tests] == [0, 1, 2]
        assert int(verdict.final) == 1
        verdict = judge_tree_greedy([3, 0, 1, 1], p, [None] * 3, [2, 3, 4], Tree([-1, -1, 1]))
        assert verdict.path == (1,)
        assert int(verdict.final) == 1


def rows(count: int, seed: int, size: int = 6, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(count, size, generator=generator)
    cut_off = torch.rand(count, size, generator=generator) < 0.2
    return torch.softmax(logits.masked_fill(cut_off, -torch.inf).to(dtype), -1)


@given(st.integers(0, 10**6), st.integers(0, 5), st.booleans(), st.sampled_from([torch.float32, torch.float64]))
def test_a_chain_gets_its_own_verdict(seed: int, k: int, one_hot: bool, dtype: torch.dtype) -> None:
    p, q = rows(k + 1, seed, dtype=dtype).nan_to_num(1 / 6), rows(k, seed + 1, dtype=dtype).nan_to_num(1 / 6)
    generator = torch.Generator().manual_seed(seed)
    drafts = torch.multinomial(q, 1, generator=generator)[:, 0] if k else torch.zeros(0, dtype=torch.long)
    accept, final = (torch.rand(n, generator=generator, dtype=D) for n in (k, k + 1))
    chain = judge_sampled(p, None if one_hot or not k else q, drafts, accept, final)
    tree = judge_tree_sampled(p, [None if one_hot else row for row in q], drafts.tolist(), Tree.chain(k),
                              lambda i: float(accept[i]), lambda depth: float(final[depth]))
    assert tree.path == tuple(range(int(chain.accepted)))
    assert int(tree.final) == int(chain.final)
    assert float(tree.mass) == float(chain.mass)
    assert [test.p for test in tree.tests] == chain.p[: len(tree.tests)].tolist()
    assert [test.q for test in tree.tests] == chain.q[: len(tree.tests)].tolist()
    winners = p.argmax(-1)
    greedy = judge_greedy(winners, p, None, drafts)
    walked = judge_tree_greedy(winners.tolist(), p, [None] * k, drafts.tolist(), Tree.chain(k))
    assert walked.path == tuple(range(int(greedy.accepted)))
    assert int(walked.final) == int(greedy.final)


def first_token(p: torch.Tensor, children: Sequence[tuple[int, torch.Tensor | None]]) -> torch.Tensor:
    """The distribution of the first committed token when these children are tested, by their own shares: a test passes
    on [0, p/q), so it is enough to try one draw on either side, and the final draw is spread over what is left."""
    found = torch.zeros_like(p)
    drafts, q = [token for token, _ in children], [own for _, own in children]
    table = p.expand(len(children) + 1, -1).tolist()
    weight = 1.0
    refused: list[float] = []
    for at in range(len(children)):
        probe = judged(table, q, drafts, [-1] * len(children), [*refused, 1.0, *[1.0] * len(children)])
        test = probe.tests[at]
        chance = min(1.0, test.p / test.q)
        found[drafts[at]] += weight * chance
        weight *= 1 - chance
        if chance == 1:
            return found
        refused.append(1.0)
    edges = [i / 512 for i in range(513)]
    for low, high in pairwise(edges if weight > 0 else []):
        final = int(judged(table, q, drafts, [-1] * len(children), refused, (low + high) / 2).final)
        found[final] += weight * (high - low)
    return found


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 3))
def test_children_without_replacement_give_p(seed: int, count: int) -> None:
    p, q = rows(2, seed, size=4, dtype=D).nan_to_num(0.25)
    total = torch.zeros_like(p)
    for order in product(range(4), repeat=count):
        weight, own, children = 1.0, q, []
        for token in order:
            weight *= float(own[token])
            children.append((token, own))
            own = without(own, token)
        if weight > 0:
            total += weight * first_token(p, children)
    if int((q > 0).sum()) >= count:  # else so many can't be drawn
        torch.testing.assert_close(total, p, rtol=0, atol=6e-3)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.permutations(range(4)), st.integers(0, 4))
def test_one_hot_children_give_p(seed: int, order: list[int], count: int) -> None:
    p = rows(1, seed, size=4, dtype=D).nan_to_num(0.25)[0]
    total = first_token(p, [(token, None) for token in order[:count]])
    torch.testing.assert_close(total, p, rtol=0, atol=6e-3)
