"""Our own traces, packed and unpacked, hold the same records; one lane can be taken out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from engine import trace
from engine.formats import FormatError, convert, save
from engine.formats.registry import meant, told
from engine.records import Committed, Record, Verified
from tests.engine import formats_data


def same(ours: list[Record], theirs: list[Record]) -> bool:
    """Equal, arrays included."""
    return list(map(trace._encoder.encode, ours)) == list(map(trace._encoder.encode, theirs))


@pytest.mark.parametrize("name", ["b.spectrace", "b.spectrace.gz", "b.spectrace.zst"])
def test_packing_changes_nothing(name: str, tmp_path: Path) -> None:
    source = formats_data.trace(tmp_path)
    packed = convert(source, tmp_path / name, to_format="spectrace").outputs[0]
    assert told(packed).name == "spectrace"
    again = convert(packed, tmp_path / "c.spectrace").outputs[0]
    assert again.read_bytes() == source.read_bytes()
    assert same(list(trace.read(packed)), list(trace.read(source)))
    magic = packed.read_bytes()[:4]
    assert (magic[:2] == b"\x1f\x8b", magic == b"\x28\xb5\x2f\xfd") == (name.endswith("gz"), name.endswith("zst"))


def test_one_lane(tmp_path: Path) -> None:
    source = formats_data.trace(tmp_path)
    out = convert(source, tmp_path / "one.spectrace", lane="ngram").outputs[0]
    assert same(list(trace.read(out)), [r for r in trace.read(source) if r.lane == "ngram"])
    with pytest.raises(FormatError, match=r"no lane 'x'; it holds plain \(Plain decoding\), ngram"):
        convert(source, tmp_path / "two.spectrace", lane="x")
    assert not (tmp_path / "two.spectrace").exists()


def test_a_round_that_contradicts_itself_is_named(tmp_path: Path) -> None:
    broken = [msgspec.structs.replace(r, accepted=r.accepted + 1) if isinstance(r, Committed) and r.round == 2 else r
              for r in formats_data.records()]
    for name in ("x.csv", "x.parquet", "x.perfetto.json", "x.specspecs"):
        with pytest.raises(FormatError, match=r"Round 2 of lane \w+ contradicts itself"):
            save(tmp_path / name, broken)
    assert list(tmp_path.iterdir()) == []


def test_names_tell_what_to_write() -> None:
    for name, expected in (("a.spectrace.zst", "spectrace"), ("A.SPECTRACE", "spectrace"), ("a.json", "perfetto"),
                           ("a.csv", "csv"), ("a.b.parquet", "parquet"), ("a.specspecs", "specspecs")):
        assert meant(Path(name)).name == expected
    with pytest.raises(FormatError, match="--to"):
        meant(Path("a.txt"))


def test_arrays_stay_numpy(tmp_path: Path) -> None:
    verified = next(r for r in trace.read(formats_data.trace(tmp_path)) if isinstance(r, Verified))
    assert verified.rows[0].p.dtype == np.float32
