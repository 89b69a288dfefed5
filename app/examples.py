"""The example prompts behind the chips of the form: texts in assets, one file each."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.assets import EXAMPLES


class _Entry(msgspec.Struct, frozen=True):
    id: str
    chip: str
    about: str


class Example(msgspec.Struct, frozen=True):
    id: str
    chip: str
    about: str
    prompt: str


def load_examples(folder: Path = EXAMPLES) -> list[Example]:
    """In the order of the index. A missing folder gives none: the form works without."""
    try:
        entries = msgspec.json.decode((folder / "examples.json").read_bytes(), type=list[_Entry])
        return [Example(entry.id, entry.chip, entry.about,
                        (folder / f"{entry.id}.txt").read_text(encoding="utf-8").strip()) for entry in entries]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return []
