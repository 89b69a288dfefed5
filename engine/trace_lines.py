"""A trace file's bytes: plain, gzip or zstd, cut into lines of bounded length.

Writing goes by the name's suffix, reading by magic, so a renamed file opens. A compressed file may end anywhere, as
after a crash: all that was flushed before the end comes out before the end is complained of. No more than a few chunks
are ever held, however much a file claims to hold.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

import zstandard

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
CHUNK = 2**16
BUFFER = 2**20
"""Bytes: a round goes to the system in one piece."""
LONGEST_LINE = 2**24
"""Bytes. A prompt of a million tokens fits."""
SIP = 256
"""Bytes of zstd unpacked in one go, whatever comes out: at most 8 MB, since each block takes 4 and makes 128 kB. A
reader that is asked for so many bytes of output would keep back the end of a file that was cut off."""
LARGEST_WINDOW = 2**27
"""Bytes of memory that a zstd file may ask for: what the zstd program itself grants."""
FREE, LARGEST_RATIO = 2**23, 100
"""A compressed file that unpacks to more than FREE bytes and LARGEST_RATIO times its size is a bomb: real ones reach
4 to 15 times."""


class DamagedError(Exception):
    """The bytes end in something that can't be unpacked or isn't a trace; says what, in half a sentence."""


class Sink(Protocol):
    """Where lines go. After ``flush`` all that was written is out of this process and can be read back."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...

    def close(self) -> object: ...


class _GzipSink:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._packer = gzip.GzipFile("", "wb", fileobj=file)

    def write(self, data: bytes) -> None:
        self._packer.write(data)

    def flush(self) -> None:
        self._packer.flush(zlib.Z_SYNC_FLUSH)
        self._file.flush()

    def close(self) -> None:
        with self._file:
            self._packer.close()


class _ZstdSink:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._packer = zstandard.ZstdCompressor().stream_writer(file)

    def write(self, data: bytes) -> None:
        self._packer.write(data)

    def flush(self) -> None:
        self._packer.flush(zstandard.FLUSH_BLOCK)
        self._file.flush()

    def close(self) -> None:
        with self._file:
            self._packer.close()  # type: ignore[no-untyped-call]


def sink(path: Path) -> Sink:
    """Raises :class:`OSError`."""
    file = path.open("wb", buffering=BUFFER)
    match path.suffix.lower():
        case ".gz":
            return _GzipSink(file)
        case ".zst":
            return _ZstdSink(file)
        case _:
            return file


def lines(file: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each line without its end, and whether it had one: only the last may not. Raises :class:`DamagedError` or
    :class:`OSError` behind all the lines that came before the damage."""
    parts: list[bytes] = []
    size = 0
    for chunk in _chunks(_Counted(file)):
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            yield b"".join((*parts, piece)), True
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > LONGEST_LINE:
            raise DamagedError(f"it is longer than {LONGEST_LINE >> 20} MB, which no record is")
    if size:
        yield b"".join(parts), False


class _Counted:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.taken = 0

    def read(self, size: int = CHUNK) -> bytes:
        data = self._file.read(size)
        self.taken += len(data)
        return data


def _chunks(file: _Counted) -> Iterator[bytes]:
    """The unpacked content, some bytes at a time."""
    head = file.read(len(ZSTD))
    if head.startswith(GZIP):
        return _no_bomb(_gunzip(file, head), file)
    if head == ZSTD:
        return _no_bomb(_unzstd(file, head), file)
    return _plain(file, head)


def _plain(file: _Counted, head: bytes) -> Iterator[bytes]:
    while head:
        yield head
        head = file.read()


def _gunzip(file: _Counted, packed: bytes) -> Iterator[bytes]:
    try:
        while packed := packed or file.read():
            unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
            while not unpack.eof:
                data = unpack.decompress(packed, CHUNK)
                packed = unpack.unconsumed_tail
                if data:
                    yield data
                elif not packed and not unpack.eof:
                    packed = _more(file, CHUNK)
            packed = unpack.unused_data  # another member may follow
    except zlib.error as error:
        raise DamagedError(f"the compressed data is damaged there: {error}") from error


def _unzstd(file: _Counted, packed: bytes) -> Iterator[bytes]:
    frames = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
    try:
        while packed := packed or file.read(SIP):
            unpack = frames.decompressobj()
            while not unpack.eof:
                if data := unpack.decompress(packed or _more(file, SIP)):
                    yield data
                packed = b""
            packed = unpack.unused_data
    except zstandard.ZstdError as error:
        raise DamagedError(f"the compressed data is damaged there: {error}") from error


def _more(file: _Counted, size: int) -> bytes:
    """The compressed data isn't at its end, so the file mustn't be."""
    if data := file.read(size):
        return data
    raise DamagedError("the file is cut off there")


def _no_bomb(chunks: Iterator[bytes], file: _Counted) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > FREE and size > LARGEST_RATIO * file.taken:
            raise DamagedError(f"the file unpacks to more than {LARGEST_RATIO} times its size, which no recording does")
        yield chunk
