"""The answers that the shipped drafters were trained on: with them a drafter for the built-in target can be trained
again, or further, without an hour of answering first."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import zstandard

from engine.models import Model
from engine.training.answers import Answer, parse, spelled

PATH = Path(__file__).resolve().parents[2] / "assets" / "answers.jsonl.zst"
"""The first line says whose they are, each other one is an answer."""


def shipped(target: Model) -> list[Answer]:
    """Those of this very target; none for any other."""
    return [parse(line) for line in _lines(target)]


def ships(target: Model) -> bool:
    """Are there any? Reads no more than it must."""
    return any(True for _ in _lines(target))


def _lines(target: Model) -> Iterator[str]:
    if not PATH.exists():
        return
    with PATH.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as plain:
        lines = io.TextIOWrapper(plain, encoding="utf-8")
        if json.loads(lines.readline())["fingerprint"] == target.info.fingerprint:
            yield from lines


def write(path: Path, target: Model, answers: Sequence[Answer]) -> None:
    """Overwrites ``path``."""
    head = json.dumps({"target": target.info.name, "fingerprint": target.info.fingerprint})
    text = "\n".join([head, *map(spelled, answers)]) + "\n"
    path.write_bytes(zstandard.ZstdCompressor(level=19).compress(text.encode()))
