"""vLLM's counts, wherever a response carries them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine import trace
from engine.formats import FormatError, convert, read
from engine.formats.registry import told
from engine.records import UNKNOWN_TOKEN, Drafted, Judged, RunStarted
from tests.engine import formats_data
from tests.engine.formats_data import vllm_response


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "response.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_figures(tmp_path: Path) -> None:
    path = saved(tmp_path, json.dumps(vllm_response(), indent=2))
    assert told(path).name == "vllm"
    lane, = formats_data.stored(read(path)).lanes
    totals = lane.totals
    assert (totals.rounds, totals.drafted, totals.tested, totals.accepted, totals.committed) == (3, 9, 7, 5, 8)
    assert totals.acceptance_rate == 5 / 7
    assert totals.draft_utilisation == 5 / 9
    assert [(r.k, r.tested, r.accepted, r.final) for r in lane.rounds] == [
        (3, 3, 2, "correction"), (3, 1, 0, "correction"), (3, 3, 3, "bonus")]
    assert lane.title == "vLLM, request chatcmpl-1"
    assert lane.gamma == 3
    assert lane.started is not None
    assert lane.started.target.name == "some/model"
    assert lane.finished is not None
    assert lane.finished.reason == "length"
    assert lane.message == "vLLM counts 9 tokens; its verifications account for 8."


def test_only_counts_are_known(tmp_path: Path) -> None:
    found = list(read(saved(tmp_path, json.dumps(vllm_response()))))
    started = next(r for r in found if isinstance(r, RunStarted))
    assert set(started.unknown) == {"settings", "seconds", "tokens", "texts", "p", "q", "draws", "rows", "slots",
                                    "prompt"}
    drafts = [r for r in found if isinstance(r, Drafted)]
    assert len(drafts) == 9
    assert all(r.token == UNKNOWN_TOKEN and r.q is r.draw is None and r.text == "" for r in drafts)
    assert all(r.p is r.q is r.best is None for r in found if isinstance(r, Judged))


ONE, TWO = vllm_response(), vllm_response([1], [2], id="b", model=None)
CHUNK = {"id": "c", "model": "m", "choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}
LAST = {**vllm_response([0, 0], [1, 1], id="c"), "choices": []}


@pytest.mark.parametrize(("text", "rounds"), [
    (json.dumps([ONE, TWO]), [3, 1]),
    (json.dumps(ONE) + "\n" + json.dumps(TWO) + "\n", [3, 1]),
    (f"data: {json.dumps(CHUNK)}\n\n: ping\n\ndata: {json.dumps(LAST)}\n\ndata: [DONE]\n\n", [2]),
    (json.dumps({"data": ONE}), [3]),
    (json.dumps({"outputs": [{"spec_decode_metrics": ONE["metrics"]["speculative_decoding"]}]}), [3]),
    (json.dumps(vllm_response([], [])), [0]),
    (json.dumps(vllm_response([0, 1], [0, 1])), [2]),
], ids=["list", "lines", "stream", "capture", "offline", "no step", "step without drafts"])
def test_wherever_it_stands(text: str, rounds: list[int], tmp_path: Path) -> None:
    path = saved(tmp_path, text)
    lanes = formats_data.stored(read(path)).lanes
    assert [lane.totals.rounds for lane in lanes] == rounds
    out = convert(path, tmp_path / "out.spectrace").outputs[0]
    assert [lane.totals for lane in formats_data.stored(trace.read(out)).lanes] == [lane.totals for lane in lanes]


def test_a_request_without_a_model_knows_no_target(tmp_path: Path) -> None:
    started = next(r for r in read(saved(tmp_path, json.dumps(TWO))) if isinstance(r, RunStarted))
    assert "target" in started.unknown


SUMMARY = {key: value for key, value in ONE["metrics"]["speculative_decoding"].items() if "per_step" not in key}


@pytest.mark.parametrize(("value", "expected"), [
    ({"metrics": {"speculative_decoding": SUMMARY}}, "summary of a request but not its steps; .*detailed"),
    ({"metrics": {"speculative_decoding": None}}, "holds no per_step_accepted"),
    (vllm_response([1], [2, 3]), "1 entries in per_step_accepted and 2"),
    (vllm_response([3], [2]), "Step 0 of .* accepts 3 of 2"),
    (vllm_response([1], [65]), "at most 64"),
    (vllm_response([-1], [2]), "Expected `int` >= 0"),
    ({"per_step_accepted": [1], "per_step_drafted": ["1"]}, "Expected `int`, got `str`"),
    ({"per_step_accepted": [1]}, "missing required field `per_step_drafted`"),
    ({"per_step_accepted": 7, "per_step_drafted": 8}, "Expected `array`"),
], ids=str)
def test_what_is_wrong_is_named(value: Any, expected: str, tmp_path: Path) -> None:
    path = saved(tmp_path, json.dumps(value))
    with pytest.raises(FormatError, match=rf"(?s)response\.json.*{expected}|{expected}"):
        list(read(path, told(path) if b"speculative" in path.read_bytes() else None))


def test_the_line_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path, json.dumps(ONE) + "\n" + json.dumps(TWO)[:-9] + "\n")
    with pytest.raises(FormatError, match=r"Line 2 of .*response\.json isn't JSON"):
        list(read(path))
    path = saved(tmp_path, json.dumps(ONE) + "\n" + json.dumps(vllm_response([9], [2])) + "\n")
    with pytest.raises(FormatError, match=r"Step 0 of line 2 of .*response\.json accepts 9"):
        list(read(path))


def test_more_requests_than_a_trace_holds(tmp_path: Path) -> None:
    path = saved(tmp_path, json.dumps([vllm_response([0], [1])] * 1025))
    with pytest.raises(FormatError, match=r"response\.json can't become a trace: .*1024 lanes"):
        list(read(path))
