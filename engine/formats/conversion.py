"""A file of one format into another."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import SpecScopeError
from engine.formats import registry
from engine.formats.errors import FormatError
from engine.formats.format import Format
from engine.records import Committed, Record, RunStarted


@dataclass
class Passing:
    """What has gone through a conversion."""

    lanes: dict[str, str] = field(default_factory=dict)
    """Ids and titles, of those left out as well."""
    rounds: int = 0
    records: int = 0
    damage: str = ""
    """The sentence about what couldn't be read, when something before it could."""


@dataclass(frozen=True)
class Conversion:
    source: Format
    target: Format
    outputs: tuple[Path, ...]
    passed: Passing


def convert(source: Path, target: Path, *, from_format: str | None = None, to_format: str | None = None,
            lane: str | None = None) -> Conversion:
    """Write ``source`` as ``target``; formats are told from the files where they aren't named. Of a damaged file, what
    stands before the damage is converted. Raises a SpecScopeError, with nothing written."""
    if not source.exists():
        raise FormatError(f"{source} does not exist.")
    reading = registry.named(from_format) if from_format else registry.told(source)
    writing = registry.named(to_format) if to_format else registry.meant(target)
    passed = Passing()
    outputs = save(target, _passing(source, registry.read(source, reading), passed, lane), writing, keep=source)
    return Conversion(reading, writing, outputs, passed)


def save(target: Path, records: Iterable[Record], writing: Format | None = None, *,
         keep: Path | None = None) -> tuple[Path, ...]:
    """Write records as ``target``, all or nothing; returns the files. ``keep`` is never overwritten. Raises a
    SpecScopeError."""
    writing = writing or registry.meant(target)
    if writing.write is None:
        raise FormatError(f"{writing.name} is only read, not written; {registry.names(registry.WRITABLE)} are written.")
    outputs = writing.outputs(target)
    for output in outputs:
        _check_output(output, keep, folder=writing.folder)
    try:
        with _aside(outputs) as aside:
            writing.write(aside, records)
    except OSError as error:
        raise FormatError(f"{target} can't be written: {error.strerror or error}.") from error
    return outputs


def _passing(source: Path, records: Iterator[Record], passed: Passing, lane: str | None) -> Iterator[Record]:
    """The records that are wanted, counted. Ends at damage if a round came before it."""
    try:
        for record in records:
            title = record.title if isinstance(record, RunStarted) else ""
            passed.lanes[record.lane] = title or passed.lanes.get(record.lane, "")
            if lane is not None and record.lane != lane:
                continue
            passed.records += 1
            passed.rounds += isinstance(record, Committed)
            yield record
    except SpecScopeError as error:
        if not passed.rounds:
            raise
        passed.damage = str(error)
    if lane is not None and lane not in passed.lanes:
        held = ", ".join(f"{id} ({title})" if title else id for id, title in passed.lanes.items())
        raise FormatError(f"{source} has no lane {lane!r}{f'; it holds {held}' if held else ''}.")
    if not passed.records:
        raise FormatError(f"{source} holds no records, so there is nothing to convert.")


def _check_output(output: Path, keep: Path | None, *, folder: bool) -> None:
    """Raises :class:`FormatError` if this must not or can't be written: better said before the work."""
    why = ""
    if not output.absolute().parent.is_dir():
        why = f"the folder {output.parent} does not exist"
    elif keep is not None and output.exists() and output.samefile(keep):
        why = "it is the file to be converted, which is never overwritten; choose another name"
    elif output.is_dir() and not folder:
        why = "it is a folder; name a file in it"
    elif folder and output.is_dir() and any(output.iterdir()):
        why = "the folder isn't empty; name a new one"
    elif folder and output.exists() and not output.is_dir():
        why = "a folder is written, and that is a file; choose another name"
    if why:
        raise FormatError(f"{output} can't be written: {why}.")


@contextmanager
def _aside(outputs: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    """Paths of the same names in a folder beside; moved to where they belong once all are complete."""
    folder = Path(tempfile.mkdtemp(prefix=".specscope-", dir=outputs[0].absolute().parent))
    try:
        aside = tuple(folder / output.name for output in outputs)
        yield aside
        for made, output in zip(aside, outputs, strict=True):
            if output.is_dir():
                output.rmdir()  # it is empty, see _check_output; not every system renames onto a folder
            os.replace(made, output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
