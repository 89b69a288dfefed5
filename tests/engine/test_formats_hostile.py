"""A damaged or hostile file opens in part or gives one clear sentence; nothing else, whatever the reader."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import suppress
from pathlib import Path

import pytest

from engine.errors import SpecScopeError
from engine.formats import FormatError, convert, read
from engine.formats.registry import named
from tests.engine import formats_data
from tests.engine.formats_data import LLAMA, json_lines, mutations, read_or_refuse, vllm_response

MUTATIONS = 120


def test_llama_dumps(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "dump.jsonl", LLAMA * 3)
    for data in mutations(path.read_bytes(), MUTATIONS):
        path.write_bytes(data)
        read_or_refuse(lambda: read(path, named("llama-dump")), path.name)


@pytest.mark.parametrize("shape", ["one", "lines", "stream"])
def test_vllm_responses(shape: str, tmp_path: Path) -> None:
    response = json.dumps(vllm_response([2, 0, 3] * 5, [3, 3, 3] * 5))
    text = {"one": response, "lines": f"{response}\n{response}\n", "stream": f"data: {response}\n\ndata: [DONE]\n"}
    path = tmp_path / "response.json"
    for data in mutations(text[shape].encode(), MUTATIONS, seed=2):
        path.write_bytes(data)
        read_or_refuse(lambda: read(path, named("vllm")), path.name)


@pytest.mark.parametrize("prefix", ["sequences", "drafts"])
def test_specspecs_folders(prefix: str, tmp_path: Path) -> None:
    folder = convert(formats_data.trace(tmp_path), tmp_path / "out.specspecs").outputs[0]
    part = next(folder.glob(f"{prefix}-*"))
    for data in mutations(part.read_bytes(), MUTATIONS, seed=3):
        part.write_bytes(data)
        read_or_refuse(lambda: read(folder, named("specspecs")), "out.specspecs")


def test_traces_to_every_format(tmp_path: Path) -> None:
    source = formats_data.trace(tmp_path, limit=12)
    for number, data in enumerate(mutations(source.read_bytes(), MUTATIONS, seed=4)):
        source.write_bytes(data)
        out = tmp_path / f"out{('.csv', '.parquet', '.perfetto.json', '.specspecs')[number % 4]}"
        with suppress(SpecScopeError):
            for path in convert(source, out, from_format="spectrace").outputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("name", ["llama-dump", "vllm", "spectrace", "specspecs"])
@pytest.mark.parametrize("content", [
    b"", b"\n\n\n", b"\0" * 1000, b"\xff\xfe\x00", b"null", b"[" * 100_000, b'{"a":' * 50_000, b"1" * 100_000,
    b"PAR1" + b"\0" * 100 + b"PAR1", b'{"type":"Header","format":1,"version":"0"}\n',
    b'{"per_step_accepted":' + b"[" * 20 + b"]" * 20 + b"}"], ids=lambda c: str(c[:12]))
def test_files_of_nothing(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "drafts-x.parquet"
    path.write_bytes(content)
    (tmp_path / "sequences-x.parquet").write_bytes(content)
    begun = time.perf_counter()
    assert read_or_refuse(lambda: read(path, named(name)), tmp_path.name) == 0
    with pytest.raises(SpecScopeError):
        convert(path, tmp_path / "out.csv", from_format=name)
    assert time.perf_counter() - begun < 2
    assert not (tmp_path / "out.rounds.csv").exists()


def test_a_file_without_line_ends_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.formats.lines.LONGEST_LINE", 1000)
    path = tmp_path / "dump.jsonl"
    path.write_bytes(b" " * 5000)
    with pytest.raises(FormatError, match=r"Line 1 of .* is longer than"):
        list(read(path, named("llama-dump")))


def test_a_response_larger_than_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.formats.vllm_steps.LARGEST_FILE", 10)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(vllm_response()))
    with pytest.raises(FormatError, match=r"r\.json is larger than"):
        list(read(path))


def test_deep_responses(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"a":' * 40 + '{"per_step_accepted": [], "per_step_drafted": []}' + "}" * 40)
    with pytest.raises(FormatError, match=r"r\.json nests more than 24"):
        list(read(path, named("vllm")))
