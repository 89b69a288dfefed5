"""The drafters: one file a method, found by the name that engine/methods.py gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine import methods
from engine.drafters import outside
from engine.drafters.base import Drafter, Maker
from engine.errors import ModelError, SettingsError
from engine.models import Model
from engine.runner import Runner

if TYPE_CHECKING:
    from engine.settings import RunSettings

Models = Mapping[str, Model]


def make(settings: RunSettings, target: Model, runner: Runner, models: Models) -> Drafter:
    """The drafter that ``settings.drafter`` names, for one run over ``runner``, the target's forwards. ``models``:
    loaded draft models by the name the person gave. Raises :class:`ModelError` or :class:`MismatchError` when it can't
    serve this target, :class:`DraftError` when another package's method fails."""
    kind = settings.drafter.kind
    if settings.drafter.tree and not methods.method(kind).trees:
        raise SettingsError(f"{methods.method(kind).label} drafts no trees; leave tree out, or choose eagle or medusa.")
    maker: Maker = methods.maker(kind)
    if methods.own(kind):
        return maker(settings, target, runner, models)
    with outside.blaming(kind, "make"):
        made = maker(settings, target, runner, models)
    watched: Drafter = outside.watched(kind, made, len(target.texts))
    return watched


def resolved(settings: RunSettings, target: Model) -> RunSettings:
    """With what the drafter's settings leave to this target and machine filled in, so that a recording of the run says
    it."""
    if settings.drafter.kind != "layer-skip":
        return settings
    from engine.drafters import layer_skip

    return layer_skip.resolved(settings, target)


def draft_length(settings: RunSettings) -> int:
    """γ of a run: what was asked for, or the method's default; 0 for plain decoding."""
    d = settings.drafter
    return 0 if d.kind == "none" else methods.method(d.kind).gamma if d.gamma is None else d.gamma


def most_drafts(settings: RunSettings) -> int:
    """Drafts in one round at most: γ, or a tree's nodes. 0 where the method can't be had: its lane will say why, and
    the others of a race need not stop for it."""
    try:
        return settings.drafter.tree_nodes if settings.drafter.tree else draft_length(settings)
    except ModelError:
        return 0
