"""What a person is told in the window's notice bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Notice:
    """Something a person should read: one sentence, and details that can be copied."""

    sentence: str
    details: str = ""
    bad: bool = True
    about: Literal["", "form", "recording"] = ""
    """What must be put right for the notice to go by itself."""
