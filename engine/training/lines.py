"""Files of lines that are only ever added to, which a killed run may leave with half a line at the end."""

from __future__ import annotations

from pathlib import Path


def mend(path: Path) -> None:
    """Cut off what stands behind the last line break, so that the next line begins on its own."""
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with path.open("r+b") as file:
                file.truncate(whole)
