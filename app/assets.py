"""Where the files that ship with the program lie."""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).resolve().parent.parent / "assets"
EXAMPLES = ASSETS / "examples"
DEMO = ASSETS / "demo"


def demo_recording() -> Path | None:
    """The race that plays at the start; None in a checkout that has none."""
    return min(DEMO.glob("*.spectrace*"), default=None)
