"""Token ids to text: a readable text for every id, a stream that never splits a character, and stop texts.

A token stands for bytes, not for characters: an emoji or a CJK character may be spread over several tokens. The two
common families of tokenizers say which bytes in their vocabulary itself, so we read them once into a
:class:`TokenTable` and need no call into the tokenizer afterwards (which also keeps threads apart):

* byte-level BPE (GPT-2, Llama 3, Qwen, SmolLM) writes each byte as one printable character;
* SentencePiece style (Llama 2, Gemma, Mistral) writes a space as ▁ and a lone byte as <0xE4>.

For any other tokenizer the stream decodes a short window of ids and shows what is new in it.
"""

from __future__ import annotations

import codecs
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

REPLACEMENT = "\ufffd"
_WINDOW = 16
"""Ids that a stream without a byte table decodes at most before it drops the oldest."""
_KEPT = 6
"""Ids it keeps then, so that spaces still depend on what stands before."""
_LONGEST_CHARACTER = 4
"""A character of UTF-8 has at most this many bytes, so no more tokens than this can be waiting for its end."""


@dataclass(frozen=True)
class TokenTable:
    """What each id of one tokenizer stands for. Built once (0.1–0.3 s for 50 000–150 000 ids), then shared."""

    names: tuple[str | None, ...]
    """Per id its name in the vocabulary; None where the tokenizer has no such id."""
    special: frozenset[int]
    """Ids that add nothing to the text (<|im_end|>, …)."""
    pieces: tuple[bytes, ...] | None
    """Per id the bytes it adds to the text; None when this tokenizer's texts aren't a plain joining of bytes."""
    strip: int
    """How many spaces a text loses at its very start (SentencePiece puts one there)."""
    decode: Callable[[Sequence[int]], str]
    """The tokenizer's own decoding, locked, special tokens left out."""

    @classmethod
    def of(cls, tokenizer: Any, lock: threading.RLock | None = None) -> TokenTable:
        """Read the table from a ``transformers`` tokenizer; ``lock`` guards every call into it (a new one if None)."""
        lock = lock or threading.RLock()

        def decode(ids: Sequence[int]) -> str:
            with lock:
                return str(tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))

        with lock:
            vocabulary: dict[str, int] = tokenizer.get_vocab()
            special = _special_ids(tokenizer)
            style = _Style.of(tokenizer)
        names: list[str | None] = [None] * (max(vocabulary.values(), default=-1) + 1)
        for name, token in vocabulary.items():
            names[token] = name
        pieces = None
        if style is not None:
            pieces = tuple(b"" if name is None or token in special else style.piece(name)
                           for token, name in enumerate(names))
        return cls(tuple(names), special, pieces, style.strip if style else 0, decode)

    def text(self, token: int) -> str:
        """One readable text for an id: its own text, ``⟨E4 BD⟩`` for part of a character, the name of a special
        token, or ``⟨id 151700⟩`` for an id the tokenizer doesn't know. Never empty."""
        name = self.names[token] if 0 <= token < len(self.names) else None
        if name is None:
            return f"⟨id {token}⟩"
        if token in self.special:
            return name
        piece = self.pieces[token] if self.pieces is not None else self.decode([token]).encode()
        return _readable(piece) or name


@dataclass(frozen=True)
class _Style:
    """How one family of tokenizers writes bytes in its vocabulary."""

    piece: Callable[[str], bytes]
    strip: int

    @classmethod
    def of(cls, tokenizer: Any) -> _Style | None:
        """Told by the tokenizer's decoder; None when joining bytes wouldn't give the same text."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None or backend.decoder is None:
            return None
        steps = _flatten(json.loads(backend.decoder.__getstate__()))
        kinds = [str(step["type"]) for step in steps]
        if "ByteLevel" in kinds and set(kinds) <= {"ByteLevel", "Fuse"}:
            return cls(_byte_level_piece, 0)
        if not set(kinds) <= {"Replace", "ByteFallback", "Fuse", "Strip"}:
            return None
        strip = 0
        spaces = False
        for place, step in enumerate(steps):
            if step["type"] == "Replace":
                if step["pattern"] != {"String": "▁"} or step["content"] != " ":
                    return None
                spaces = True
            if step["type"] == "Strip":
                if step["content"] != " " or step["stop"] or "Fuse" not in kinds[:place]:
                    return None
                strip += int(step["start"])
        if not spaces:
            return None
        return cls(_metaspace_piece if "ByteFallback" in kinds else _spaced_piece, strip)


def _flatten(decoder: dict[str, Any]) -> list[dict[str, Any]]:
    if decoder["type"] != "Sequence":
        return [decoder]
    return [step for inner in decoder["decoders"] for step in _flatten(inner)]


def _special_ids(tokenizer: Any) -> frozenset[int]:
    """The ids that the tokenizer's own decoding leaves out."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return frozenset(int(token) for token, what in added.items() if what.special) | frozenset(
        int(token) for token in tokenizer.all_special_ids)


def _byte_alphabet() -> dict[str, int]:
    """Byte-level BPE's characters: printable Latin-1 bytes stand for themselves, the other 68 for 256, 257, …"""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(plain))
    return {chr(byte): byte for byte in plain} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTES = _byte_alphabet()


def _byte_level_piece(name: str) -> bytes:
    try:
        return bytes([_BYTES[character] for character in name])
    except KeyError:  # an added token, written as plain text
        return name.encode()


def _spaced_piece(name: str) -> bytes:
    return name.replace("▁", " ").encode()


def _metaspace_piece(name: str) -> bytes:
    if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
        try:
            return bytes.fromhex(name[3:5])
        except ValueError:
            pass
    return _spaced_piece(name)


def _readable(piece: bytes) -> str:
    """The piece's text, with bytes that are no whole character, and control characters, as ⟨hex⟩."""
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        text = piece.decode(errors="surrogateescape")
    if text.isprintable():
        return text
    out: list[str] = []
    run: list[str] = []
    for character in text:
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:  # how surrogateescape writes a lone byte
            run.append(f"{code - 0xDC00:02X}")
            continue
        if (code < 0x20 and character not in "\t\n\r") or code == 0x7F:
            run.append(f"{code:02X}")
            continue
        if run:
            out.append(f"⟨{' '.join(run)}⟩")
            run.clear()
        out.append(character)
    if run:
        out.append(f"⟨{' '.join(run)}⟩")
    return "".join(out)


def token_texts(tokenizer: Any, size: int) -> tuple[str, ...]:
    """``size`` readable texts, one per id; see :meth:`TokenTable.text`."""
    table = TokenTable.of(tokenizer)
    return tuple(table.text(token) for token in range(size))


class Detokenizer:
    """Turns ids into text one by one. The pushes and :meth:`finish` joined are the tokenizer's decoding of them all.

    A token that ends in the middle of a character adds what was whole; the token that completes the character adds
    it. Special tokens add "". With ``after``, ids that stand before (a prompt) shape the start (its leading space)
    but aren't shown.
    """

    def __init__(self, table: TokenTable, after: Sequence[int] = ()) -> None:
        self._table = table
        self._strip = table.strip
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._ids: list[int] = []
        self._shown = ""
        self._waiting = 0
        for token in after[-_WINDOW:]:
            self.push(token)
        self._utf8.reset()  # half a character in the prompt isn't part of the output

    def push(self, token: int) -> str:
        """What this id adds to the text; "" while a character is unfinished."""
        pieces = self._table.pieces
        if pieces is None:
            return self._push_by_window(token)
        piece = pieces[token] if 0 <= token < len(pieces) else b""
        return self._stripped(self._utf8.decode(piece))

    def finish(self) -> str:
        """The end: what was still unfinished, as replacement characters (U+FFFD)."""
        if self._table.pieces is None:
            rest = self._table.decode(self._ids)[len(self._shown):]
            self._shown += rest
            return rest
        return self._stripped(self._utf8.decode(b"", final=True))

    def fork(self) -> Detokenizer:
        """A copy that goes on by itself: for a branch that continues otherwise."""
        twin = Detokenizer(self._table)
        twin._strip = self._strip
        twin._utf8.setstate(self._utf8.getstate())
        twin._ids = list(self._ids)
        twin._shown = self._shown
        twin._waiting = self._waiting
        return twin

    def _stripped(self, text: str) -> str:
        """The first spaces of a whole text are left out, however many tokens they come in."""
        while self._strip and text:
            if text[0] != " ":
                self._strip = 0
            else:
                self._strip -= 1
                text = text[1:]
        return text

    def _push_by_window(self, token: int) -> str:
        self._ids.append(token)
        text = self._table.decode(self._ids)
        if text.endswith(REPLACEMENT) and self._waiting < _LONGEST_CHARACTER - 1:
            self._waiting += 1
            return ""
        self._waiting = 0
        new = text[len(self._shown):]
        self._shown = text
        if len(self._ids) >= _WINDOW:
            self._ids = self._ids[-_KEPT:]
            self._shown = self._table.decode(self._ids)
        return new


class StopStrings:
    """Finds the first of several stop texts in a text that comes in pieces, also where one spans pieces.

    ``texts`` are non-empty. Positions count characters of the whole output.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(text for text in texts if text)
        self._overlap = max((len(text) for text in self._texts), default=1) - 1
        self._tail = ""
        self._seen = 0
        self.found: int | None = None
        """Where the stop text begins; None while none has appeared."""

    def push(self, piece: str) -> int | None:
        """Add a piece of text; the index at which the earliest stop text begins, once one is complete.

        After that the answer stays the same, whatever is pushed.
        """
        if self.found is None and piece:
            text = self._tail + piece
            start = self._seen - len(self._tail)
            places = [place for stop in self._texts if (place := text.find(stop)) >= 0]
            self.found = start + min(places) if places else None
            self._seen += len(piece)
            self._tail = text[-self._overlap:] if self._overlap else ""
        return self.found

    def fork(self) -> StopStrings:
        """A copy that goes on by itself."""
        twin = StopStrings(self._texts)
        twin._tail, twin._seen, twin.found = self._tail, self._seen, self.found
        return twin
