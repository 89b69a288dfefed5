"""The manual names what there is: every fact, function and kind of breakpoint, and examples that can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.breakpoint_kinds import KINDS
from engine.debugger.expressions import compile
from engine.debugger.facts import FACTS, ROUND_NAMES
from engine.debugger.operations import FUNCTIONS

MANUAL = (Path(__file__).parents[2] / "docs" / "debugger.md").read_text(encoding="utf-8")
EXPRESSIONS = MANUAL.split("## Expressions")[1].split("\n## ")[0]
EXAMPLES = re.findall(r"^    (.+)$", EXPRESSIONS, re.MULTILINE)


@pytest.mark.parametrize("about", ["a token", "its round", "the run so far", "the moment"])
def test_every_name_is_told_where_it_belongs(about: str) -> None:
    row = next(line for line in EXPRESSIONS.splitlines() if line.startswith(f"| {about} |"))
    kind = {"a token": "position", "its round": "round", "the run so far": "run", "the moment": "moment"}[about]
    assert set(re.findall(r"`(\w+)`", row)) == {name for name, fact in FACTS.items() if fact.about == kind}


def test_every_function_is_told() -> None:
    told = re.search(r"functions\s+`([\w\s]+)`", EXPRESSIONS)
    assert told is not None
    assert told[1].split() == list(FUNCTIONS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_can_be_typed(example: str) -> None:
    assert compile(example, ROUND_NAMES).names


def test_every_kind_of_breakpoint_is_told() -> None:
    told = MANUAL.split("| stops at | when |")[1].split("\n\n")[0].replace(", with", ", token with").replace(
        "round, output token", "round, | output token")
    for kind in KINDS:
        assert re.search(rf"(\| |, ){re.escape(kind.label)}\b", told), kind.label
