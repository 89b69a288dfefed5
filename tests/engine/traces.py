"""What the tests of traces share: small recordings, and packing and unpacking as files do."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

from engine.records import Record
from engine.trace import TraceError, Writer, read
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN

SUFFIXES = (".spectrace", ".spectrace.gz", ".spectrace.zst")
DEMO = Path(__file__).resolve().parents[2] / "assets" / "demo" / "code-edit.spectrace.gz"


def small() -> list[Record]:
    """Three lanes of a few rounds, interleaved as in a race."""
    return fake_run.race((PLAIN, LOOKUP, DRAFT), limit=9)


def write(path: Path, records: Iterable[Record]) -> Path:
    with Writer(path) as trace:
        for record in records:
            trace.write(record)
    return path


def opened(path: str | Path) -> tuple[list[Record], TraceError | None]:
    """What is before the damage, and what was said about it."""
    found: list[Record] = []
    try:
        for record in read(path):
            found.append(record)  # noqa: PERF402
    except TraceError as error:
        return found, error
    return found, None


def pack(content: bytes, suffix: str) -> bytes:
    match suffix.rpartition(".")[2]:
        case "gz":
            return gzip.compress(content, 1)
        case "zst":
            return zstandard.compress(content)
        case _:
            return content


def bomb(suffix: str, content: bytes, times: int) -> Iterator[bytes]:
    """``content`` repeated, packed without packing it ``times`` times."""
    if suffix.endswith(".gz"):
        import zlib

        packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        yield packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
        piece = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before it
        for _ in range(times):
            yield piece
    else:
        piece = zstandard.compress(content)
        for _ in range(times):
            yield piece
