"""What opens, what doesn't and why, and what is remembered of it."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from app.opening import KEPT, Recent, file_filter, open_records
from app.settings import Settings
from engine.errors import SpecScopeError
from engine.formats import READABLE, convert
from engine.records import Committed, Record, RunStarted
from tests.engine import formats_data
from tests.engine.formats_data import LLAMA, json_lines, trace, vllm_response


def test_every_readable_suffix_is_in_the_dialog() -> None:
    everything, *kinds, anything = file_filter().split(";;")
    assert len(kinds) == len(READABLE)
    assert anything == "All files (*)"
    for one in READABLE:
        for suffix in one.suffixes if not one.folder else ():
            assert f"*{suffix}" in everything.partition(" (")[2].rstrip(")").split(" ")
    for kind in (everything, *kinds):
        assert kind.count("(") == kind.count(")") == 1  # a dialog takes what stands in brackets for the patterns
    for pattern in ("*.spectrace", "*.spectrace.gz", "*.spectrace.zst", "*.json", "*.jsonl", "sequences-*.parquet"):
        assert pattern in everything


def test_each_kind_opens(tmp_path: Path) -> None:
    own = trace(tmp_path)
    convert(own, tmp_path / "folder.specspecs")
    response = json_lines(tmp_path / "answer.json", [vllm_response()])
    packed = tmp_path / "packed"  # told by content
    packed.write_bytes(gzip.compress(own.read_bytes()))
    part = next((tmp_path / "folder.specspecs").glob("drafts-*.parquet"))
    for path in (own, packed, tmp_path / "folder.specspecs", part, json_lines(tmp_path / "dump", LLAMA), response):
        store = formats_data.stored(open_records(path))
        assert sum(lane.totals.committed for lane in store.lanes) > 0
        assert any(isinstance(record, RunStarted) for record in store.records())


def test_what_does_not_open_says_so_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no trace")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    for name, words in (("notes.txt", "is none of the files that open"), ("empty", "is none of the files that open"),
                        ("folder", "is a folder"), ("nowhere.spectrace", "No such file")):
        records = open_records(tmp_path / name)  # says nothing yet
        with pytest.raises(SpecScopeError, match=words) as raised:
            next(records)
        assert name in str(raised.value)
        assert "\n" not in str(raised.value)


def test_what_comes_before_damage_stands(tmp_path: Path) -> None:
    whole = trace(tmp_path).read_bytes()
    (tmp_path / "cut.spectrace").write_bytes(whole[: len(whole) // 2] + b"\nrubbish\n")
    came: list[Record] = []
    with pytest.raises(SpecScopeError, match="line"):
        came.extend(open_records(tmp_path / "cut.spectrace"))
    assert any(isinstance(record, Committed) for record in came)


def test_opening_loads_no_torch(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "dump.jsonl", LLAMA)
    code = ("import sys; from pathlib import Path; from app.opening import file_filter, open_records; file_filter(); "
            "list(open_records(Path(sys.argv[1]))); assert not {'torch', 'transformers'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)


# Recent files


def touched(tmp_path: Path, *names: str) -> list[Path]:
    for name in names:
        (tmp_path / name).touch()
    return [tmp_path / name for name in names]


def test_newest_first_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = touched(tmp_path, "one", "zwei 中文.spectrace")
    recent = Recent(Settings(tmp_path / "config"))
    assert recent.paths == []
    monkeypatch.chdir(tmp_path)
    for path in (one, two, Path("one"), two / ".." / "one"):
        recent.add(path)
    assert recent.paths == [one, two]
    recent.add(two)
    assert recent.paths == [two, one]
    recent.forget()
    assert recent.paths == []


def test_they_outlive_the_window(tmp_path: Path) -> None:
    one, two = touched(tmp_path, "one", "two")
    settings = Settings(tmp_path / "config")
    for path in (one, two):
        Recent(settings).add(path)
    settings.save()
    assert Recent(Settings(tmp_path / "config")).paths == [two, one]


def test_ten_are_kept_and_those_that_are_gone_are_not(tmp_path: Path) -> None:
    paths = touched(tmp_path, *(f"{i:02}" for i in range(KEPT + 3)))
    recent = Recent(Settings(tmp_path / "config"))
    for path in paths:
        recent.add(path)
    assert recent.paths == paths[:-KEPT - 1:-1]
    paths[-2].unlink()
    assert recent.paths == [paths[-1], *paths[-3:-KEPT - 1:-1]]
    recent.add(tmp_path / "never there")
    assert recent.paths == [paths[-1], *paths[-3:-KEPT - 1:-1]]


@pytest.mark.parametrize("value", ["{", '{"a": 1}', "[1]", "[" * 5000, '["\\u0000"]'])
def test_what_can_not_be_understood_is_no_list(tmp_path: Path, value: str) -> None:
    settings = Settings(tmp_path / "config")
    settings.put("recent/files", value)
    recent = Recent(settings)
    assert recent.paths == []
    recent.add(*touched(tmp_path, "one"))
    assert recent.paths == [tmp_path / "one"]
