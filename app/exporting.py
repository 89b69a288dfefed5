"""A run into a file of any format that is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.records import Record


@dataclass(frozen=True)
class Choice:
    name: str
    """The format's."""
    filter: str
    """For a file dialog."""
    suffix: str
    """What a name without one gets."""


_TITLES = {
    "spectrace": "SpecScope recording",
    "perfetto": "Perfetto or Chrome trace",
    "csv": "Rounds and positions, two CSV tables",
    "parquet": "Rounds and positions, two Parquet tables",
    "specspecs": "specspecs folder",
}


def choices() -> tuple[Choice, ...]:
    from engine.formats import WRITABLE

    return tuple(Choice(one.name, f"{_TITLES.get(one.name, one.name)} ({' '.join(f'*{s}' for s in one.suffixes)})",
                        one.suffixes[0]) for one in WRITABLE)


def replaced(path: Path, format: str) -> tuple[Path, ...]:
    """Files that :func:`export` would overwrite besides the one a person named, who should be asked first."""
    from engine.formats.registry import named

    target = _named(path, format)
    return tuple(one for one in named(format).outputs(target) if one != path and one.is_file())


def export(path: Path, records: Iterable[Record], format: str) -> str:
    """Write the records; returns a sentence that says where they are. Raises a SpecScopeError, with nothing written."""
    from engine.formats import save
    from engine.formats.registry import named

    made = save(_named(path, format), records, named(format))
    return f"The run is in {' and '.join(str(one) for one in made)}."


def _named(path: Path, format: str) -> Path:
    """With a suffix of the format."""
    from engine.formats.registry import named

    one = named(format)
    return path if one.fits(path) else path.parent / (path.name + one.suffixes[0])
