"""CSV: UTF-8, a header line, commas, ``\\n``. Texts are quoted, so an empty text ("") differs from an empty cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from engine.formats.format import Format
from engine.formats.tables import POSITION_COLUMNS, ROUND_COLUMNS, Cell, Column, places, rounds, two
from engine.records import Record


def write(paths: Sequence[Path], records: Iterable[Record]) -> None:
    with _opened(paths[0]) as of_rounds, _opened(paths[1]) as of_places:
        _header(of_rounds, ROUND_COLUMNS)
        _header(of_places, POSITION_COLUMNS)
        for done in rounds(records):
            _row(of_rounds, ROUND_COLUMNS, done)
            for place in places(done):
                _row(of_places, POSITION_COLUMNS, place)


def _opened(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", errors="backslashreplace", newline="")


def _header(file: IO[str], columns: Sequence[Column]) -> None:
    file.write(",".join(column.name for column in columns) + "\n")


def _row(file: IO[str], columns: Sequence[Column], of: object) -> None:
    file.write(",".join(_spelled(column.of(of)) for column in columns) + "\n")


def _spelled(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return '"' + cell.replace('"', '""') + '"'
    return repr(cell)


FORMAT = Format("csv", "two tables, OUT.rounds.csv and OUT.positions.csv", (".csv",), write=write, outputs=two)
