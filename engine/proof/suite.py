"""The whole proof, one check after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.models import Model
from engine.proof import draws_check, enumeration, identity, kills, sampling_checks, subjects, tables
from engine.proof.report import Cancelled, Check, never
from engine.settings import DrafterSettings


def prove(*, target: Model | None, quick: bool, cancelled: Cancelled = never,
          drafters: tuple[DrafterSettings, ...] = (), models: Mapping[str, Model] | None = None) -> Iterator[Check]:
    """All checks of the engine, then those of ``target`` with ``drafters`` (default: every one that needs no second
    model; ``models``: loaded draft models by name), then the wrong rules, each of which must fail a check. Ends early
    when cancelled."""
    try:
        yield from of_the_engine(quick=quick, cancelled=cancelled)
        if target is not None:
            yield from of_a_target(target, quick=quick, cancelled=cancelled, drafters=drafters, models=models)
        yield from (one.check for one in kills.catches(quick=quick, cancelled=cancelled))
    except InterruptedError:
        return


def of_the_engine(*, quick: bool, cancelled: Cancelled = never) -> Iterator[Check]:
    """On tables and tiny models: nothing needs to be loaded."""
    for case in tables.cases(quick=quick):
        yield enumeration.check(case, cancelled=cancelled)
    yield draws_check.check(cancelled=cancelled)
    yield from sampling_checks.tiny_checks(quick, cancelled)
    yield from identity.on_tiny_models(quick=quick, cancelled=cancelled)


def of_a_target(target: Model, *, quick: bool, cancelled: Cancelled = never,
                drafters: tuple[DrafterSettings, ...] = (), models: Mapping[str, Model] | None = None
                ) -> Iterator[Check]:
    """On a real model, with its own drafters."""
    subject = subjects.of(target, models, drafters)
    yield from identity.on(subject, quick=quick, cancelled=cancelled)
    yield from sampling_checks.builtin_checks(target, quick, cancelled, methods=subject.methods, models=models)
