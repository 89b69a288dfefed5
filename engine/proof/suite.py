"""The whole proof, one check after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import torch

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
        yield from (one.check for one in of_wrong_rules(quick=quick, cancelled=cancelled))
    except InterruptedError:
        return


def of_the_engine(*, quick: bool, cancelled: Cancelled = never) -> Iterator[Check]:
    """On tables and tiny models: nothing needs to be loaded."""
    with _one_thread():
        for case in tables.cases(quick=quick):
            yield enumeration.check(case, cancelled=cancelled)
        yield enumeration.check_first_token(tables.WIDE, cancelled=cancelled)
        yield draws_check.check(cancelled=cancelled)
        yield draws_check.check(cancelled=cancelled, case=draws_check.TREE)
        yield from sampling_checks.tiny_checks(quick, cancelled)
        yield from identity.on_tiny_models(quick=quick, cancelled=cancelled)


def of_wrong_rules(*, quick: bool, cancelled: Cancelled = never) -> Iterator[kills.Catch]:
    """Each must fail a check. ``quick``: the first that catches it is enough."""
    with _one_thread():
        yield from kills.catches(quick=quick, cancelled=cancelled)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Tiny tensors gain nothing from a second thread, and wait for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


Part = Literal["all", "against transformers", "bit for bit"]
"""Of a target that is proved in two dtypes, each is spared what the other shows."""


def of_a_target(target: Model, *, quick: bool, cancelled: Cancelled = never,
                drafters: tuple[DrafterSettings, ...] = (), models: Mapping[str, Model] | None = None,
                part: Part = "all") -> Iterator[Check]:
    """On a real model, with its own drafters."""
    subject = subjects.of(target, models, drafters)
    kinds = (identity.greedy_against_generate,) if part == "against transformers" else identity.KINDS
    yield from identity.on(subject, quick=quick, cancelled=cancelled, kinds=kinds)
    if part != "bit for bit":
        yield from sampling_checks.builtin_checks(target, quick, cancelled, methods=subject.methods, models=models)
