"""What a line of a trace may hold, as JSON Schema, made from the record types.

``python -m engine.trace_schema`` writes it to assets/spectrace.schema.json; a test holds the two together.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from engine.records import AnyRecord, Contrast
from engine.trace import FORMAT, Header

PATH = Path(__file__).resolve().parents[1] / "assets" / "spectrace.schema.json"


def schema() -> dict[str, Any]:
    (top,), parts = msgspec.json.schema_components([Header | AnyRecord], schema_hook=_any_array)
    for name, hint in get_type_hints(Contrast).items():
        if get_origin(hint) is np.ndarray and get_args(get_args(hint)[1])[0] is np.int32:
            parts["Contrast"]["properties"][name]["items"] = {"type": "integer"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a .spectrace file, format {FORMAT}",
        "description": "The first line is a Header, each other one a record. Fields that aren't named here may come "
                       "and are ignored. What records must agree on is told in docs/traces.md.",
        **top, "$defs": {name: parts[name] for name in sorted(parts)},
    }


def _any_array(kind: type) -> dict[str, Any]:
    """The list of numbers that stands for a numpy array; what numbers isn't told here."""
    if kind is not np.ndarray:
        raise NotImplementedError
    return {"type": "array", "items": {"type": "number"}}


def text() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(PATH)
