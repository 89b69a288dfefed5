"""SpecScope's own traces. The reading and writing is :mod:`engine.trace`'s."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from engine import trace
from engine.formats.format import Format, Sample
from engine.records import Record

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def tells(sample: Sample) -> bool:
    """Only traces come compressed."""
    return sample.head.startswith((GZIP, ZSTD)) or b'"type":"Header"' in sample.first_line[:200]


def write(paths: Sequence[Path], records: Iterable[Record]) -> None:
    with trace.Writer(paths[0]) as writer:
        for record in records:
            writer.write(record)


FORMAT = Format(
    "spectrace", "SpecScope's own trace: everything; .gz and .zst are compressed",
    (".spectrace", ".spectrace.gz", ".spectrace.zst"), read=trace.read, write=write, tells=tells)
