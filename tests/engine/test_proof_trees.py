"""Trees are proved: the right rule passes every case, and each wrong one is caught by a check that it passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.proof import draws_check, enumeration, identity, subjects, tables
from engine.proof.kills import NETS, catch
from engine.proof.mutants import Mutant
from engine.proof.report import never
from engine.proof.tree_mutants import TREE_MUTANTS

CASES = [case for case in tables.cases(quick=True) if case.tree]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_sequence_has_the_target_s_probability(case: tables.Case) -> None:
    found = enumeration.check(case)
    assert found.passed, found


@pytest.mark.parametrize("net", [net for net in NETS if "tree" in net.name], ids=lambda net: net.name)
def test_the_right_rule_passes(net) -> None:  # type: ignore[no-untyped-def]
    assert net.passes(None, never)


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda mutant: mutant.name)
def test_the_wrong_one_is_caught(mutant: Mutant) -> None:
    assert catch(mutant, first=True).caught


@pytest.mark.parametrize("mutant", TREE_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_chain_is_left_alone(mutant: Mutant) -> None:
    assert enumeration.check(next(iter(tables.cases(quick=True))), mutant.spoil).passed


def test_draws_of_trees_are_used_once() -> None:
    found = draws_check.check(case=draws_check.TREE)
    assert found.passed
    assert found.samples > 500


@pytest.mark.parametrize("kind", subjects.KINDS)
def test_lanes_with_trees(kind: str) -> None:
    subject = replace(subjects.tiny(kind), chosen=subjects.TREES)
    for checks in (identity.greedy_against_generate, identity.greedy_against_plain, identity.cache_contents,
                   identity.forward_counts):
        for found in checks(subject, quick=True, cancelled=never):
            assert found.passed, found
