"""``convert``: formats are told, nothing is overwritten by accident, and every fault is one plain sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app import commandline
from engine import trace
from engine.formats import FORMATS
from tests.engine import formats_data

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: object) -> int:
    return commandline.main(["convert", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return formats_data.trace(tmp_path)


def test_formats_are_told(source: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(source, tmp_path / "out.csv") == 0
    said = capsys.readouterr().out
    assert said.startswith("87 rounds from spectrace to csv: ")
    assert "out.rounds.csv" in said
    assert "out.positions.csv" in said
    assert run(source, tmp_path / "odd.name", "--to", "perfetto") == 0
    assert json.loads((tmp_path / "odd.name").read_bytes())["traceEvents"]


def test_the_other_way_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = formats_data.json_lines(tmp_path / "dump.txt", formats_data.LLAMA)
    out = tmp_path / "out.spectrace.gz"
    assert run(dump, out, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "from": "llama-dump", "to": "spectrace", "outputs": [str(out)], "lanes": {
            "0": "llama.cpp, sequence 0", "3": "llama.cpp, sequence 3"}, "rounds": 4, "records": 29, "damage": None}
    assert run(dump, out, "--lane", "3") == 0
    assert {record.lane for record in trace.read(out)} == {"3"}


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--list") == 0
    said = capsys.readouterr().out
    assert all(one.name in said and one.about in said for one in FORMATS)
    assert max(map(len, said.splitlines())) <= 120
    assert run("--list", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == [one.name for one in FORMATS]


def test_a_damaged_source_is_converted_in_part_and_says_so(source: Path, tmp_path: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    source.write_bytes(source.read_bytes()[:30_000])
    assert run(source, tmp_path / "out.parquet") == 1
    said = capsys.readouterr()
    assert "rounds from spectrace to parquet" in said.out
    assert said.err.startswith("Line ")
    assert said.err.rstrip().endswith("was read.")
    assert len(said.err.splitlines()) == 1
    assert said.err.count("before") == 1
    assert run(source, tmp_path / "out.parquet", "--json") == 1
    assert json.loads(capsys.readouterr().out)["damage"].startswith("Line ")


@pytest.mark.parametrize(("arguments", "expected"), [
    (["{in}", "{in}"], "never overwritten"),
    (["{in}", "{dir}/nowhere/out.csv"], "does not exist"),
    (["{dir}/nothing.spectrace", "{dir}/out.csv"], "nothing.spectrace does not exist"),
    (["{in}", "{dir}/out.txt"], "--to"),
    (["{in}", "{dir}/out.csv", "--to", "magic"], "'magic' is not a format; there are spectrace, perfetto"),
    (["{in}", "{dir}/out.jsonl", "--to", "llama-dump"], "llama-dump is only read"),
    (["{in}", "{dir}/out.csv", "--from", "csv"], "csv is only written"),
    (["{in}", "{dir}/out.csv", "--from", "vllm"], "holds no per_step_accepted"),
    (["{in}", "{dir}/out.csv", "--lane", "x"], "has no lane 'x'; it holds plain"),
    (["{in}", "{dir}/folder.csv", "--to", "perfetto"], "it is a folder; name a file in it"),
    (["{in}", "{dir}/folder.csv", "--to", "specspecs"], "the folder isn't empty"),
    (["{in}", "{in}", "--to", "specspecs"], "never overwritten"),
    (["{in}", "{dir}/other", "--to", "specspecs"], "a folder is written, and that is a file"),
    (["{dir}", "{dir}/out.csv"], "is a folder, but not one of specspecs"),
    (["{dir}/other", "{dir}/out.csv"], "can't be told; say it by --from"),
])
def test_faults_are_one_sentence_and_leave_nothing(arguments: list[str], expected: str, source: Path, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.csv" / "kept").write_text("")
    (tmp_path / "other").write_text("hello")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert run(*(a.replace("{in}", str(source)).replace("{dir}", str(tmp_path)) for a in arguments)) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert re.search(expected, said), said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_link_to_the_source_is_the_source(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "link.spectrace").symlink_to(source)
    assert run(source, tmp_path / "link.spectrace") == 2
    assert "never overwritten" in capsys.readouterr().err
    assert len(list(trace.read(source))) > 100


def test_an_older_output_is_replaced_only_by_a_whole_one(source: Path, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.json"
    out.write_text("older")

    def fails(*_: object) -> object:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("engine.formats.perfetto.events", fails)
        assert run(source, out) == 2
    assert out.read_text() == "older"
    assert run(source, out) == 0
    assert json.loads(out.read_bytes())["traceEvents"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "run.spectrace"]


def test_an_empty_folder_may_become_one_of_specspecs(source: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    assert run(source, tmp_path / "new", "--to", "specspecs") == 0
    assert len(list((tmp_path / "new").iterdir())) == 2


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert run(source, tmp_path / "locked" / "out.csv") == 2
    assert "can't be written" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["only-one"], ["a", "b", "c"], ["--lst"]])
def test_what_argparse_refuses(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        run(*arguments)
    assert leaving.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


IMPORTED = """
import sys
from app.commandline import main
status = main(sys.argv[1:])
print(status, [name for name in ("torch", "PySide6", "transformers", "pyarrow") if name in sys.modules])
"""


@pytest.mark.parametrize(("name", "loaded"), [("out.json", "[]"), ("out.csv", "[]"), ("out.parquet", "['pyarrow']")])
def test_no_more_is_loaded_than_needed(name: str, loaded: str, source: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED, "convert", str(source), str(tmp_path / name)], cwd=ROOT,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines()[-1] == f"0 {loaded}"
