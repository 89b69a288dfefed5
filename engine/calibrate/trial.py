"""The last word: decode with the best few sets beside plain decoding, round by round in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.calibrate.search import Tried
from engine.models import Model
from engine.race import LanePlan, race
from engine.records import Committed, RunFinished, Totals
from engine.settings import DrafterSettings, RunSettings

PLAIN = "plain"


def measured(target: Model, sets: Sequence[Tried], prompts: Sequence[Sequence[int]], tokens: int, *,
             check: Callable[[], None] = lambda: None, go_on: Callable[[], bool] = lambda: True) -> list[Tried]:
    """``sets`` with their speed-up in greedy decoding: decode seconds a token of the plain lane over the set's own, in
    the same races. ``check`` is called every round, and may raise. Once ``go_on()`` is false no further round is
    decoded, but for the first prompt's: a race may be left at any moment, since its lanes have had the same time by
    then. Raises :class:`RuntimeError` if a lane fails."""
    plans = [LanePlan(PLAIN, _settings(None, tokens))]
    plans += [LanePlan(str(number), _settings(one, tokens)) for number, one in enumerate(sets)]
    totals = {plan.lane: Totals() for plan in plans}
    for number, prompt in enumerate(prompts):
        for record in race(target, prompt, plans, run="calibration"):
            totals[record.lane] = totals[record.lane].plus(record)
            if isinstance(record, RunFinished) and record.reason == "error":
                raise RuntimeError(record.message)
            if isinstance(record, Committed):
                check()
                if number and not go_on():
                    break
    plain = _seconds_a_token(totals[PLAIN])
    return [replace(one, measured=plain / _seconds_a_token(totals[str(number)])) for number, one in enumerate(sets)]


def _settings(one: Tried | None, tokens: int) -> RunSettings:
    drafter = DrafterSettings(kind="layer-skip", skip=one.skip, gamma=one.gamma) if one else DrafterSettings()
    return RunSettings(drafter=drafter, max_new_tokens=tokens, detail=False)


def _seconds_a_token(totals: Totals) -> float:
    return totals.decode_seconds / totals.committed
