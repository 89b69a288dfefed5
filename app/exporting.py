"""A run into a file of any format that is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.records import Record

if TYPE_CHECKING:
    from engine.formats import Format


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
    target = _named(path, format)
    return tuple(one for one in _format(target, format).outputs(target) if one != path and one.is_file())


def export(path: Path, records: Iterable[Record], format: str = "") -> str:
    """Write the records; returns a sentence that says where they are. ``format``: a choice's name; "": told by the
    file's. Raises a SpecScopeError, with nothing written."""
    from engine.formats import save

    target = _named(path, format)
    made = save(target, records, _format(target, format))
    return f"The run is in {' and '.join(str(one) for one in made)}."


def _format(path: Path, format: str) -> Format:
    from engine.formats.registry import meant, named

    return named(format) if format else meant(path)


def _named(path: Path, format: str) -> Path:
    """With a suffix of the format, in place of another's."""
    from engine.formats import WRITABLE

    one = _format(path, format)
    if one.fits(path):
        return path
    others = sorted((suffix for other in WRITABLE for suffix in other.suffixes), key=len, reverse=True)
    ending = next((suffix for suffix in others if path.name.lower().endswith(suffix)), "")
    return path.parent / (path.name[: len(path.name) - len(ending)] + one.suffixes[0])
