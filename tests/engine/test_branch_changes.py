"""A changed branch goes where the arithmetic says, which is done here again from the recorded rows."""

from __future__ import annotations

import msgspec
import pytest

from engine import drafters, kept_caches
from engine.debugger.what_if import AnyChange, Forced, NoChange, OtherDraw, OtherSettings, OtherToken
from engine.sampling import Sampling
from tests.engine.branching import COOL, FEW, WARPED, branched, drawn, history, left, plain, round_where, same
from tests.engine.support import GREEDY, PROMPT, WARM, run, settings, target
from tests.engine.test_decode import twins


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    kept_caches._kept.clear()


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
    assert other.started.settings == drafters.resolved(OTHERS[name], model)
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
