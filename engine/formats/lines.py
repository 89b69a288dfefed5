"""Lines of a file that may be anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.formats.errors import FormatError

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes. Real lines stay far below; a file without line ends mustn't be read into memory whole."""


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and content of each line that isn't blank. Raises :class:`FormatError` naming the line."""
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise FormatError(f"Line {number} of {path} is longer than {LONGEST_LINE >> 20} MB; one JSON "
                                      "object a line was expected.")
                if line.strip():
                    yield number, line
    except OSError as error:
        raise FormatError(f"{path} can't be read{f' beyond line {number}' if number else ''}: "
                          f"{error.strerror or error}.") from error
