"""A lane of trees in the store: one line of text from the way that was taken, at every moment of it."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from app.lane_at import LaneAt
from app.lane_state import LaneState
from app.store import LaneSpec, Store
from engine.debugger.history import RoundSoFar
from engine.debugger.round_words import round_words
from engine.records import Committed, Drafted, Judged, RunFinished, RunStarted
from engine.trace_order import LaneOrder
from tests.widgets import fake_trees
from tests.widgets.fake_run import CODE
from tests.widgets.fake_trees import Growth

SHOWN = ("pending", "accepted", "rejected", "void")
SHAPES = (Growth(), Growth(lane="top", sampled=False, nodes=40, top=8, depth=5), Growth(lane="chain", top=1, nodes=4))


def filled(growth: Growth, **options: object) -> LaneState:
    store = Store()
    store.begin("run-1", [LaneSpec(growth.lane, "EAGLE tree")])
    store.extend(fake_trees.lane_records(growth, **options))  # type: ignore[arg-type]
    lane = store.lane(growth.lane)
    assert lane is not None
    return lane


@pytest.mark.parametrize("growth", SHAPES, ids=lambda growth: growth.lane)
def test_the_way_that_was_taken(growth: Growth) -> None:
    order = LaneOrder()
    for record in fake_trees.lane_records(growth):
        order.take(record)  # the made-up records are what an engine may write
    lane = filled(growth)
    assert lane.output == CODE
    assert "".join(lane.cells[i].text for i in lane.committed) == CODE
    assert lane.committed == sorted(lane.committed)
    assert not any(lane.cells[i].aside for i in lane.committed)
    for summary, done in zip(lane.rounds, (r for r in lane.records if isinstance(r, Committed)), strict=True):
        cells = lane.cells[summary.first_cell : summary.last_cell]
        judged = {r.index: r for r in lane.records if isinstance(r, Judged) and r.round == summary.round}
        shown = [cell for cell in cells if not cell.aside]
        assert {cell.index for cell in shown if cell.index >= 0} == set(judged)
        assert [cell.index for cell in shown if cell.kind == "accepted"] == list(done.path)
        assert [cell.index for cell in shown if cell.kind == "rejected"] == [
            index for index, one in judged.items() if not one.accepted]
        assert [bool(cell.tree) for cell in shown] == [place == 0 and bool(judged) for place in range(len(shown))]
        if judged:
            drafts = [r for r in lane.records if isinstance(r, Drafted) and r.round == summary.round]
            assert summary.depth == max(draft.position for draft in drafts) - done.position + 1
            assert shown[0].tree == f"{len(drafts)} drafted, {summary.depth} deep"


@pytest.mark.parametrize("growth", SHAPES, ids=lambda growth: growth.lane)
def test_acceptance_is_counted_by_level(growth: Growth) -> None:
    lane = filled(growth)
    ends = [r for r in lane.records if isinstance(r, Committed) and r.drafted]
    levels = range(len(lane.tested_at))
    assert lane.accepted_at.tolist() == [sum(done.accepted > level for done in ends) for level in levels]
    assert lane.tested_at.tolist() == [
        sum(done.accepted + (done.final == "correction") > level for done in ends) for level in levels]


@pytest.mark.parametrize("growth", SHAPES, ids=lambda growth: growth.lane)
def test_an_earlier_moment_looks_as_it_did(growth: Growth) -> None:
    """What the store showed when a record was its newest is what it shows when one goes back to it."""
    live = LaneState(LaneSpec(growth.lane, "EAGLE tree"), 1)
    whole = filled(growth, limit=40)
    for index, record in enumerate(whole.records):
        live.append(record, index)
        if isinstance(record, (RunStarted, RunFinished)):
            continue
        then = LaneAt(whole, whole.history.at(index + 1))
        assert [(c.index, c.kind, c.aside, c.tree, c.overlap) for c in then.cells] == [
            (c.index, "void" if c.kind == "pending" and then.cells[i].kind == "void" else c.kind, c.aside, c.tree,
             c.overlap) for i, c in enumerate(live.cells)]
        assert then.tested_at.tolist() == live.tested_at[: len(then.tested_at)].tolist()
        assert then.accepted_at.tolist() == live.accepted_at[: len(then.accepted_at)].tolist()
        words = round_words(whole.history.at(index + 1))
        assert words is not None
        here = [chip.index for chip in words.chips if chip.round >= 0 and chip.kind in SHOWN]
        there = whole.history.at(index + 1).round
        assert here == ([] if there is None else sorted(_chips(there)))


def _chips(now: RoundSoFar) -> Collection[int]:
    """While a tree is drafted the way to its newest node, which the sentence is about; then what the lane shows."""
    drafting = now.is_tree and now.verified is None and not now.judged and now.committed is None
    return now.tree.path(now.k - 1) if drafting else now.in_sight


def test_while_it_grows_the_first_guesses_make_the_line() -> None:
    growth = SHAPES[0]
    live, seen = LaneState(LaneSpec(growth.lane, "EAGLE tree"), 1), 0
    for index, record in enumerate(fake_trees.lane_records(growth, limit=20)):
        live.append(record, index)
        if isinstance(record, (Drafted, Judged)):
            now = live.history.round(len(live.rounds))
            shown = [cell.index for cell in live.cells[live.settled:] if not cell.aside]
            untested = [node for node in shown if now.judged_at(node) is None]
            assert all(now.tree.children(now.tree.parents[node])[0] == node or node == now.next_test
                       for node in untested)
            seen += len(untested)
    assert seen
