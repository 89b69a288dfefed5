"""Traces that travel: what other programs write becomes our records, and our records what other programs open.

One file a format; :mod:`engine.formats.registry` lists them, :mod:`engine.formats.conversion` goes from one to another.
"""

from engine.formats.conversion import Conversion, convert, save
from engine.formats.errors import FormatError
from engine.formats.format import Format
from engine.formats.registry import FORMATS, READABLE, WRITABLE, read

__all__ = ["FORMATS", "READABLE", "WRITABLE", "Conversion", "Format", "FormatError", "convert", "read", "save"]
