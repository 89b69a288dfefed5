"""A person's own acceptance rule."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.errors import RuleError
from engine.proof import examples, rule_checks
from engine.proof.report import never
from engine.proof.rules import judged_by, load
from engine.proof.tables import cases
from engine.verify import judge_sampled


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    return tmp_path


def right(p: Any, q: Any, token: int, draw: float) -> bool:
    return bool(draw * q[token] < p[token])


def redrawing(p: Any, q: Any, token: int, draw: float) -> tuple[bool, Any]:
    return draw * q[token] < p[token], p


def test_the_right_rule_judges_as_ours_does() -> None:
    ours = judged_by(right, "right")
    generator = torch.Generator().manual_seed(0)
    for k in (0, 1, 3):
        p, q = (torch.rand(k + 1, 5, generator=generator, dtype=torch.float64) for _ in range(2))
        p, q = p / p.sum(-1, keepdim=True), (q / q.sum(-1, keepdim=True))[:k]
        drafts = torch.randint(5, (k,), generator=generator)
        u, v = (torch.rand(n, generator=generator, dtype=torch.float64) for n in (k, k + 1))
        for rows in (q, None):
            a, b = ours(p, rows, drafts, u, v), judge_sampled(p, rows, drafts, u, v)
            assert (int(a.accepted), int(a.final)) == (int(b.accepted), int(b.final))


CASES = [case for case in cases(quick=True) if case.gamma == 1 or "zeros" in case.name]


def test_a_right_rule_passes_and_a_wrong_one_is_told_where_it_bends() -> None:
    assert all(rule_checks.enumerated(case, right, "right").passed for case in CASES)
    assert not rule_checks.enumerated(CASES[0], redrawing, "redrawing").passed
    assert rule_checks.sampled("quiz", examples.quiz(), right, "right", 1000, never).passed
    worked = rule_checks.sampled("two", examples.two_tokens(), redrawing, "redrawing", 1000, never)
    assert not worked.passed
    assert "A came up 0.5" in " ".join(worked.details)
    assert "total variation 0.1" in worked.statistic


RULES: dict[str, Any] = {
    "a hole in the draws": lambda p, q, token, draw: right(p, q, token, draw) and not 0.3123 < draw < 0.3173,
    "sure tokens always": lambda p, q, token, draw: bool(p[token] > 0.9) or right(p, q, token, draw),
    "rare tokens never": lambda p, q, token, draw: bool(p[token] > 1e-3) and right(p, q, token, draw),
    "small ids only": lambda p, q, token, draw: token < 128 and right(p, q, token, draw),
    "in float32": lambda p, q, token, draw: bool(np.float32(draw) < np.float32(p[token]) / np.float32(q[token])),
    "a little lenient": lambda p, q, token, draw: bool(draw * q[token] < p[token] + 1e-6),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_that_are_wrong_only_now_and_then(name: str) -> None:
    found = [rule_checks.asked(shape, p, q, RULES[name], name, rule_checks.MESH[True])
             for shape, (p, q) in rule_checks.shapes().items()]
    assert not all(check.passed for check in found)
    assert "bends the output" in rule_checks.summary(name, found)


def test_rows_of_other_shapes_pass_the_right_rule() -> None:
    found = [rule_checks.asked(shape, p, q, right, "right", rule_checks.MESH[True])
             for shape, (p, q) in rule_checks.shapes().items()]
    assert all(check.passed for check in found), found
    assert "lossless as far as it was tried" in rule_checks.summary("right", found)


@pytest.mark.parametrize(("source", "message"), [
    ("def rule(p, q, token, draw): return 1 / 0", "rules_here:rule raised ZeroDivisionError: division by zero "
                                                  r"\(rules_here.py, line 1\)"),
    ("def rule(p, q, token, draw): return 'yes'", "must return True or False"),
    ("def rule(p, q, token, draw): return False, [1.0]", "a residual of shape"),
    ("def rule(p, q, token, draw): return False, p * 0", "sums to 0"),
    ("def rule(p, q, token, draw): return False, -p", "finite weights of 0 or more"),
    ("def rule(p, q, token, draw): p[0] = 1; return True", "raised ValueError: assignment destination is read-only"),
    ("import sys\ndef rule(p, q, token, draw): sys.exit(3)", r"raised SystemExit: 3 \(rules_here.py, line 2\)"),
])
def test_errors_inside_a_rule_are_told_as_its_own(folder: Path, source: str, message: str) -> None:
    (folder / "rules_here.py").write_text(source)
    rule = load("rules_here:rule")
    with pytest.raises(RuleError, match=message):
        list(rule_checks.checks(rule, "rules_here:rule", quick=True))


def test_a_file_here_goes_before_what_python_knows(folder: Path) -> None:
    (folder / "queue.py").write_text("def rule(p, q, token, draw): return True")
    assert load("queue:rule")(None, None, 0, 0.0) is True
    assert __import__("queue").Queue


def test_a_rule_with_random_numbers_of_its_own_is_refused() -> None:
    numbers = random.Random(0)
    with pytest.raises(RuleError, match="two answers to one question"):
        list(rule_checks.checks(lambda p, q, token, draw: numbers.random() < 0.5, "mine", quick=True))


@pytest.mark.parametrize(("spelled", "message"), [
    ("nowhere_at_all:rule", "There is no module nowhere_at_all"), ("math", "must be module:function"),
    ("math:", "must be module:function"), ("math:nothing", "has no function nothing"),
    ("math:pi", "has no function pi, only a float"),
    ("math.py:cos", "must take four arguments"),
    ("broken_rule:rule", "couldn't be imported: RuntimeError: no"),
    ("lacking_rule:rule", "couldn't be imported: No module named 'not_installed_here'"),
])
def test_a_rule_that_is_not_there(folder: Path, spelled: str, message: str) -> None:
    (folder / "broken_rule.py").write_text("raise RuntimeError('no')")
    (folder / "lacking_rule.py").write_text("import not_installed_here")
    with pytest.raises(RuleError, match=message):
        load(spelled)


def test_the_example_of_the_docs_is_right() -> None:
    text = (Path(__file__).parents[2] / "docs" / "proof.md").read_text(encoding="utf-8")
    source = text.split("```python\n")[1].split("```")[0]
    space: dict[str, Any] = {"np": np}
    exec(source, space)  # the project's own page
    assert all(rule_checks.enumerated(case, space["accept"], "accept").passed for case in CASES)
