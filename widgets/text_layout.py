"""Where each token of a stream stands: lines of fragments, wrapped softly, laid out as tokens come.

Newlines and indentation of the output are kept as they are. A proposed token that was not (or not yet) committed never
breaks a line: its newline is shown as a sign. Layout is incremental: a line is kept once all that decided its end is
settled, and only what stands behind it is laid out again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from widgets.protocols import CellView

NEWLINE = "↵"
TAB = "\t"
TAB_STOP = 4
SLIVER = 0.4
"""Width, in characters, of a token that adds no text (yet): it is a token all the same."""
GHOSTS = frozenset({"rejected", "void"})
COMMITTED = frozenset({"accepted", "correction", "bonus", "plain", "prompt"})

_BREAKS = ("\n", "\r\n")
_HARD = re.compile(r"(\r\n|\n|\t)")
_SPACES = re.compile("   +")
_WORDS = re.compile(r"\s*\S+|\s+")
# Scripts that join, reorder or combine across tokens: their lines are shaped as a whole (see shaped_line.py).
_SHAPED = re.compile(
    "[\u0300-\u036f\u0590-\u0fff\u1000-\u109f\u1780-\u17ff\u1ab0-\u1aff\u1dc0-\u1dff\u200c-\u200f\u202a-\u202e"
    "\u2066-\u2069\u20d0-\u20ff\ua840-\uabff\ufb1d-\ufdff\ufe00-\ufe0f\ufe20-\ufe2f\ufe70-\ufefe"
    "\U00010800-\U00011fff\U0001e800-\U0001efff\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
# A CJK character may stand at either side of a line's end.
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


OPEN = 2**62
"""A line whose end no cell has decided yet: the last one."""


class Fragment(NamedTuple):
    """A piece of one cell's text on one line."""

    cell: int
    text: str
    x: float
    width: float


class Place(NamedTuple):
    """Where a line starts: in which cell, at which of the cell's pieces, at which character of it."""

    cell: int
    piece: int
    offset: int


@dataclass(slots=True)
class Line:
    start: Place
    wrapped: bool
    """It continues the line above."""
    indent: float
    """Width of the leading spaces of the line of text that it belongs to."""
    right: float
    """Where its next fragment goes."""
    fragments: list[Fragment] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    """Where each fragment starts, so that a word can be carried over to the next line."""
    shaped: bool = False
    decided_by: int = OPEN
    """The cell that made the line end here."""


class TextLayout:
    """``measure`` gives the width of a text without tabs or newlines, ``advance`` that of one ASCII character."""

    def __init__(self, measure: Callable[[str], float], advance: float) -> None:
        self.measure = measure
        self.advance = advance
        self.width = 0.0
        self.ghosts = True
        self.prompt = False
        self.reset()

    def reset(self, width: float | None = None) -> None:
        if width is not None:
            self.width = max(width, 8 * self.advance)
        self.lines: list[Line] = []
        self.laid_out = 0
        """Cells that have been laid out."""
        self._sure = 0
        """Cells that were settled when they were laid out."""
        self._line = Line(Place(0, 0, 0), False, 0.0, 0.0)

    def sync(self, cells: Sequence[CellView], settled: int, budget: int = 1 << 30) -> bool:
        """Lay out what is new, at most ``budget`` cells of it; False if there is more to do."""
        start = self._drop_unsure()
        end = min(len(cells), self.laid_out + budget)
        self._lay_out(cells, start, end)
        self.laid_out = end
        self._sure = min(settled, end)
        return end == len(cells)

    def as_of(self, cells: Sequence[CellView], settled: int) -> list[Line]:
        """The lines of an earlier moment, whose first ``settled`` cells are those laid out here: all lines that were
        decided by then are shared, and only what stands behind them is laid out."""
        kept = bisect_left(self.lines, min(settled, self._sure), key=lambda line: line.decided_by)
        tail = TextLayout(self.measure, self.advance)
        tail.ghosts, tail.prompt, tail.width = self.ghosts, self.prompt, self.width
        start = tail.go_on_from(self.lines[kept]) if kept < len(self.lines) else Place(0, 0, 0)
        tail._lay_out(cells, start, len(cells))
        return self.lines[:kept] + tail.lines

    def last(self, cells: Sequence[CellView], room: float) -> Line:
        """One line of as many of the last cells as fit, newlines as signs: where only one line is seen, the wrapped
        one would begin with a word or two again and again."""
        shown: list[tuple[Place, str, float]] = []
        for index in range(len(cells) - 1, -1, -1):
            if not self._shows(cells[index]):
                continue
            found = list(self._flat(cells[index], index))
            room -= sum(width for _, _, width in found)
            if room < 0 and shown:
                break
            shown[:0] = found
            if room < 0:
                break
        line = Line(shown[0][0] if shown else Place(0, 0, 0), False, 0.0, 0.0)
        for place, text, width in shown:
            line.fragments.append(Fragment(place.cell, text, line.right, width))
            line.places.append(place)
            line.right += width
            line.shaped = line.shaped or _is_shaped(text)
        return line

    def _flat(self, cell: CellView, index: int) -> Iterator[tuple[Place, str, float]]:
        """Its pieces and their widths on a line that nothing breaks."""
        for number, piece in enumerate(pieces(cell)):
            text = NEWLINE if piece in _BREAKS else piece
            yield Place(index, number, 0), text, (
                TAB_STOP * self.advance if text == TAB else self.measure(text) if text else SLIVER * self.advance)

    def _shows(self, cell: CellView) -> bool:
        return not (cell.aside or (cell.kind in GHOSTS and not self.ghosts)
                    or (cell.kind == "prompt" and not self.prompt))

    def _drop_unsure(self) -> Place:
        """Forget the lines whose end was decided by a cell that wasn't settled then, and start where they did."""
        lines = self.lines
        first = None
        while lines and lines[-1].decided_by >= self._sure:
            first = lines.pop()
        return Place(0, 0, 0) if first is None else self.go_on_from(first)

    def go_on_from(self, line: Line) -> Place:
        """Lay this line out again; returns where it starts."""
        self._line = Line(line.start, line.wrapped, line.indent if line.wrapped else 0.0,
                          self._margin(line.indent) if line.wrapped else 0.0)
        return line.start

    def _lay_out(self, cells: Sequence[CellView], start: Place, end: int) -> None:
        for index in range(start.cell, end):
            cell = cells[index]
            if not self._shows(cell):
                continue
            for number, piece in enumerate(pieces(cell)):
                offset = 0
                if index == start.cell:
                    if number < start.piece:
                        continue
                    offset = start.offset if number == start.piece else 0
                place = Place(index, number, offset)
                if piece in _BREAKS:
                    self._put(place, NEWLINE, self.advance)
                    self._break(Place(index, number + 1, 0), decided_by=index)
                elif piece == TAB:
                    stop = TAB_STOP * self.advance
                    self._put(place, TAB, stop - self._line.right % stop)
                else:
                    self._put_text(place, piece[offset:])
        self.lines.append(self._line)

    def _put_text(self, place: Place, text: str) -> None:
        width = self.measure(text) if text else SLIVER * self.advance
        if self._line.right + width > self.width and self._line.fragments:
            self._wrap(place, text)
        while text and self._line.right + width > self.width:  # longer than a whole line
            count = self._fitting(text, self.width - self._line.right)
            if count == len(text):
                break
            self._put(place, text[:count], self.measure(text[:count]))
            place, text = place._replace(offset=place.offset + count), text[count:]
            self._break(place, decided_by=place.cell, wrapped=True)
            width = self.measure(text)
        self._put(place, text, width)

    def _put(self, place: Place, text: str, width: float) -> None:
        line = self._line
        if not line.wrapped and line.right == line.indent and text[:1] == " ":
            line.indent += (len(text) - len(text.lstrip(" "))) * self.advance
        line.fragments.append(Fragment(place.cell, text, line.right, width))
        line.places.append(place)
        line.right += width
        line.shaped = line.shaped or _is_shaped(text)

    def _wrap(self, place: Place, text: str) -> None:
        """Begin a new line before ``text``, carrying over the beginning of its word if that is on this line."""
        fragments, places = self._line.fragments, self._line.places
        cut = len(fragments)
        after = text
        while cut > 0 and not _may_break(fragments[cut - 1].text, after):
            cut -= 1
            after = fragments[cut].text
        if cut == 0:  # one long word fills the line: cut it here
            cut = len(fragments)
        carried, carried_places = fragments[cut:], places[cut:]
        if carried:
            self._line.right = carried[0].x
        del fragments[cut:], places[cut:]
        self._break(carried_places[0] if carried else place, decided_by=place.cell, wrapped=True)
        for fragment, start in zip(carried, carried_places, strict=True):
            self._put(start, fragment.text, fragment.width)

    def _break(self, start: Place, decided_by: int, wrapped: bool = False) -> None:
        self._line.decided_by = decided_by
        self.lines.append(self._line)
        indent = self._line.indent if wrapped else 0.0
        self._line = Line(start, wrapped, indent, self._margin(indent) if wrapped else 0.0)

    def _margin(self, indent: float) -> float:
        """A continued line hangs two characters in, so that it isn't taken for a line of the text."""
        return min(indent, self.width / 2) + 2 * self.advance

    def _fitting(self, text: str, room: float) -> int:
        """How many characters of ``text`` fit; at least one, and nothing is cut before a combining character."""
        count = max(1, min(len(text), int(room / self.advance)))
        while count > 1 and self.measure(text[:count]) > room:
            count -= 1
        while 1 < count < len(text) and _SHAPED.match(text[count]):
            count -= 1
        return count


def line_of(lines: Sequence[Line], cell: int) -> int | None:
    """The line on which a cell begins; None if it isn't shown."""
    first = max(0, bisect_left(lines, cell, key=lambda line: line.start.cell) - 1)
    for index in range(first, len(lines)):
        line = lines[index]
        if line.start.cell > cell:
            break
        if any(fragment.cell == cell for fragment in line.fragments):
            return index
    return None


def pieces(cell: CellView) -> Iterator[str]:
    """A cell's text, cut at newlines and tabs where those count."""
    text = cell.text
    kind = cell.kind
    if not text:
        # A part of a character, or the end token: it adds no text but is a token all the same.
        yield cell.label if cell.label.startswith("<") else ""
    elif kind not in COMMITTED and not (text.isascii() and text.isprintable() and "   " not in text):
        text = text.replace("\r\n", NEWLINE).replace("\n", NEWLINE).replace("\t", "⇥")
        yield _visible(_SPACES.sub("  ", text))  # a ghost's indentation would push the real text away
    elif kind == "prompt":
        for part in filter(None, _HARD.split(text)):
            yield from [part] if _HARD.match(part) else map(_visible, _WORDS.findall(part))
    elif text.isascii() and text.isprintable():
        yield text
    else:
        for part in filter(None, _HARD.split(text)):
            yield part if _HARD.match(part) else _visible(part)


def _visible(text: str) -> str:
    """Control characters as code points; what joins or directs neighbours stays, for shaping."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or _SHAPED.match(c) or c.isspace() else f"⟨{ord(c):02X}⟩" for c in text)


def _is_shaped(text: str) -> bool:
    return not text.isascii() and _SHAPED.search(text) is not None


def _may_break(before: str, after: str) -> bool:
    """May a line end between two fragments?"""
    if not before or not after:
        return False
    return (after[0].isspace() or before[-1].isspace() or before[-1] in "-–—/"
            or _WIDE.match(before[-1]) is not None or _WIDE.match(after[0]) is not None)
