"""The whole calibration of one target, from its own texts to the kept result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.calibrate import costs as forwards
from engine.calibrate import store
from engine.calibrate.agreement import agreements, winners
from engine.calibrate.costs import Costs
from engine.calibrate.search import Search, Skip, Tried, judged
from engine.calibrate.store import Calibration
from engine.calibrate.texts import own_texts, written_prompts
from engine.calibrate.trial import measured
from engine.drafters.layer_skip import default_skip, spelled, thinned
from engine.errors import ModelError
from engine.models import Model
from engine.models.progress import Progress, Reporter
from engine.race import local_time, machine

TEXTS, TOKENS = 12, 48
"""Answers of the target on which sets are compared, and their length: some 500 places at which a drafter may agree."""

TRIALS, TRIAL_TOKENS = 6, 48
"""Other prompts on which the best few sets decode, and how far."""

FINALISTS = 3
MINUTES = 5.0


@dataclass(frozen=True)
class Report:
    """What came of it."""

    calibration: Calibration
    costs: Costs
    tried: tuple[Tried, ...]
    """All sets, the best first: by measured speed-up where there is one, then by the predicted."""
    default: Tried
    """The set without calibration."""
    seconds: float

    @property
    def best(self) -> Tried:
        return next(one for one in self.tried if one.skip == self.calibration.skip)

    @property
    def pays(self) -> bool:
        return (self.best.measured or self.best.predicted) > 1


def calibrate(target: Model, *, minutes: float = MINUTES, progress: Callable[[Progress], None] | None = None,
              cancelled: Callable[[], bool] | None = None) -> Report:
    """Search for ``minutes``, decode with the best sets for at most half as long (one prompt is always decoded to its
    end), and keep the winner (store.py). Making the texts comes before that: some seconds where a target answers at 20
    tokens a second.

    Raises :class:`ModelError` for a target that can't leave out layers, :class:`Cancelled` as soon as ``cancelled()``
    is true; nothing is kept then.
    """
    layers, began, report = target.info.layers, time.monotonic(), Reporter(progress, cancelled)
    if layers < 2:
        raise ModelError(f"{target.info.name} has one layer, so none can be left out.")
    thinned(target.hf, default_skip(layers))  # says so at once where the target can't do it
    report("Writing texts")
    texts = own_texts(target, TEXTS, TOKENS)
    if not texts:
        raise ModelError(f"{target.info.name} takes at most {target.info.context} tokens, too few for a prompt and an "
                         "answer to compare layers on.")
    report("Measuring forwards")
    costs = forwards.measure(target.hf, layers, texts[0].prompt, check=report.check)
    theirs = winners(target.hf, texts)
    deadline = time.monotonic() + 60 * minutes

    def judge(skip: Skip) -> Tried:
        report("Trying sets of layers", len(search.found), None, "sets")
        return judged(skip, agreements(thinned(target.hf, skip), texts, theirs), costs, layers)

    search = Search(layers, judge, lambda: time.monotonic() < deadline)
    default = tuple(default_skip(layers))
    search.run(first=[default])
    finalists = best_first(search.found.values())[:FINALISTS]
    finalists += [search.found[default]] if search.found[default] not in finalists else []
    report("Decoding with the best sets")
    prompts = written_prompts(target, TRIALS, skip=TEXTS)
    enough = time.monotonic() + 30 * minutes
    for one in measured(target, finalists, prompts, TRIAL_TOKENS, check=report.check,
                        go_on=lambda: time.monotonic() < enough):
        search.found[one.skip] = one
    ranked = best_first(search.found.values())
    found = _calibration(target, ranked[0])
    store.write(found, target.info)
    return Report(found, costs, tuple(ranked), search.found[default], time.monotonic() - began)


def best_first(tried: Iterable[Tried]) -> list[Tried]:
    """Those that decoded before those that didn't."""
    return sorted(tried, key=lambda one: (one.measured is None, -(one.measured or one.predicted), len(one.skip)))


def _calibration(target: Model, best: Tried) -> Calibration:
    info = target.info
    return Calibration(
        target=info.name, fingerprint=info.fingerprint, dtype=info.dtype, device=store.device_kind(info.device),
        layers=info.layers, skip=best.skip, gamma=best.gamma, alpha=best.alpha, step_cost=best.step_cost,
        predicted=best.predicted, measured=best.measured, machine=machine(), made=local_time())


def verdict(report: Report) -> str:
    """Does it pay? In words, with the figures, and what would have to be different if not."""
    best, costs = report.best, report.costs
    speed = f"{best.measured:.2f}×" if best.measured is not None else f"{best.predicted:.2f}× (predicted)"
    layers = "layer" if len(best.skip) == 1 else "layers"
    what = f"without {layers} {spelled(best.skip)} of {report.calibration.layers}, γ {best.gamma}"
    figures = f"α {best.alpha:.2f}, a draft costs {best.step_cost:.2f} of a forward"
    if report.pays:
        return f"Layer skip pays here: {speed} {what}; {figures}."
    share = costs.layer / costs.widths[0]
    alone = max((one for one in report.tried if len(one.skip) == 1), key=lambda one: one.alpha, default=best)
    return (f"Layer skip doesn't pay here: the best set found decodes at {speed} of plain decoding, {what}; {figures}. "
            f"A draft pays only where α is above its cost. A layer left out saves {share:.1%} of a forward, but "
            f"without layer {spelled(alone.skip)}, the most expendable, α is {alone.alpha:.2f} at a cost of "
            f"{alone.step_cost:.2f}. It would take a target with more layers than it needs, or one trained for early "
            "exit, so that α stays above the cost with half of them gone.")
