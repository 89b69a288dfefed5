"""Parquet: the two tables, each column with its unit and meaning in the schema's metadata; zstd."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.formats.format import Format
from engine.formats.tables import POSITION_COLUMNS, ROUND_COLUMNS, Cell, Column, places, rounds, two
from engine.records import Record

GROUP = 16_384
"""Rows held in memory, and written as one group."""


class Table:
    """A Parquet file that grows by rows."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        import pyarrow as pa  # here and not above: the other formats need not wait for it
        import pyarrow.parquet as pq

        types = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
        self.columns = columns
        self.schema = pa.schema([
            pa.field(column.name, types[column.kind], metadata={"meaning": column.meaning, "unit": column.unit})
            for column in columns])
        self._make = pa.record_batch
        self._writer: Any = pq.ParquetWriter(path, self.schema, compression="zstd")
        self._rows: list[tuple[Cell, ...]] = []

    def add(self, of: object) -> None:
        self._rows.append(tuple(column.of(of) for column in self.columns))
        if len(self._rows) >= GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            cells = [list(column) for column in zip(*self._rows, strict=True)]
            arrays = [_array(values, field.type) for values, field in zip(cells, self.schema, strict=True)]
            self._writer.write_batch(self._make(arrays, schema=self.schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


def _array(values: list[Cell], kind: Any) -> Any:
    import pyarrow as pa

    return pa.array(values, type=kind)


def write(paths: Sequence[Path], records: Iterable[Record]) -> None:
    with closing(Table(paths[0], ROUND_COLUMNS)) as of_rounds, closing(Table(paths[1], POSITION_COLUMNS)) as of_places:
        for done in rounds(records):
            of_rounds.add(done)
            for place in places(done):
                of_places.add(place)


FORMAT = Format("parquet", "two tables, OUT.rounds.parquet and OUT.positions.parquet", (".parquet",), write=write,
                outputs=two)
