"""Ways to damage a trace: each is handed a source of chance and a healthy trace, as lines or as packed bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

Lines = list[bytes]

RAW: tuple[bytes, ...] = (
    b"null", b"true", b'""', b'"text"', b"[]", b"{}", b"-1", b"0", b"1.5", b"1000000000", b"1099511627777",
    b"9" * 40, b"9" * 5000, b"1e308", b"1e999", b"-1e999", b"NaN", b"Infinity", b"-Infinity", b'"\\ud800"',
    b'"\xff\xfe"', b"[" * 200 + b"]" * 200, b"[" * 100_000, b'{"a":' * 50_000, b"[" + b"0," * 200_000 + b"0]",
    b'"' + b"A" * 300_000 + b'"', b"[null]", b"[[1,2],[3]]", b'["1"]', b'{"-1":""}', b"\x00", b"")
"""What stands in the place of a value."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values inside."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(p for key, part in parts for p in places(part, (*path, key)))]


def with_value(line: bytes, chance: Random, raw: bytes) -> bytes:
    """One value anywhere in the line replaced by ``raw``, which need not be JSON."""
    mark = "a place that is nowhere else"
    whole = json.loads(line)
    *way, last = chance.choice(places(whole))
    part = whole
    for key in way:
        part = part[key]
    part[last] = mark
    return json.dumps(whole).encode().replace(json.dumps(mark).encode(), raw)


def some(lines: Lines, chance: Random) -> int:
    return chance.randrange(len(lines))


def other_value(chance: Random, lines: Lines) -> None:
    place = some(lines, chance)
    lines[place] = with_value(lines[place], chance, chance.choice(RAW))


def other_number(chance: Random, lines: Lines) -> None:
    """A number of the right type that contradicts the others."""
    place = some(lines, chance)
    lines[place] = with_value(lines[place], chance, str(chance.choice((0, 1, 2, 3, 5, 64, 65, 10**9))).encode())


def lost_field(chance: Random, lines: Lines) -> None:
    place = some(lines, chance)
    whole = json.loads(lines[place])
    del whole[chance.choice(list(whole))]
    lines[place] = json.dumps(whole).encode()


def lost_line(chance: Random, lines: Lines) -> None:
    del lines[some(lines, chance)]


def line_again(chance: Random, lines: Lines) -> None:
    lines.insert(some(lines, chance), lines[some(lines, chance)])


def lines_swapped(chance: Random, lines: Lines) -> None:
    a, b = some(lines, chance), some(lines, chance)
    lines[a], lines[b] = lines[b], lines[a]


def shuffled(chance: Random, lines: Lines) -> None:
    rest = lines[1:]
    chance.shuffle(rest)
    lines[1:] = rest


def glued(chance: Random, lines: Lines) -> None:
    place = chance.randrange(len(lines) - 1)
    lines[place : place + 2] = [lines[place] + lines[place + 1]]


def strange_line(chance: Random, lines: Lines) -> None:
    lines.insert(some(lines, chance), chance.choice((
        b"", b"\x00" * 1000, b"[" * 1_000_000, b"{}", b"null", b'{"type":"Unheard"}', b'{"type":7}',
        b'{"type":"' + b"A" * 500_000 + b'"}', b"\xef\xbb\xbf{}", chance.randbytes(500),
        b'{"type":"Drafted","junk":' + b"[" * 500_000 + b"]" * 500_000 + b"}")))


def other_words(chance: Random, lines: Lines) -> None:
    """A name anywhere in a line replaced by another that occurs."""
    place = some(lines, chance)
    names = [b'"lane"', b'"run"', b'"round"', b'"type"', b'"k"', b'"tokens"', b'"Judged"', b'"Drafted"', b'"Verified"',
             b'"Committed"', b'"RunStarted"', b'"correction"', b'"bonus"', b'"none"', b'"plain"', b'"ngram"']
    here = [name for name in names if name in lines[place]]
    lines[place] = lines[place].replace(chance.choice(here), chance.choice(names), 1)


LINES: tuple[Callable[[Random, Lines], None], ...] = (
    other_value, other_value, other_number, other_number, lost_field, lost_line, line_again, lines_swapped, shuffled,
    glued, strange_line, other_words)
"""Before packing."""


def cut(chance: Random, content: bytearray) -> None:
    del content[chance.randrange(len(content)) :]


def flipped(chance: Random, content: bytearray) -> None:
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def overwritten(chance: Random, content: bytearray) -> None:
    place, size = chance.randrange(len(content)), chance.choice((1, 4, 100, 4000))
    content[place : place + size] = chance.choice((
        chance.randbytes(size), b"\x00" * size, b"\n" * size, b"\xff" * size))


def piece_lost(chance: Random, content: bytearray) -> None:
    place = chance.randrange(len(content))
    del content[place : place + chance.choice((1, 2, 50, 5000))]


def piece_again(chance: Random, content: bytearray) -> None:
    a, b = sorted((chance.randrange(len(content)), chance.randrange(len(content))))
    place = chance.randrange(len(content))
    content[place:place] = content[a:b]


def other_start(chance: Random, content: bytearray) -> None:
    content[: chance.choice((1, 2, 4, 10))] = chance.choice((
        b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"", b"PK\x03\x04", b"\x00"))


BYTES: tuple[Callable[[Random, bytearray], None], ...] = (
    cut, cut, flipped, flipped, flipped, overwritten, piece_lost, piece_again, other_start)
"""After packing."""
