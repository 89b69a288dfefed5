"""What the engine thread works with: the models it has loaded, and the races it runs with them.

Imported on the engine thread only: this is where torch and transformers come in, behind a window that already plays.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress

from app.orders import (
    Branch,
    Estimate,
    Estimated,
    Examine,
    LaneChoice,
    Load,
    Loaded,
    Loading,
    ModelChoice,
    Proving,
    Race,
    Report,
    Rows,
    RowsFound,
    Trial,
)
from app.whole_rows import WholeRows
from engine import models
from engine.branch import branch
from engine.debugger.what_if import OtherSettings
from engine.drafters import draft_length, fetch
from engine.errors import Cancelled, ModelError, SpecScopeError
from engine.models import Model, Progress
from engine.past import Past
from engine.race import LanePlan, check_rows, race
from engine.records import Exactness, Record, RunFinished, RunStarted, Totals
from engine.settings import DrafterSettings, RunSettings
from engine.tree_invariance import with_trees

TYPICAL_PROMPT = 256
"""Tokens, for a memory estimate before there is a tokenizer to count with."""

_Tell = Callable[[Loading], None]
_Cancelled = Callable[[], bool]


class LoadedModels:
    """Keeps what the current race needs and nothing else: two targets at once might not fit."""

    def __init__(self) -> None:
        self._models: dict[ModelChoice, Model] = {}
        self.racing: frozenset[ModelChoice] = frozenset()
        """A race's, as long as it isn't over: they are in memory anyway."""

    def keep_only(self, wanted: set[ModelChoice]) -> None:
        if unwanted := set(self._models) - wanted - self.racing:
            for choice in unwanted:
                del self._models[choice]
            gc.collect()

    def get(self, choice: ModelChoice, tell: _Tell, cancelled: _Cancelled) -> Model:
        if choice not in self._models:
            self._models[choice] = models.load(
                choice.source, dtype=choice.dtype, device=choice.device, revision=choice.revision,
                trust_remote_code=choice.trust_remote_code, progress=_progress(tell), cancelled=cancelled)
        return self._models[choice]

    def loaded(self, choice: ModelChoice) -> Model | None:
        return self._models.get(choice)


class EngineWorkshop:
    def __init__(self) -> None:
        self._models = LoadedModels()
        self._rows = WholeRows()

    def load(self, order: Load, tell: _Tell, cancelled: _Cancelled) -> Loaded:
        model = self._target(order.target, tell, cancelled)
        return Loaded(order.target, model.info, _check_rows(model, order.lanes, tell, cancelled))

    def estimate(self, order: Estimate) -> Estimated:
        target = order.target
        loaded = self._models.loaded(target)
        settings = [lane.settings for lane in order.lanes]
        try:
            plan = models.estimate(
                target.source, [lane.drafter for lane in settings],
                prompt_tokens=len(loaded.encode(order.prompt, chat=False)) if loaded else TYPICAL_PROMPT,
                max_new_tokens=max(lane.max_new_tokens for lane in settings), dtype=target.dtype,
                device=target.device, revision=target.revision, trust_remote_code=target.trust_remote_code)
        except SpecScopeError as error:
            return Estimated(order, str(error), None, fits=False)
        # What is loaded already isn't among what is free.
        free = plan.free + (plan.weights if loaded else 0)
        return Estimated(order, plan.sentence(), plan.total / free if free else None, fits=plan.total <= free)

    def race(self, order: Race, tell: _Tell, cancelled: _Cancelled, by_record: Callable[[], bool]
             ) -> Iterator[Record | Report]:
        drafters = {lane.settings.drafter.model: _drafter_choice(order.target, lane.settings.drafter)
                    for lane in order.lanes if lane.settings.drafter.kind == "model"}
        self._models.racing = frozenset()
        self._models.keep_only({order.target, *drafters.values()})
        target = self._target(order.target, tell, cancelled)
        drafts, faults = self._drafters(drafters, tell, cancelled)
        lanes = list(order.lanes)
        for lane in order.lanes:
            fault = faults.get(lane.settings.drafter.model) or _not_fetched(lane.settings.drafter, target, tell,
                                                                            cancelled)
            if fault:
                lanes.remove(lane)
                yield _failed(order.run, lane, fault)
        prompt = target.encode(order.prompt, chat=order.chat)
        yield Loaded(order.target, target.info, _check_rows(target, tuple(lanes), tell, cancelled))
        plans = [LanePlan(lane.lane, lane.settings) for lane in lanes]
        self._models.racing = frozenset({order.target, *drafters.values()})
        try:
            yield from race(target, prompt, plans, run=order.run, models=drafts, by_record=by_record)
        finally:
            self._models.racing = frozenset()

    def branch(self, order: Branch, tell: _Tell, cancelled: _Cancelled, by_record: Callable[[], bool]
               ) -> Iterator[Record | Report]:
        past = Past.of(order.original, order.change.round)  # what can't be gone on with isn't worth loading anything
        settings = order.change.settings if isinstance(order.change, OtherSettings) else past.started.settings
        target, drafts = self._again(order.target, settings, tell, cancelled)
        records = branch(target, order.original, order.change, run=order.run, lane=order.lane, models=drafts,
                         by_record=by_record, cancelled=cancelled)
        tell(Loading("Restoring the lane as it was"))
        opening: list[Record] = []
        for record in records:
            opening.append(record)
            if isinstance(record, RunStarted):
                yield Loaded(order.target, target.info, record.exactness)
                break
        yield from opening
        yield from records

    def rows(self, order: Rows, tell: _Tell, cancelled: _Cancelled) -> RowsFound:
        past = Past.of(order.original, order.round)
        target, drafts = self._again(order.target, past.started.settings, tell, cancelled)
        return RowsFound(order.run, past.started.lane, self._rows.find(order, past, target, drafts, cancelled))

    def examine(self, order: Examine, tell: _Tell, cancelled: _Cancelled) -> Iterator[Report]:
        from app.examination import examine

        choice = order.what.target if isinstance(order.what, (Trial, Proving)) else None
        needed = isinstance(order.what, Proving) or (isinstance(order.what, Trial) and order.what.drafter is not None)
        model = None
        if choice is not None and needed:
            fresh = self._models.loaded(choice) is None
            model = self._target(choice, tell, cancelled)
            if fresh:
                yield Loaded(choice, model.info)
        yield from examine(order, model, cancelled)

    def _target(self, choice: ModelChoice, tell: _Tell, cancelled: _Cancelled) -> Model:
        if self._models.loaded(choice) is None:
            self._rows.forget()
            self._models.keep_only(set())  # the old one goes before the new one comes
        return self._models.get(choice, tell, cancelled)

    def _again(self, choice: ModelChoice, settings: RunSettings, tell: _Tell, cancelled: _Cancelled
               ) -> tuple[Model, dict[str, Model]]:
        """What a recorded lane needs to be gone on with: the target, and a draft model by the name it was given. What
        is loaded stays unless there is something to load: the next question may be about another lane."""
        drafter = settings.drafter
        choices = {drafter.model: _drafter_choice(choice, drafter)} if drafter.kind == "model" else {}
        needed = {choice, *choices.values()}
        if any(self._models.loaded(one) is None for one in needed):
            self._models.keep_only(needed)
        target = self._target(choice, tell, cancelled)
        drafts, faults = self._drafters(choices, tell, cancelled)
        for name, fault in faults.items():
            raise ModelError(f"This lane needs the draft model {name}, which could not be loaded: {fault}",
                             details=fault.details) from fault
        fetch(drafter, target, progress=_progress(tell), cancelled=cancelled)
        return target, drafts

    def _drafters(self, choices: dict[str, ModelChoice], tell: _Tell, cancelled: _Cancelled
                  ) -> tuple[dict[str, Model], dict[str, SpecScopeError]]:
        """The draft models by the names given; those that can't be loaded cost their own lanes only."""
        drafts: dict[str, Model] = {}
        faults: dict[str, SpecScopeError] = {}
        for name, choice in choices.items():
            try:
                drafts[name] = self._models.get(choice, tell, cancelled)
            except Cancelled:
                raise
            except SpecScopeError as error:
                faults[name] = error
        return drafts, faults


def _progress(tell: _Tell) -> Callable[[Progress], None]:
    return lambda step: tell(Loading(step.stage, step.done, step.total or 0, step.unit))


def _not_fetched(drafter: DrafterSettings, target: Model, tell: _Tell, cancelled: _Cancelled) -> SpecScopeError | None:
    """Why a trained drafter can't be had from the hub: that costs its own lane only. None: it is here, or needn't."""
    try:
        fetch(drafter, target, progress=_progress(tell), cancelled=cancelled)
    except Cancelled:
        raise
    except SpecScopeError as error:
        return error
    return None


def _check_rows(target: Model, lanes: tuple[LaneChoice, ...], tell: _Tell, cancelled: _Cancelled) -> Exactness:
    """The engine measures once a model and width, and once a shape of tree; done here first because here it can be
    called off."""
    tell(Loading("Checking whether rows are bit-exact here"))
    found = check_rows(target, [lane.settings for lane in lanes], cancelled=cancelled)
    for lane in lanes:
        with suppress(Exception):  # whatever is wrong with a lane's trees, that lane says itself; the others go on
            with_trees(target.hf, found, lane.settings.drafter, draft_length(lane.settings), cancelled=cancelled,
                       told=lambda done, total: tell(Loading("Checking whether rows of trees are bit-exact here",
                                                             done, total)))
    if cancelled():
        raise Cancelled("The check was called off.")
    return found


def _drafter_choice(target: ModelChoice, drafter: DrafterSettings) -> ModelChoice:
    """Beside the target, in its precision; other people's code only as far as the target's is trusted."""
    return ModelChoice(source=drafter.model, dtype=target.dtype, device=target.device,
                       trust_remote_code=target.trust_remote_code)


def _failed(run: str, lane: LaneChoice, fault: SpecScopeError) -> RunFinished:
    return RunFinished(run=run, lane=lane.lane, reason="error", message=str(fault), text="", totals=Totals(),
                       details=fault.details)
