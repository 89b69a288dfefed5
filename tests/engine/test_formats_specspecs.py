"""The folder of specspecs: the overlap token goes and comes; its own reader, where there is one, reads ours."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import trace
from engine.formats import FormatError, convert, read, save
from engine.formats.registry import told
from engine.records import Committed, Drafted, Record, RunStarted
from tests.engine import formats_data

TYPES = {
    "sequences": {"run_id": pa.string(), "sequence_id": pa.string(), "t": pa.timestamp("us"),
                  "prompt_token_ids": pa.list_(pa.int64()), "prompt_len": pa.int32()},
    "drafts": {"run_id": pa.string(), "sequence_id": pa.string(), "step": pa.int32(), "t": pa.timestamp("us"),
               "draft_tokens": pa.list_(pa.int64()), "acceptances": pa.list_(pa.bool_()), "k": pa.int16(),
               "acceptance_length": pa.int16(), "emitted_token": pa.int32()}}
"""The columns as the package declares them."""


def part(folder: Path, prefix: str) -> Path:
    found, = folder.glob(f"{prefix}-*.parquet")
    return found


def rows(folder: Path, prefix: str) -> list[dict[str, Any]]:
    return pq.read_table(part(folder, prefix)).to_pylist()  # type: ignore[no-any-return]


def rewritten(folder: Path, prefix: str, table: pa.Table) -> None:
    pq.write_table(table, part(folder, prefix))


def changed(folder: Path, prefix: str, number: int, **values: Any) -> None:
    table = pq.read_table(part(folder, prefix))
    content = table.to_pylist()
    content[number].update(values)
    rewritten(folder, prefix, pa.Table.from_pylist(content, schema=table.schema))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return convert(formats_data.trace(tmp_path), tmp_path / "out.specspecs", lane="draft").outputs[0]


def shape(found: list[Record]) -> dict[str, Any]:
    """What the format holds, a lane."""
    held: dict[str, Any] = {}
    for record in found:
        lane = held.setdefault(record.lane, {"prompt": (), "drafts": [], "rounds": []})
        if isinstance(record, RunStarted):
            lane["prompt"] = record.prompt
        elif isinstance(record, Drafted):
            lane["drafts"].append((record.round, record.index, record.position, record.token))
        elif isinstance(record, Committed):
            lane["rounds"].append((record.round, record.position, record.tokens, record.accepted, record.tested,
                                   record.drafted, record.final if record.drafted else "plain"))
    return held


def test_there_and_back_keeps_what_it_holds(tmp_path: Path) -> None:
    source = formats_data.trace(tmp_path)
    there = convert(source, tmp_path / "out.specspecs").outputs[0]
    back = convert(there, tmp_path / "back.spectrace").outputs[0]
    assert shape(list(trace.read(back))) == shape(list(trace.read(source)))
    assert {r.run for r in trace.read(back)} == {"run-1"}
    lanes = formats_data.stored(trace.read(back)).lanes
    before = {lane.id: lane.totals for lane in formats_data.stored(trace.read(source)).lanes}
    for lane in lanes:
        for name in ("rounds", "drafted", "tested", "accepted", "committed"):
            assert getattr(lane.totals, name) == getattr(before[lane.id], name)


def test_columns_are_the_packages(folder: Path) -> None:
    for prefix, types in TYPES.items():
        schema = pq.read_schema(part(folder, prefix))
        assert dict(zip(schema.names, schema.types, strict=True)) == types


def test_from_step_1_on_the_emitted_token_is_repeated(folder: Path) -> None:
    steps = rows(folder, "drafts")
    assert [s["step"] for s in steps] == list(range(len(steps)))
    for before, step in itertools.pairwise(steps):
        assert step["draft_tokens"][0] == before["emitted_token"]
        assert step["acceptances"][0]
    for step in steps:
        assert step["k"] == len(step["draft_tokens"]) == len(step["acceptances"])
        assert sum(step["acceptances"]) == step["acceptance_length"]
        assert step["t"] >= rows(folder, "sequences")[0]["t"]


def test_a_run_that_ended_on_an_accepted_draft(tmp_path: Path) -> None:
    """Its last draft is written as what was emitted: every token stays, an acceptance less."""
    found = [r for r in formats_data.records() if r.lane == "draft"]
    last = max((r for r in found if isinstance(r, Committed) and r.accepted >= 2), key=lambda r: r.round)
    cut = [*found[: found.index(last)], msgspec.structs.replace(
        last, final="none", tokens=last.tokens[: last.accepted], texts=last.texts[: last.accepted],
        gaps=(), digests=(), final_draw=None, tested=last.accepted)]
    back = list(read(save(tmp_path / "out.specspecs", cut)[0]))
    tokens = [t for r in cut if isinstance(r, Committed) for t in r.tokens]
    assert [t for r in back if isinstance(r, Committed) for t in r.tokens] == tokens
    end = [r for r in back if isinstance(r, Committed)][-1]
    assert (end.accepted, end.drafted, end.final) == (last.accepted - 1, last.accepted - 1,
                                                       "bonus" if last.accepted > 1 else "plain")


def test_a_part_of_it_names_the_folder(folder: Path) -> None:
    assert told(folder).name == told(part(folder, "drafts")).name == "specspecs"
    assert shape(list(read(part(folder, "drafts")))) == shape(list(read(folder)))


def test_other_whole_numbers_and_other_columns_are_taken(folder: Path) -> None:
    table = pq.read_table(part(folder, "drafts"))
    expected = shape(list(read(folder)))
    rewritten(folder, "drafts", table.set_column(2, "step", table["step"].cast(pa.int64())).append_column(
        "p", pa.array([0.5] * len(table))))
    assert shape(list(read(folder))) == expected


def test_lanes_without_ids_are_refused(tmp_path: Path) -> None:
    dump = formats_data.json_lines(tmp_path / "dump.jsonl", formats_data.LLAMA)
    with pytest.raises(FormatError, match=r"without all token ids.*csv or parquet"):
        convert(dump, tmp_path / "out.specspecs")
    assert not (tmp_path / "out.specspecs").exists()


@pytest.mark.parametrize(("values", "expected"), [
    ({"draft_tokens": [1, 2]}, r"Row 2 of .*drafts-.* has 2 draft_tokens, but \d acceptances"),
    ({"acceptance_length": 99}, r"Row 2 of .* has acceptance_length 99, which its acceptances contradict"),
    ({"draft_tokens": [1], "acceptances": [True], "acceptance_length": 1}, r"Row 2 of .* must begin .* with \d+"),
    ({"draft_tokens": [], "acceptances": [], "acceptance_length": 0}, r"Row 2 of .* must begin .* with \d+"),
    ({"step": 7}, r"is step 3 of sequence draft, but step 2 was expected|Row 2"),
    ({"step": -1}, r"Row 2 of .* has a negative number"),
    ({"emitted_token": -1}, r"Row 2 of .* has a negative number"),
    ({"emitted_token": None}, r"Row 2 of .* has nothing in emitted_token"),
    ({"sequence_id": "other"}, r"belongs to sequence other, which no sequences|step 2 was expected"),
    ({"draft_tokens": [None], "acceptances": [True]}, r"Row 2 of .* has nothing in draft_tokens"),
], ids=str)
def test_rows_that_contradict_themselves(values: dict[str, Any], expected: str, folder: Path) -> None:
    changed(folder, "drafts", 2, **values)
    with pytest.raises(FormatError, match=expected):
        list(read(folder))


def test_wrong_columns(folder: Path) -> None:
    table = pq.read_table(part(folder, "drafts"))
    rewritten(folder, "drafts", table.drop_columns(["k"]))
    with pytest.raises(FormatError, match=r"drafts-.*\.parquet has no column k; whole numbers were expected"):
        list(read(folder))
    rewritten(folder, "drafts", table.set_column(2, "step", table["step"].cast(pa.float64())))
    with pytest.raises(FormatError, match=r"Column step of .* holds double; whole numbers were expected"):
        list(read(folder))
    rewritten(folder, "drafts", table.append_column("step", table["step"]))
    with pytest.raises(FormatError, match=r"more than one column step"):
        list(read(folder))
    part(folder, "drafts").write_bytes(b"PAR1 no")
    with pytest.raises(FormatError, match=r"drafts-.*\.parquet can't be read as Parquet"):
        list(read(folder))
    part(folder, "sequences").unlink()
    with pytest.raises(FormatError, match="holds no sequences-"):
        list(read(folder, told_by_name("specspecs")))


def told_by_name(name: str) -> Any:
    from engine.formats.registry import named

    return named(name)


def test_a_file_that_claims_too_much(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.formats.arrow_rows.LARGEST", 10)
    with pytest.raises(FormatError, match="more than is read here"):
        list(read(folder))


THEIR_READER = """
import json, sys
from pathlib import Path
from specspecs import serve

class Words:
    def decode(self, ids):
        return "".join(f"<{int(i)}>" for i in ids)

serve.tokenizer = Words()
serve.connect(Path(sys.argv[1]))
found = {}
for name, count in serve.get_sequences():
    steps = serve.get_steps(name)
    found[name] = {"rows": count, "stats": serve.seq_stats(steps), "prompt": serve.get_prompt(name),
                   "text": "".join(text for step in steps for _, text in step["flow"]),
                   "page": len(serve.render_page(name))}
print(json.dumps(found))
"""


def python_with_specspecs() -> str | None:
    """An interpreter that can import the package: SPECSPECS_PYTHON, or any python3.13 found."""
    for candidate in (os.environ.get("SPECSPECS_PYTHON"), shutil.which("python3.13")):
        if candidate and subprocess.run([candidate, "-c", "import specspecs.serve"], capture_output=True,
                                        check=False, timeout=120).returncode == 0:
            return candidate
    return None


def test_its_own_reader_reads_ours(tmp_path: Path) -> None:
    python = python_with_specspecs()
    if python is None:
        pytest.skip("needs a Python 3.13 with specspecs (SPECSPECS_PYTHON); column types are checked above")
    source = formats_data.trace(tmp_path)
    out = convert(source, tmp_path / "out.specspecs").outputs[0]
    done = subprocess.run([python, "-c", THEIR_READER, str(out)], capture_output=True, text=True, check=False,
                          timeout=240)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    held = shape(list(trace.read(source)))
    assert {name.removesuffix("-run-1") for name in found} == set(held)
    for name, told_there in found.items():
        ours = held[name.removesuffix("-run-1")]
        tokens = [token for one in ours["rounds"] for token in one[2]]
        assert told_there["rows"] == told_there["stats"]["steps"] == len(ours["rounds"])
        assert told_there["stats"]["generated"] == len(tokens)
        assert told_there["text"] == "".join(f"<{token}>" for token in tokens)
        assert told_there["prompt"] == ["".join(f"<{token}>" for token in ours["prompt"]), len(ours["prompt"])]
        assert told_there["page"] > 1000
