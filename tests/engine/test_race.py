"""Lanes on one device: fair clocks, failures that stay in their lane, exactness by padding where it takes that."""

from __future__ import annotations

import pytest
import torch

from engine.attention import attend
from engine.errors import SettingsError
from engine.invariance import measure
from engine.race import LanePlan, race
from engine.records import Committed, Prefilled, Totals
from engine.rollback import FIRST_BUCKET, Slots, bucket
from engine.runner import Runner
from tests.engine import tiny
from tests.engine.support import PROMPT, VOCABULARY, WARM, lanes, run, settings, target


def test_the_lane_behind_goes_next() -> None:
    plans = [LanePlan(d, settings(d, tokens=30, skip=(2,))) for d in ("none", "ngram", "layer-skip")]
    clocks = {plan.lane: Totals() for plan in plans}
    running = set(clocks)
    for record in race(target(), PROMPT, plans, run="r"):
        if isinstance(record, (Committed, Prefilled)):
            others = [clocks[lane].total_seconds for lane in running if lane != record.lane]
            assert clocks[record.lane].total_seconds <= min(others, default=float("inf"))
        clocks[record.lane] = clocks[record.lane].plus(record)
        if type(record).__name__ == "RunFinished":
            running.discard(record.lane)
    assert not running


def test_a_failing_lane_leaves_the_others_going() -> None:
    good, bad, unloaded = lanes(target(), PROMPT, [settings(), settings("layer-skip", skip=(5,)),
                                                   settings("model:nowhere")])
    assert good.finished.reason == "length"
    assert bad.finished.reason == "error"
    assert "layer 5" in bad.finished.message
    assert "nowhere has not been loaded" in unloaded.finished.message


def test_prompts_that_can_t_be_decoded_are_refused_in_words() -> None:
    with pytest.raises(SettingsError, match="prompt is empty"):
        run(target(), [], settings())
    with pytest.raises(SettingsError, match="at most 256"):
        run(target(), [3] * 256, settings())


def test_one_token_prompts_work() -> None:
    plain, fast = lanes(target(), [5], [settings(), settings("layer-skip", skip=(2,))])
    assert plain.tokens == fast.tokens
    assert len(plain.tokens) == 24


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_padding_makes_float32_rows_invariant(kind: str) -> None:
    """--exact: every forward at one width, ids and logits bit for bit (pitfall 37: pads leave real rows unchanged)."""
    plain, fast, skip = lanes(target(kind), PROMPT, [settings(d, tokens=40, skip=(2,), exact=True)
                                                     for d in ("none", "ngram", "layer-skip")])
    assert plain.started.exactness.invariant
    if plain.started.exactness.padded:
        assert {v.width for one in (plain, fast, skip) for v in one.verified} == {5}
    assert plain.tokens == fast.tokens == skip.tokens
    assert plain.digests == fast.digests == skip.digests
    free = run(target(kind), PROMPT, settings(tokens=40))
    assert free.tokens == plain.tokens


def test_padding_at_the_end_of_learned_positions() -> None:
    """gpt2 has 128 positions; pads behind the last one must not ask for a 129th."""
    model = target("gpt2")
    one = run(model, PROMPT, settings("ngram", tokens=1000, exact=True))
    assert one.finished.reason == "context", one.finished.message
    assert one.tokens == run(model, PROMPT, settings(tokens=1000)).tokens


def test_the_verdict_tells_invariant_from_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measure(target().hf, 1).sentence.startswith("bit-exact here (plain")
    forward = Runner.forward

    def nudged(self: Runner, tokens, *, rows: int = 0):  # type: ignore[no-untyped-def]
        out = forward(self, tokens, rows=rows)
        return out + 1e-3 if len(tokens) > 3 else out

    padded = measure(target().hf, 6, pad_to=6)
    assert padded.invariant
    assert padded.row_difference == 0
    monkeypatch.setattr(Runner, "forward", nudged)
    found = measure(target().hf, 6, pad_to=6)
    assert not found.invariant
    assert found.width_limit == 3
    assert found.row_difference == pytest.approx(1e-3, rel=0.01)
    assert "only up to width 3" in found.sentence


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_attention_is_softmax_of_masked_scores(groups: int) -> None:
    """In float64 against the formula, for widths that fill and don't fill a block."""
    generator = torch.Generator().manual_seed(0)
    for width in (1, 2, 5, 33):
        q = torch.randn(1, 4, width, 8, generator=generator, dtype=torch.float64)
        k, v = torch.randn(2, 1, 4 // groups, 40, 8, generator=generator, dtype=torch.float64)
        mask = torch.where(torch.rand(1, 1, width, 40, generator=generator) < 0.5, 0.0, -torch.inf).double()
        mask[..., 0] = 0
        out, _ = attend(torch.nn.Module(), q, k, v, mask, scaling=0.3)
        wide = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        expected = torch.softmax(q @ wide[0].mT * 0.3 + mask, -1) @ wide[1]
        torch.testing.assert_close(out, expected.transpose(1, 2))


def test_slots_grow_and_keep_what_is_in() -> None:
    assert [bucket(n) for n in (1, FIRST_BUCKET, FIRST_BUCKET + 1, 5000)] == [256, 256, 512, 8192]
    runner, wide = Runner(target().hf), Runner(target().hf)
    wide.cache.reserve(2000)
    tokens = [(11 * i + 5) % VOCABULARY for i in range(40)]
    for r in (runner, wide):
        r.prefill(tokens[:30])
    runner.cache.reserve(2000)
    torch.testing.assert_close(runner.forward(tokens[30:]), wide.forward(tokens[30:]), rtol=0, atol=0)
    assert runner.cache.bytes == wide.cache.bytes == 3 * 2 * 2 * 2048 * 8 * 4


def test_a_crop_that_did_nothing_is_noticed() -> None:  # pitfall 19
    from engine.errors import CacheError

    runner = Runner(target().hf)
    runner.prefill([1, 2, 3, 4])
    runner.cache.layers[1].crop = lambda tokens_to_remove: None
    with pytest.raises(CacheError, match="Layer 1 of the cache holds 4 tokens where 2 were expected"):
        runner.cut(2)
    with pytest.raises(CacheError, match="can't be cut back to 9"):
        Slots(2).cut(9)


def test_sampling_without_a_drafter_and_with_one_differ_but_both_follow_p() -> None:
    """One seed needn't give the same tokens; the first round's p is the same row, bit for bit."""
    plain, fast = lanes(target(), PROMPT, [settings(sampling=WARM), settings("layer-skip", skip=(2,), sampling=WARM)])
    assert plain.verified[0].digests[0] == fast.verified[0].digests[0] or not plain.started.exactness.invariant
    assert plain.verified[0].rows[0].p[:5] == pytest.approx(fast.verified[0].rows[0].p[:5], abs=1e-5)
