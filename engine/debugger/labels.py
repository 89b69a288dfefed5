"""A token's text made visible on its own, for labels: spaces, line ends and control characters shown."""

from __future__ import annotations

_SIGNS = str.maketrans({" ": "·", "\n": "↵", "\r": "␍", "\t": "⇥"})


def visible(text: str) -> str:
    """``text`` with nothing in it that can't be seen."""
    shown = text.translate(_SIGNS)
    return shown if shown.isprintable() else "".join(c if c.isprintable() else f"⟨{ord(c):02X}⟩" for c in shown)
