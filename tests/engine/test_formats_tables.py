"""CSV and Parquet hold the same two tables, and nothing that isn't known."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from engine.formats import read, save
from engine.formats.tables import POSITION_COLUMNS, ROUND_COLUMNS, Column
from engine.records import Committed, Drafted, Judged, Totals
from tests.engine import formats_data
from tests.widgets import fake_run

ROOT = Path(__file__).resolve().parents[2]


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def typed(path: Path, columns: Sequence[Column]) -> list[dict[str, Any]]:
    """A CSV's rows back in the columns' types. The csv module can't tell "" from nothing."""
    kinds = {"int": int, "float": float, "bool": lambda cell: cell == "true", "text": str}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(list(row) == [column.name for column in columns] for row in rows)
    return [{c.name: kinds[c.kind](row[c.name]) if row[c.name] else None for c in columns} for row in rows]


def test_both_formats_tell_the_same(tmp_path: Path) -> None:
    found = formats_data.records()
    of_csv = save(tmp_path / "run.csv", found)
    of_parquet = save(tmp_path / "run.parquet", found)
    assert [p.name for p in (*of_csv, *of_parquet)] == [
        "run.rounds.csv", "run.positions.csv", "run.rounds.parquet", "run.positions.parquet"]
    for text, table, columns in zip(of_csv, of_parquet, (ROUND_COLUMNS, POSITION_COLUMNS), strict=True):
        rows = parquet_rows(table)
        assert rows
        assert typed(text, columns) == [{k: None if v == "" else v for k, v in row.items()} for row in rows]


def test_rounds_are_the_records(tmp_path: Path) -> None:
    found = formats_data.records()
    rows = parquet_rows(save(tmp_path / "run.parquet", found)[0])
    rounds = [r for r in found if isinstance(r, Committed)]
    assert len(rows) == len(rounds)
    totals: dict[str, Totals] = {}
    for record in found:
        before = totals.get(record.lane, Totals())
        totals[record.lane] = before.plus(record)
        if not isinstance(record, Committed):
            continue
        row, now = rows.pop(0), totals[record.lane]
        assert (row["lane"], row["round"], row["position"]) == (record.lane, record.round, record.position)
        assert (row["drafted"], row["tested"], row["accepted"], row["committed"]) == (
            record.drafted, record.tested, record.accepted, len(record.tokens))
        assert (row["final"], row["final_token"], row["final_draw"]) == (
            record.final, record.tokens[-1], record.final_draw)
        assert row["start_seconds"] == before.total_seconds
        assert row["total_seconds"] == pytest.approx(sum(row[f"{phase}_seconds"] for phase in (
            "draft", "verify", "judge", "record", "commit")))
        assert row["acceptance_rate_so_far"] == now.acceptance_rate
        assert row["mean_committed_length_so_far"] == now.mean_committed_length
        assert row["tokens_per_second_so_far"] == now.tokens_per_second


def test_positions_are_the_records(tmp_path: Path) -> None:
    found = formats_data.records()
    rows = parquet_rows(save(tmp_path / "run.parquet", found)[1])
    drafts = {(r.lane, r.round, r.index): r for r in found if isinstance(r, Drafted)}
    judged = {(r.lane, r.round, r.index): r for r in found if isinstance(r, Judged)}
    output: dict[str, list[int]] = {}
    for row in rows:
        if row["index"] is None:
            assert row["fate"] == "committed"
            assert row["kind"] in ("correction", "bonus", "plain")
            assert row["draft_seconds"] is row["draft_draw"] is row["source"] is None
        else:
            key = row["lane"], row["round"], row["index"]
            draft, test = drafts.pop(key), judged.get(key)
            assert (row["token"], row["text"], row["q"], row["position"]) == (
                draft.token, draft.text, draft.q, draft.position)
            assert row["fate"] == ("void" if test is None else "accepted" if test.accepted else "rejected")
            assert row["p"] == (test.p if test else None)
            if test is not None:
                assert test.p is not None
                assert test.q is not None
                assert row["accept_probability"] == min(1.0, test.p / test.q)
        if row["fate"] in ("accepted", "committed"):
            output.setdefault(row["lane"], []).append(row["token"])
    assert not drafts
    assert output == {lane: [t for r in found if isinstance(r, Committed) and r.lane == lane for t in r.tokens]
                      for lane in {r.lane for r in found}}


def test_greedy_runs_have_no_draws_and_no_chance_to_pass(tmp_path: Path) -> None:
    rows = parquet_rows(save(tmp_path / "run.parquet", formats_data.records(temperature=0.0))[1])
    assert all(row["draw"] is None and row["accept_probability"] is None for row in rows)


def test_what_is_unknown_is_empty_never_zero(tmp_path: Path) -> None:
    source = formats_data.json_lines(tmp_path / "dump.jsonl", formats_data.LLAMA)
    of_rounds, of_places = save(tmp_path / "run.parquet", read(source))
    for row in parquet_rows(of_rounds):
        assert [row[name] for name in row if name.endswith(("seconds", "slots", "per_second_so_far"))] == [None] * 10
        assert row["final_token"] is None
        assert row["drafted"] > 0
    for row in parquet_rows(of_places):
        assert row["text"] is row["p"] is row["draw"] is row["best"] is row["gap"] is None
        assert (row["token"] is None) == (row["index"] is None)
    first = save(tmp_path / "run.csv", read(source))[0].read_text(encoding="utf-8").splitlines()[1]
    assert first == '"0","llama.cpp, sequence 0",0,0,3,3,2,3,"correction",,,,,,,,,,,,,0.6666666666666666,' \
                    '0.6666666666666666,3.0,'


def test_texts_of_any_kind_come_back(tmp_path: Path) -> None:
    found = list(fake_run.lane_records(fake_run.LOOKUP, fake_run.WORLD + 'quotes "", commas, \r\n line ends\n'))
    texts = [r["text"] for r in parquet_rows(save(tmp_path / "run.parquet", found)[1])]
    with save(tmp_path / "run.csv", found)[1].open(encoding="utf-8", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == texts
    assert any("🎉" in text for text in texts)
    assert any('"' in text for text in texts)


def test_many_rows_go_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = parquet_rows(save(tmp_path / "a.parquet", formats_data.records())[1])
    monkeypatch.setattr("engine.formats.parquet_tables.GROUP", 7)
    parts = save(tmp_path / "b.parquet", formats_data.records())[1]
    assert pq.ParquetFile(parts).metadata.num_row_groups == math.ceil(len(whole) / 7)
    assert parquet_rows(parts) == whole


def test_columns_carry_their_meaning_and_the_document_lists_them(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    paths = save(tmp_path / "run.parquet", formats_data.records())
    for path, columns in zip(paths, (ROUND_COLUMNS, POSITION_COLUMNS), strict=True):
        schema = pq.read_schema(path)
        for column in columns:
            assert schema.field(column.name).metadata == {
                b"meaning": column.meaning.encode(), b"unit": column.unit.encode()}
            assert f"| `{column.name}` | {column.kind} | {column.unit} | {column.meaning} |" in document
