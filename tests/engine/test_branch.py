"""A branch repeats its original exactly until something is changed, and then goes where the arithmetic says."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from engine import checks, kept_caches, rollback, trace
from engine.branch import branch
from engine.debugger.history import History, RoundSoFar
from engine.debugger.what_if import AnyChange, Forced, NoChange, OtherDraw, OtherSettings, OtherToken
from engine.drafters.model import ModelDrafter
from engine.errors import CacheError, Cancelled, ModelError
from engine.full_rows import round_rows
from engine.models import Model, load
from engine.past import ReplayError
from engine.records import Contrast, Record, RunStarted
from engine.runner import Runner
from engine.sampling import Sampling
from tests.engine.support import GREEDY, PROMPT, VOCABULARY, WARM, Run, lanes, run, settings, target, wrap
from tests.engine.test_decode import twins

DRAFTERS = ["none", "ngram", "layer-skip", "model:twin", "model:other"]
WARPED = Sampling(temperature=0.8, top_k=40, top_p=0.95, min_p=0.001, repetition_penalty=1.1)
FEW = Sampling(temperature=1.0, top_k=30)
"""Rows of at most 30 tokens are recorded whole, so a test can do the arithmetic."""
COOL = Sampling(temperature=0.5, top_k=30)


def half(kind: str = "llama") -> Model:
    return wrap(copy.deepcopy(target(kind).hf).to(torch.bfloat16))


def branched(model: Model, original: Run, change: AnyChange, models: Mapping[str, Model] | None = None,
             **others: Any) -> Run:
    return Run(list(branch(model, original.records, change, run="again", lane="b", models=models, **others)))


def plain(record: Any) -> Any:
    """A record without what may differ in a repetition: run, lane, seconds."""
    if isinstance(record, np.ndarray):
        return record.dtype.str, record.tobytes()
    if isinstance(record, msgspec.Struct):
        skip = {"run", "lane", "seconds", "target_seconds", "drafter_seconds", "totals", "details", "title", "started",
                "branch"}
        return type(record).__name__, [plain(getattr(record, f)) for f in record.__struct_fields__ if f not in skip]
    return [plain(one) for one in record] if isinstance(record, (tuple, list)) else record


def same(a: Sequence[Record], b: Sequence[Record]) -> None:
    assert [plain(r) for r in a] == [plain(r) for r in b]


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    kept_caches._kept.clear()


def rounds_of(one: Run) -> list[int]:
    """From nothing, from kept caches that are cut back, and from some that are gone on with."""
    last = len(one.rounds)
    return [last // 2, 0, last, last - 1]


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


def history(one: Run) -> History:
    made = History("x")
    for record in one.records:
        made.append(record)
    return made


def round_where(one: Run, **wanted: Any) -> RoundSoFar:
    """The first round, but the first of all, whose end is like this."""
    made = history(one)
    number = next(r.round for r in one.rounds[1:] if all(getattr(r, name) == value for name, value in wanted.items()))
    return made.round(number)


def drawn(ids: Any, weights: Any, u: float) -> int:
    """Inverse CDF as documented: the 64 largest by falling weight (ties: lower id), the rest by id. In plain Python."""
    order = sorted(zip(ids.tolist(), weights.astype(np.float64).tolist(), strict=True), key=lambda x: (-x[1], x[0]))
    total = sum(w for _, w in order)
    reached = 0.0
    for token, weight in order:
        reached += weight
        if reached > u * total:
            return token
    return max(order, key=lambda x: x[1] > 0)[0]


def left(row: Contrast) -> Any:
    return np.maximum(row.p - row.q, 0) if len(row.q) else row.p


@pytest.mark.parametrize("u", [0.0, 0.1, 0.5, 0.83, 0.999])
@pytest.mark.parametrize("drafter", ["none", "ngram", "model:other"])
def test_another_last_draw_gives_the_token_that_the_recorded_row_says(drafter: str, u: float) -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings(drafter, sampling=FEW, tokens=40, seed=1), models=models)
    now = round_where(one, final="plain" if drafter == "none" else "correction")
    assert now.committed is not None
    row = now.row(now.committed.accepted)
    assert row is not None
    assert row.p_rest < 1e-6
    again = branched(model, one, OtherDraw(round=now.round, purpose="final", index=now.committed.accepted, value=u),
                     models)
    end = again.rounds[now.round]
    assert end.tokens == (*now.committed.tokens[:-1], drawn(row.ids, left(row), u))
    assert end.final_draw == u
    same(again.records[: again.records.index(end)], one.records[: one.records.index(now.committed)])
    assert again.started.branch is not None
    assert "drawn by" in again.started.branch.change
    assert again.started.title.endswith(again.started.branch.change)


@pytest.mark.parametrize("accepted", [True, False])
def test_another_test_draw_accepts_where_the_inequality_says(accepted: bool) -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings("model:twin", sampling=FEW, tokens=60, seed=2), models=models)
    judged = next(j for j in one.judged if j.accepted == accepted and j.round and 0 < j.p < j.q)
    ratio = judged.p / judged.q
    for u in (0.0, ratio * 0.999, min(ratio * 1.001, 0.9999)):
        change = OtherDraw(round=judged.round, purpose="accept", index=judged.index, value=u)
        again = next(j for j in branched(model, one, change, models).judged
                     if (j.round, j.index) == (judged.round, judged.index))
        assert again.accepted == (u * judged.q < judged.p)
        assert (again.p, again.q, again.draw) == (judged.p, judged.q, u)


@pytest.mark.parametrize("u", [0.0, 0.4, 0.97])
def test_another_draft_draw_gives_the_token_that_q_says(u: float) -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings("model:twin", sampling=FEW, tokens=40, seed=4), models=models)
    now = history(one).round(3)
    again = branched(model, one, OtherDraw(round=3, purpose="draft", index=1, value=u), models)
    row, draft = now.row(1), history(again).round(3).drafted[1]
    assert row is not None
    assert draft.token == drawn(row.ids, row.q, u)
    assert draft.draw == u
    assert draft.q == row.q[row.ids.tolist().index(draft.token)]


def test_the_same_draw_token_or_settings_is_no_change() -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings("model:twin", sampling=WARM, seed=4), models=models)
    now = history(one).round(2)
    changes: list[AnyChange] = [
        OtherDraw(round=2, purpose="draft", index=1, value=now.drafted[1].draw or 0.0),
        OtherDraw(round=2, purpose="accept", index=0, value=now.judged[0].draw or 0.0),
        OtherToken(round=2, index=1, token=now.drafted[1].token), OtherSettings(round=2, settings=one.started.settings)]
    assert now.committed is not None
    if now.committed.final_draw is not None:
        end = now.committed
        changes.append(OtherDraw(round=2, purpose="final", index=end.accepted, value=end.final_draw or 0.0))
    for change in changes:
        again = branched(model, one, change, models)
        same(again.records, one.records)
        assert again.started.branch is not None
        assert again.started.branch.change == ""
        assert again.started.title.endswith("again from round 3")


@pytest.mark.parametrize("drafter", ["ngram", "model:other"])
def test_a_forced_rejection_is_corrected_from_the_residual(drafter: str) -> None:
    model, models = target(), twins("llama")
    one, judged = next((one, j) for seed in range(30) for one in [
        run(model, PROMPT, settings(drafter, sampling=COOL, tokens=60, seed=seed), models=models)]
        for j in one.judged if j.accepted and 0 < j.round < len(one.rounds) - 3)
    again = branched(model, one, Forced(round=judged.round, index=judged.index, accept=False), models)
    now = history(again).round(judged.round)
    assert now.rejected_at == judged.index
    assert now.judged[-1].draw == judged.draw
    row, end = now.row(judged.index), now.committed
    assert row is not None
    assert end is not None
    assert end.final == "correction"
    assert end.tokens[-1] == drawn(row.ids, left(row), end.final_draw or 0.0)
    assert again.started.branch is not None
    assert not again.started.branch.lossless
    later = branched(model, again, NoChange(round=judged.round + 2), models)
    same(later.records[later.records.index(later.rounds[0]):], again.records[again.records.index(again.rounds[0]):])
    assert later.started.branch is not None
    assert not later.started.branch.lossless


def test_a_forced_rejection_with_nothing_left_draws_from_p() -> None:
    """With one token left in either, p = q wherever the draft is right."""
    one = run(target(), PROMPT, settings("model:itself", sampling=Sampling(temperature=1.0, top_k=1), seed=2),
              models={"itself": target()})
    now = next(r for r in map(history(one).round, range(1, len(one.rounds))) if r.judged[0].accepted)
    again = branched(target(), one, Forced(round=now.round, index=0, accept=False), {"itself": target()})
    end, row = again.rounds[now.round], now.row(0)
    assert row is not None
    assert end.residual_empty
    assert end.tokens == (drawn(row.ids, row.p, end.final_draw or 0.0),)


@pytest.mark.parametrize("sampling", [GREEDY, FEW], ids=["greedy", "sampled"])
def test_a_forced_acceptance_lets_the_test_go_on(sampling: Sampling) -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings("model:other", sampling=sampling, tokens=60), models=models)
    judged = next(j for j in one.judged if not j.accepted and j.round and j.index < 2)
    again = branched(model, one, Forced(round=judged.round, index=judged.index, accept=True), models)
    now, was = history(again).round(judged.round), history(one).round(judged.round)
    assert now.judged[judged.index].accepted
    assert now.judged[judged.index].p == judged.p
    assert len(now.judged) > judged.index + 1
    assert now.committed is not None
    assert now.committed.tokens[judged.index] == judged.token
    assert [plain(d) for d in now.drafted] == [plain(d) for d in was.drafted]
    assert again.finished.reason == "length"


def test_a_forced_greedy_rejection_commits_the_argmax() -> None:
    one = run(target(), PROMPT, settings("model:twin", tokens=60), models=twins("llama"))
    judged = next(j for j in one.judged if j.accepted and j.round)
    again = branched(target(), one, Forced(round=judged.round, index=judged.index, accept=False), twins("llama"))
    end = again.rounds[judged.round]
    assert (end.accepted, end.final) == (judged.index, "correction")
    assert end.tokens[-1] == judged.best
    assert again.tokens == one.tokens  # greedy: the argmax it is, sooner or later


@pytest.mark.parametrize("by", [GREEDY, FEW], ids=["greedy", "sampled"])
@pytest.mark.parametrize("drafter", ["model:other", "layer-skip"])
def test_another_token_keeps_its_row_and_leads_the_later_drafts(drafter: str, by: Sampling) -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings(drafter, sampling=by, tokens=40), models=models)
    now = next(r for r in map(history(one).round, range(1, len(one.rounds))) if r.k == 4)
    row = now.row(1)
    assert row is not None
    token = next(t for t, q in zip(row.ids.tolist(), row.q, strict=True) if q > 0 and t != now.drafted[1].token)
    again = history(branched(model, one, OtherToken(round=now.round, index=1, token=token), models)).round(now.round)
    assert [d.token for d in again.drafted[:2]] == [now.drafted[0].token, token]
    assert again.drafted[1].draw is None
    assert again.drafted[1].q == row.q[row.ids.tolist().index(token)]
    fresh = again.row(1)
    assert fresh is not None
    before, after = (dict(zip(r.ids.tolist(), r.q.tolist(), strict=True)) for r in (row, fresh))
    assert all(before[t] == after[t] for t in before.keys() & after.keys())
    assert again.verified is not None
    assert now.verified is not None
    assert again.verified.digests[:2] == now.verified.digests[:2]
    assert again.verified.digests[2] != now.verified.digests[2]


def test_another_token_of_prompt_lookup_is_certain_and_is_looked_up() -> None:
    one = run(target(), PROMPT, settings("ngram", sampling=FEW, tokens=12))
    again = history(branched(target(), one, OtherToken(round=0, index=1, token=41))).round(0)
    first = history(one).round(0).drafted[0].token
    assert [d.token for d in again.drafted[:2]] == [first, 41]
    assert again.drafted[1].q == 1.0
    assert [d.token for d in again.drafted[2:]] == [42, 43]  # what followed 41 before
    row = again.row(1)
    assert row is not None
    assert dict(zip(row.ids.tolist(), row.q.tolist(), strict=True))[41] == 1.0
    nowhere = history(branched(target(), one, OtherToken(round=0, index=1, token=300))).round(0)
    assert [d.token for d in nowhere.drafted] == [first, 300]


OTHERS = {
    "greedy": settings("layer-skip", tokens=30), "warm": settings("layer-skip", sampling=WARM, tokens=30),
    "wider": settings("layer-skip", gamma=9, tokens=30, sampling=FEW), "plain": settings(tokens=30, sampling=FEW),
    "lookup": settings("ngram", tokens=30, sampling=FEW), "other model": settings("model:other", tokens=30),
    "longer": settings("layer-skip", sampling=FEW, tokens=60), "penalty": settings("layer-skip", sampling=WARPED),
    "padded": settings("layer-skip", sampling=FEW, tokens=30, exact=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_settings_from_the_first_round_on_are_a_run_of_their_own(name: str) -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings("layer-skip", sampling=FEW, tokens=30), models=models)
    again = branched(model, one, OtherSettings(round=0, settings=OTHERS[name]), models)
    alone = run(model, PROMPT, OTHERS[name], models=models)
    if name in ("plain", "greedy", "warm", "lookup", "other model", "longer", "penalty"):
        again.records[again.records.index(again.started)] = msgspec.structs.replace(
            again.started, exactness=alone.started.exactness)  # of the wider original, which covers it
    same(again.records, alone.records)


@pytest.mark.parametrize("name", OTHERS)
def test_other_settings_midway_can_themselves_be_branched(name: str) -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings("layer-skip", sampling=FEW, tokens=30), models=models)
    other = branched(model, one, OtherSettings(round=4, settings=OTHERS[name]), models)
    assert other.finished.reason == "length", other.finished.message
    assert other.started.settings == OTHERS[name]
    for number in sorted({4, 5, len(other.rounds) - 1}):
        again = branched(model, other, NoChange(round=number), models)
        same(again.records[2:], other.records[2:])


def test_greedy_output_stays_whatever_drafts() -> None:
    model, models = target(), twins("llama")
    one = run(model, PROMPT, settings("model:other", tokens=40), models=models)
    for other in ("none", "ngram", "layer-skip", "model:twin"):
        change = OtherSettings(round=5, settings=settings(other, tokens=50))
        again = branched(model, one, change, models)
        assert again.tokens[:40] == one.tokens
        assert len(again.tokens) == 50


def test_a_finished_run_goes_on_with_more_tokens() -> None:
    one = run(target(), PROMPT, settings("ngram", tokens=20))
    longer = branched(target(), one, OtherSettings(round=len(one.rounds), settings=settings("ngram", tokens=40)))
    assert longer.tokens == run(target(), PROMPT, settings("ngram", tokens=40)).tokens
    assert "at most so many tokens 40" in longer.started.title


def refusal(model: Model, one: Run, change: AnyChange, models: Mapping[str, Model] | None = None) -> str:
    with pytest.raises(ReplayError) as found:
        branch(model, one.records, change, run="r", lane="b", models=models)
    return str(found.value)


def edited(one: Run, **fields: Any) -> Run:
    return Run([msgspec.structs.replace(r, **fields) if isinstance(r, RunStarted) else r for r in one.records])


def test_what_does_not_fit_is_refused_in_words() -> None:
    model = target()
    one = run(model, PROMPT, settings("ngram", sampling=FEW, tokens=20))
    now, rounds = history(one).round(0), len(one.rounds)
    assert "1 to" in refusal(model, one, NoChange(round=rounds + 1))
    assert "1 to" in refusal(model, one, NoChange(round=-1))
    assert f"has {now.k} so far" in refusal(model, one, Forced(round=0, index=now.k, accept=True))
    assert "so far" in refusal(model, one, OtherToken(round=0, index=-1, token=3))
    assert "so far" in refusal(model, one, OtherDraw(round=0, purpose="final", index=now.k + 1, value=0.5))
    assert "has 0 drafts so far" in refusal(model, one, OtherDraw(round=rounds, purpose="final", index=0, value=0.5))
    for value in (1.0, -0.1, float("nan"), float("inf")):
        assert "less than 1" in refusal(model, one, OtherDraw(round=0, purpose="accept", index=0, value=value))
    assert "was not drawn" in refusal(model, one, OtherDraw(round=0, purpose="draft", index=0, value=0.5))
    for token in (-1, VOCABULARY):
        assert f"0 to {VOCABULARY - 1}" in refusal(model, one, OtherToken(round=0, index=0, token=token))
    allowed = OtherSettings(round=5, settings=settings("ngram", tokens=3))
    assert "allow at most 3" in refusal(model, one, allowed)
    text = "".join(text for r in one.rounds[:4] for text in r.texts)
    stopping = OtherSettings(round=5, settings=settings("ngram", tokens=30, stop=(text[2:4],)))
    assert "stop text" in refusal(model, one, stopping)
    greedy = run(model, PROMPT, settings("ngram", tokens=20))
    assert "Greedy decoding makes no draws" in refusal(
        model, greedy, OtherDraw(round=0, purpose="accept", index=0, value=0.5))
    assert "has not begun" in refusal(model, Run([]), NoChange(round=0))
    assert "prompt yet" in refusal(model, Run(one.records[:2]), NoChange(round=0))


def test_another_target_is_refused_in_words() -> None:
    one, no = run(target(), PROMPT, settings("model:twin"), models=twins("llama")), NoChange(round=1)
    assert "the same name but other weights" in refusal(
        target(), edited(one, target=msgspec.structs.replace(one.started.target, fingerprint="other")), no)
    assert "is elsewhere" in refusal(wrap(target().hf, name="elsewhere"), one, no)
    assert "load it in float32" in refusal(half(), one, no)
    assert "load it on cuda:0" in refusal(
        target(), edited(one, target=msgspec.structs.replace(one.started.target, device="cuda:0")), no)
    assert "prompt and target" in refusal(target(), edited(one, unknown=("seconds", "target", "prompt")), no)
    with pytest.raises(ModelError, match="twin has not been loaded"):
        branch(target(), one.records, no, run="r", lane="b")
    list(branch(target(), edited(one, unknown=("seconds",)).records, no, run="r", lane="b", models=twins("llama")))


def test_a_branch_s_copied_or_changed_rounds_belong_to_the_original() -> None:
    one = run(target(), PROMPT, settings("ngram", sampling=FEW, tokens=20))
    changed = branched(target(), one, OtherDraw(round=2, purpose="final", index=0, value=0.5))
    assert "is a copy; branch off the lane it comes from (0)" in refusal(target(), changed, NoChange(round=1))
    assert "was changed" in refusal(target(), changed, NoChange(round=2)).replace("is the one that was", "was")
    same(branched(target(), changed, NoChange(round=3)).records[2:], changed.records[2:])


def test_a_cache_that_was_not_restored_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = run(target(), PROMPT, settings("model:other", tokens=40), models=twins("llama"))
    monkeypatch.setattr(ModelDrafter, "resume", lambda self, tokens, width: None)
    with pytest.raises(CacheError, match="drafter's cache"):
        branched(target(), one, NoChange(round=4), twins("llama"))
    monkeypatch.undo()
    forward = Runner.forward
    monkeypatch.setattr(Runner, "forward", lambda self, tokens, rows=0: forward(self, [t * 0 + 5 for t in tokens],
                                                                                rows=rows))
    with pytest.raises(CacheError, match="of the target's cache holds id"):
        branched(target(), one, NoChange(round=4), twins("llama"))


def test_it_can_be_called_off() -> None:
    one = run(target(), PROMPT, settings("ngram", tokens=20))
    with pytest.raises(Cancelled):
        branched(target(), one, NoChange(round=3), cancelled=lambda: True)


def test_errors_in_its_own_rounds_are_its_last_record(monkeypatch: pytest.MonkeyPatch) -> None:
    one = run(target(), PROMPT, settings("ngram", tokens=20))
    live = branch(target(), one.records, NoChange(round=3), run="r", lane="b")
    first = next(live)
    forward = Runner.forward
    monkeypatch.setattr(Runner, "forward", lambda self, tokens, rows=0: forward(self, tokens) * float("nan"))
    failed = Run([first, *live])
    assert failed.finished.reason == "error"
    assert "NaN" in failed.finished.message
    assert len(failed.rounds) == 3


@pytest.mark.model
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_the_built_in_model_repeats_too(dtype: str) -> None:
    model = load("builtin", dtype=dtype)
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
