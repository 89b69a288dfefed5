"""The store: what follows from the records, and what must be dropped."""

from __future__ import annotations

import time

import numpy as np
import pytest

from app.store import LaneSpec, Store
from engine.records import Committed, Drafted, Judged, RunFinished, Totals
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, WIDE, lane_records


def specs(*methods: fake_run.Method) -> list[LaneSpec]:
    return [LaneSpec(m.lane, m.title, m.about, plain=m.gamma == 0) for m in methods]


def filled(*methods: fake_run.Method, text: str = fake_run.CODE, **options: object) -> Store:
    store = Store()
    store.begin("run-1", specs(*methods))
    store.extend(fake_run.race(methods, text, **options))
    return store


def test_lanes_exist_before_their_first_record() -> None:
    store = Store()
    store.begin("run-1", specs(PLAIN, LOOKUP))
    assert [lane.id for lane in store.lanes] == ["plain", "ngram"]
    assert [lane.status for lane in store.lanes] == ["waiting", "waiting"]
    assert [lane.look for lane in store.lanes] == [0, 1]
    assert store.plain is store.lane("plain")
    assert store.speedup("ngram") is None


def test_late_records_of_another_run_are_dropped() -> None:
    store = Store()
    store.begin("run-2", specs(LOOKUP))
    before = store.revision
    assert not store.append(next(lane_records(LOOKUP, run="run-1")))
    assert store.revision == before
    assert store.records() == []
    assert store.append(next(lane_records(LOOKUP, run="run-2")))
    assert store.revision > before


def test_committed_cells_are_the_text_and_ghosts_stand_where_they_were_proposed() -> None:
    store = filled(PLAIN, LOOKUP, DRAFT)
    for lane in store.lanes:
        committed = [lane.cells[i] for i in lane.committed]
        assert "".join(cell.text for cell in committed) == fake_run.CODE == lane.output
        assert [c.position for c in committed] == list(range(lane.prompt_length, lane.prompt_length + len(committed)))
        assert lane.settled == len(lane.cells)
        for summary in lane.rounds:
            kinds = [cell.kind for cell in lane.cells[summary.first_cell : summary.last_cell]]
            expected = ["accepted"] * summary.accepted + ["rejected"] * summary.rejected + ["void"] * summary.void
            assert kinds == [*expected, *([] if summary.final == "none" else [summary.final])]
    assert {cell.kind for cell in store.lane("ngram").cells} >= {"accepted", "rejected", "void", "correction", "bonus"}


def test_totals_and_clock_are_those_of_the_run() -> None:
    store = filled(PLAIN, LOOKUP)
    for lane in store.lanes:
        finished = lane.records[-1]
        assert isinstance(finished, RunFinished)
        assert lane.totals == finished.totals == lane.rounds[-1].totals
        assert lane.clock == pytest.approx(lane.totals.total_seconds)
        assert lane.seconds[-1] == lane.clock
        assert lane.tokens[-1] == lane.totals.committed
        assert np.all(np.diff(lane.seconds) >= 0)
        assert lane.status == "finished"


def test_speedup_is_decode_seconds_per_token_against_plain() -> None:
    store = filled(PLAIN, LOOKUP)
    plain, lookup = store.lane("plain").totals, store.lane("ngram").totals
    expected = (plain.decode_seconds / plain.committed) / (lookup.decode_seconds / lookup.committed)
    assert store.speedup("ngram") == pytest.approx(expected)
    assert store.speedup("plain") == 1.0
    assert store.speedup("nobody") is None


def test_acceptance_by_draft_position_counts_only_tested_drafts() -> None:
    lane = filled(PLAIN, LOOKUP).lane("ngram")
    assert lane.tested_at.sum() == lane.totals.tested
    assert lane.accepted_at.sum() == lane.totals.accepted
    assert np.all(lane.accepted_at <= lane.tested_at)
    assert np.all(np.diff(lane.tested_at) <= 0)


def test_figures_of_a_cell() -> None:
    lane = filled(DRAFT).lane("draft")
    judged = {(r.round, r.index): r for r in lane.records if isinstance(r, Judged)}
    drafted = {(r.round, r.index): r for r in lane.records if isinstance(r, Drafted)}
    committed = {r.round: r for r in lane.records if isinstance(r, Committed)}
    for cell in lane.cells[1:]:
        if cell.index >= 0:
            proposal = drafted[cell.round, cell.index]
            assert (cell.q, cell.draft_draw) == (proposal.q, proposal.draw)
            assert cell.overlap is not None
            verdict = judged.get((cell.round, cell.index))
            assert cell.p == (verdict.p if verdict else None)
        else:
            assert cell.draw == committed[cell.round].final_draw
            assert cell.p is not None
            assert (cell.q is None) == (cell.kind == "bonus")


def test_while_stepping_drafts_are_pending_until_judged() -> None:
    store = Store()
    store.begin("run-1", specs(LOOKUP))
    lane = store.lane("ngram")
    seen = set()
    for record in lane_records(LOOKUP):
        store.append(record)
        tail = [cell.kind for cell in lane.cells[lane.settled :]]
        seen.update(tail)
        if isinstance(record, Drafted):
            assert tail == ["pending"] * (record.index + 1)
        elif isinstance(record, Judged):
            assert tail[record.index] == ("accepted" if record.accepted else "rejected")
            assert set(tail[record.index + 1 :]) <= {"pending" if record.accepted else "void"}
        elif isinstance(record, Committed):
            assert tail == []
    assert seen == {"pending", "accepted", "rejected", "void"}


def test_any_earlier_moment_can_be_told_from_the_cells() -> None:
    """What issue "debugger" needs: born and judged give each cell's kind as of any record."""
    store = Store()
    store.begin("run-1", specs(LOOKUP))
    lane = store.lane("ngram")
    history = []
    for record in lane_records(LOOKUP):
        store.append(record)
        history.append([cell.kind for cell in lane.cells])
    for serial, kinds in enumerate(history):
        then = [cell.kind if cell.judged <= serial else "pending" for cell in lane.cells if cell.born <= serial]
        assert then == kinds


def test_a_run_that_stops_inside_a_round_leaves_no_pending_cell() -> None:
    store = Store()
    store.begin("run-1", specs(LOOKUP))
    for record in lane_records(LOOKUP):
        store.append(record)
        if isinstance(record, Drafted):
            break
    store.append(RunFinished(run="run-1", lane="ngram", reason="stopped", message="", text="", totals=Totals()))
    lane = store.lane("ngram")
    assert lane.status == "stopped"
    assert lane.cells[-1].kind == "void"
    assert lane.settled == len(lane.cells)


def test_a_failure_before_the_start_is_told() -> None:
    store = Store()
    store.begin("run-1", specs(LOOKUP))
    store.append(RunFinished(run="run-1", lane="ngram", reason="error", message="The model is gone.", text="",
                             totals=Totals(), details="trace"))
    lane = store.lane("ngram")
    assert (lane.status, lane.message, lane.details) == ("failed", "The model is gone.", "trace")


def test_find_by_position_and_by_draft() -> None:
    lane = filled(LOOKUP).lane("ngram")
    for place, index in enumerate(lane.committed):
        assert lane.find(lane.prompt_length + place) == index
    ghost = next(i for i, cell in enumerate(lane.cells) if cell.kind == "rejected")
    assert lane.find(None, lane.cells[ghost].round, lane.cells[ghost].index) == ghost
    assert lane.find(10**6) is None
    assert lane.find(None, 10**6, 0) is None


def test_selection_and_cursor_tell_their_observers_once() -> None:
    store = filled(LOOKUP)
    told: list[str] = []
    store.changed.connect(told.append)
    store.select("ngram", position=25)
    store.select("ngram", position=25)
    store.cursor = 3
    store.deselect()
    store.begin("run-2", [])
    store.changed.disconnect(told.append)
    assert told == ["selection", "cursor", "selection", "run"]
    assert store.cursor is None
    with pytest.raises(IndexError):
        store.cursor = 0


def test_ten_thousand_rounds_are_taken_in(capsys: pytest.CaptureFixture[str]) -> None:
    records = list(lane_records(WIDE, limit=60_000))
    rounds = sum(isinstance(record, Committed) for record in records)
    store = Store()
    store.begin("run-1", specs(WIDE))
    start = time.perf_counter()
    store.extend(records)
    seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f"\n{rounds} rounds, {len(records)} records: {seconds:.2f} s")
    assert store.lane("wide").totals.rounds == rounds


def test_where_a_greedy_lane_parts_from_plain_is_told() -> None:
    """Two greedy lanes of a real engine, the second one's third token tampered with."""
    import msgspec

    from tests.engine.support import PROMPT, lanes, settings, target

    plain, fast = lanes(target(), PROMPT, [settings(), settings("ngram")])
    store = Store()
    store.begin("test", [LaneSpec("0", "plain", "", plain=True), LaneSpec("1", "ngram", "")])
    store.extend([*plain.records, *fast.records])
    assert store.divergence("0") is None
    assert store.divergence("1") is None
    store.begin("test", [LaneSpec("0", "plain", "", plain=True), LaneSpec("1", "ngram", "")])
    store.extend(plain.records)
    for record in fast.records:
        if isinstance(record, Committed) and record.position == len(PROMPT):
            record = msgspec.structs.replace(record, tokens=(record.tokens[0] ^ 1, *record.tokens[1:]))
        store.append(record)
    parted = store.divergence("1")
    assert parted is not None
    assert (parted.index, parted.plain_token) == (0, plain.tokens[0])
    assert parted.gap == plain.rounds[0].gaps[0]
