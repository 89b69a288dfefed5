"""What goes wrong with files of other programs."""

from __future__ import annotations

from engine.errors import SpecScopeError


class FormatError(SpecScopeError):
    """A file can't be converted: names the file, the line or row, and what was expected there."""
