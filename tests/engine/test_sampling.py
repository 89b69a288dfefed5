"""The warper against transformers' own processors, and the inverse CDF (pitfalls 2, 3, 8, 9, 10)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.proof.reference import processors
from engine.sampling import HEAD, Seen, Warper, best, choose, most_probable, nucleus
from engine.settings import Sampling

WARPERS = [
    Sampling(temperature=0.7), Sampling(temperature=1.5), Sampling(temperature=1.0, top_k=5),
    Sampling(temperature=1.0, top_p=0.8), Sampling(temperature=1.0, min_p=0.1),
    Sampling(temperature=0.9, top_k=20, top_p=0.9, min_p=0.02, repetition_penalty=1.3),
    Sampling(temperature=1.0, repetition_penalty=0.8), Sampling(temperature=1e-4), Sampling(temperature=100.0),
]


def theirs(sampling: Sampling, logits: torch.Tensor, prefix: torch.Tensor) -> torch.Tensor:
    """p by transformers' processors, in generate()'s order."""
    return torch.softmax(processors(sampling)(prefix, logits.float()), -1)


@pytest.mark.parametrize("sampling", WARPERS, ids=repr)
@pytest.mark.parametrize("size", [7, 300, 49152])
def test_warper_agrees_with_transformers(sampling: Sampling, size: int) -> None:
    logits = torch.randn(3, size, generator=torch.Generator().manual_seed(size)) * 3
    prefix = torch.randint(0, size, (3, 12), generator=torch.Generator().manual_seed(1))
    seen = torch.zeros(3, size, dtype=torch.bool).scatter_(1, prefix, True)
    warper = Warper(sampling)
    ours = warper.distribution(warper.scores(logits, seen))
    expected = theirs(sampling, logits, prefix)
    torch.testing.assert_close(ours, expected, rtol=2e-5, atol=1e-7)
    assert torch.equal(ours > 0, expected > 0)


@pytest.mark.parametrize("sampling", [Sampling(temperature=1.0, top_k=2), Sampling(temperature=1.0, top_p=0.5)])
def test_ties_are_kept_as_transformers_keeps_them(sampling: Sampling) -> None:
    for logits in (torch.zeros(1, 4), torch.tensor([[2.0, 1.0, 1.0, 1.0, 0.0]])):
        warper = Warper(sampling)
        ours = warper.distribution(warper.scores(logits))
        torch.testing.assert_close(ours, theirs(sampling, logits, torch.zeros(1, 1, dtype=torch.long)))


def test_half_precision_logits_become_float32_before_anything(  # pitfall 10
) -> None:
    warper = Warper(Sampling(temperature=1e-4))
    p = warper.distribution(warper.scores(torch.tensor([[60000.0, 59000.0, -60000.0]], dtype=torch.float16)))
    assert p.dtype == torch.float32
    assert p.tolist() == [[1.0, 0.0, 0.0]]


def test_nucleus_by_few_tokens_equals_nucleus_by_all() -> None:
    p = torch.softmax(torch.randn(4, 9000, generator=torch.Generator().manual_seed(3)) * 4, -1)
    assert torch.equal(nucleus(p, 0.9), nucleus(p.double(), 0.9))
    flat = torch.full((1, 9000), 1 / 9000)
    assert nucleus(flat, 0.9).sum() == pytest.approx(8100, abs=2)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 5, 64, 4096, 8192]), st.booleans())
def test_most_probable_is_a_stable_sort(seed: int, size: int, coarse: bool) -> None:
    p = torch.rand(2, size, generator=torch.Generator().manual_seed(seed))
    if coarse:
        p = (p * 8).floor() / 8  # many ties
    expected = torch.sort(p, dim=-1, descending=True, stable=True).indices[:, :HEAD]
    assert torch.equal(most_probable(p, HEAD), expected)
    assert torch.equal(most_probable(p.double(), HEAD), expected)
    assert torch.equal(best(p), expected[:, 0])


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=200), st.floats(0, 1, exclude_max=True))
def test_choose_never_picks_a_token_without_weight(weights: list[float], u: float) -> None:  # pitfall 8
    w = torch.tensor(weights)
    if w.sum() == 0:
        return
    for draw in (u, 0.0, 1 - 2.0**-53):
        assert w[choose(w, draw)] > 0


def test_choose_at_the_edges() -> None:
    w = torch.zeros(49152)
    w[[3, 70, 40000]] = torch.tensor([0.25, 0.5, 0.25])
    assert [int(choose(w, u)) for u in (0.0, 0.4999, 0.5, 0.7499, 0.75, 1 - 2.0**-53)] == [70, 70, 3, 3, 40000, 40000]


def test_choose_follows_its_documented_order() -> None:
    """The 64 largest by falling weight (ties: lower id), then the rest by id: as the CDF on screen is drawn."""
    w = torch.rand(300, generator=torch.Generator().manual_seed(5))
    head = torch.sort(w, descending=True, stable=True).indices[:HEAD].tolist()
    order = head + [i for i in range(300) if i not in head]
    edges = np.cumsum(w.double().numpy()[order]) / w.double().sum().item()
    for u in np.linspace(0, 0.9999, 97):
        assert int(choose(w, float(u))) == order[int(np.searchsorted(edges, u, side="right"))]


def test_choose_is_unbiased_over_its_draws() -> None:
    """Σ of the lengths of u's intervals is the probability: exact, no sampling."""
    w = torch.tensor([0.1, 0.4, 0.2, 0.3], dtype=torch.float64)
    edges = np.array([0.0, 0.4, 0.7, 0.9, 1.0])
    for token, low, high in zip([1, 3, 2, 0], edges[:-1], edges[1:], strict=True):
        assert int(choose(w, low + 1e-12)) == int(choose(w, high - 1e-12)) == token


def test_rows_are_penalised_for_the_prefix_they_really_have() -> None:  # pitfall 9
    seen = Seen(5, torch.device("cpu"))
    seen.add([1])
    rows = seen.rows([torch.tensor(2), torch.tensor(4)])
    assert rows.tolist() == [[False, True, False, False, False], [False, True, True, False, False],
                             [False, True, True, False, True]]
    assert seen.mask.tolist() == [False, True, False, False, False]  # drafts never stay in the prefix


def test_greedy_takes_the_lowest_of_equal_scores() -> None:
    scores = torch.zeros(2, 128)
    scores[0, [70, 9]] = 1.0
    assert best(scores).tolist() == [9, 0]
