"""The drafters: one file a method, found by the name that engine/methods.py gives it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from engine import methods
from engine.drafters import outside
from engine.drafters.base import Drafter, Maker
from engine.errors import ModelError, SettingsError
from engine.models import Model, Progress
from engine.models.progress import Reporter
from engine.models.quiet import quiet
from engine.runner import Runner

if TYPE_CHECKING:
    from engine.drafters.shelf import Shelf
    from engine.settings import DrafterSettings, RunSettings

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
    it. Weights are those that there are now, whichever the settings name."""
    shelf = _shelf(settings.drafter.kind)
    weights = shelf.weights(settings.drafter, target) if shelf else ""
    if weights != settings.drafter.weights:
        settings = msgspec.structs.replace(settings, drafter=msgspec.structs.replace(settings.drafter, weights=weights))
    if settings.drafter.kind != "layer-skip":
        return settings
    from engine.drafters import layer_skip

    return layer_skip.resolved(settings, target)


def fetch(drafter: DrafterSettings, target: Model, *, progress: Callable[[Progress], None] | None = None,
          cancelled: Callable[[], bool] | None = None) -> None:
    """Download the trained drafter that is named by a hub id, before any lane needs it; other drafters need nothing.
    Raises :class:`ModelError` when it can't be had or used for this target, :class:`Cancelled` once ``cancelled()``
    is true."""
    shelf = _shelf(drafter.kind)
    if shelf:
        report = Reporter(progress, cancelled)
        with quiet(report):
            shelf.fetch(drafter, target, report)


def _shelf(kind: str) -> Shelf[Any] | None:
    """Of a method whose drafters were trained for one target."""
    if not methods.own(kind):
        return None
    shelf: Shelf[Any] | None = getattr(importlib.import_module(methods.method(kind).module), "shelf", None)
    return shelf


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
