"""Held-out figures of drafters: races against plain decoding on prompts that no drafter was trained on.

α by position: of the drafts that were tested at that place in the draft, the share accepted. The cost ratio c is one
draft step's share of a plain round of the same race, and

    predicted speed-up = E[m] / (1 + γ·c)         E[m]: committed tokens a round, as measured
    measured speed-up  = plain seconds a token / the lane's seconds a token

Lanes alternate by round in one run, so both sides see the same machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from engine.models import Model
from engine.race import LanePlan, race
from engine.records import Judged, Record, RunFinished, Totals, Verified
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.training.prompts import Prompt


@dataclass
class Held:
    """One lane's figures over any number of prompts."""

    totals: Totals = field(default_factory=Totals)
    tested: dict[int, int] = field(default_factory=dict)
    accepted: dict[int, int] = field(default_factory=dict)
    """By place in the draft, from 0."""
    plain: Totals = field(default_factory=Totals)
    """The plain lanes of the same races."""
    ratios: list[float] = field(default_factory=list)
    """Each prompt's measured speed-up."""
    prompts: int = 0
    unfinished: str = ""
    """Why a lane ended in an error, if one did."""

    def note(self, record: Record) -> None:
        if isinstance(record, Judged):
            place = record.index
            self.tested[place] = self.tested.get(place, 0) + 1
            self.accepted[place] = self.accepted.get(place, 0) + record.accepted
        elif isinstance(record, RunFinished) and record.reason == "error":
            self.unfinished = record.message
        self.totals = self.totals.plus(record)

    @property
    def alpha(self) -> float | None:
        return self.totals.acceptance_rate

    @property
    def by_position(self) -> list[float]:
        """α at each place of a chain."""
        return [self.accepted[i] / self.tested[i] for i in sorted(self.tested)]

    @property
    def cost_ratio(self) -> float | None:
        """c: seconds of one draft / seconds of a plain round."""
        if not self.totals.drafted or not self.plain.rounds:
            return None
        return (self.totals.draft / self.totals.drafted) / (self.plain.decode_seconds / self.plain.rounds)

    @property
    def predicted(self) -> float | None:
        if self.cost_ratio is None or self.totals.mean_committed_length is None:
            return None
        drafted = self.totals.drafted / self.totals.rounds
        return self.totals.mean_committed_length / (1 + drafted * self.cost_ratio)

    @property
    def measured(self) -> float | None:
        mine, other = self.totals.tokens_per_second, self.plain.tokens_per_second
        return mine / other if mine and other else None

    @property
    def median(self) -> float | None:
        return statistics.median(self.ratios) if self.ratios else None


def held_out(target: Model, drafters: Sequence[DrafterSettings], prompts: Sequence[Prompt], *, temperature: float,
             max_new_tokens: int, seed: int = 0,
             progress: Callable[[int, int], None] = lambda done, total: None) -> dict[str, list[Held]]:
    """Race all ``drafters`` and plain decoding on each prompt. Figures by kind of prompt, one a drafter, in order."""
    found: dict[str, list[Held]] = {}
    for number, prompt in enumerate(prompts):
        lanes = [RunSettings(drafter=d, sampling=Sampling(temperature=temperature), max_new_tokens=max_new_tokens,
                             seed=seed + number) for d in (DrafterSettings(), *drafters)]
        plans = [LanePlan(str(index), settings) for index, settings in enumerate(lanes)]
        mine = found.setdefault(prompt.kind, [Held() for _ in drafters])
        one = _race(target, target.encode(prompt.text, chat=True), plans)
        plain = one[0].totals
        for held, lane in zip(mine, one[1:], strict=True):
            _add(held, lane, plain)
        progress(number + 1, len(prompts))
    return found


def together(found: Iterable[Held]) -> Held:
    """All as one."""
    out = Held()
    for one in found:
        _add(out, one, one.plain)
        out.prompts += one.prompts - 1
        out.ratios = [*out.ratios[:-1], *one.ratios] if one.prompts else out.ratios
    return out


def _race(target: Model, prompt: Sequence[int], plans: Sequence[LanePlan]) -> list[Held]:
    lanes = {plan.lane: Held() for plan in plans}
    for record in race(target, prompt, plans, run="held-out"):
        if not isinstance(record, Verified):
            lanes[record.lane].note(record)
    return list(lanes.values())


def _add(held: Held, lane: Held, plain: Totals) -> None:
    held.totals, held.plain = _sum(held.totals, lane.totals), _sum(held.plain, plain)
    for mine, other in ((held.tested, lane.tested), (held.accepted, lane.accepted)):
        for place, count in other.items():
            mine[place] = mine.get(place, 0) + count
    held.unfinished = held.unfinished or lane.unfinished
    held.prompts += 1
    if lane.totals.tokens_per_second and plain.tokens_per_second:
        held.ratios.append(lane.totals.tokens_per_second / plain.tokens_per_second)


def _sum(one: Totals, other: Totals) -> Totals:
    names = ("rounds", "committed", "drafted", "tested", "accepted", "prefill", "draft", "verify", "other")
    return Totals(**{name: getattr(one, name) + getattr(other, name) for name in names})


