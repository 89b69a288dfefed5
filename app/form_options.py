"""What can be set of one lane, by its way to draft: declared once, in a table; made into fields when a lane is opened.

Each option is one field of :class:`DrafterSettings`. What a method has no option for stays as it came.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.form_controls import Choice, Control, Source, Texts, Toggle
from app.form_fields import Field, Spec, named, number, show_number, stepper, whole, whole_stepper
from app.form_sampling import AUTO, gamma_spec
from engine import methods
from engine.errors import ModelError, SettingsError
from engine.methods import Method
from engine.settings import DrafterSettings


@dataclass(frozen=True)
class Option:
    setting: str
    """The field of the settings."""
    make: Callable[[Any], Control[Any]]
    """A control that shows this value."""
    offered: Callable[[dict[str, Any]], bool] = lambda values: True
    """Is it there, when the controls before it say this?"""
    otherwise: Any = None
    """Its value while it isn't there; None: what it was."""


def _field(spec: Spec[Any]) -> Callable[[Any], Control[Any]]:
    return lambda value: Field(spec, value)


def _gamma(tip: str) -> Callable[[Any], Control[Any]]:
    def make(value: int | None) -> Control[Any]:
        spec = gamma_spec("as below", f"{tip} as below: the one under Sampling.")
        return Field(spec, AUTO if value is None else value)
    return make


def _bound(name: str, tip: str) -> Option:
    spec = Spec(name, tip, whole(name), lambda v: DrafterSettings(min_n=1, max_n=v), str, whole_stepper())
    return Option({"shortest": "min_n", "longest": "max_n"}[name], _field(spec))


def read_layers(text: str) -> tuple[int, ...]:
    """Layer numbers, parted by commas or blanks; 4-7 is a range; auto or nothing: the method chooses."""
    if text.lower() in ("", "auto"):
        return ()
    layers: list[int] = []
    for part in text.replace(",", " ").split():
        first, dash, last = part.partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise SettingsError(f"skip is {text!r}, but it must be layer numbers such as 10,11 or 10-12.") from None
        if high - low > 4096:
            raise SettingsError(f"skip is {text!r}, and no model has that many layers.")
        layers += range(low, high + 1)
    return tuple(sorted(set(layers)))


def show_layers(layers: tuple[int, ...]) -> str:
    return ",".join(str(layer) for layer in layers) or "auto"


def _in_tree(values: dict[str, Any]) -> bool:
    return bool(values.get("tree"))


GAMMA = Option("gamma", _gamma("Draft length γ of this lane: how many tokens are guessed before the target checks "
                               "them; in a tree, how many levels."))
SHORTEST = _bound("shortest", "The shortest run of tokens that is looked up.")
LONGEST = _bound("longest", "The longest run of tokens that is looked up, tried first.")
MATCH = Option("match", partial(Choice, "match", (
    ("frequent", "most frequent", "what followed most often"), ("latest", "latest", "what followed the last time"),
    ("earliest", "earliest", "what followed the first time")),
    "What is copied, if several tokens followed the same ones before."))
TEXTS = Option("texts", Texts)
SKIP = Option("skip", _field(Spec(
    "skip", "Layers of the target left out while drafting, such as 10,11,12-15. auto: the method chooses.", read_layers,
    lambda v: DrafterSettings(skip=v), show_layers)))
MODEL = Option("model", partial(Source, "builtin, folder, .gguf file or hub id",
                                "The model that drafts; it must have the target's tokenizer."))
CHECKPOINT = Option("model", partial(Source, "the one that ships; or a folder, a hub id",
                                     "The trained weights. Empty: those that ship with SpecScope, for the built-in "
                                     "target.", kinds=("folder",)))
STOP_BELOW = Option("stop_below", _field(Spec(
    "stop below", "Draft no further once the drafter's largest probability is below this: it looks before a token is "
    "drawn, so the output stays the target's. off: always the whole draft.", number("stop below", "off", 0.0),
    named("stop below", lambda v: DrafterSettings(kind="eagle", stop_below=v)), show_number("off", 0.0),
    stepper(0.05, 0.0))))
ADAPTIVE = Option("adaptive", partial(
    Toggle, "adaptive γ", "Choose the draft length anew each round, from what was accepted before and what drafting "
    "costs; γ is the most."), offered=lambda values: not _in_tree(values), otherwise=False)
TREE = Option("tree", partial(Choice, "draft", (
    ("", "a chain", "one guess after another"),
    ("top", "a tree: top", "a tree of the most probable guesses (deterministic, q is one-hot)"),
    ("sampled", "a tree: sampled", "a tree of guesses drawn without replacement, each with a draw of its own")),
    "In a tree several guesses for one place are verified in one forward, and one path through them wins. Either way "
    "the output stays the target's."))
CHILDREN = Option("tree_top", _field(Spec(
    "children", "Guesses behind one node at most, 1 to 16.", whole("children"),
    named("children", lambda v: DrafterSettings(tree_top=v)), str, whole_stepper())), offered=_in_tree)
NODES = Option("tree_nodes", _field(Spec(
    "nodes", "Drafts of a round's tree in all, 1 to 64: each is one more row of the target's forward.", whole("nodes"),
    named("nodes", lambda v: DrafterSettings(tree_nodes=v)), str, whole_stepper())), offered=_in_tree)
GATHER = Option("gather", partial(
    Toggle, "gather ancestors", "Verify each node with its ancestors gathered in the cache's order: then rows of the "
    "tree have plain decoding's very bits, at a price in time. Without, near-ties may fall the other way; the card "
    "says so."), offered=_in_tree)

Rows = tuple[tuple[Option, ...], ...]

_OWN: dict[str, Rows] = {
    "ngram": ((SHORTEST, LONGEST), (MATCH,), (TEXTS,)),
    "layer-skip": ((SKIP,),),
    "model": ((MODEL,),),
}
_TRAINED: Rows = ((CHECKPOINT,),)
_TREES: Rows = ((TREE,), (CHILDREN, NODES), (GATHER,))


def rows_of(method: Method) -> Rows:
    """The options of a method, in rows."""
    return (*_OWN.get(method.kind, _TRAINED if method.model else ()),
            (GAMMA, STOP_BELOW) if method.draws else (GAMMA,),
            *(((ADAPTIVE,),) if method.draws else ()), *(_TREES if method.trees else ()))


def described(kind: str) -> tuple[Method, str]:
    """A method, and why it can't be had. Loads what another package brings, so it is asked only for lanes that are
    there and for menus that are opened."""
    try:
        return methods.method(kind), ""
    except ModelError as error:
        return Method(kind, kind, str(error), 4, ""), str(error)


# --- in a few signs ---------------------------------------------------------------------------------------------------


def note(settings: DrafterSettings) -> str:
    """What differs from the defaults."""
    d, parts = DrafterSettings(), list[str]()
    if settings.model:
        parts.append(settings.model.rstrip("/").rsplit("/", 1)[-1])
    if (settings.min_n, settings.max_n) != (d.min_n, d.max_n):
        parts.append(f"n {settings.min_n}–{settings.max_n}")
    if settings.match != d.match:
        parts.append(settings.match)
    if settings.texts:
        parts.append(f"{len(settings.texts)} text{'s' if len(settings.texts) > 1 else ''}")
    if settings.skip:
        parts.append(f"{len(settings.skip)} left out")
    if settings.tree:
        parts.append(f"{settings.tree} {settings.tree_top} × {settings.tree_nodes}{', gathered' * settings.gather}")
    if settings.gamma is not None:
        parts.append(f"γ {'≤ ' * settings.adaptive}{settings.gamma}")
    elif settings.adaptive:
        parts.append("γ adaptive")
    if settings.stop_below:
        parts.append(f"≥ {settings.stop_below:g}")
    return " · ".join(parts)
