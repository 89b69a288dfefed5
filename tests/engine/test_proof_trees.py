"""Trees are proved: the right rule passes every case. That the wrong ones are caught is among all of them in
test_proof_kills.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.proof import draws_check, enumeration, identity, subjects, tables
from engine.proof.mutants import Mutant
from engine.proof.report import never
from engine.proof.tree_mutants import TREE_MUTANTS

CASES = [case for case in tables.cases(quick=True) if case.tree]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_sequence_has_the_target_s_probability(case: tables.Case) -> None:
    found = enumeration.check(case)
    assert found.passed, found


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_chain_is_left_alone(mutant: Mutant) -> None:
    assert enumeration.check(next(iter(tables.cases(quick=True))), mutant.spoil).passed


def test_draws_of_trees_are_used_once() -> None:
    found = draws_check.check(case=draws_check.TREE)
    assert found.passed
    assert found.samples > 500


@pytest.mark.parametrize("kind", [kind for kind in subjects.KINDS if kind != "llama"])
def test_lanes_with_trees(kind: str) -> None:
    """The llama's are among its methods in test_proof_identity.py, as are these two's like generate."""
    subject = replace(subjects.tiny(kind), chosen=subjects.TREES)
    for checks in (identity.greedy_against_plain, identity.cache_contents, identity.forward_counts):
        for found in checks(subject, quick=True, cancelled=never):
            assert found.passed, found
