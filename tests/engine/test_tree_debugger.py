"""Everything the debugger shows of a lane with trees, at every one of its moments: true, and never a crash."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine import drafters
from engine.branch import branch
from engine.debugger.cache_cells import HELD, cache_cells
from engine.debugger.conditions import AllAccepted, AnyRejection, EarlyRejection, LowOverlap
from engine.debugger.facts import FACTS
from engine.debugger.history import History
from engine.debugger.inspection import inspect
from engine.debugger.round_rows import round_row
from engine.debugger.round_words import round_words
from engine.debugger.scene import FINAL, Scene
from engine.debugger.state_words import state_words
from engine.debugger.verify_rows import verify_rows
from engine.debugger.what_if import Forced, NoChange, OtherSettings
from engine.divergence import Output
from engine.formats import registry
from engine.formats.conversion import save
from engine.full_rows import round_rows
from engine.past import ReplayError
from engine.proof import subjects
from engine.proof.tree_drafter import TreeDrafter
from engine.race import LanePlan, race
from engine.records import Committed, Drafted, Judged, Record, RunFinished
from engine.runner import Runner
from engine.sampling import Warper
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.trace import Writer, read
from tests.engine.trace_trial import show

WARM = Sampling(temperature=0.9)
METHODS = (("top", Sampling()), ("top", WARM), ("sampled", WARM))


@cache
def lane(tree: Any, sampling: Sampling) -> tuple[Record, ...]:
    subject, made = subjects.tiny("llama"), drafters.make

    def make(settings: RunSettings, target: Any, runner: Runner, models: Mapping[str, Any]) -> Any:
        if settings.drafter.tree:
            return TreeDrafter(Runner(models["twin"].hf), Warper(settings.sampling), settings.drafter)
        return made(settings, target, runner, models)

    method = DrafterSettings(kind="model", model="twin", gamma=3, tree=tree, tree_top=3, tree_nodes=9)
    settings = RunSettings(drafter=method, sampling=sampling, max_new_tokens=24, seed=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drafters, "make", make)
        return tuple(race(subject.target, subject.prompt, [LanePlan("0", settings)], run="r", models=subject.models))


def history(records: tuple[Record, ...]) -> History:
    found = History("0")
    for record in records:
        found.append(record)
    return found


@pytest.mark.parametrize(("tree", "sampling"), METHODS)
def test_every_moment(tree: str, sampling: Sampling) -> None:
    told = history(lane(tree, sampling))
    ended = set[int]()
    for index in range(len(told) + 1):
        moment = told.at(index)
        now = moment.round
        round_words(moment)
        state_words(moment)
        rows, cells = verify_rows(moment), cache_cells(moment)
        if now is None or rows is None or cells is None:
            continue
        assert now.is_tree == (now.k > 0)
        for place in range(now.k + 1):
            seen = inspect(moment, place)
            if seen is None:
                continue
            assert seen.position == now.position_of(place)
            judged = now.judged_at(place)
            assert (seen.judgement is not None) == (judged is not None)
            if judged is not None and seen.judgement is not None:
                assert (seen.judgement.p, seen.judgement.q) == (judged.p, judged.q)
                assert seen.judgement.recomputed == judged.accepted
                assert seen.judgement.label in seen.sentence or now.ended_at == place
            for choice in seen.choices:
                if choice.draw is not None and choice.segments:
                    at = next(s for s in choice.segments if s.left <= choice.draw < s.right)
                    assert at.token in (choice.token, None)
        assert inspect(moment) is not None
        listed = {row.index: row for row in rows.rows}
        assert set(range(now.k)) <= set(listed)
        for draft in now.drafted:
            row = listed[draft.index]
            assert row.position == draft.position
            assert row.token == draft.token
            assert row.kind == now.fate(draft.index)
            assert str(draft.index + 1) in row.status
        if now.committed is not None:
            ended.add(now.round)
            assert {i for i in range(now.k) if now.fate(i) == "accepted"} == set(now.committed.path)
            assert cells.target.count(*HELD) == now.committed.target_slots
            assert [text for _, text in cells.labels] == [now.drafted[i].text for i in now.committed.path]
        elif now.verified is not None:
            assert cells.target.held == now.start + now.k
            tested = {judged.index for judged in now.judged}
            if now.next_test is not None:
                assert now.fate(now.next_test) == "pending"
            assert all(now.fate(i) in ("pending", "void") for i in range(now.k) if i not in tested)
    assert len(ended) == len(told.ends)


@pytest.mark.parametrize(("tree", "sampling"), METHODS)
def test_scenes_and_conditions(tree: str, sampling: Sampling) -> None:
    told = history(lane(tree, sampling))
    scene, rejections, whole = Scene(told), 0, 0
    for record in told.records:
        scene.push(record)
        for place in (FINAL, *range(scene.k)):
            for fact in FACTS.values():
                fact.of(scene, place)
        if isinstance(record, Judged):
            assert AnyRejection().holds(scene, record) != record.accepted
            depth = record.position - scene.start
            assert EarlyRejection(draft=1).holds(scene, record) == (not record.accepted and depth == 0)
            row = scene.row(record.index)
            assert row is not None
            assert record.token in row.ids
            assert row.overlap is not None
            assert LowOverlap(below=0.5).holds(scene, record) == (row.overlap < 0.5)
            rejections += not record.accepted
        if isinstance(record, Committed):
            whole += AllAccepted().holds(scene, record)
            row = scene.row(FINAL)
            assert row is not None
            if record.final != "none":
                assert record.tokens[-1] in row.ids
    assert rejections
    assert whole == sum(r.final == "bonus" for r in told.records if isinstance(r, Committed))
    for number in range(len(told.ends)):
        assert round_row(told, number).k == told.round(number).k


@pytest.mark.parametrize(("tree", "sampling"), METHODS)
def test_a_trace_of_it_opens_and_exports(tree: str, sampling: Sampling, tmp_path: Path) -> None:
    records = lane(tree, sampling)
    path = tmp_path / "tree.spectrace"
    with Writer(path) as out:
        for record in records:
            out.write(record)
    again = list(read(path))
    for kind in (Drafted, Committed, RunFinished):
        theirs = [record for record in again if isinstance(record, kind)]
        assert len(theirs) == sum(isinstance(record, kind) for record in records)
    assert [d.parent for d in again if isinstance(d, Drafted)] == [d.parent for d in records if isinstance(d, Drafted)]
    assert [c.path for c in again if isinstance(c, Committed)] == [c.path for c in records if isinstance(c, Committed)]
    show(again)
    for one in registry.FORMATS:
        if one.write is not None:
            save(tmp_path / f"out{one.suffixes[0]}", records, one)


def test_specspecs_tells_the_path_as_a_chain(tmp_path: Path) -> None:
    records = lane("sampled", WARM)
    save(tmp_path / "out.specspecs", records, registry.named("specspecs"))
    again = [one for one in registry.read(tmp_path / "out.specspecs") if isinstance(one, Committed)]
    ours = [token for one in records if isinstance(one, Committed) for token in one.tokens]
    assert [token for one in again for token in one.tokens] == ours


def test_where_lanes_part_the_row_is_that_of_the_path() -> None:
    out = Output()
    for record in lane("top", Sampling()):
        out.see(record)
    assert len(out.rows) == len(out.tokens)
    for row, token in zip(out.rows, out.tokens, strict=True):
        assert row is not None
        assert int(row.ids[0]) == token


def test_what_cannot_be_had_again_is_refused() -> None:
    subject, records = subjects.tiny("llama"), lane("sampled", WARM)
    for change in (NoChange(round=1), Forced(round=1, index=0, accept=True)):
        with pytest.raises(ReplayError, match="its method doesn't do here"):
            branch(subject.target, records, change, run="b", lane="1", models=subject.models)
    with pytest.raises(ReplayError, match="drafted a tree"):
        round_rows(subject.target, records, 1, subject.models)


@pytest.mark.parametrize(("tree", "sampling"), METHODS)
def test_another_drafter_can_go_on_from_it(tree: str, sampling: Sampling) -> None:
    """The cache is restored by the run's own tree forwards."""
    subject, records = subjects.tiny("llama"), lane(tree, sampling)
    settings = RunSettings(sampling=sampling, max_new_tokens=24, seed=4)
    again = list(branch(subject.target, records, OtherSettings(round=3, settings=settings), run="b", lane="1",
                        models=subject.models))
    ours = [token for r in again if isinstance(r, Committed) for token in r.tokens]
    theirs = [token for r in records if isinstance(r, Committed) for token in r.tokens]
    assert len(ours) == 24
    start = sum(len(r.tokens) for r in records if isinstance(r, Committed) and r.round < 3)
    assert ours[:start] == theirs[:start]
    if sampling.greedy:
        assert ours == theirs


@pytest.mark.parametrize(("tree", "sampling"), METHODS)
def test_a_draft_is_said_to_be_what_it_is_among_its_siblings(tree: str, sampling: Sampling) -> None:
    """In a tree only a first sibling may be the drafter's most probable token. The chips are the way to the draft that
    is spoken of."""
    whole = history(lane(tree, sampling))
    told = {"most": 0, "second most": 0, "drew": 0}
    for index in range(len(whole) + 1):
        moment = whole.at(index)
        now, words = moment.round, round_words(moment)
        if moment.phase != "draft" or now is None or words is None:
            continue
        draft = now.drafted[-1]
        assert [chip.index for chip in words.chips if chip.index >= 0] == list(now.tree.path(draft.index))
        place = len(now.siblings_before(draft.index))
        assert ("is proposed after" in words.sentence) == (draft.parent != -1)
        if tree == "sampled":
            assert "the drafter drew it with probability q = " in words.sentence
            assert ("left." in words.sentence) == bool(place)
            told["drew"] += 1
        else:
            rank = ("most", "second most", "third most")[place]
            assert f": the drafter’s {rank} probable token there" in words.sentence
            told[rank] = told.get(rank, 0) + 1
    assert told["drew"] if tree == "sampled" else told["most"] and told["second most"]
