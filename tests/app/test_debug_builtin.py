"""On the built-in model: every panel's state is the same both ways, and a changed draw leads where the figures say."""

from __future__ import annotations

import pytest

from app.lane_at import LaneAt
from app.lane_state import LaneSpec, LaneState
from app.store import Store
from engine.branch import branch
from engine.debugger.cache_cells import cache_cells
from engine.debugger.inspection import inspect
from engine.debugger.round_words import round_words
from engine.debugger.state_words import state_words
from engine.debugger.verify_rows import verify_rows
from engine.debugger.what_if import NoChange, OtherDraw
from engine.models import Model
from engine.race import LanePlan, race
from engine.records import Committed
from engine.settings import DrafterSettings, RunSettings, Sampling
from tests.engine.branching import same
from tests.engine.support import builtin

pytestmark = pytest.mark.model

LANES = {"plain": DrafterSettings(), "lookup": DrafterSettings(kind="ngram", gamma=4),
         "skip": DrafterSettings(kind="layer-skip", gamma=3, skip=(10, 20))}


@pytest.fixture(scope="module")
def target() -> Model:
    return builtin()


@pytest.fixture(scope="module")
def store(target: Model) -> Store:
    plans = [LanePlan(lane, RunSettings(drafter=drafter, sampling=Sampling(temperature=0.8), max_new_tokens=14, seed=5))
             for lane, drafter in LANES.items()]
    store = Store()
    store.begin("real", [LaneSpec(lane, lane) for lane in LANES])
    store.extend(race(target, target.encode("We saw a bird, then a fish and then a bird. We saw a", chat=False), plans,
                      run="real"))
    return store


def told(lane: LaneState, index: int) -> tuple[object, ...]:
    """What every panel makes of a moment."""
    moment = lane.history.at(index)
    seen = LaneAt(lane, moment)
    rows = [] if moment.round is None else [inspect(moment, row) for row in range(moment.round.k + 1)]
    return (moment, rows, verify_rows(moment), cache_cells(moment), round_words(moment), state_words(moment),
            [(c.kind, c.text, c.p, c.q, c.draw) for c in seen.cells], seen.status, seen.totals, seen.output)


@pytest.mark.parametrize("name", list(LANES))
def test_forth_and_back_over_each_record(store: Store, name: str) -> None:
    lane = store.lane(name)
    assert lane is not None
    growing = LaneState(LaneSpec(name, name), 0)
    forth = []
    for serial, record in enumerate(lane.records):  # as it was while the run went on
        growing.append(record, serial)
        forth.append(told(growing, serial + 1))
    back = [told(lane, index) for index in range(len(lane.records), 0, -1)]
    assert len(lane.rounds) > 3
    assert back[::-1] == forth


@pytest.mark.parametrize("name", list(LANES))
def test_no_change_is_the_original(store: Store, target: Model, name: str) -> None:
    lane = store.lane(name)
    assert lane is not None
    same(list(branch(target, lane.records, NoChange(round=2), run="real", lane="b")), lane.records)


@pytest.mark.parametrize("u", [0.02, 0.5, 0.9])
def test_another_draw_leads_where_the_figures_say(store: Store, target: Model, u: float) -> None:
    lane = store.lane("skip")
    assert lane is not None
    number = next(r.round for r in lane.rounds if r.final == "correction")
    moment = lane.history.at(lane.history.ends[number] + 1)
    committed = moment.record
    assert isinstance(committed, Committed)
    found = inspect(moment, committed.accepted)
    assert found is not None
    expected = next(choice for choice in found.choices if choice.purpose == "final").token_at(u)
    change = OtherDraw(round=number, purpose="final", index=committed.accepted, value=u)
    records = list(branch(target, lane.records, change, run="real", lane="b"))
    changed = next(r for r in records if isinstance(r, Committed) and r.round == number)
    assert changed.tokens[:-1] == committed.tokens[:-1]
    if expected is not None:  # None: among those of which no probability is recorded
        assert changed.tokens[-1] == expected
    else:
        assert changed.tokens[-1] not in {bar.id for bar in found.bars}
