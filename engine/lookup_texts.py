"""Texts beside the prompt in which prompt lookup looks too: a document, outputs of earlier runs.

What a run remembers of one is its path and the digest of its content, not the content, which may be long. Whoever goes
on with the run reads the file again, and the digest says whether it is still the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from engine.errors import SettingsError
from engine.settings import LookupText

LARGEST = 2 * 2**20
"""Bytes of one text at most, about half a million tokens."""

IN_ALL = 4 * 2**20
"""Bytes of all texts of a lane at most, about a million tokens. Every lane makes an index of its own before it begins,
and nothing can call that off: of a million tokens it took 9 s on one CPU core and up to 450 MB (tokens of Python code
cost less than random ones), and the tokenizer's work comes on top. Sixteen texts of the largest size would take more
than a minute and 4 GB."""


def named(path: str, beside: Iterable[LookupText] = ()) -> LookupText:
    """The text in this file, as it is now, to be looked up in together with those ``beside`` it. Raises
    :class:`SettingsError` when it can't be used, or not together with them."""
    content = _content(path)
    _text(path, content)
    text = LookupText(path=str(Path(path).absolute()), digest=_digest(content))
    _limit(path, len(content) + sum(_size(other.path) for other in beside if other.path != text.path))
    return text


def all_named(paths: Iterable[str]) -> tuple[LookupText, ...]:
    """:func:`named`, for the texts of one lane. The same file twice counts once."""
    texts: dict[str, LookupText] = {}
    for path in paths:
        text = named(path, texts.values())
        texts[text.path] = text
    return tuple(texts.values())


def read_all(texts: Iterable[LookupText]) -> dict[str, str]:
    """Each text's content by its path. Raises :class:`SettingsError` as :func:`read` does, and where they are too long
    together: settings may come from elsewhere than :func:`named`."""
    contents: dict[str, str] = {}
    size = 0
    for text in texts:
        contents[text.path] = read(text)
        size += _size(text.path)
        _limit(text.path, size)
    return contents


def read(text: LookupText) -> str:
    """Its content. Raises :class:`SettingsError` when it can't be read or isn't what it was."""
    content = _content(text.path)
    if _digest(content) != text.digest:
        raise SettingsError(f"The lookup text {text.path} isn't what it was when this run was set up, so its drafts "
                            "would be others; put the former text back, or look up in other texts.")
    return _text(text.path, content)


def _limit(path: str, size: int) -> None:
    """Raises :class:`SettingsError` if that many bytes, with the text in ``path``, are more than a lane takes."""
    if size > IN_ALL:
        raise SettingsError(f"With the lookup text {path} there would be {size / 2**20:.1f} MB of them, but a lane "
                            f"looks up in {IN_ALL >> 20} MB at most: it makes an index of them all before it begins, "
                            "which takes seconds and half a gigabyte for that much. Name a shorter text, or leave "
                            "another one out.")


def _content(path: str) -> bytes:
    try:
        if not Path(path).is_file():
            what = "is no file" if Path(path).exists() else "doesn't exist"
            raise SettingsError(f"The lookup text {path} {what}; name a text file.")
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"The lookup text {path} can't be read: {reason}.") from None
    if len(content) > LARGEST:
        raise SettingsError(f"The lookup text {path} is larger than {LARGEST >> 20} MB; name a shorter one.")
    if not content:
        raise SettingsError(f"The lookup text {path} is empty; name a file with text in it.")
    return content


def _size(path: str) -> int:
    """Of a file that is gone nothing: whoever reads it says so."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _text(path: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"The lookup text {path} is not UTF-8 text (byte {error.start}).") from None
    if "\0" in text:
        raise SettingsError(f"The lookup text {path} is not a text: it holds zero bytes.")
    return text


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
