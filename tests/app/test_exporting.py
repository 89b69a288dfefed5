"""Export: every format that is written, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.exporting import choices, export, replaced
from app.opening import open_records
from engine.errors import SpecScopeError
from engine.formats import WRITABLE
from tests.engine import formats_data
from tests.engine.formats_data import LLAMA, json_lines


def test_every_written_format_is_a_choice() -> None:
    assert [choice.name for choice in choices()] == [one.name for one in WRITABLE]
    for choice in choices():
        assert choice.filter.count("(") == choice.filter.count(")") == 1
        assert f"*{choice.suffix}" in choice.filter


@pytest.mark.parametrize("name", [one.name for one in WRITABLE])
def test_each_is_written_and_said_where(tmp_path: Path, name: str) -> None:
    said = export(tmp_path / "out", formats_data.records(), name)
    made = sorted(path for path in tmp_path.iterdir())
    assert made
    assert said.endswith(".")
    assert " in " in said
    for path in made:
        assert str(path) in said
        assert path.name.startswith("out.")


def test_a_suffix_that_is_there_is_not_doubled(tmp_path: Path) -> None:
    records = formats_data.records()
    named = tmp_path / "run.spectrace.zst"
    assert export(named, records, "spectrace") == f"The run is in {named}."
    export(tmp_path / "run.json", records, "perfetto")
    export(tmp_path / "Race.Trace.JSON", records, "parquet")  # the dialog's first name, then another format
    export(tmp_path / "told.csv", records)
    assert {path.name for path in tmp_path.iterdir()} == {
        "run.spectrace.zst", "run.json", "Race.rounds.parquet", "Race.positions.parquet", "told.rounds.csv",
        "told.positions.csv"}
    assert next(open_records(named)).run == records[0].run


def test_whom_a_dialog_did_not_ask_about(tmp_path: Path) -> None:
    """It asks about the name that was chosen; two tables have other names, and so has one without its suffix."""
    assert replaced(tmp_path / "out.csv", "csv") == ()
    export(tmp_path / "out.csv", formats_data.records(), "csv")
    export(tmp_path / "out", formats_data.records(), "spectrace")
    assert {path.name for path in replaced(tmp_path / "out", "csv")} == {"out.rounds.csv", "out.positions.csv"}
    assert replaced(tmp_path / "out", "spectrace") == (tmp_path / "out.spectrace",)
    assert replaced(tmp_path / "out.spectrace", "spectrace") == ()


def test_what_can_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    dump = list(open_records(json_lines(tmp_path / "dump.jsonl", LLAMA)))
    for path, records, name in ((tmp_path / "no" / "folder.csv", formats_data.records(), "csv"),
                                (tmp_path / "times.json", dump, "perfetto"),
                                (tmp_path / "ids.specspecs", dump, "specspecs"), (tmp_path / "x", dump, "nothing"),
                                (Path("/proc/x"), dump, "spectrace"), (tmp_path / "what", dump, "")):
        with pytest.raises(SpecScopeError) as raised:
            export(path, records, name)
        assert "\n" not in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"dump.jsonl"}
