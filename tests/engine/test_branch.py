"""A branch with no change repeats its original exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from engine import checks, kept_caches, rollback, trace
from engine.branch import branch
from engine.debugger.what_if import NoChange, OtherSettings, OtherToken
from engine.full_rows import round_rows
from engine.runner import Runner
from engine.sampling import Sampling
from tests.engine.branching import DRAFTERS, FEW, WARPED, branched, half, rounds_of, same
from tests.engine.support import GREEDY, PROMPT, WARM, Run, builtin, lanes, run, settings, target, wrap
from tests.engine.test_decode import twins


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    kept_caches._kept.clear()


@pytest.mark.parametrize("sampling", [GREEDY, WARM, WARPED], ids=["greedy", "warm", "warped"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_no_change_repeats_the_original(drafter: str, dtype: str, sampling: Sampling,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    model = target() if dtype == "float32" else half()
    models = twins("llama") if drafter.startswith("model") else {}
    one = run(model, PROMPT, settings(drafter, tokens=32, sampling=sampling, seed=5), models=models)
    assert one.finished.reason == "length"
    for number in rounds_of(one):
        again = branched(model, one, NoChange(round=number), models)
        same(again.records, one.records)
        assert again.started.branch is not None
        assert (again.started.branch.round, again.started.branch.change, again.started.branch.lossless) == (
            number, "", True)
        assert {(r.run, r.lane) for r in again.records} == {("again", "b")}


@pytest.mark.parametrize("kind", ["gemma2", "gemma", "mistral", "gpt2", "qwen3"])
@pytest.mark.parametrize("exact", [False, True])
def test_it_repeats_on_models_of_every_kind(kind: str, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sliding windows, learned positions, soft caps; padded or not; in lanes of one race; with the caches checked."""
    monkeypatch.setenv(checks.FLAG, "1")
    many = [settings(d, tokens=40, sampling=FEW, exact=exact, seed=3) for d in ("layer-skip", "ngram", "model:twin")]
    for one in lanes(target(kind), PROMPT, many, models=twins(kind)):
        assert one.finished.reason == "length", one.finished.message
        again = branched(target(kind), one, NoChange(round=len(one.rounds) * 2 // 3), twins(kind))
        same(again.records, one.records)


@pytest.mark.parametrize("drafter", ["none", "layer-skip", "model:twin"])
def test_it_repeats_where_the_cache_grew(drafter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollback, "FIRST_BUCKET", 16)
    one = run(half(), PROMPT, settings(drafter, tokens=60), models=twins("llama"))
    for number in rounds_of(one):
        kept_caches._kept.clear()  # each grows from nothing
        same(branched(half(), one, NoChange(round=number), twins("llama")).records, one.records)


@pytest.mark.parametrize("drafter", ["none", "ngram", "layer-skip"])
def test_endings_are_repeated(drafter: str) -> None:
    free = run(target(), PROMPT, settings(drafter, tokens=40))
    text = free.finished.text
    by_stop = run(target(), PROMPT, settings(drafter, tokens=40, stop=(text[25:29],)))
    by_eos = run(wrap(target().hf, eos=frozenset(free.tokens[18:19])), PROMPT, settings(drafter, tokens=40))
    assert by_stop.finished.reason == "stop"
    assert by_eos.finished.reason == "eos"
    for one, model in ((by_stop, target()), (by_eos, wrap(target().hf, eos=frozenset(free.tokens[18:19])))):
        for number in rounds_of(one):
            same(branched(model, one, NoChange(round=number)).records, one.records)


def test_without_recorded_rows_it_repeats_too() -> None:
    for model in (target(), half()):
        one = run(model, PROMPT, settings("layer-skip", tokens=40, detail=False))
        same(branched(model, one, NoChange(round=8)).records, one.records)


@pytest.mark.parametrize("name", ["run.spectrace", "run.spectrace.gz"])
def test_a_recording_from_a_file_can_be_gone_on_with(name: str, tmp_path: Path) -> None:
    one = run(target(), PROMPT, settings("model:twin", sampling=WARM), models=twins("llama"))
    with trace.Writer(tmp_path / name) as file:
        for record in one.records:
            file.write(record)
    read = Run(list(trace.read(tmp_path / name)))
    again = branched(target(), read, NoChange(round=4), twins("llama"))
    assert again.tokens == one.tokens
    begin = next(i for i, r in enumerate(one.records) if getattr(r, "round", 0) == 4)
    same(again.records[begin:], one.records[begin:])


def test_a_lane_that_is_still_under_way_can_be_branched_anywhere() -> None:
    one = run(target(), PROMPT, settings("model:other", sampling=WARM), models=twins("llama"))
    for count in range(4, 60, 7):
        cut = Run(one.records[:count])
        number = len(cut.rounds)
        same(branched(target(), cut, NoChange(round=number), twins("llama")).records, one.records)


def test_stepping_token_by_token_changes_nothing() -> None:
    one = run(target(), PROMPT, settings("model:other", sampling=WARM), models=twins("llama"))
    change = OtherToken(round=2, index=1, token=7)
    free = branched(target(), one, change, twins("llama"))
    same(branched(target(), one, change, twins("llama"), by_record=lambda: True).records, free.records)


def forwards_of(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The width of every forward from now on."""
    widths: list[int] = []
    forward = Runner._forward

    def spy(self: Runner, ids: torch.Tensor, **others: Any) -> torch.Tensor:
        widths.append(ids.shape[1])
        return forward(self, ids, **others)

    monkeypatch.setattr(Runner, "_forward", spy)
    return widths


def test_restoring_takes_few_forwards_where_rows_do_not_depend_on_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    model = half()
    one = run(model, PROMPT, settings(tokens=64))
    widths = forwards_of(monkeypatch)
    live = branch(model, one.records, NoChange(round=60), run="r", lane="b")
    next(live)
    assert widths == [len(PROMPT) - 1, 16, 16, 16, 12]
    same([*branched(model, one, NoChange(round=60)).records], one.records)


@pytest.mark.parametrize("drafter", ["ngram", "layer-skip", "model:other"])
def test_what_was_restored_before_costs_no_forward(drafter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(checks.FLAG, "1")
    models = twins("llama")
    one = run(target(), PROMPT, settings(drafter, tokens=40, sampling=FEW, seed=1), models=models)
    last = len(one.rounds) - 1
    widths = forwards_of(monkeypatch)

    def restoring(number: int) -> int:
        live = branch(target(), one.records, NoChange(round=number), run="r", lane="b", models=models)
        before, first = len(widths), next(live)
        spent = len(widths) - before
        same([first, *live], one.records)
        return spent

    assert restoring(last) > last
    assert [restoring(number) for number in (last, last // 2, 0, last)] == [0, 0, 0, 0]
    kept_caches._kept.clear()
    restoring(last - 2)
    assert 0 < restoring(last) <= 2 * (1 + one.rounds[last].position - one.rounds[last - 2].position)
    other = OtherSettings(round=last, settings=settings("layer-skip", gamma=2, sampling=WARM, tokens=60))
    before, live = len(widths), branch(target(), one.records, other, run="r", lane="b", models=models)
    next(live)
    assert (len(widths) == before) == (drafter == "layer-skip")  # another drafter takes the text in by itself


def test_caches_too_large_to_keep_are_restored_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    one = run(target(), PROMPT, settings("layer-skip", tokens=20))
    monkeypatch.setattr(kept_caches, "MOST", 1000)
    for _ in range(2):
        same(branched(target(), one, NoChange(round=3)).records, one.records)
    assert not kept_caches._kept


def test_other_digests_have_the_rounds_repeated_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a recording from another machine."""
    one = run(half(), PROMPT, settings("ngram", tokens=30))
    others = [msgspec.structs.replace(r, digests=tuple(d + 1 for d in r.digests)) if hasattr(r, "digests") else r
              for r in one.records]
    widths = forwards_of(monkeypatch)
    again = branched(half(), Run(others), NoChange(round=len(one.rounds)))
    assert len(widths) > len(one.rounds)
    assert again.tokens == one.tokens
    assert not again.started.exactness.invariant
    assert "could not be had again bit for bit" in again.started.exactness.sentence


@pytest.mark.model
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_the_built_in_model_repeats_too(dtype: str) -> None:
    model = builtin(dtype)
    prompt = model.encode("Say twice: the cat sat on the mat.", chat=True)
    many = [settings(d, tokens=12, sampling=s) for d, s in (("layer-skip", FEW), ("ngram", GREEDY))]
    for one in lanes(model, prompt, many):
        assert one.finished.reason in ("length", "eos")
        same(branched(model, one, NoChange(round=len(one.rounds) // 2)).records, one.records)
        number = len(one.rounds) - 1
        for row, recorded in zip(round_rows(model, one.records, number), one.verified[number].rows, strict=True):
            assert row.identical
            assert np.array_equal(row.p[recorded.ids], recorded.p)
            assert not len(recorded.q) or np.array_equal(row.q[recorded.ids], recorded.q)  # type: ignore[index]
