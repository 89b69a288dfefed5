"""What the registry knows of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.formats.errors import FormatError
from engine.records import Record

SAMPLE_BYTES = 64 * 1024


@dataclass(frozen=True)
class Sample:
    """As much of a file as tells what it is."""

    path: Path
    head: bytes
    tail: bytes

    @classmethod
    def of(cls, path: Path) -> Sample:
        """Raises :class:`FormatError` if there is nothing that can be read. A folder has neither head nor tail."""
        try:
            if path.is_dir():
                return cls(path, b"", b"")
            with path.open("rb") as file:
                head = file.read(SAMPLE_BYTES)
                size = file.seek(0, 2)
                file.seek(max(0, size - SAMPLE_BYTES))
                return cls(path, head, file.read(SAMPLE_BYTES))
        except (OSError, ValueError) as error:
            raise FormatError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from error

    @property
    def first_line(self) -> bytes:
        return self.head.lstrip().split(b"\n", 1)[0]


def _never(sample: Sample) -> bool:
    return False


def _itself(path: Path) -> tuple[Path, ...]:
    return (path,)


@dataclass(frozen=True)
class Format:
    """One format. ``read`` yields records and may raise a SpecScopeError on the way, which names the place; what came
    before stands. ``write`` is handed the paths that ``outputs`` made of the one a person named."""

    name: str
    about: str
    """One line, for a person who chooses."""
    suffixes: tuple[str, ...]
    read: Callable[[Path], Iterator[Record]] | None = None
    write: Callable[[Sequence[Path], Iterable[Record]], None] | None = None
    tells: Callable[[Sample], bool] = _never
    """Is this file one of ours, by its content?"""
    outputs: Callable[[Path], tuple[Path, ...]] = _itself
    folder: bool = False
    """What it writes is a folder."""

    def fits(self, path: Path) -> bool:
        """By its name."""
        return path.name.lower().endswith(self.suffixes)
