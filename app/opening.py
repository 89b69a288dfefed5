"""What can be opened, and what was opened last. Nothing here loads torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.settings import Settings
from engine.errors import SpecScopeError
from engine.records import Record

KEPT = 10
"""Recent files that are remembered."""
_KEY = "recent/files"
_TITLES = {
    "spectrace": "SpecScope recordings",
    "specspecs": "specspecs folder, by any of its parts",
    "llama-dump": "Dumps of llama.cpp",
    "vllm": "Responses of vLLM",
}
_PARTS = ("sequences-*.parquet", "drafts-*.parquet")
"""Of a specspecs folder: a file dialog can't choose a folder, but any of its parts stands for it."""


def file_filter() -> str:
    """For a file dialog: all that is readable first, then each format."""
    from engine.formats import READABLE

    patterns = {_TITLES.get(one.name, one.name): _PARTS if one.folder else tuple(f"*{s}" for s in one.suffixes)
                for one in READABLE}
    everything = tuple(dict.fromkeys(pattern for kind in patterns.values() for pattern in kind))
    kinds = {"All that opens": everything, **patterns, "All files": ("*",)}
    return ";;".join(f"{title} ({' '.join(kind)})" for title, kind in kinds.items())


def open_records(path: Path) -> Iterator[Record]:
    """The records of a recording, or of another program's file; what it is, is told by its content. Nothing is read
    before the first is asked for. Raises a SpecScopeError on the way; what came before it stands."""
    from engine.formats import READABLE, FormatError
    from engine.formats.registry import read, told

    try:
        one = told(path)
    except FormatError as error:
        if not path.is_file():
            raise
        kinds = ", ".join(_TITLES.get(one.name, one.name) for one in READABLE)
        raise SpecScopeError(f"{path.name} is none of the files that open here ({kinds}); convert --from names what "
                             "it is.", details=str(error)) from error
    yield from read(path, one)


class Recent:
    """The files that were opened last, newest first. Those that are gone are left out."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def paths(self) -> list[Path]:
        return [path for path in self._kept() if _exists(path)][:KEPT]

    def add(self, path: Path) -> None:
        """It was opened just now."""
        newest = Path(os.path.abspath(path))
        paths = [newest, *(other for other in self.paths if other != newest)][:KEPT]
        self._settings.put(_KEY, msgspec.json.encode([str(one) for one in paths]).decode())

    def forget(self) -> None:
        self._settings.put(_KEY, "[]")

    def _kept(self) -> list[Path]:
        try:
            return [Path(text) for text in msgspec.json.decode(self._settings.text(_KEY, "[]"), type=list[str])]
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
