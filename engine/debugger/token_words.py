"""Token texts in a sentence: on one line, made visible, cut where they are long."""

from __future__ import annotations

import re

LONGEST = 24
"""Characters of one token's text within a sentence."""
_SIGNS = str.maketrans({" ": "·", "\n": "↵", "\r": "␍", "\t": "⇥"})
_INDENT = re.compile(" {3,}")
_KEEP = "\u200c\u200d"
"""Join characters within one letter or emoji: shown as what they do."""


def readable(text: str) -> str:
    """A token's text made visible on its own: spaces, newlines, tabs and control characters shown."""
    shown = text.translate(_SIGNS)
    if shown.isprintable():
        return shown
    kept = _KEEP if shown.strip(_KEEP) else ""  # a joiner by itself joins nothing
    return "".join(c if c.isprintable() or c in kept else f"⟨{ord(c):02X}⟩" for c in shown)


def one_line(text: str) -> str:
    """A text as it reads, on one line: newlines and tabs as signs, spaces as they are."""
    return " ".join(readable(part) for part in text.split(" "))


def squeezed(text: str) -> str:
    """On one line, and with no room given to indentation: for a prefix, whose end is what matters."""
    return _INDENT.sub("  ", one_line(text))


def quoted(text: str) -> str:
    """A token within a sentence: “·green”."""
    shown = readable(text)
    return f"“{shown if len(shown) <= LONGEST else shown[:LONGEST - 1] + '…'}”"


def compared(a: float, b: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart, three at least, nine at most."""
    digits = 3
    while digits < 9 and a != b and plain(a, digits) == plain(b, digits):
        digits += 1
    return plain(a, digits), plain(b, digits)


def plain(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, and not in powers of ten unless it is tiny."""
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{digits}g}" if abs(value) < 1 else f"{value:.{max(2, digits - 1)}f}"
