"""Small files of JSON in a work folder: written whole or not at all, and read only if they are what they should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from engine.errors import ModelError

BROKEN = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding raises; bytes that are no UTF-8 are a ValueError."""


def put(path: Path, text: str) -> None:
    """Written beside, then put in its place: a full disk or a kill leaves the old file, never half a one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def note(path: Path, kind: Any) -> Any:
    """What such a file holds, of the type ``kind``. Raises :class:`ModelError` if it doesn't."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except BROKEN as error:
        raise damaged(path, details=str(error)) from error


def damaged(path: Path, what: str = "it can't be read", *, remove: Path | None = None, details: str = "") -> ModelError:
    """``remove``: what must go for it to be made again; else the file itself."""
    return ModelError(f"{path} is damaged: {what}; delete {remove or 'it'}, and it is made again, or choose "
                      "another folder (--work).", details=details)
