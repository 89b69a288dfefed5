"""Growing a draft tree: what is chosen, in which order, from which distribution, with which draws."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.drafters.base import RoundDraws
from engine.drafters.tree import propose_tree, sampled_children, sampled_tree, top_tree, without
from engine.errors import DraftError
from engine.sampling import choose
from engine.settings import DrafterSettings
from engine.tree import ROOT, Tree

SIZE = 7


def row(path: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    """(V,) q behind a path of drafted tokens."""
    generator = torch.Generator().manual_seed(seed + hash(path) % 10**6)
    return torch.softmax(2 * torch.randn(SIZE, generator=generator), -1)


def follow(seed: int = 0):  # type: ignore[no-untyped-def]
    def rows(nodes):  # type: ignore[no-untyped-def]
        assert nodes
        assert len({node.depth for node in nodes}) == 1
        return torch.stack([row(tuple(n.token for n in node.path), seed) for node in nodes])

    return rows


class TestShape:
    def test_worked_example(self) -> None:
        tree = Tree([-1, -1, 0, 0, 1, 2])
        assert tree.depths == (0, 0, 1, 1, 1, 2)
        assert tree.numbers == (0, 1, 0, 1, 2, 0)
        assert [tree.children(node) for node in range(-1, 6)] == [(0, 1), (2, 3), (4,), (5,), (), (), ()]
        assert tree.path(5) == (0, 2, 5)
        assert tree.path(ROOT) == ()
        assert tree.is_path((0, 2, 5))
        assert tree.is_path(())
        assert not any(tree.is_path(nodes) for nodes in [(2,), (0, 4), (0, 2, 6), (1, 0)])

    def test_a_chain_is_a_tree(self) -> None:
        tree = Tree.chain(3)
        assert tree.is_chain
        assert tree.parents == (-1, 0, 1)
        assert tree.numbers == (0, 0, 0)
        assert not Tree([-1, -1]).is_chain

    @pytest.mark.parametrize("parents", [[0], [-2], [-1, 1], [-1, 5]])
    def test_parents_come_first(self, parents: list[int]) -> None:
        with pytest.raises(DraftError, match="doesn't come before it"):
            Tree(parents)


class TestTop:
    @given(st.integers(0, 50), st.integers(1, 4), st.integers(1, 12), st.integers(1, SIZE))
    def test_the_best_are_kept(self, seed: int, depth: int, count: int, top: int) -> None:
        nodes = top_tree(row((), seed), follow(seed), depth=depth, top=top, nodes=count)
        assert 0 < len(nodes) <= count
        tree = Tree([ROOT if n.parent is None else nodes.index(n.parent) for n in nodes])  # connected, parents first
        assert tree.depths == tuple(node.depth for node in nodes)
        for node in range(ROOT, len(nodes)):
            scores = [nodes[child].score for child in tree.children(node)]
            assert scores == sorted(scores, reverse=True)
            assert len(scores) <= top
        assert [n.token for n in nodes] == [
            n.token for n in top_tree(row((), seed), follow(seed), depth=depth, top=top, nodes=count)]

    @given(st.integers(0, 30), st.integers(1, 10))
    def test_it_is_the_best_tree_when_all_is_looked_at(self, seed: int, count: int) -> None:
        found = top_tree(row((), seed), follow(seed), depth=2, top=SIZE, nodes=count)
        q = row((), seed)
        scores = [math.log(q[a]) for a in range(SIZE)]
        scores += [math.log(q[a]) + math.log(row((a,), seed)[b]) for a, b in product(range(SIZE), repeat=2)]
        best = sorted(scores, reverse=True)[:count]
        assert sorted((n.score for n in found), reverse=True) == pytest.approx(best)

    def test_one_child_each_is_a_chain(self) -> None:
        nodes = top_tree(row(()), follow(), depth=4, top=1, nodes=16)
        assert len(nodes) == 4
        assert nodes[3].path == nodes


class TestSampled:
    @given(st.integers(0, 50), st.integers(0, 12))
    def test_without_replacement_until_nothing_is_left(self, seed: int, count: int) -> None:
        q = row((), seed)
        q[seed % SIZE] = 0.0
        q /= q.sum()
        us = [RoundDraws(seed, 1).draft(0, child) for child in range(count)]
        found = sampled_children(q, us)
        assert len(found) == min(count, SIZE - 1)
        gone: list[int] = []
        for (token, own, u), drawn in zip(found, us, strict=False):
            assert token not in gone
            assert own[gone].sum() == 0
            assert float(own.sum()) == pytest.approx(1, abs=1e-5)
            assert token == int(choose(own, u))
            assert u == drawn
            gone.append(token)

    def test_nothing_is_left_of_a_one_hot(self) -> None:
        assert without(torch.eye(4)[1], 1).tolist() == [0, 0, 0, 0]
        assert len(sampled_children(torch.eye(4)[1], [0.1, 0.2])) == 1

    @given(st.integers(0, 50), st.integers(1, 4), st.integers(1, 16), st.integers(1, SIZE))
    def test_each_draft_has_its_own_draw(self, seed: int, depth: int, count: int, top: int) -> None:
        draws = RoundDraws(seed, 5)
        nodes = sampled_tree(row((), seed), follow(seed), draws, depth=depth, top=top, nodes=count)
        assert 0 < len(nodes) <= count
        assert len({node.draw for node in nodes}) == len(nodes)
        tree = Tree([ROOT if n.parent is None else nodes.index(n.parent) for n in nodes])
        assert [n.draw for n in nodes] == [draws.draft(d, s) for d, s in zip(tree.depths, tree.numbers, strict=True)]
        assert all(len(tree.children(node)) <= top for node in range(ROOT, len(nodes)))

    def test_a_proposal_carries_what_it_was_drawn_from(self) -> None:
        settings = DrafterSettings(kind="eagle", tree="sampled", tree_top=3, tree_nodes=8)
        for greedy in (False, True):
            drafts = list(propose_tree(row(()), follow(), settings, 3, RoundDraws(0, 1), greedy=greedy))
            assert [draft.draw is None for draft in drafts] == [greedy] * len(drafts)
            assert all(draft.q is not None and draft.parent is not None for draft in drafts)
        top = DrafterSettings(kind="eagle", tree="top", tree_nodes=8)
        assert all(d.q is None for d in propose_tree(row(()), follow(), top, 3, RoundDraws(0, 1), greedy=False))

    def test_nothing_is_drafted_where_the_drafter_is_not_sure(self) -> None:
        for tree in ("top", "sampled"):
            for floor in (0.3, 0.5):
                settings = DrafterSettings(kind="eagle", tree=tree, tree_nodes=12, stop_below=floor)
                drafts = list(propose_tree(row((), 3), follow(3), settings, 4, RoundDraws(0, 1), greedy=False))
                shape = Tree([d.parent for d in drafts])  # type: ignore[misc]
                for node in range(ROOT, len(drafts)):
                    q = row(tuple(int(drafts[i].token) for i in shape.path(node)), 3)
                    assert not shape.children(node) or q.max() >= floor
