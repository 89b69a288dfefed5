"""The ways to draft, by name: one line a method. Nothing here loads torch; a method's module is imported when a lane
first uses it.

A package outside adds one through the entry-point group ``specscope.drafters``. The entry point's name is the method's
name, and what it points to is a module, class or other object that has ``make`` (a
:class:`engine.drafters.base.Maker`) and may have ``label``, ``guess``, ``gamma`` and ``draws``; docs/drafters.md shows
one.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from engine.errors import ModelError

GROUP = "specscope.drafters"
MAX_GAMMA = 64


@dataclass(frozen=True)
class Method:
    """One way to draft."""

    kind: str
    """Its name in settings and on the command line."""
    label: str
    """How its lane is named on screen."""
    guess: str
    """How it guesses, in one line, for a person who chooses."""
    gamma: int
    """Draft length unless one is asked for."""
    module: str
    """Where its ``make`` is."""
    model: str = ""
    """What may stand behind the name, as in ``eagle:FOLDER``; "": nothing may."""
    needs_model: bool = False
    """It can't do without."""
    trees: bool = False
    """It can draft a tree."""
    draws: bool = False
    """It draws from a distribution of its own, so it can stop on its own confidence."""


_CHECKPOINT = "a folder or a hub id"

_OWN = (
    Method("none", "Plain decoding", "the target alone, one token a forward", 0, "engine.drafters.plain"),
    Method("ngram", "Prompt lookup", "copies what followed the same words before", 31, "engine.drafters.ngram"),
    Method("layer-skip", "Layer skip", "the target itself, with some layers left out", 3, "engine.drafters.layer_skip",
           draws=True),
    Method("model", "Draft model", "a smaller model of the same tokenizer", 4, "engine.drafters.model",
           "a folder, a .gguf file or a hub id", needs_model=True, draws=True),
    Method("draft", "Distilled draft", "a few layers trained to imitate the target", 4, "engine.drafters.draft",
           _CHECKPOINT, draws=True),
    Method("eagle", "EAGLE", "one light layer continues the target's own features", 4, "engine.drafters.eagle",
           _CHECKPOINT, trees=True, draws=True),
    Method("medusa", "Medusa", "extra heads on the target's last feature guess several tokens at once", 4,
           "engine.drafters.medusa", _CHECKPOINT, trees=True, draws=True),
)


@cache
def _points() -> dict[str, EntryPoint]:
    """Methods of packages outside, by name; a name of ours wins."""
    return {point.name: point for point in entry_points(group=GROUP) if not own(point.name)}


def kinds() -> tuple[str, ...]:
    """The names of all methods, ours first."""
    return (*(method.kind for method in _OWN), *sorted(_points()))


def known(kind: str) -> bool:
    return kind in kinds()


def own(kind: str) -> bool:
    """Is it one of ours, not another package's?"""
    return any(method.kind == kind for method in _OWN)


def method(kind: str) -> Method:
    """Raises :class:`ModelError` for a name that no method has, or when a package's entry point can't be used."""
    for one in _OWN:
        if one.kind == kind:
            return one
    if kind not in _points():
        raise ModelError(f"No way to draft is called {kind!r}; there are {', '.join(kinds())}.")
    made = _outside(kind)
    gamma = getattr(made, "gamma", 4)
    if type(gamma) is not int or not 1 <= gamma <= MAX_GAMMA:
        raise ModelError(f"The drafter {kind} can't be used: its gamma is {gamma!r}, but a draft length is a whole "
                         f"number from 1 to {MAX_GAMMA}; see docs/drafters.md.")
    return Method(kind, str(getattr(made, "label", kind)), str(getattr(made, "guess", f"as the package's {kind} does")),
                  gamma, _points()[kind].value, draws=bool(getattr(made, "draws", False)))


def maker(kind: str) -> Any:
    """The ``make`` of a method, a :class:`engine.drafters.base.Maker`. Raises as :func:`method` does."""
    found = method(kind)
    owner = importlib.import_module(found.module) if own(kind) else _outside(kind)
    return owner.make


@cache
def _outside(kind: str) -> Any:
    point = _points()[kind]
    try:
        made = point.load()
    except (Exception, SystemExit) as error:  # whatever another package's code raises, a script's sys.exit() too
        raise ModelError(f"The drafter {kind} can't be loaded: {point.value} failed; update the package that brings "
                         "it, or remove it.", details=f"{type(error).__name__}: {error}") from error
    if not callable(getattr(made, "make", None)):
        raise ModelError(f"The drafter {kind} can't be used: {point.value} has no make(); see docs/drafters.md.")
    return made
