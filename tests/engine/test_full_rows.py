"""A recorded round's whole rows, computed again: the very bits that were recorded."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.debugger.what_if import OtherSettings, OtherToken
from engine.full_rows import full_rows, round_rows
from engine.past import ReplayError
from tests.engine.branching import DRAFTERS, WARPED, branched, half
from tests.engine.support import GREEDY, PROMPT, VOCABULARY, WARM, Run, run, settings, target
from tests.engine.test_decode import twins


def as_recorded(model, one: Run, models, rounds) -> None:  # type: ignore[no-untyped-def]
    for number in rounds:
        verified = one.verified[number]
        rows = round_rows(model, one.records, number, models)
        assert len(rows) == verified.k + 1
        for row, recorded in zip(rows, verified.rows, strict=True):
            assert row.identical
            assert row.p.dtype == np.float32
            assert row.p.shape == (VOCABULARY,)
            assert np.array_equal(row.p[recorded.ids], recorded.p)
            if len(recorded.q):
                assert row.q is not None
                assert np.array_equal(row.q[recorded.ids], recorded.q)
            assert (row.q is None) == (row.index == verified.k)
            assert not row.p.flags.writeable


@pytest.mark.parametrize("sampling", [GREEDY, WARM, WARPED], ids=["greedy", "warm", "warped"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_rows_are_the_recorded_ones_bit_for_bit(drafter: str, dtype: str, sampling) -> None:  # type: ignore[no-untyped-def]
    model = target() if dtype == "float32" else half()
    one = run(model, PROMPT, settings(drafter, tokens=32, sampling=sampling, seed=5), models=twins("llama"))
    as_recorded(model, one, twins("llama"), {0, 1, len(one.rounds) - 1})


@pytest.mark.parametrize("kind", ["gemma", "gpt2"])
def test_padded_too(kind: str) -> None:
    one = run(target(kind), PROMPT, settings("layer-skip", sampling=WARM, exact=True))
    as_recorded(target(kind), one, {}, [3])


def test_a_round_whose_draft_was_chosen_by_hand() -> None:
    for drafter, token in (("model:other", 9), ("ngram", 41)):
        one = run(target(), PROMPT, settings(drafter, sampling=WARM), models=twins("llama"))
        by_hand = branched(target(), one, OtherToken(round=0, index=1, token=token), twins("llama"))
        as_recorded(target(), by_hand, twins("llama"), [0, 2])


def test_a_round_under_way_has_its_rows_once_it_is_verified() -> None:
    one = run(target(), PROMPT, settings("model:other", sampling=WARM), models=twins("llama"))
    cut = Run(one.records[: one.records.index(one.verified[3]) + 1])
    as_recorded(target(), cut, twins("llama"), [3])
    with pytest.raises(ReplayError, match="Round 4 has not been verified yet"):
        round_rows(target(), one.records[: one.records.index(one.verified[3])], 3, twins("llama"))


def test_a_row_that_does_not_exist() -> None:
    one = run(target(), PROMPT, settings("ngram"))
    k = one.verified[0].k
    assert full_rows(target(), one.records, 0, k).q is None
    q = full_rows(target(), one.records, 0, 0).q
    assert q is not None
    assert q[one.drafted[0].token] == q.sum() == 1
    with pytest.raises(ReplayError, match="Round 1 has rows 1 to"):
        full_rows(target(), one.records, 0, k + 1)


def test_copied_rounds_of_other_settings_are_asked_for_elsewhere() -> None:
    one = run(target(), PROMPT, settings("ngram", sampling=WARM))
    cooler = branched(target(), one, OtherSettings(round=3, settings=settings("ngram", sampling=WARPED)))
    as_recorded(target(), cooler, {}, [3, 4])
    with pytest.raises(ReplayError, match=r"ask for it in the lane it was copied from \(0\)"):
        round_rows(target(), cooler.records, 1)


def test_the_logits_are_the_target_s_own() -> None:
    one = run(target(), PROMPT, settings("ngram", sampling=WARPED))
    row = full_rows(target(), one.records, 2, 0)
    text = PROMPT + one.tokens
    logits = target().hf(input_ids=torch.tensor([text[: one.rounds[2].position]])).logits[0, -1]
    np.testing.assert_allclose(row.logits, logits.numpy(), rtol=1e-3, atol=1e-3)
