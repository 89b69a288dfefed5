"""Whatever a file holds: it opens in part, or one sentence says why not, soon and in little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.engine import mutations
from tests.engine.traces import DEMO, SUFFIXES, bomb, pack, small, write

SECONDS, MEGABYTES = 2.0, 500
"""A file may take; its own process's time, since the machine may be busy."""


def trials(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """Opens the files in a process of its own that has no more memory than they may take."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.trace_trial", str(MEGABYTES), *map(str, paths)], capture_output=True,
        text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{paths[len(ends)]} ended the process: {done.stderr[-2000:]}"
    assert len(ends) == len(paths)
    return iter(ends)


def check(end: dict[str, Any]) -> None:
    assert not end["failure"], end
    assert end["all"] < SECONDS, end
    if end["error"] is not None:
        assert end["file"] in end["error"], end
        assert "\n" not in end["error"]
        assert len(end["error"]) < 600


def test_five_hundred_damaged_files(tmp_path: Path) -> None:
    chance = Random(20260101)
    healthy = write(tmp_path / "healthy", small()).read_bytes()
    paths = []
    kinds = cycle((*mutations.LINES, *mutations.BYTES))
    for number, suffix in zip(range(500), cycle(SUFFIXES)):
        kind = next(kinds)
        name = f"{number}-{kind.__name__}{suffix}"
        if kind in mutations.LINES:
            lines = healthy.splitlines()
            for _ in range(chance.choice((1, 1, 1, 2, 5))):
                kind(chance, lines)
            content = pack(b"\n".join(lines) + b"\n", suffix)
        else:
            packed = bytearray(pack(healthy, suffix))
            kind(chance, packed)
            content = bytes(packed)
        paths.append(tmp_path / name)
        paths[-1].write_bytes(content)
    ends = list(trials(paths))
    for end in ends:
        check(end)
    in_part = sum(end["records"] > 0 for end in ends)
    told = sum(end["error"] is not None for end in ends)
    slowest = max(end["all"] for end in ends)
    print(f"{in_part} opened in part, {told} said why not further, the slowest took {slowest:.2f} s")
    assert in_part > 250
    assert told > 400


def test_a_damaged_demo_opens_up_to_the_damage(tmp_path: Path) -> None:
    chance, packed, paths = Random(7), DEMO.read_bytes(), []
    for number in range(12):
        content = bytearray(packed)
        place = (number + 1) * len(packed) // 13
        if number % 2:
            del content[place:]
        else:
            content[place] ^= 1 << chance.randrange(8)
        paths.append(tmp_path / f"{number}.spectrace.gz")
        paths[-1].write_bytes(content)
    for end in trials(paths):
        check(end)
        assert end["error"]
        assert end["records"] > 20


ROUND_SHAPED = ('{"type":"Verified","run":"run-1","lane":"plain","round":0,"k":0,"width":1,"seconds":0,"gaps":[],'
                '"digests":[],"rows":[%s]}\n')
ROW = '{"ids":[],"p":[],"q":[],"p_rest":0,"q_rest":0,"p_entropy":0,"q_entropy":0,"overlap":null}'


VALID = ("empty.spectrace", "a prompt of millions.spectrace", "settings of millions.spectrace",
         "stops of millions.spectrace", "ids that nearly collide.spectrace")
"""Strange, but nothing in them is wrong."""


def hostile(folder: Path) -> Iterator[tuple[str, bytes | Iterator[bytes]]]:
    lines = write(folder / "healthy.spectrace", small()).read_bytes().splitlines(keepends=True)
    start, begun = b"".join(lines[:4]), lines[0]
    million, vocabulary = b"A" * 2**20, b'{"type":"Vocabulary","run":"r","lane":"%d","texts":{"1":"a"}}\n'
    for suffix in (".gz", ".zst"):
        packed = pack(start, suffix)
        yield f"a line of 10^9 characters{suffix}", (part for part in (packed, *bomb(suffix, million, 1000)))
        yield f"10^9 empty lines{suffix}", (part for part in (packed, *bomb(suffix, b"\n" * 2**20, 1000)))
        yield f"10^9 zeros first{suffix}", bomb(suffix, bytes(2**20), 1000)
        yield f"words without end{suffix}", (
            part for part in (pack(begun, suffix), *bomb(suffix, vocabulary % 0 * 15000, 1000)))
        yield f"packed twice{suffix}", pack(pack(start, suffix), suffix)
    yield "a line of 10^8 characters.spectrace", start + b"A" * 10**8
    yield "a text of 10^7 characters.spectrace", start + b'{"type":"Drafted","text":"' + b"A" * 10**7 + b'"}\n'
    yield "10^7 empty lines.spectrace", start + b"\n" * 10**7
    yield "a hundred thousand rows.spectrace", start + (ROUND_SHAPED % ",".join([ROW] * 100_000)).encode()
    yield "rows as long as allowed.spectrace", start + (ROUND_SHAPED % ",".join([ROW] * 11_000)).encode()
    for what, old, new in (("a prompt", b'"prompt":[', b'"prompt":[' + b"1," * 7_000_000),
                           ("settings", b'"skip":[', b'"skip":[1' + b",1" * 7_000_000),
                           ("stops", b'"stop":[', b'"stop":["a"' + b',"a"' * 4_000_000)):
        yield f"{what} of millions.spectrace", begun + lines[1].replace(old, new)
    for name, step in (("ids that collide", 2**61 - 1), ("ids that nearly collide", 2**21)):
        yield f"{name}.spectrace", begun + b'{"type":"Vocabulary","run":"r","lane":"0","texts":{%s}}\n' % b",".join(
            b'"%d":""' % (step * i) for i in range(500_000))
    yield "ten thousand lanes.spectrace", begun + b"".join(vocabulary % lane for lane in range(10_000))
    yield "deep.spectrace", b"[" * 10**7
    yield "deep header.spectrace", (
        b'{"type":"Header","format":1,"version":"1","junk":' + b"[" * 10**6 + b"]" * 10**6 + b"}")
    yield "version of megabytes.spectrace", b'{"type":"Header","format":9,"version":"' + b"9" * 10**6 + b'"}\n'
    yield "format of megabytes.spectrace", b'{"type":"Header","format":' + b"9" * 10**6 + b',"version":"1"}\n'
    yield "empty.spectrace", b""
    yield "noise.spectrace", Random(1).randbytes(10**6)
    yield "memory asked for.spectrace.zst", (
        b"\x28\xb5\x2f\xfd" + bytes([0b1010_0000]) + (2**31 - 1).to_bytes(4, "little") + b"\x02\x00\x10" + b"A")


def test_hostile_files(tmp_path: Path) -> None:
    paths = []
    for name, content in hostile(tmp_path):
        paths.append(tmp_path / name)
        with paths[-1].open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
    for end in trials(paths):
        check(end)
        assert end["error"] or end["file"] in VALID, end
    for path in paths:
        path.unlink()  # hundreds of megabytes


def test_the_trial_itself_sees_what_takes_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "MEGABYTES", 20)
    path = tmp_path / "large.spectrace"
    path.write_bytes(b'{"type":"Header","format":1,"version":"1"}\n'
                     b'{"type":"Vocabulary","run":"r","lane":"0","texts":{%s}}\n'
                     % b",".join(b'"%d":""' % i for i in range(300_000)))
    assert "MemoryError" in next(trials([path]))["failure"]
