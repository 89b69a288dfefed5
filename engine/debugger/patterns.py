"""Regular expressions that a person types, kept to those that can't run away.

Python's engine backtracks: ``(a+)+$`` takes hours on forty letters. So a pattern may repeat a few times only, never
something that itself repeats or chooses, and the texts it is held against are cut short.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.errors import SpecScopeError

MAX_PATTERN = 100
MAX_REPEATS = 3
MAX_CHOICES = 8
MAX_SEARCHED = 64
"""Characters of a text that are looked at."""


class PatternError(SpecScopeError):
    """A pattern isn't one, or could take too long."""


@lru_cache(maxsize=64)
def pattern(text: str) -> re.Pattern[str]:
    """Raises :class:`PatternError` saying why it can't be used."""
    if len(text) > MAX_PATTERN:
        raise PatternError(f"The pattern has {len(text)} characters; {MAX_PATTERN} is the most.")
    _check_pace(text)
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"The pattern isn't a regular expression: {error}.") from None


def found(text: str, where: str) -> bool:
    return pattern(text).search(where[:MAX_SEARCHED]) is not None


def _check_pace(text: str) -> None:
    repeats = choices = 0
    groups: list[bool] = []
    """Of each open group: does it repeat or choose inside?"""
    place, closed = 0, False
    while place < len(text):
        sign, was_closed, closed = text[place], closed, False
        if sign == "\\":
            if text[place + 1 : place + 2].isdigit() or text[place + 1 : place + 2] == "N":
                raise PatternError("The pattern refers back to a group; that isn't supported here.")
            place += 1
        elif sign == "[":
            place = _end_of_set(text, place)
        elif sign == "(":
            if re.match(r"\(\?[(P]", text[place:]):
                raise PatternError("The pattern names a group or asks for one; that isn't supported here.")
            groups.append(False)
            if text[place + 1 : place + 2] == "?":
                place += 1
        elif sign == ")" and groups:
            closed = groups.pop()
            groups[-1:] = [groups[-1] or closed] if groups else []
        elif sign == "|":
            choices += 1
            groups = [True] * len(groups)
        elif sign in "*+?" or re.match(r"\{\d*,?\d*\}", text[place:]):
            if was_closed:
                raise PatternError("The pattern repeats what itself repeats or chooses, which can take forever.")
            repeats += not (sign in "+?" and text[place - 1 : place] in ("*", "+", "?", "}"))
            groups = [True] * len(groups)
        place += 1
    if repeats > MAX_REPEATS or choices > MAX_CHOICES:
        raise PatternError(f"The pattern may have {MAX_REPEATS} repetitions and {MAX_CHOICES} choices at most, so that "
                           "it can't take long.")


def _end_of_set(text: str, start: int) -> int:
    """The place of the ``]`` that closes the set."""
    place = start + 1 + (text[start + 1 : start + 2] == "^")
    first = place
    while place < len(text) and (text[place] != "]" or place == first):
        if text[place] == "\\":
            place += 1
        elif text[place] == "[" or text[place : place + 2] in ("--", "&&", "~~", "||"):
            raise PatternError("In a set, write [ as \\[ and don't double a sign.")
        place += 1
    return place
