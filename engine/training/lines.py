"""Files of lines that are only ever added to, which a killed run may leave with half a line at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def mend(path: Path) -> None:
    """Cut off what stands behind the last line break, so that the next line begins on its own."""
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with path.open("r+b") as file:
                file.truncate(whole)


def whole(path: Path) -> list[str]:
    """All lines but one cut off by a crash; none where there is no file."""
    if not path.exists():
        return []
    return [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]


def append(path: Path, found: Iterable[T], spelled: Callable[[T], str]) -> Iterator[T]:
    """Write one line each as they pass, so that a killed run loses nothing."""
    mend(path)
    with path.open("a", encoding="utf-8") as file:
        for one in found:
            file.write(spelled(one) + "\n")
            file.flush()
            yield one
