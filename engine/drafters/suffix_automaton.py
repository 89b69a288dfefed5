"""Where the end of a growing text occurred before: a suffix automaton (Blumer, Blumer, Haussler, Ehrenfeucht, Chen and
Seiferas, "The smallest automaton recognizing the subwords of a text", 1985).

Each state stands for the strings that end at the same places of the text; they are suffixes of one another. A state's
link leads to the longest suffix that ends at further places too, and an arrow leads to the strings one token longer.
So the arrows out of a suffix are exactly the tokens that ever followed it. Reading a token takes amortised constant
time, whatever the text: a state is made once, once more at most when it has to be split, and each link that is followed
shortens what can be followed later.

How often and where last a string occurred changes for every suffix of the text with every token. A text of n equal
tokens has n suffixes, so this is told for strings up to ``reach`` + 1 tokens only: at most so many links a token.

Several texts are told apart by a border behind each: a token that occurs nowhere else, so no string that repeats holds
one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

ROOT = 0
"""The state of the empty string."""
NONE = -1


class Place(NamedTuple):
    """A string that occurred: its state, and its length in tokens."""

    state: int
    length: int


class Follower(NamedTuple):
    """A token that followed a string, and the occurrences of both together. Places count the tokens before them."""

    token: int
    times: int
    earliest: int
    """Where the string's earliest occurrence with this token behind it ends."""
    latest: int


class SuffixAutomaton:
    def __init__(self, reach: int) -> None:
        """``reach``: tokens of the longest suffix that is looked for, 1 or more."""
        self.reach = reach
        self.size = 0
        """Tokens read, borders included."""
        self.steps = 0
        """Links followed and arrows drawn so far: what reading cost."""
        self._arrows: list[dict[int, int]] = []
        self._link: list[int] = []
        self._length: list[int] = []
        """Of the state's longest string."""
        self._count: list[int] = []
        self._earliest: list[int] = []
        """Tokens up to the end of the earliest occurrence."""
        self._latest: list[int] = []
        self._whole = self._add(0, {}, NONE)
        """The state of all that was read."""
        self._tail = Place(ROOT, 0)
        """Its longest suffix whose occurrences are told."""
        self._borders = 0

    def read(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            self._read(token)

    def border(self) -> None:
        """End a text: no string runs from it into what is read next."""
        self._borders += 1
        self._read(-self._borders)

    def end(self) -> Place:
        """The longest suffix of what was read, up to ``reach`` tokens."""
        return self._within(self._tail.state, min(self._tail.length, self.reach))

    def followed(self, place: Place) -> Place:
        """The longest suffix of ``place`` that a token ever followed; the empty string if there is none."""
        state, length = place
        while state != ROOT and all(token < 0 for token in self._arrows[state]):
            state = self._link[state]
            length = self._length[state]
        return Place(state, length)

    def followers(self, place: Place) -> list[Follower]:
        """The tokens that ever followed ``place``."""
        return [Follower(token, self._count[to], self._earliest[to] - 1, self._latest[to] - 1)
                for token, to in self._arrows[place.state].items() if token >= 0]

    def after(self, place: Place, token: int) -> Place:
        """The longest suffix of ``place`` and ``token`` that occurred, up to ``reach`` tokens."""
        state, length = place
        while token not in self._arrows[state]:
            if state == ROOT:
                return Place(ROOT, 0)
            state = self._link[state]
            length = self._length[state]
        return self._within(self._arrows[state][token], min(length + 1, self.reach))

    def _read(self, token: int) -> None:
        self.size += 1
        whole = self._add(self.size, {}, ROOT, earliest=self.size)
        state = self._whole
        while state != NONE and token not in self._arrows[state]:
            self._arrows[state][token] = whole
            state = self._link[state]
            self.steps += 1
        if state != NONE:  # this suffix has been followed by the token before
            self._link[whole] = self._alone(state, token)
        self._whole = whole
        self._tell(token)

    def _alone(self, state: int, token: int) -> int:
        """The state in which ``state``'s longest string and ``token`` are the longest one, split off if need be: it
        ends here now, where longer strings do not."""
        old = self._arrows[state][token]
        length = self._length[state] + 1
        if self._length[old] == length:
            return old
        new = self._add(length, dict(self._arrows[old]), self._link[old], self._count[old], self._earliest[old],
                        self._latest[old])
        self.steps += len(self._arrows[old])
        self._link[old] = new
        while state != NONE and self._arrows[state].get(token) == old:
            self._arrows[state][token] = new
            state = self._link[state]
            self.steps += 1
        return new

    def _tell(self, token: int) -> None:
        """Count the occurrence that ends here, of each suffix within reach."""
        state, length = self._within(*self._tail)  # its state may have been split
        state, length = self._tail = self._within(self._arrows[state][token], min(length + 1, self.reach + 1))
        while state != ROOT:
            self._count[state] += 1
            self._latest[state] = self.size
            state = self._link[state]
            self.steps += 1

    def _within(self, state: int, length: int) -> Place:
        """The suffix of this length of a string of ``state``."""
        while state != ROOT and self._length[self._link[state]] >= length:
            state = self._link[state]
            self.steps += 1
        return Place(state, length)

    def _add(self, length: int, arrows: dict[int, int], link: int, count: int = 0, earliest: int = 0,
             latest: int = 0) -> int:
        self._length.append(length)
        self._arrows.append(arrows)
        self._link.append(link)
        self._count.append(count)
        self._earliest.append(earliest)
        self._latest.append(latest)
        self.steps += 1
        return len(self._link) - 1
