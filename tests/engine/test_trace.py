"""Traces give back what was written, whatever they are packed in, and end where they are damaged."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from engine import __version__
from engine.records import Committed, Record, RunFinished, RunStarted, Totals, Verified, Vocabulary
from engine.trace import FORMAT, TraceError, Writer, header, read
from engine.trace_lines import CHUNK, DamagedError, lines, sink
from tests.engine.support import PROMPT, WARM, run, settings, target
from tests.engine.traces import DEMO, SUFFIXES, opened, pack, small, write
from tests.widgets import fake_run


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_trace_gives_back_what_was_written(tmp_path: Path, suffix: str) -> None:
    one = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM))
    back = list(read(write(tmp_path / f"run{suffix}", one.records)))
    assert len(back) == len(one.records)
    for ours, theirs in zip(one.records, back, strict=True):
        if isinstance(ours, Verified):
            assert isinstance(theirs, Verified)
            assert (ours.digests, ours.k, ours.seconds) == (theirs.digests, theirs.k, theirs.seconds)
            for a, b in zip(ours.rows, theirs.rows, strict=True):
                assert np.array_equal(a.ids, b.ids)
                assert a.overlap == b.overlap
                np.testing.assert_allclose(a.p, b.p, rtol=5e-4)  # four significant digits
                np.testing.assert_allclose(a.q, b.q, rtol=5e-4)
                assert b.p.dtype == np.float32
                assert not b.p.flags.writeable
        else:
            assert ours == theirs  # p and q of drafted and committed tokens in full


@pytest.mark.parametrize("kind", [
    settings("none"), settings("none", sampling=WARM), settings("ngram", min_n=1), settings("layer-skip", skip=(2,)),
    settings("ngram", min_n=1, tokens=1), settings("ngram", tokens=0), settings("layer-skip", skip=(1,), detail=False),
    settings("layer-skip", skip=(2,), gamma=1, sampling=WARM), settings("layer-skip", gamma=None, exact=True)])
def test_every_run_of_the_engine_is_an_accepted_order(tmp_path: Path, kind: Any) -> None:
    for eos in (frozenset[int](), frozenset(range(0, 352, 7))):
        for by_record in (False, True):
            one = run(target(eos=eos), PROMPT, kind, by_record=lambda by=by_record: by)
            assert len(list(read(write(tmp_path / "run.spectrace", one.records)))) == len(one.records)


def test_lanes_that_failed_are_an_accepted_order(tmp_path: Path) -> None:
    one = run(target(), PROMPT, settings("model:missing"))
    assert one.finished.reason == "error"
    assert list(read(write(tmp_path / "run.spectrace", one.records))) == one.records


def test_a_renamed_file_opens(tmp_path: Path) -> None:
    records = small()
    for suffix in SUFFIXES:
        path = tmp_path / "download"
        shutil.copy(write(tmp_path / f"run{suffix}", records), path)
        assert len(list(read(path))) == len(records)


def test_parts_packed_one_after_another_are_one_file(tmp_path: Path) -> None:
    content = write(tmp_path / "run.spectrace", small()).read_bytes()
    for suffix in SUFFIXES:
        path = tmp_path / f"joined{suffix}"
        path.write_bytes(pack(content[:5000], suffix) + pack(b"", suffix) + pack(content[5000:], suffix))
        assert len(list(read(path))) == len(small())


def test_the_header_tells_what_is_inside(tmp_path: Path) -> None:
    records = small()
    begun = [record for record in records if isinstance(record, RunStarted)]
    for suffix in SUFFIXES:
        found = header(write(tmp_path / f"run{suffix}", records))
        assert (found.format, found.version) == (FORMAT, __version__)
        assert (found.target, found.machine, found.started) == (begun[0].target, begun[0].machine, begun[0].started)
        assert [(lane.lane, lane.title, lane.settings) for lane in found.lanes] == [
            (one.lane, one.title, one.settings) for one in begun]
    first = json.loads((tmp_path / "run.spectrace").read_bytes().splitlines()[0])
    assert [lane["settings"]["drafter"]["kind"] for lane in first["lanes"]] == ["none", "ngram", "model"]


@pytest.mark.parametrize(("old", "new"), [
    (b'"layers":0', b'"layers":1' + b"0" * 400), (b'"gamma":4', b'"gamma":null'), (b'"seed":0', b'"seed":-1'),
    (b'"machine":"', b'"machine":"' + b"x" * 2**20)])
def test_a_damaged_header_keeps_nobody_from_the_records(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = write(tmp_path / "run.spectrace", small())
    first, rest = path.read_bytes().split(b"\n", 1)
    assert old in first
    path.write_bytes(first.replace(old, new) + b"\n" + rest)
    with pytest.raises(TraceError, match="header"):
        header(path)
    assert len(list(read(path))) == len(small())


def test_a_recording_without_rounds_has_its_header_too(tmp_path: Path) -> None:
    records = small()[:2]
    path = write(tmp_path / "run.spectrace", records)
    assert list(read(path)) == records
    assert len(header(path).lanes) == 1
    assert list(read(write(path, []))) == []
    assert header(path).lanes == ()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_each_round_can_be_read_back_while_the_recording_goes_on(tmp_path: Path, suffix: str) -> None:
    path, written = tmp_path / f"run{suffix}", 0
    with Writer(path) as trace:
        for record in small():
            trace.write(record)
            written += 1
            if isinstance(record, Committed):
                found, error = opened(path)
                assert len(found) == written
                assert (error is None) == (suffix == ".spectrace")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_anywhere_opens_up_to_the_cut(tmp_path: Path, suffix: str) -> None:
    records = small()
    content = write(tmp_path / f"run{suffix}", records).read_bytes()
    cut, seen = tmp_path / f"cut{suffix}", 0
    for size in range(0, len(content), max(1, len(content) // 60)):
        cut.write_bytes(content[:size])
        found, error = opened(cut)
        assert len(found) >= seen
        assert [type(r) for r in found] == [type(r) for r in records[: len(found)]]
        assert error is None or "cut off" in str(error) or size < 4
        seen = len(found)
    assert seen > len(records) * 0.8


# Versions


def test_the_first_version_opens() -> None:
    """Written by 0.1.0, when a header told only format and version."""
    first = header(DEMO)
    records = list(read(DEMO))
    assert (first.format, first.lanes) == (1, ())
    assert sum(isinstance(r, RunFinished) for r in records) == sum(isinstance(r, RunStarted) for r in records) == 3


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "run.spectrace", small())
    content = [{**json.loads(line), "later": {"than": ["this"]}} for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in content))
    assert len(list(read(path))) == len(small())


def test_a_newer_version_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.spectrace"
    path.write_bytes(b'{"type":"Header","format":99,"version":"9","lanes":"of another kind"}\n{"type":"Unheard"}\n')
    for action in (header, lambda path: list(read(path))):
        with pytest.raises(TraceError, match="SpecScope 9 in format 99, newer"):
            action(path)


def test_a_trace_opens_without_torch() -> None:
    code = f"import sys; from engine.trace import read; list(read({str(DEMO)!r})); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Damage


def test_damaged_traces_say_which_line(tmp_path: Path) -> None:
    records = run(target(), PROMPT, settings("ngram")).records
    path = write(tmp_path / "run.spectrace", records)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]) + lines[6][:20])
    reading = read(path)
    assert list(itertools.islice(reading, 5)) == records[:5]  # what is before the damage is read
    with pytest.raises(TraceError, match=r"Line 7 .* cut off"):
        next(reading)
    path.write_bytes(b"".join(lines[:6]) + lines[6][:20] + b"\n")
    with pytest.raises(TraceError, match=r"Line 7 .* damaged"):
        list(read(path))
    path.write_bytes(lines[0][:20])
    with pytest.raises(TraceError, match=r"Line 1 .* cut off"):
        list(read(path))
    path.write_bytes(b'{"hello": 1}\n')
    with pytest.raises(TraceError, match="isn't a SpecScope trace"):
        list(read(path))
    path.write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(TraceError, match=r"Line 1 .* compressed data is damaged"):
        list(read(path))
    with pytest.raises(TraceError, match="can't be read"):
        list(read(tmp_path / "missing"))
    with pytest.raises(TraceError, match="can't be written"):
        Writer(tmp_path / "no" / "such" / "folder.spectrace")


@pytest.mark.parametrize(("old", "new"), [
    (b'"verify":', b'"verify":-'), (b'"index":0', b'"index":1000000000'), (b'"ids":[', b'"ids":[99999999999,'),
    (b'"tested":0', b'"tested":-1'), (b'"ids":[', b'"ids":[["deep"],'), (b'"ids":[', b'"ids":[1.5,'),
    (b'"ids":[', b'"ids":["7",'), (b'"ids":[', b'"ids":[true,'), (b'"p":[', b'"p":[1e300,'), (b'"p":[', b'"p":[NaN,'),
    (b'"p":[', b'"p":[null,'), (b'"p":[', b'"p":[0.5,'), (b'"seed":', b'"seed":-1'), (b'"layers":', b'"layers":9e99'),
    (b'"layers":', b'"layers":9999999999999999999999'), (b'"prompt":[', b'"prompt":[-7,'),
    (b'"text":"', b'"text":"\xff'), (b'"text":"', b'"text":"\\ud800'), (b'"gamma":', b'"gamma":9'),
    (b'"width":', b'"width":99999'), (b'"slots":', b'"slots":99999999999'),
    (b'"draw":', b'"draw":1'), (b'"run":"', b'"run":"' + b"endless" * 200), (b'"texts":{', b'"texts":{"-9":"",')])
def test_impossible_values_in_a_trace_are_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    one = run(target(), PROMPT, settings("ngram", min_n=1, sampling=WARM))
    path = write(tmp_path / "run.spectrace", one.records)
    head, content = path.read_bytes().split(b"\n", 1)
    if old == b'"draw":':
        content = content.replace(b'"draw":0', b'"draw":1', 1)
    else:
        assert old in content
        content = content.replace(old, new, 1)
    path.write_bytes(head + b"\n" + content)
    with pytest.raises(TraceError, match="Line"):
        list(read(path))


Edit = Callable[[list[dict[str, Any]]], object]


def first(lines: list[dict[str, Any]], kind: str, **wanted: Any) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == kind and all(line[k] == v for k, v in wanted.items()))


def swapped(lines: list[dict[str, Any]], one: str, other: str) -> None:
    a, b = (lines.index(first(lines, kind)) for kind in (one, other))
    lines[a], lines[b] = lines[b], lines[a]


def dropped(lines: list[dict[str, Any]], kind: str) -> None:
    lines.remove(first(lines, kind))


def repeated(lines: list[dict[str, Any]], kind: str) -> None:
    line = first(lines, kind)
    lines.insert(lines.index(line), line)


IMPOSSIBLE: dict[str, tuple[Edit, str]] = {
    "never started": (lambda ls: dropped(ls, "RunStarted"), "has not started"),
    "started twice": (lambda ls: repeated(ls, "RunStarted"), "had started"),
    "prefilled twice": (lambda ls: repeated(ls, "Prefilled"), "prefilled before"),
    "not prefilled": (lambda ls: dropped(ls, "Prefilled"), "not prefilled"),
    "judged before drafted": (lambda ls: swapped(ls, "Drafted", "Judged"), "before its round was verified"),
    "a draft is missing": (lambda ls: dropped(ls, "Drafted"), "draft 1, but draft 0 is next"),
    "a draft twice": (lambda ls: repeated(ls, "Drafted"), "draft 0, but draft 1 is next"),
    "not verified": (lambda ls: dropped(ls, "Verified"), "before its round was verified"),
    "verified twice": (lambda ls: repeated(ls, "Verified"), "verified before"),
    "a judgement is missing": (lambda ls: dropped(ls, "Judged"), "tests draft 1, but draft 0"),
    "a round is missing": (lambda ls: dropped(ls, "Committed"), "of round 1, but round 0 is next|after its round"),
    "a round twice": (lambda ls: repeated(ls, "Committed"), "of round 0, but round 1 is next"),
    "a round goes back": (lambda ls: first(ls, "Committed", round=2).update(round=1), "of round 1, but round 2"),
    "a round of 10^9": (lambda ls: first(ls, "Drafted").update(round=10**9), "of round 1000000000"),
    "k": (lambda ls: first(ls, "Verified").update(k=1), "k is 1"),
    "k of 10^9": (lambda ls: first(ls, "Verified").update(k=10**9), "beyond 64"),
    "rows": (lambda ls: first(ls, "Verified")["rows"].pop(), "3 rows where|rows where"),
    "a row's q": (lambda ls: first(ls, "Verified")["rows"][0]["q"].pop(), "different lengths"),
    "gaps": (lambda ls: first(ls, "Verified")["gaps"].pop(), "gaps where"),
    "another token": (lambda ls: first(ls, "Judged").update(token=1), "another token"),
    "another position": (lambda ls: first(ls, "Drafted").update(position=0), "its position is 0"),
    "accepted": (lambda ls: first(ls, "Committed", final="correction").update(accepted=9), "9 accepted"),
    "tested": (lambda ls: first(ls, "Committed", final="bonus").update(tested=0), "accepted of 0 tested"),
    "drafted": (lambda ls: first(ls, "Committed").update(drafted=10**9), "1000000000 drafted"),
    "a token more": (lambda ls: first(ls, "Committed")["tokens"].append(1), "tokens of"),
    "a text more": (lambda ls: first(ls, "Committed")["texts"].append(""), "texts of"),
    "a digest less": (lambda ls: first(ls, "Committed", final="bonus")["digests"].pop(), "digests of"),
    "tokens not drafted": (lambda ls: first(ls, "Committed", final="bonus")["tokens"].__setitem__(0, 1), "drafted"),
    "slots": (lambda ls: first(ls, "Committed").update(target_slots=10**9), "more slots"),
    "not that kind": (lambda ls: first(ls, "Committed", final="bonus").update(final="correction"), "be a correction"),
    "totals": (lambda ls: first(ls, "RunFinished")["totals"].update(committed=10**9), "totals"),
    "another run": (lambda ls: first(ls, "Drafted").update(run="other"), "another run"),
    "after the end": (lambda ls: ls.append({**first(ls, "Vocabulary"), "lane": ls[-1]["lane"]}), "had finished"),
    "no lane": (lambda ls: first(ls, "Drafted").update(lane="other"), "has not started"),
    "an empty line": (lambda ls: ls.insert(3, {}), "Line 4"),
    "no words": (lambda ls: first(ls, "Vocabulary").update(texts={}), "without texts"),
    "a header again": (lambda ls: ls.append(ls[0]), "Header"),
    "too many lanes": (lambda ls: ls.extend({**first(ls, "Vocabulary"), "lane": str(i)} for i in range(1100)), "lanes"),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_records_that_contradict_each_other_end_the_reading(tmp_path: Path, what: str) -> None:
    edit, message = IMPOSSIBLE[what]
    path = write(tmp_path / "run.spectrace", fake_run.lane_records(fake_run.SKIP, limit=40))
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    edit(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(TraceError, match=message):
        list(read(path))


# Imported lanes


def test_an_imported_lane_may_know_little(tmp_path: Path) -> None:
    """Nothing but outcomes, no token ids, no prompt."""
    records = [r for r in fake_run.lane_records(fake_run.PLAIN, limit=5) if not isinstance(r, (Vocabulary, Verified))]
    path = write(tmp_path / "run.spectrace", records)
    with pytest.raises(TraceError, match="before its round was verified"):
        list(read(path))
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    first(lines, "RunStarted").update(unknown=["prompt", "tokens", "texts", "seconds", "slots"], prompt=[])
    for line in lines:
        if line["type"] == "Committed":
            line.update(position=line["round"], tokens=[-1], texts=[""], gaps=[], digests=[], target_slots=0)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(list(read(path))) == len(records)
    first(lines, "Committed").update(accepted=1, tested=1, drafted=1, final="none")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(TraceError, match="never shown"):
        list(read(path))


def test_lines_longer_than_a_chunk_are_whole(tmp_path: Path) -> None:
    words: Record = Vocabulary(run="r", lane="0", texts={i: f"token {i}" for i in range(CHUNK)})
    end: Record = RunFinished(run="r", lane="0", reason="error", message="x" * CHUNK, text="", totals=Totals())
    for suffix in SUFFIXES:
        assert list(read(write(tmp_path / f"run{suffix}", [words, end]))) == [words, end]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_that_was_flushed_is_kept_back(tmp_path: Path, suffix: str) -> None:
    """Packed data that ends at a flush, or anywhere behind it, unpacks up to that flush."""
    chance, content, flushes = Random(3), b"", []
    file = sink(tmp_path / f"flushed{suffix}")
    for _ in range(60):
        content += "".join(chance.choices("0123456789,.", k=chance.randrange(10, 60_000))).encode() + b"\n"
        file.write(content[flushes[-1][1] if flushes else 0 :])
        file.flush()
        flushes.append(((tmp_path / f"flushed{suffix}").stat().st_size, len(content)))
    packed = (tmp_path / f"flushed{suffix}").read_bytes()
    file.close()
    for size, length in flushes:
        for more in (0, 1, 3, 500):
            whole = []
            with contextlib.suppress(DamagedError):  # the end is missing
                for line, ended in lines(io.BytesIO(packed[: size + more])):
                    whole += [line] * ended
            assert b"\n".join([*whole, b""])[:length] == content[:length]
