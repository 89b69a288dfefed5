"""The prompts that a target answers to teach its drafters: templates and fills in assets/prompts, one file a kind.

A file has a table for training and one held out from it; the two share no template and no fill, so what a drafter is
measured on it has never seen. Every combination of a template with the fills it names is a prompt.
"""

from __future__ import annotations

import math
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from typing import Literal

PATH = Path(__file__).resolve().parents[2] / "assets" / "prompts"

Split = Literal["train", "held_out"]
Table = Mapping[str, Sequence[str]]
"""One split of one kind: ``templates``, and under each name in a template's braces its fills."""


@dataclass(frozen=True)
class Prompt:
    """One message of a user, as yet without the target's chat template."""

    kind: str
    text: str


def kinds() -> tuple[str, ...]:
    """The kinds of prompts there are, in order of the alphabet."""
    return tuple(sorted(path.stem for path in PATH.glob("*.toml")))


def table(kind: str, split: Split) -> Table:
    """Templates and fills of one split. Raises ValueError if there is no such kind."""
    path = PATH / f"{kind}.toml"
    if not path.is_file():
        raise ValueError(f"No prompts of kind {kind!r}; there are {', '.join(kinds())}.")
    with path.open("rb") as file:
        return {name: [text.strip("\n") for text in texts] for name, texts in tomllib.load(file)[split].items()}


def fields(template: str) -> tuple[str, ...]:
    """The names in a template's braces, each once, in order."""
    return tuple(dict.fromkeys(name for _, name, _, _ in string.Formatter().parse(template) if name is not None))


def prompts(split: Split, per_kind: int, seed: int = 0, kinds: Sequence[str] | None = None) -> list[Prompt]:
    """Up to ``per_kind`` prompts of each kind (of all kinds without ``kinds``), none twice.

    The kinds take turns, so that any prefix is balanced for as long as each has prompts left; a kind that can't make
    ``per_kind`` gives all it has. The same arguments give the same list, and a smaller ``per_kind`` the same prompts
    first. Raises ValueError for an unknown kind.
    """
    chosen = _all_kinds() if kinds is None else tuple(dict.fromkeys(kinds))
    columns = [islice(_of_kind(kind, table(kind, split), Random(f"{seed}/{kind}/{split}")), per_kind)
               for kind in chosen]
    return [prompt for prompt in chain.from_iterable(zip_longest(*columns)) if prompt is not None]


_all_kinds = kinds
"""What the argument of the same name hides."""


def _of_kind(kind: str, parts: Table, draw: Random) -> Iterator[Prompt]:
    """All prompts of one kind in a drawn order, in which the templates take turns: one with a few fills is asked as
    often as one with many until it runs out."""
    templates = list(parts["templates"])
    draw.shuffle(templates)
    seen = set()
    for text in chain.from_iterable(zip_longest(*(_filled(template, parts, draw) for template in templates))):
        if text is not None and text not in seen:
            seen.add(text)
            yield Prompt(kind, text)


def _filled(template: str, parts: Table, draw: Random) -> Iterator[str]:
    """A template with every combination of its fills, in a drawn order."""
    names = fields(template)
    for place in _shuffled(math.prod(len(parts[name]) for name in names), draw):
        values = {}
        for name in names:
            place, at = divmod(place, len(parts[name]))
            values[name] = parts[name][at]
        yield template.format_map(values).strip()


def _shuffled(count: int, draw: Random) -> Iterator[int]:
    """The numbers below ``count`` in a drawn order, without a list of them all: there may be millions."""
    moved: dict[int, int] = {}
    for place in range(count):
        other = draw.randrange(place, count)
        chosen = moved.pop(other, other)
        if other != place:
            moved[other] = moved.pop(place, place)
        yield chosen
