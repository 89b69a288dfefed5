"""All formats, and which one a file is of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.formats import csv_tables, llama_dump, parquet_tables, perfetto, specspecs, spectrace, vllm_steps
from engine.formats.errors import FormatError
from engine.formats.format import Format, Sample
from engine.records import Record
from engine.trace_order import RunOrder
from engine.trace_values import ImpossibleError

FORMATS: tuple[Format, ...] = (
    spectrace.FORMAT, perfetto.FORMAT, csv_tables.FORMAT, parquet_tables.FORMAT, specspecs.FORMAT, llama_dump.FORMAT,
    vllm_steps.FORMAT)

READABLE = tuple(one for one in FORMATS if one.read is not None)
WRITABLE = tuple(one for one in FORMATS if one.write is not None)


def named(name: str) -> Format:
    """Raises :class:`FormatError`."""
    for one in FORMATS:
        if one.name == name:
            return one
    raise FormatError(f"{name!r} is not a format; there are {names(FORMATS)}.")


def told(path: Path) -> Format:
    """The format that a file is of, by its content, else by its name. Raises :class:`FormatError`."""
    sample = Sample.of(path)
    for one in READABLE:
        if one.tells(sample):
            return one
    fitting = [one for one in READABLE if not path.is_dir() and one.fits(path)]
    if fitting:
        return fitting[0]
    if path.is_dir():
        raise FormatError(f"{path} is a folder, but not one of specspecs (sequences-*.parquet and drafts-*.parquet); "
                          "name a file.")
    raise FormatError(f"What {path} is can't be told{_closer(sample)}; say it by --from, one of {names(READABLE)}.")


def meant(path: Path) -> Format:
    """The format that a file to be written should have, by its name. Raises :class:`FormatError`."""
    for one in WRITABLE:
        if one.fits(path):
            return one
    suffixes = ", ".join(suffix for one in WRITABLE for suffix in one.suffixes)
    raise FormatError(f"What {path} should become can't be told from its name ({suffixes}); say it by --to, one of "
                      f"{names(WRITABLE)}.")


def read(path: Path, one: Format | None = None) -> Iterator[Record]:
    """The records of a file of any readable format. Raises a SpecScopeError; what came before it stands."""
    one = one or told(path)
    if one.read is None:
        raise FormatError(f"{one.name} is only written, not read; {names(READABLE)} are read.")
    return one.read(path) if one is spectrace.FORMAT else _holdable(path, one.read(path))


def _holdable(path: Path, records: Iterator[Record]) -> Iterator[Record]:
    """The same, as far as a trace could hold them and be opened again."""
    order = RunOrder()
    for record in records:
        try:
            order.take(record)
        except ImpossibleError as error:
            raise FormatError(f"{path} can't become a trace: {error}.") from error
        yield record


def _closer(sample: Sample) -> str:
    """What it is, if it is something we know but don't read."""
    if sample.head.startswith(b"PAR1"):
        return " (a Parquet file; of those, specspecs' folders are read)"
    if b'"traceEvents"' in sample.head:
        return " (a Chrome trace, which is only written here)"
    return " (it is empty)" if not sample.head else ""


def names(formats: tuple[Format, ...]) -> str:
    return ", ".join(one.name for one in formats)
