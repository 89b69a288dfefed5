"""The distribution of committed sequences, by enumeration of the real loop."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.proof import draws_check, enumeration, tables
from engine.proof.enumeration import enumerate_sequences
from engine.proof.intervals import LAST, intervals
from engine.proof.mutants import MUTANTS, Mutant
from engine.proof.tables import Case, Row, wandering

MUTANT = {mutant.name: mutant for mutant in MUTANTS}


def test_intervals_are_found_with_and_without_hints() -> None:
    def decides(u: float) -> str:
        return "a" if u < 0.25 else "b" if u < 0.3 else "c"

    for suspects in ([], [0.25, 0.3], [0.1, 0.7], [0.25]):
        found = intervals(decides, suspects)
        bounds = [i.high for i in found if i.high - i.low > 1e-12]
        assert found[0].low == 0
        assert found[-1].high == 1
        assert all(low.high == high.low for low, high in pairwise(found))
        assert decides(found[0].at) == "a"
        assert bounds[-1] == 1
        assert any(abs(b - 0.3) < 1e-15 for b in bounds)
        assert all(decides(i.at) == decides((i.low + i.high) / 2) for i in found if i.high - i.low > 1e-9)


@pytest.mark.parametrize("edge", [0.0, LAST])
def test_an_outcome_of_one_single_draw_gets_an_interval(edge: float) -> None:
    found = intervals(lambda u: u == edge, [])
    assert len(found) == 2
    assert min(i.high - i.low for i in found) < 1e-15
    assert any(i.at == edge for i in found)


def two(p: Row, q: Row, *, gamma: int = 1, tokens: int = 1) -> Case:
    return Case("worked", (p,), (q,), gamma=gamma, tokens=tokens)


def test_teaching_s_worked_example_exactly() -> None:
    """p = (0.4, 0.6), q = (0.8, 0.2): total (0.4, 0.6); a redraw from p gives A 0.4 + 0.4 · 0.4 = 0.56."""
    case = two((0.4, 0.6), (0.8, 0.2), tokens=2)  # a bonus must have room, or nothing would be drafted

    def first(spoil: enumeration.Spoil | None = None) -> float:
        found = enumerate_sequences(case, spoil).probabilities
        assert sum(found.values()) == pytest.approx(1, abs=1e-12)
        return sum(mass for tokens, mass in found.items() if tokens[0] == 0)

    assert first() == pytest.approx(0.4, abs=1e-14)
    assert first(MUTANT["redraw-from-p"].spoil) == pytest.approx(0.56, abs=1e-12)


def test_the_quiz_exactly() -> None:
    """p = (0.3, 0.7), q = (0.6, 0.4): total (0.3, 0.7)."""
    found = enumerate_sequences(two((0.3, 0.7), (0.6, 0.4), tokens=2)).probabilities
    assert sum(mass for tokens, mass in found.items() if tokens[0] == 0) == pytest.approx(0.3, abs=1e-14)


@pytest.mark.parametrize("case", [case for case in tables.cases(quick=True) if not case.tree],
                         ids=lambda case: case.name)  # trees: test_proof_trees.py
def test_committed_sequences_have_the_target_s_probability(case: Case) -> None:
    check = enumeration.check(case)
    assert check.passed, check
    assert check.samples > 100


ODD = [0.0, 0.0, 1.0, 0.5, 1 / 3, 0.5 + 2**-53, 1e-300, 5e-324, 0.2]


def rows(size: int) -> st.SearchStrategy[Row]:
    weight = st.sampled_from(ODD) | st.floats(0, 1, width=32)
    return st.tuples(*[weight] * size).filter(lambda row: sum(row) > 1e-3)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), size=st.integers(2, 4), gamma=st.integers(1, 2))
def test_any_p_and_q(data: st.DataObject, size: int, gamma: int) -> None:
    """Zeros, ties, one-hots, nearly equal rows, disjoint supports, the smallest numbers there are."""
    p = data.draw(st.lists(rows(size), min_size=1, max_size=3))
    q = data.draw(st.lists(rows(size), min_size=1, max_size=3) | st.just(p))
    case = Case("any", tuple(p), tuple(q), gamma=gamma, tokens=2 if size == 4 else 3, eos=size - 1)
    check = enumeration.check(case)
    assert check.passed, check


@settings(max_examples=20, deadline=None)
@given(temperature=st.floats(0.3, 3), top_k=st.integers(0, 4), top_p=st.floats(0.2, 1, exclude_min=True),
       min_p=st.floats(0, 0.6), penalty=st.floats(0.5, 2), seed=st.integers(0, 1000))
def test_any_sampling(temperature: float, top_k: int, top_p: float, min_p: float, penalty: float, seed: int) -> None:
    sampling = tables.Sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                               repetition_penalty=penalty)
    check = enumeration.check(Case("any", wandering(seed, 3), wandering(seed + 1, 3), tokens=2, sampling=sampling))
    assert check.passed, check


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if not m.bends and m.name != "stale-drafter-cache"],
                         ids=lambda mutant: mutant.name)
def test_what_only_costs_speed_bends_nothing(mutant: Mutant) -> None:
    assert enumeration.check(Case("end", wandering(1, 3), wandering(2, 3), eos=2, tokens=2), mutant.spoil,
                             coarse=True).passed


def test_draws_are_used_once_and_are_those_of_their_place() -> None:
    check = draws_check.check()
    assert check.passed, check
    assert check.samples > 300
    assert not draws_check.check(MUTANT["draws-by-position"].spoil).passed


def test_a_cancelled_enumeration_stops() -> None:
    with pytest.raises(InterruptedError):
        enumeration.check(two((1, 1), (1, 1)), cancelled=lambda: True)
