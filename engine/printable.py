"""Text that comes from elsewhere, made fit for a record: a trace is UTF-8, and a line of it has a size limit."""

from __future__ import annotations


def printable(text: str, most: int) -> str:
    """``most`` characters of it at most, half surrogate pairs replaced."""
    text = text if len(text) <= most else f"{text[:most - 1]}…"
    return text.encode("utf-8", "replace").decode("utf-8")


def told(error: BaseException, most: int = 300) -> str:
    """Kind and message of an exception on one line. Other people's code raised it, so even its message may fail."""
    try:
        said = " ".join(str(error)[:10 * most].split())
    except Exception as fault:
        said = f"its message can't be read, {type(fault).__name__}"
    return printable(f"{type(error).__name__}: {said}", most)
