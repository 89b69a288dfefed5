"""The shipped schema is that of the records, and real lines follow it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.trace_schema import PATH, schema, text
from tests.engine.support import PROMPT, WARM, run, settings, target
from tests.engine.traces import DEMO, write
from tests.engine.traces import small as small_records

SCHEMA = schema()

KNOWN = {"$ref", "anyOf", "discriminator", "type", "enum", "properties", "required", "items", "additionalProperties",
         "minimum", "maximum", "maxLength", "title", "description", "default"}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),)}


def test_the_shipped_schema_is_that_of_the_records() -> None:
    assert PATH.read_text(encoding="utf-8") == text(), "run: python -m engine.trace_schema"


def test_real_lines_follow_the_schema(tmp_path: Path) -> None:
    records = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM)).records
    found = set()
    for path in (write(tmp_path / "run", records), write(tmp_path / "race", small_records())):
        for line in path.read_bytes().splitlines():
            value = json.loads(line)
            found.add(value["type"])
            assert list(faults(value, SCHEMA)) == []
    assert found == {part["$ref"].rpartition("/")[2] for part in SCHEMA["anyOf"]}  # each kind has been seen


def test_the_lines_of_the_first_version_follow_it_too() -> None:
    with gzip.open(DEMO) as lines:
        for line in lines:
            assert list(faults(json.loads(line), SCHEMA)) == []


@pytest.mark.parametrize(("field", "value", "fault"), [
    ("round", -1, "minimum"), ("round", "1", "integer"), ("round", True, "integer"), ("accepted", 1, "boolean"),
    ("text", None, "string"), ("type", "Unheard", "none of"), ("p", [0.5], "number"), ("index", 65, "maximum")])
def test_this_reader_of_schemas_sees_faults(tmp_path: Path, field: str, value: Any, fault: str) -> None:
    lines = map(json.loads, write(tmp_path / "race", small_records()).read_bytes().splitlines())
    line = next(line for line in lines if line["type"] == "Judged")
    assert any(fault in found for found in faults({**line, field: value}, SCHEMA))
    del line[field]
    assert list(faults(line, SCHEMA))


def faults(value: Any, part: dict[str, Any], at: str = "line") -> Iterator[str]:
    """Where a value doesn't follow a part of the schema."""
    if at != "line":
        assert set(part) <= KNOWN, part
    if "$ref" in part:
        yield from faults(value, SCHEMA["$defs"][part["$ref"].rpartition("/")[2]], at)
        return
    if "anyOf" in part:
        yield from _any(value, part, at)
        return
    kinds = TYPES[part["type"]] if "type" in part else (object,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
        yield f"{at} is no {part['type']}"
        return
    if "enum" in part and value not in part["enum"]:
        yield f"{at} is none of {part['enum']}"
    for name, wrong in (("minimum", lambda x: value < x), ("maximum", lambda x: value > x),
                        ("maxLength", lambda x: len(value) > x)):
        if name in part and wrong(part[name]):
            yield f"{at} is beyond its {name}"
    if isinstance(value, dict):
        for name in part.get("required", ()):
            if name not in value:
                yield f"{at} has no {name}"
        for name, inner in value.items():
            rule = part.get("properties", {}).get(name, part.get("additionalProperties", {}))
            yield from faults(inner, rule, f"{at}.{name}")
    elif isinstance(value, list) and "items" in part:
        for index, inner in enumerate(value):
            yield from faults(inner, part["items"], f"{at}[{index}]")


def _any(value: Any, part: dict[str, Any], at: str) -> Iterator[str]:
    if "discriminator" in part:
        kind = value.get(part["discriminator"]["propertyName"])
        if kind in part["discriminator"]["mapping"]:
            yield from faults(value, {"$ref": part["discriminator"]["mapping"][kind]}, at)
            return
    tries = [list(faults(value, one, at)) for one in part["anyOf"]]
    if all(tries):
        yield f"{at} is none of its kinds: {'; '.join(fault for one in tries for fault in one)}"
