"""Rows of a Parquet file with fixed columns, checked on reading: the file may be anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from engine.formats.errors import FormatError

Kind = Literal["text", "time", "int16", "int32", "int64s", "bools"]

NULLABLE = ("time",)
GROUP = 4096
"""Rows in memory."""
LARGEST = 4 * 1024**3
"""Bytes that a file may say it unpacks to."""

WORDS: dict[Kind, str] = {
    "text": "text", "time": "timestamps", "int16": "whole numbers", "int32": "whole numbers",
    "int64s": "lists of whole numbers", "bools": "lists of true and false"}


def rows(path: Path, columns: Mapping[str, Kind]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row's place, for messages, and its values. Raises :class:`FormatError` naming the file, and the column or
    the row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            _check(path, file, columns)
            for batch in file.iter_batches(batch_size=GROUP, columns=list(columns), use_threads=False):
                for row in batch.to_pylist():
                    place = f"Row {number} of {path}"
                    for name, kind in columns.items():
                        _check_value(place, name, row[name], kind)
                    yield place, row
                    number += 1
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        what = " ".join(str(error).split())[:200]
        raise FormatError(f"{path} can't be read as Parquet{f' beyond row {number}' if number else ''} ({what}); a "
                          "file as specspecs writes it was expected.") from error


def _check(path: Path, file: Any, columns: Mapping[str, Kind]) -> None:
    schema, metadata = file.schema_arrow, file.metadata
    for name, kind in columns.items():
        places = schema.get_all_field_indices(name)
        if len(places) != 1:
            raise FormatError(f"{path} has {'no' if not places else 'more than one'} column {name}; {WORDS[kind]} were "
                              "expected there.")
        found = schema.field(places[0]).type
        if not _fits(found, kind):
            raise FormatError(f"Column {name} of {path} holds {found}; {WORDS[kind]} were expected.")
    unpacked = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if not 0 <= unpacked <= LARGEST:
        raise FormatError(f"{path} says that it unpacks to {unpacked} bytes, more than is read here ({LARGEST}).")


def _fits(found: Any, kind: Kind) -> bool:
    from pyarrow import types

    listed = types.is_list(found) or types.is_large_list(found)
    return bool({
        "text": lambda: types.is_string(found) or types.is_large_string(found),
        "time": lambda: types.is_timestamp(found),
        "int16": lambda: types.is_integer(found), "int32": lambda: types.is_integer(found),
        "int64s": lambda: listed and types.is_integer(found.value_type),
        "bools": lambda: listed and types.is_boolean(found.value_type),
    }[kind]())


def _check_value(place: str, name: str, value: Any, kind: Kind) -> None:
    missing = value is None and kind not in NULLABLE
    if missing or (isinstance(value, list) and None in value):
        raise FormatError(f"{place} has nothing in {name}; {WORDS[kind]} were expected there.")


class RowWriter:
    """A Parquet file that grows by rows, zstd-compressed."""

    def __init__(self, path: Path, columns: Mapping[str, Kind]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {"text": pa.string(), "time": pa.timestamp("us"), "int16": pa.int16(), "int32": pa.int32(),
                 "int64s": pa.list_(pa.int64()), "bools": pa.list_(pa.bool_())}
        self._schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
        self._batch = pa.RecordBatch.from_pylist
        self._writer: Any = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(self._batch(self._rows, schema=self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()
