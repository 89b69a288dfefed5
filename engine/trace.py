"""Records to a file and back: JSON lines, one record a line, flushed at the end of each round.

A killed process loses at most the round in flight. Read without torch. Nothing in a file is ever executed.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, get_args

import msgspec
import numpy as np

from engine import __version__
from engine.errors import SpecScopeError
from engine.records import AnyRecord, Committed, Record, RunFinished, RunStarted

FORMAT = 1
GZIP = b"\x1f\x8b"


class TraceError(SpecScopeError):
    """A trace can't be written or read; names the file and the line."""


class Header(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The first line of a trace."""

    format: int
    version: str


def _plain(value: Any) -> Any:
    """numpy to JSON: float32 tails keep four significant digits; drafted and committed tokens' p and q stand in full in
    their own records."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return [float(f"{x:.4g}") for x in value.tolist()]
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be written to a trace")


def _array(wanted: Any, value: Any) -> Any:
    """A list of numbers as the read-only array that the record's type asks for."""
    dtype = get_args(get_args(wanted)[1])[0]
    with np.errstate(over="ignore"):
        array = np.array(value, dtype=dtype)
    if array.ndim != 1:
        raise ValueError("a list of numbers was expected")
    array.setflags(write=False)
    return array


_encoder = msgspec.json.Encoder(enc_hook=_plain)
_header_decoder = msgspec.json.Decoder(Header)
_decoder: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord, dec_hook=_array)


def check_writable(path: str | Path) -> None:
    """Raises :class:`TraceError` if a trace could not be written there: better said before minutes of decoding."""
    path = Path(path)
    if path.is_dir():
        raise TraceError(f"{path} can't be written: it is a folder; name a file in it.")
    if not path.absolute().parent.is_dir():
        raise TraceError(f"{path} can't be written: the folder {path.parent} does not exist.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise TraceError(f"{path} can't be written: there is no permission.")


class Writer:
    """Writes one run's records to ``path``. Raises :class:`TraceError` when it can't."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        opener: Any = gzip.open if self.path.suffix == ".gz" else open
        try:
            self._file: IO[bytes] = opener(self.path, "wb")
        except OSError as error:
            raise TraceError(f"{self.path} can't be written: {error.strerror or error}.") from error
        self._line(_encoder.encode(Header(format=FORMAT, version=__version__)))

    def write(self, record: Record) -> None:
        self._line(_encoder.encode(record))
        if isinstance(record, (RunStarted, Committed, RunFinished)):
            self._guarded(self._file.flush)

    def _line(self, line: bytes) -> None:
        self._guarded(lambda: self._file.write(line + b"\n"))

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            raise TraceError(f"{self.path} can't be written any further: {error.strerror or error}.") from error

    def close(self) -> None:
        self._guarded(self._file.close)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        self.close()


def read(path: str | Path) -> Iterator[Record]:
    """The records of a trace, one by one. Raises :class:`TraceError` naming the line; what is before it has been
    yielded by then."""
    path, number = Path(path), 0
    try:
        with path.open("rb") as probe:
            opened = gzip.open if probe.read(2) == GZIP else open
        with opened(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    _check_header(path, line)
                elif line.strip():
                    yield _decoder.decode(line)
    except (OSError, EOFError, zlib.error) as error:
        raise TraceError(f"{path} can't be read"
                         f"{f' beyond line {number}' if number else ''}: {getattr(error, 'strerror', None) or error}."
                         ) from error
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise TraceError(f"Line {number} of {path} isn't a record of SpecScope ({error}); the file is damaged or cut "
                         "off there.") from error


def _check_header(path: Path, line: bytes) -> None:
    try:
        header = _header_decoder.decode(line)
    except (msgspec.MsgspecError, ValueError) as error:
        raise TraceError(f"{path} isn't a SpecScope trace: its first line is no header.") from error
    if header.format > FORMAT:
        raise TraceError(f"{path} was written by SpecScope {header.version} in format {header.format}, newer than this "
                         f"version reads ({FORMAT}); update SpecScope to open it.")
