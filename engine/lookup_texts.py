"""Texts beside the prompt in which prompt lookup looks too: a document, outputs of earlier runs.

What a run remembers of one is its path and the digest of its content, not the content, which may be long. Whoever goes
on with the run reads the file again, and the digest says whether it is still the same.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from engine.errors import SettingsError
from engine.settings import LookupText

LARGEST = 2 * 2**20
"""Bytes of one text at most, about half a million tokens: some 250 MB of memory a lane, once they can be looked up."""


def named(path: str) -> LookupText:
    """The text in this file, as it is now. Raises :class:`SettingsError` when it can't be used."""
    content = _content(path)
    _text(path, content)
    return LookupText(path=str(Path(path).absolute()), digest=_digest(content))


def read(text: LookupText) -> str:
    """Its content. Raises :class:`SettingsError` when it can't be read or isn't what it was."""
    content = _content(text.path)
    if _digest(content) != text.digest:
        raise SettingsError(f"The lookup text {text.path} isn't what it was when this run was set up, so its drafts "
                            "would be others; put the former text back, or look up in other texts.")
    return _text(text.path, content)


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
