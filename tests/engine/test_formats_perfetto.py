"""The structure that viewers of the Trace Event Format rely on: keys, units, nesting, flows, counters."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from engine.formats import FormatError, read, save
from engine.records import Committed, Drafted, Judged, RunStarted
from tests.engine import formats_data

Event = dict[str, Any]

REQUIRED = {"X": {"name", "cat", "ts", "dur", "pid", "tid", "args"}, "s": {"name", "cat", "id", "ts", "pid", "tid"},
            "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"}, "C": {"name", "ts", "pid", "args"},
            "M": {"name", "pid", "args"}, "i": {"name", "ts", "pid", "tid", "s"}}


@pytest.fixture(scope="module")
def records() -> list[Any]:
    return formats_data.records(60)


@pytest.fixture(scope="module")
def document(records: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Event:
    path = save(tmp_path_factory.mktemp("perfetto") / "run.perfetto.json", records)[0]
    return json.loads(path.read_bytes())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def events(document: Event) -> list[Event]:
    return document["traceEvents"]  # type: ignore[no-any-return]


def ns(microseconds: float) -> int:
    """As a viewer does it that cuts off."""
    return int(microseconds * 1000)


def tracks(events: list[Event]) -> dict[tuple[int, int], list[Event]]:
    found: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append(event)
    return found


def names(events: list[Event], what: str) -> dict[Any, str]:
    return {(e["pid"], e["tid"]) if what == "thread_name" else e["pid"]: e["args"]["name"]
            for e in events if e["ph"] == "M" and e["name"] == what}


def test_keys_and_types(document: Event, events: list[Event]) -> None:
    assert document["displayTimeUnit"] == "ms"
    for event in events:
        assert REQUIRED[event["ph"]] <= event.keys()
        assert isinstance(event["pid"], int)
        assert isinstance(event["name"], str)
        assert event["name"]
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0
        assert isinstance(event.get("args", {}), dict)


def test_slices_of_a_track_nest_or_touch(events: list[Event]) -> None:
    for track in tracks(events).values():
        open_until: list[int] = []
        last = 0
        for event in track:
            start, end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
            assert start >= last
            last = start
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], event
            open_until.append(end)


def test_every_lane_and_track_is_named_and_ids_are_unique(records: list[Any], events: list[Event]) -> None:
    titles = [record.title for record in records if isinstance(record, RunStarted)]
    assert list(names(events, "process_name").values()) == titles
    named = names(events, "thread_name")
    assert set(named) == set(tracks(events))
    assert len({tid for _, tid in named}) == len(named)
    plain = {pid for pid, title in names(events, "process_name").items() if title == "Plain decoding"}
    of_plain = {name for (pid, _), name in named.items() if pid in plain}
    of_others = {name for (pid, _), name in named.items() if pid not in plain}
    assert of_plain == {"prefill", "plain step", "judge", "record", "commit"} - (
        set() if "judge" in of_plain else {"judge"})
    assert {"prefill", "draft", "verify", "judge", "record", "commit"} <= of_others


def test_durations_are_the_records_in_microseconds(records: list[Any], events: list[Event]) -> None:
    named = names(events, "thread_name")
    spent: dict[str, float] = defaultdict(float)
    for (pid, tid), track in tracks(events).items():
        name = named[pid, tid]
        outer = [e for e in track if name != "draft" or "k" in e["args"]]
        spent[name] += sum(e["dur"] for e in outer) / 1e6
    rounds = [record for record in records if isinstance(record, Committed)]
    assert spent["draft"] == pytest.approx(sum(r.seconds.draft for r in rounds), abs=1e-5)
    assert spent["verify"] + spent["plain step"] == pytest.approx(sum(r.seconds.verify for r in rounds), abs=1e-5)
    assert spent["commit"] == pytest.approx(sum(r.seconds.commit for r in rounds), abs=1e-5)
    assert spent["record"] == pytest.approx(sum(r.seconds.record for r in rounds), abs=1e-5)


def test_arrows_lead_from_each_draft_token_into_its_verification(records: list[Any], events: list[Event]) -> None:
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    done = {(r.lane, r.round) for r in records if isinstance(r, Committed)}
    drafted = [r for r in records if isinstance(r, Drafted) and (r.lane, r.round) in done]
    assert len(starts) == sum(e["ph"] == "s" for e in events) == len(drafted)
    assert starts.keys() == ends.keys()
    named, by_track = names(events, "thread_name"), tracks(events)
    for id, start in starts.items():
        end = ends[id]
        assert (start["name"], start["cat"], start["pid"]) == (end["name"], end["cat"], end["pid"])
        assert end["bp"] == "e"
        assert start["ts"] <= end["ts"]
        source, sink = (innermost(by_track[e["pid"], e["tid"]], ns(e["ts"])) for e in (start, end))
        assert named[start["pid"], start["tid"]] == "draft"
        assert "index" in source["args"]
        assert named[end["pid"], end["tid"]] == "verify"
        assert source["args"]["round"] == sink["args"]["round"]


def innermost(track: list[Event], at: int) -> Event:
    return [e for e in track if ns(e["ts"]) <= at < ns(e["ts"]) + ns(e["dur"])][-1]


def test_counters_run_as_the_records_do(records: list[Any], events: list[Event]) -> None:
    pids = {title: pid for pid, title in names(events, "process_name").items()}
    for started in [r for r in records if isinstance(r, RunStarted)]:
        accepted = tested = committed = 0
        rates, counts = [], []
        for record in records:
            if isinstance(record, Committed) and record.lane == started.lane:
                accepted, tested = accepted + record.accepted, tested + record.tested
                committed += len(record.tokens)
                counts.append(committed)
                rates += [accepted / tested] if tested else []
        of_lane = [e for e in events if e["ph"] == "C" and e["pid"] == pids[started.title]]
        assert [e["args"]["tokens"] for e in of_lane if e["name"] == "committed"] == counts
        assert [e["args"]["α so far"] for e in of_lane if e["name"] == "acceptance rate"] == rates


def test_args_tell_the_judgement(records: list[Any], events: list[Event]) -> None:
    judged = [r for r in records if isinstance(r, Judged)]
    told = [test for e in events if e["ph"] == "X" and e["cat"] == "judge" for test in e["args"].get("tests", ())]
    assert len(told) == len(judged)
    assert {(t["position"], t["token"], t["accepted"], t.get("p"), t.get("q"), t.get("draw")) for t in told} == {
        (j.position, j.token, j.accepted, j.p, j.q, j.draw) for j in judged}


def test_without_times_there_is_nothing_to_draw(tmp_path: Path) -> None:
    source = formats_data.json_lines(tmp_path / "dump.jsonl", formats_data.LLAMA)
    with pytest.raises(FormatError, match=r"without times.*csv or parquet"):
        save(tmp_path / "out.perfetto.json", read(source))
    assert [path.name for path in tmp_path.iterdir()] == ["dump.jsonl"]
