"""llama.cpp's dump: what it holds arrives in history, lane state and totals; what it doesn't stays unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine import trace
from engine.formats import FormatError, convert, read
from engine.formats.registry import told
from engine.records import UNKNOWN_TOKEN, Committed, Drafted, Judged, RunStarted
from tests.engine import formats_data
from tests.engine.formats_data import LLAMA, json_lines, llama_line


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return json_lines(tmp_path / "dump.jsonl", LLAMA)


def test_each_sequence_is_a_lane_with_its_figures(dump: Path) -> None:
    assert told(dump).name == "llama-dump"
    store = formats_data.stored(read(dump))
    first, second = store.lanes
    assert (first.id, first.title, second.id) == ("0", "llama.cpp, sequence 0", "3")
    assert not first.plain
    totals = first.totals
    assert (totals.rounds, totals.drafted, totals.tested, totals.accepted, totals.committed) == (3, 6, 6, 4, 7)
    assert totals.acceptance_rate == 4 / 6
    assert totals.mean_committed_length == 7 / 3
    assert (second.totals.rounds, second.totals.tested, second.totals.accepted) == (1, 1, 0)
    assert [(r.k, r.tested, r.accepted, r.committed, r.final) for r in first.rounds] == [
        (3, 3, 2, 3, "correction"), (2, 2, 2, 3, "bonus"), (1, 1, 0, 1, "correction")]
    assert first.ids == [10, 11, UNKNOWN_TOKEN, 13, 14, UNKNOWN_TOKEN, UNKNOWN_TOKEN]
    fates = [first.history.round(0).fate(i) for i in range(3)]
    assert fates == ["accepted", "accepted", "rejected"]
    assert second.history.round(0).fate(1) == "void"
    assert (first.status, first.message) == ("stopped", "The dump ends here; it doesn't say why.")


def test_the_drafters_p_is_our_q(dump: Path) -> None:
    found = list(read(dump))
    assert [r.q for r in found if isinstance(r, Drafted)] == [0.75] * 8
    judged = [r for r in found if isinstance(r, Judged)]
    assert judged
    assert all(r.q == 0.75 and r.p is r.draw is r.best is None for r in judged)
    assert next(r for r in found if isinstance(r, Drafted)).source == "drafter's best: #10 0.75, #11 0.125"


def test_nothing_unknown_is_given_a_value(dump: Path) -> None:
    found = list(read(dump))
    started = next(r for r in found if isinstance(r, RunStarted))
    assert set(started.unknown) == {"target", "settings", "seconds", "tokens", "texts", "p", "draws", "rows", "slots",
                                    "prompt"}
    assert started.target.name == started.prompt_text == started.machine == ""
    for committed in (r for r in found if isinstance(r, Committed)):
        assert committed.final_draw is committed.residual_mass is None
        assert set(committed.texts) == {""}
        assert committed.gaps == committed.digests == committed.p == ()
        assert committed.seconds.total == 0


def test_it_becomes_a_trace_that_opens(dump: Path, tmp_path: Path) -> None:
    out = convert(dump, tmp_path / "out.spectrace.zst").outputs[0]
    again, direct = formats_data.stored(trace.read(out)), formats_data.stored(read(dump))
    assert [lane.totals for lane in again.lanes] == [lane.totals for lane in direct.lanes]
    assert [lane.ids for lane in again.lanes] == [lane.ids for lane in direct.lanes]


def test_steps_that_begin_again_are_another_lane(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "dump.jsonl", [*LLAMA, llama_line(1, 0, [7], 1), llama_line(2, 0, [8], 0)])
    store = formats_data.stored(read(path))
    assert [(lane.id, lane.totals.rounds) for lane in store.lanes] == [("0", 3), ("3", 1), ("0#2", 2)]
    assert store.lanes[0].message == "The step numbers begin again here."


def test_a_dump_cut_off_while_it_was_written(dump: Path, tmp_path: Path) -> None:
    dump.write_bytes(dump.read_bytes()[:-20])
    with pytest.raises(FormatError, match=r"^Line 4 of .*dump\.jsonl isn't a step") as caught:
        list(read(dump))
    done = convert(dump, tmp_path / "part.spectrace")
    assert done.passed.damage == str(caught.value)
    lanes = formats_data.stored(trace.read(tmp_path / "part.spectrace")).lanes
    assert [lane.totals.rounds for lane in lanes] == [2, 1]


@pytest.mark.parametrize(("line", "expected"), [
    (llama_line(1, 0, [1, 2], 3), "n_accepted 3, which acc|accepts 3 of 2"),
    (llama_line(1, 0, [1, 2], 1, n_draft=3), "says n_draft 3, but its pos lists 2"),
    (llama_line(1, 0, [1, 2], 1, n_accepted=2), "acc of position 1 contradicts"),
    (llama_line(1, 0, list(range(65)), 1), "at most 64"),
    (llama_line(1, 0, [2**60], 0), "Expected `int` <= "),
    (llama_line(1, 0, [-5], 0), "Expected `int` >= 0"),
    ({"step": 1, "seq": 0, "n_draft": 1, "n_accepted": 0, "pos": [{"i": 3, "tok": 1, "acc": False}]}, "count from 0"),
    ({"step": 1, "seq": 0, "n_draft": 1, "n_accepted": 0, "pos": [{"i": 0, "tok": 1, "acc": False, "p": 1.5}]},
     "Expected `float` <= "),
    ({"step": 1, "seq": 0, "n_draft": "1", "n_accepted": 0, "pos": []}, "Expected `int`, got `str`"),
    ({"seq": 0, "n_draft": 0, "n_accepted": 0, "pos": []}, "missing required field `step`"),
    ([], "Expected `object`"),
])
def test_what_is_wrong_is_named_with_its_line(line: Any, expected: str, tmp_path: Path) -> None:
    path = json_lines(tmp_path / "dump.jsonl", [LLAMA[0], line])
    with pytest.raises(FormatError, match=rf"^Line 2 of .*dump\.jsonl .*({expected})"):
        list(read(path))


def test_a_probability_may_be_missing(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "dump.jsonl", [
        {"step": 1, "seq": 0, "n_draft": 1, "n_accepted": 0, "pos": [{"i": 0, "tok": 4, "acc": False}]}])
    assert [r.q for r in read(path) if isinstance(r, Drafted)] == [None]
