"""Records to a file and back: JSON lines, a header first, then one record a line, flushed at the end of each round.

A killed process loses at most the round in flight, compressed or not. Read without torch. Nothing in a file is ever
executed, and nothing in it is believed: what isn't a record, or can't follow the records before it, ends the reading
with one :class:`TraceError`. docs/traces.md describes the format, assets/spectrace.schema.json each line.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, get_args

import msgspec
import numpy as np

from engine import __version__
from engine.errors import SpecScopeError
from engine.records import (
    Committed,
    Count,
    Drafted,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    TargetInfo,
    Unknown,
    Verified,
    Vocabulary,
)
from engine.settings import RunSettings
from engine.trace_lines import LONGEST_LINE, DamagedError, Sink, lines, sink
from engine.trace_order import RunOrder
from engine.trace_values import ImpossibleError, check_figures, require

FORMAT = 1
"""Grows when files appear that older versions would misread; new optional fields don't need it."""
ROUND_LINE = 2**20
"""Bytes that a header or a line of a round may take; prompts, vocabularies and whole outputs may be longer."""


Number = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
Version = Annotated[str, msgspec.Meta(max_length=100)]
START = b'{"type":"Header"'
"""Of every trace, unpacked."""


class TraceError(SpecScopeError):
    """A trace can't be written or read; names the file and the line."""


class LaneHeader(msgspec.Struct, frozen=True, kw_only=True):
    """One lane as the header announces it."""

    lane: str
    title: str
    gamma: int
    settings: RunSettings
    prompt_tokens: int
    unknown: tuple[Unknown, ...] = ()


class Header(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The first line of a trace: what is inside, for whoever looks no further. All of it but ``format`` is told again
    by the records."""

    format: Number
    version: Version
    """Of the SpecScope that wrote the file."""
    started: str = ""
    """Local time, ISO 8601."""
    machine: str = ""
    target: TargetInfo | None = None
    lanes: tuple[LaneHeader, ...] = ()
    """Those that had begun before the first round."""

    @classmethod
    def of(cls, begun: Iterable[RunStarted]) -> Header:
        lanes = list(begun)
        first = lanes[0] if lanes else None
        return cls(
            format=FORMAT, version=__version__, started=first.started if first else "",
            machine=first.machine if first else "", target=first.target if first else None,
            lanes=tuple(LaneHeader(lane=one.lane, title=one.title, gamma=one.gamma, settings=one.settings,
                                   prompt_tokens=len(one.prompt), unknown=one.unknown) for one in lanes))


class _Kind(msgspec.Struct, tag="Header"):
    """As much of a header as every version has."""

    format: Number
    version: Version


def _plain(value: Any) -> Any:
    """numpy to JSON: float32 tails keep four significant digits; drafted and committed tokens' p and q stand in full in
    their own records."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return [float(f"{x:.4g}") for x in value.tolist()]
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be written to a trace")


def _array(wanted: Any, value: Any) -> Any:
    """A list of numbers as the read-only array that the record's type asks for. The detour over the standard library's
    array refuses what numpy would convert: texts, truncated fractions, lists in lists."""
    if not isinstance(value, list):
        raise TypeError("a list of numbers was expected")
    dtype = get_args(get_args(wanted)[1])[0]
    found = np.frombuffer(array("i" if dtype is np.int32 else "f", value), dtype=dtype)
    found.setflags(write=False)
    return found


class _Words(msgspec.Struct, tag="Vocabulary"):
    """A vocabulary as a file tells it. Ids are bounded before they become keys: unbounded ones can be chosen so that
    all of them collide, and the dict then takes hours."""

    run: str
    lane: str
    texts: dict[Count, str]


_Line = RunStarted | Prefilled | _Words | Drafted | Verified | Judged | Committed | RunFinished
_LongLine = RunStarted | _Words | RunFinished

_encoder = msgspec.json.Encoder(enc_hook=_plain)
_kind_decoder = msgspec.json.Decoder(_Kind)
_header_decoder = msgspec.json.Decoder(Header)
_decoder: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line, dec_hook=_array)
_long_decoder: msgspec.json.Decoder[_LongLine] = msgspec.json.Decoder(_LongLine)

NO_RECORD = (msgspec.MsgspecError, SpecScopeError, ValueError, TypeError, RecursionError, OverflowError)
"""What decoding a line may raise; settings that are out of range raise our own."""


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
    """Writes one run's records to ``path``; a name that ends in .gz or .zst is compressed. Raises :class:`TraceError`
    when it can't.

    The header is written with the first round: all lanes have introduced themselves by then.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._file: Sink = sink(self.path)
        except OSError as error:
            raise TraceError(f"{self.path} can't be written: {error.strerror or error}.") from error
        self._waiting: list[Record] | None = []
        """What came before the first round; None once it is written."""
        self._round: list[bytes] = []
        """Lines not yet written: they go together, so that a killed process hardly ever leaves half a line."""

    def write(self, record: Record) -> None:
        if self._waiting is not None:
            if isinstance(record, (Vocabulary, RunStarted, Prefilled, RunFinished)):
                self._waiting.append(record)
                return
            self._begin()
        self._line(record)
        if isinstance(record, (RunStarted, Committed, RunFinished)):
            self._flush()

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        self._line(Header.of(record for record in waiting if isinstance(record, RunStarted)))
        for record in waiting:
            self._line(record)
        self._flush()

    def _line(self, what: Header | Record) -> None:
        line = _encoder.encode(what)
        if len(line) > LONGEST_LINE:
            raise TraceError(f"{self.path} can't be written any further: a {type(what).__name__} record takes more "
                             f"than {LONGEST_LINE >> 20} MB.")
        self._round.append(line + b"\n")

    def _flush(self) -> None:
        lines, self._round = self._round, []
        with self._guarded():
            self._file.write(b"".join(lines))
            self._file.flush()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TraceError(f"{self.path} can't be written any further: {error.strerror or error}.") from error

    def close(self) -> None:
        try:
            if self._waiting is not None:
                self._begin()
            self._flush()
        finally:
            with self._guarded():
                self._file.close()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        self.close()


def read(path: str | Path) -> Iterator[Record]:
    """The records of a trace, one by one, in an order that :mod:`engine.trace_order` accepts. Raises
    :class:`TraceError` naming the line; what is before it has been yielded by then. So does a compressed file without
    its end (a recording that was killed, or still goes on); a plain one that ends behind a whole line is as good as
    any. An empty file has no records."""
    path, order = Path(path), RunOrder()
    numbered = _numbered(path)
    for _, line, whole in numbered:
        _check_header(path, line, whole)
        break
    for number, line, whole in numbered:
        try:
            record = _record(line)
            order.take(record)
        except NO_RECORD as error:
            if not whole:
                raise TraceError(f"Line {number} of {path} is cut off; what is before it was read.") from error
            raise TraceError(f"Line {number} of {path} isn't a record that can stand there: {_brief(error)}. The file "
                             "is damaged; what is before that line was read.") from error
        yield record


def header(path: str | Path) -> Header:
    """What a trace holds, by its first line alone. Raises :class:`TraceError`."""
    path = Path(path)
    for _, line, whole in _numbered(path):
        _check_header(path, line, whole)
        try:
            require(len(line) <= ROUND_LINE, f"it takes more than {ROUND_LINE >> 20} MB")
            found = _header_decoder.decode(line)
            if found.target is not None:
                check_figures(found.target)
            return found
        except NO_RECORD as error:
            raise TraceError(f"The header of {path} is damaged: {_brief(error)}.") from error
    raise TraceError(f"{path} is empty.")


def _numbered(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Number (from 1), content and wholeness of each line."""
    number = 0
    try:
        with path.open("rb") as file:
            for number, (line, whole) in enumerate(lines(file), 1):
                yield number, line, whole
    except (OSError, ValueError) as error:
        raise TraceError(f"{path} can't be read{f' beyond line {number}' if number else ''}: "
                         f"{getattr(error, 'strerror', None) or error}.") from error
    except DamagedError as error:
        raise TraceError(f"Line {number + 1} of {path} can't be read: {error}."
                         f"{' What is before that line was read.' if number else ''}") from error


def _record(line: bytes) -> Record:
    found: _Line | _LongLine
    if len(line) <= ROUND_LINE:
        found = _decoder.decode(line)
    else:
        try:
            found = _long_decoder.decode(line)
        except msgspec.ValidationError as error:
            raise ImpossibleError(f"{error}, or no record of its kind, since it takes more than {ROUND_LINE >> 20} MB"
                                  ) from error
    return Vocabulary(run=found.run, lane=found.lane, texts=found.texts) if isinstance(found, _Words) else found


def _check_header(path: Path, line: bytes, whole: bool) -> None:
    try:
        kind = _kind_decoder.decode(line)
    except NO_RECORD as error:
        if not whole and line.startswith(START):
            raise TraceError(f"Line 1 of {path} is cut off; there is nothing to read.") from error
        raise TraceError(f"{path} isn't a SpecScope trace: its first line is no header.") from error
    if kind.format > FORMAT:
        raise TraceError(f"{path} was written by SpecScope {kind.version} in format {kind.format}, newer than this "
                         f"version reads ({FORMAT}); update SpecScope to open it.")


def _brief(error: Exception) -> str:
    """An error may quote the file."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 200 else f"{text[:199]}…"
