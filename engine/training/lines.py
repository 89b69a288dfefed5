"""Files of lines that are only ever added to, which a killed run may leave with half a line at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.training.notes import BROKEN, damaged

T = TypeVar("T")


def mend(path: Path) -> None:
    """Cut off what stands behind the last line break, so that the next line begins on its own."""
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with path.open("r+b") as file:
                file.truncate(whole)


def whole(path: Path, kind: type[T], *, remove: Path | None = None) -> list[T]:
    """What all lines of JSON hold but one cut off by a crash, each of the type ``kind``; none where there is no file.
    Raises :class:`ModelError` for any other broken line; ``remove``: what must go then, else the file."""
    if not path.exists():
        return []
    read: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)
    found = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            found.append(read.decode(line))
        except BROKEN as error:
            raise damaged(path, f"its line {number} can't be read", remove=remove, details=str(error)) from error
    return found


def append(path: Path, found: Iterable[T], spelled: Callable[[T], str]) -> Iterator[T]:
    """Write one line each as they pass, so that a killed run loses nothing."""
    mend(path)
    with path.open("a", encoding="utf-8") as file:
        for one in found:
            file.write(spelled(one) + "\n")
            file.flush()
            yield one
