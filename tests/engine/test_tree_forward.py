"""A tree in one forward: every row as a single step behind its own path would have it, and what is kept of it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import CacheError
from engine.features import NORMED
from engine.proof import subjects
from engine.runner import Runner
from engine.tree import ROOT, Tree

KINDS = ("llama", "gpt2", "gemma")
SHAPES = ([-1, -1, 0, 0, 1, 2], [-1, -1, -1], [-1, 0, 0, 1, 1, 2, 2, 3, 5], [-1, -1, 1, 2, 3, 4])


def trees() -> st.SearchStrategy[list[int]]:
    """Parents of up to 12 drafts."""
    return st.integers(1, 12).flatmap(lambda n: st.tuples(*(st.integers(-1, i - 1) for i in range(n)))).map(list)


def model(kind: str, dtype: torch.dtype = torch.float32):  # type: ignore[no-untyped-def]
    return subjects.tiny(kind, dtype=dtype).target.hf


def tokens_of(count: int, seed: int = 0) -> list[int]:
    return torch.randint(0, subjects.VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def prefilled(kind: str, before: list[int], *, dtype: torch.dtype = torch.float32, pad_to: int = 1,
              gather: bool = False) -> Runner:
    runner = Runner(model(kind, dtype), pad_to=pad_to, gather=gather)
    runner.remember()
    runner.prefill(before)
    return runner


def step_rows(kind: str, before: list[int], newest: int, drafts: list[int], tree: Tree, **how) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """(n + 1, V): row by row, each path decoded on its own."""
    runner = prefilled(kind, before, **how)
    rows = [runner.forward([newest])[0]]
    for node in range(len(tree)):
        for draft in tree.path(node):
            row = runner.forward([drafts[draft]])[0]
        rows.append(row)
        runner.cut(len(before) + 1)
    return torch.stack(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parents", SHAPES, ids=str)
@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("pad_to", [1, 12])
def test_rows_are_those_of_single_steps(kind: str, parents: list[int], gather: bool, pad_to: int) -> None:
    tree, before = Tree(parents), tokens_of(21)
    drafts = tokens_of(len(tree), 1)
    runner = prefilled(kind, before, gather=gather, pad_to=pad_to)
    rows = runner.forward([5, *drafts], tree=tree)
    assert len(rows) == len(tree) + 1
    assert runner.length == len(before) + 1 + len(tree)
    steps = step_rows(kind, before, 5, drafts, tree)
    torch.testing.assert_close(rows, steps, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parents", SHAPES, ids=str)
def test_gathered_rows_have_the_bits_of_single_steps_when_all_is_padded(kind: str, parents: list[int]) -> None:
    tree, before = Tree(parents), tokens_of(40)
    drafts = tokens_of(len(tree), 1)
    runner = prefilled(kind, before, gather=True, pad_to=12)
    rows = runner.forward([5, *drafts], tree=tree)
    assert torch.equal(rows, step_rows(kind, before, 5, drafts, tree, pad_to=12)) or not exact_when_padded(kind)


def exact_when_padded(kind: str) -> bool:
    from engine.invariance import exactness

    return exactness(model(kind), 12, pad_to=12).invariant


@settings(max_examples=25, deadline=None)
@given(trees(), st.sampled_from(KINDS), st.booleans(), st.data())
def test_what_is_kept_is_a_fresh_prefill(parents: list[int], kind: str, gather: bool, data: st.DataObject) -> None:
    tree, before = Tree(parents), tokens_of(10)
    drafts = tokens_of(len(tree), 2)
    path = tree.path(data.draw(st.integers(ROOT, len(tree) - 1)))
    path = path[: data.draw(st.integers(0, len(path)))]
    runner = prefilled(kind, before, gather=gather)
    features = Runner.tap(fresh := Runner(model(kind)), [1, NORMED])
    del features
    tapped = Runner(model(kind), gather=gather)
    tapped.tap([1, NORMED])
    tapped.prefill(before)
    committed = [*before, 5, *(drafts[i] for i in path)]
    fresh.prefill(committed)
    for one in (runner, tapped):
        one.forward([5, *drafts], tree=tree)
        one.keep([len(before) + 1 + node for node in path], len(before) + 1)
        assert one.length == len(committed)
    assert runner.ids == committed
    for ours, theirs in zip(runner.cache.layers, fresh.cache.layers, strict=True):
        for states in ("keys", "values"):
            a, b = (getattr(layer, states)[:, :, : len(committed)] for layer in (ours, theirs))
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert tapped.features is not None
    assert fresh.features is not None
    torch.testing.assert_close(tapped.features.rows(0, len(committed)), fresh.features.rows(0, len(committed)),
                               rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(runner.forward([9]), fresh.forward([9]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("slots", [[3], [6, 5], [6, 6], [5, 9], [7, 9]])
def test_only_what_is_there_can_be_kept(slots: list[int]) -> None:
    runner = prefilled("llama", tokens_of(9))
    with pytest.raises(CacheError, match="can't be moved"):
        runner.keep(slots, 5)


def test_a_chain_as_a_tree_is_the_same_forward() -> None:
    before, drafts = tokens_of(9), tokens_of(4, 3)
    rows = [prefilled("llama", before).forward([5, *drafts], tree=tree) for tree in (None, Tree.chain(4))]
    assert torch.equal(*rows)


def test_drafts_still_on_the_device_are_taken() -> None:
    before, tree = tokens_of(9), Tree([-1, -1, 0])
    a, b = (prefilled("llama", before).forward([5, *given_], tree=tree)
            for given_ in ([1, 2, 3], [torch.tensor(token) for token in (1, 2, 3)]))
    assert torch.equal(a, b)
