"""The built-in model: every lane is the plain lane (2 of the 20 prompts; ``make exactness`` runs all)."""

from __future__ import annotations

import pytest

from tests.engine.support import builtin
from tests.exactness import check
from tests.prompts import PROMPTS

TWO = [PROMPTS[1], PROMPTS[18]]  # an edit, a story
TOKENS = 32


@pytest.mark.model
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_every_lane_is_the_plain_lane(dtype: str) -> None:
    tested: dict[str, list[int]] = {}
    for outcome in check(builtin(dtype), TWO, TOKENS):
        assert outcome.same, f"{outcome.drafter}: {outcome.why}: {outcome.prompt.text[:60]!r}"
        totals = outcome.run.finished.totals
        counts = tested.setdefault(outcome.drafter, [0, 0])
        counts[0] += totals.accepted
        counts[1] += totals.tested - totals.accepted
    assert all(accepted and rejected for name, (accepted, rejected) in tested.items() if name != "none"), tested
