"""The checks on whole lanes pass on tiny models, and notice parts that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from engine.proof import identity, rows, subjects
from engine.proof.report import Check, never
from engine.proof.rig import Rig
from engine.proof.trial import Checks
from engine.runner import Runner
from engine.sampling import Warper
from engine.settings import Sampling


def judged(kind: Checks, spoil: Callable[[Rig], None] | None = None, model: str = "llama") -> list[Check]:
    return list(kind(subjects.tiny(model), quick=True, cancelled=never, spoil=spoil))


@pytest.mark.parametrize(("kind", "model"), [
    *((k, "llama") for k in identity.KINDS if k is not identity.same_model),
    *((k, m) for m in ("gpt2", "gemma") for k in (identity.greedy_against_generate, rows.invariance, rows.verify_rows)),
], ids=lambda k: getattr(k, "__name__", k))
def test_every_check_passes_on_tiny_models(kind: Checks, model: str) -> None:
    found = judged(kind, model=model)
    assert found
    assert not [f"{c.name}: {c.statistic} {c.details}" for c in found if not c.passed]
    assert all(c.samples for c in found)
    assert len({c.name for c in found}) == len(found)


def test_a_model_that_drafts_for_itself_is_never_refused_in_300_rounds() -> None:
    greedy, sampled = judged(identity.same_model)
    assert greedy.passed, (greedy.statistic, greedy.details)
    assert greedy.samples == 300
    assert sampled.passed, (sampled.statistic, sampled.details)


def test_half_precision_is_the_plain_lane_too() -> None:
    subject = subjects.tiny("llama", dtype=torch.bfloat16)
    found = list(identity.on(subject, quick=True, cancelled=never, kinds=identity.NUMERIC))
    assert not [f"{c.name}: {c.statistic} {c.details}" for c in found if not c.passed]
    assert list(identity.greedy_against_generate(subject, quick=True, cancelled=never)) == []


class Shifted(Runner):
    """Positions of a forward over several tokens are one too high."""

    def _call(self, ids: torch.Tensor, positions: torch.Tensor, rows: int, *tree: Any) -> torch.Tensor:
        return super()._call(ids, positions + (1 if ids.shape[1] > 1 else 0), rows, *tree)


def shifted(rig: Rig) -> None:
    rig.target = Shifted(rig.target.model)


def cut_nothing(rig: Rig) -> None:
    rig.drafter.cut = lambda length: None  # type: ignore[method-assign]


def cut_off_by(extra: int) -> Callable[[Rig], None]:
    def spoil(rig: Rig) -> None:
        cut = rig.target.cut
        rig.target.cut = lambda to: cut(to + extra)  # type: ignore[method-assign]

    return spoil


def run_twice(rig: Rig) -> None:
    forward = rig.target.forward

    def twice(tokens: Any, **how: Any) -> torch.Tensor:
        forward(tokens, **how)
        rig.target.cut(rig.target.length - len(tokens))
        return forward(tokens, **how)

    rig.target.forward = twice  # type: ignore[method-assign]


def unwarped_drafter(rig: Rig) -> None:
    rig.drafter.warper = Warper(Sampling(temperature=1.0))  # type: ignore[attr-defined]


def broken(rig: Rig) -> None:
    del rig.drafter.about
    rig.judge.warper = None  # type: ignore[assignment]


@pytest.mark.parametrize("model", subjects.KINDS)
def test_shifted_positions_are_seen_in_the_verify_rows(model: str) -> None:
    found = judged(rows.verify_rows, shifted, model)
    assert not any(c.passed for c in found)
    assert all("off by" in c.statistic and c.details for c in found)


@pytest.mark.parametrize("extra", [-1, 1])
def test_a_target_s_crop_off_by_one_is_seen(extra: int) -> None:
    for kind in (rows.verify_rows, identity.cache_contents):
        assert not all(c.passed for c in judged(kind, cut_off_by(extra))), kind


def test_a_drafter_s_crop_that_does_nothing_is_seen() -> None:
    caches = judged(identity.cache_contents, cut_nothing)
    assert any("of the drafter's cache holds" in detail for c in caches for detail in c.details)
    assert all(c.passed for c in judged(identity.greedy_against_generate, cut_nothing)), "the output stays right"


def test_a_second_forward_is_counted() -> None:
    found = judged(identity.forward_counts, run_twice)
    assert not any(c.passed for c in found)
    assert all("2 of the target" in c.details[0] for c in found)


def test_a_drafter_with_another_warper_is_seen_by_itself() -> None:
    for check in judged(identity.same_model, unwarped_drafter):
        assert not check.passed
        assert "rejected" in check.details[0]


def test_a_part_that_breaks_fails_its_check_with_the_reason() -> None:
    check = judged(identity.forward_counts, broken)[-1]
    assert not check.passed
    assert check.statistic == "stopped by AttributeError"
    assert check.details


def test_checks_can_be_cancelled() -> None:
    asked = iter(range(10**9))
    found = list(identity.on(subjects.tiny("llama"), quick=True, cancelled=lambda: next(asked) > 400))
    assert 0 < len(found) < 10
    assert list(identity.on_tiny_models(quick=True, cancelled=lambda: True)) == []
