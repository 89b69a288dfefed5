"""Every wrong rule is caught, and the checks that catch them pass the right one."""

from __future__ import annotations

import pytest

from engine.proof import kills
from engine.proof.kills import MUTANTS, NETS, Catch, catch, matrix
from engine.proof.mutants import Mutant
from engine.proof.report import never


def test_there_are_enough_and_each_has_its_own_name() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20
    assert all(mutant.about for mutant in MUTANTS)


@pytest.mark.parametrize("net", NETS, ids=lambda net: net.name)
def test_the_right_rule_passes_every_net(net: kills.Net) -> None:
    assert net.passes(None, never)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_no_wrong_rule_survives(mutant: Mutant) -> None:
    found = catch(mutant, first=True)
    assert found.caught, f"{mutant.name} survives {', '.join(found.tried)}"
    assert found.check.passed


def test_a_survivor_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "NETS", NETS[:3])
    found = catch(Mutant("harmless", "Nothing is changed.", lambda rig: None), first=True)
    assert not found.caught
    assert not found.check.passed
    assert len(found.tried) == 3


def test_the_matrix_has_a_row_a_mutant_and_a_column_a_net() -> None:
    one = Catch(MUTANTS[0], (NETS[0].name,), tuple(net.name for net in NETS[:2]), 0.0)
    lines = matrix([one]).splitlines()
    assert len(lines) == 3
    assert lines[2].split("|")[2:4] == [" ● ", " · "]
    assert lines[2].split("|")[4] == "  "
