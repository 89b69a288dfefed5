"""What the engine thread examines: a rule tried on an example or on the loaded model, the proof, the list of rules.

Imported on the engine thread only, like ``app.workshop``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from app.orders import Catalogue, Examine, Observed, Proving, Report, Rule, Rules, Trial
from app.trials import RIGHT
from engine.errors import Cancelled
from engine.models import Model
from engine.proof import examples, firsttoken, wrong_rules
from engine.proof.verdict import by_chance
from engine.rounds import SampledRule
from engine.verify import judge_sampled

GRAIN = 200
"""So many times an experiment could be looked at."""
GROWTH = 1.06
"""It is, each time that it has grown by so much, or by a hundredth of all there is to come."""

Asked = Callable[[], bool]


def examine(order: Examine, model: Model | None, cancelled: Asked) -> Iterator[Report]:
    """``model``: the target, for those orders that need one."""
    match order.what:
        case Rules():
            yield catalogue(order.id)
        case Trial() as trial:
            yield from _try(order.id, trial, _rows(trial, model), cancelled)
        case Proving() as proving:
            from engine.proof import suite  # with tiny models and wrong rules: only who proves needs them

            for event in suite.prove(target=model, quick=proving.quick, cancelled=cancelled):
                yield Observed(order.id, event)


def catalogue(id: str) -> Catalogue:
    return Catalogue(id, (RIGHT, *(Rule(rule.name, rule.title, rule.about) for rule in wrong_rules.RULES)))


def _rows(trial: Trial, model: Model | None) -> examples.Rows:
    if trial.drafter is None or model is None:
        return examples.quiz() if trial.source == "quiz" else examples.two_tokens()
    return examples.of_model(model, model.encode(trial.prompt, chat=trial.chat), trial.drafter)


def _try(id: str, trial: Trial, rows: examples.Rows, cancelled: Asked) -> Iterator[Report]:
    p = rows.p[0].double().numpy()
    told = 0
    for event in firsttoken.watch(rows.p, rows.q, _rule(trial.rule), samples=trial.samples, seed=trial.seed,
                                  labels=rows.labels, every=max(1, trial.samples // GRAIN)):
        if event.samples >= min(max(GROWTH * told, told + 1), told + trial.samples // 100, trial.samples):
            told = event.samples
            yield Observed(id, event, by_chance(p, event.samples))
        if cancelled():
            raise Cancelled("The experiment was called off.")

def _rule(name: str) -> SampledRule:
    if name == RIGHT.name:
        return judge_sampled
    return next(rule.rule for rule in wrong_rules.RULES if rule.name == name)
