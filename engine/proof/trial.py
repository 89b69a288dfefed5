"""Trying a claim on a lane: what all checks on whole lanes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from engine.drafters import draft_length, most_drafts
from engine.invariance import exactness
from engine.proof.report import Cancelled, Check, Group, timed
from engine.proof.rig import Rig, of_models
from engine.proof.subjects import Subject
from engine.records import Committed, Exactness, Record
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.tree_invariance import with_trees

Spoil = Callable[[Rig], None]
"""Exchanges one part of a lane, to see whether a check notices."""

GREEDY = Sampling()
WARM = Sampling(temperature=0.7, top_p=0.9)

UNITS = {torch.float32: 64, torch.bfloat16: 4, torch.float16: 4}
"""How many units in the last place of the largest logit a row may be off, where rows aren't invariant."""


@dataclass(frozen=True)
class Found:
    """What a trial came to."""

    passed: bool
    statistic: str
    samples: int
    details: Sequence[str] = ()


class Checks(Protocol):
    """A kind of check: what every function of identity.py and rows.py is."""

    def __call__(self, subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None
                 ) -> Iterator[Check]: ...


def tried(group: Group, name: str, claim: str, unit: str, threshold: str, trial: Callable[[], Found]) -> Check:
    """The check that a trial makes. One that breaks has failed, with the reason told: a spoiled part may break in any
    way. Only :class:`InterruptedError`, a cancelled trial, is passed on."""
    with timed() as clock:
        try:
            found = trial()
        except InterruptedError:
            raise
        except Exception as error:
            found = Found(False, f"stopped by {type(error).__name__}", 0, [str(error)])
    return Check(group=group, name=name, claim=claim, samples=found.samples, unit=unit, statistic=found.statistic,
                 threshold=threshold, passed=found.passed, seconds=clock.seconds, details=tuple(found.details))


def lane(subject: Subject, method: DrafterSettings, tokens: int, spoil: Spoil | None = None, *,
         sampling: Sampling = GREEDY, prompt: Sequence[int] = ()) -> Rig:
    """One lane of this subject, spoiled if asked. End tokens don't end it: every run has its full length."""
    prompt = prompt or subject.prompt
    tokens = min(tokens, subject.target.info.context - len(prompt))
    settings = RunSettings(drafter=method, sampling=sampling, max_new_tokens=tokens, ignore_eos=True)
    rig = of_models(subject.target, prompt, settings, subject.models)
    if spoil:
        spoil(rig)
    return rig


def watched(rig: Rig, cancelled: Cancelled) -> Iterator[Record]:
    """A lane's records, until it is cancelled (:class:`InterruptedError`)."""
    for record in rig.run():
        if cancelled():
            raise InterruptedError
        yield record


@dataclass
class Output:
    """What a lane committed."""

    tokens: list[int] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    digests: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, rig: Rig, cancelled: Cancelled) -> Output:
        out = cls()
        for record in watched(rig, cancelled):
            if isinstance(record, Committed):
                out.tokens += record.tokens
                out.gaps += [abs(gap) for gap in record.gaps]
                out.digests += record.digests
        return out


def start_up(subject: Subject, method: DrafterSettings) -> Exactness:
    """What the start-up check says of the widths, and trees, that this method's lane uses."""
    settings = RunSettings(drafter=method)
    return with_trees(subject.target.hf, exactness(subject.target.hf, most_drafts(settings) + 1), method,
                      draft_length(settings))


def tolerance(verdict: Exactness, dtype: torch.dtype, largest: float) -> float:
    """How far a logit may be off single steps: not at all where rows are invariant; else twice the difference that was
    measured at start-up, or a few units in the last place of the largest logit."""
    if verdict.invariant:
        return 0.0
    return max(2 * verdict.row_difference, UNITS[dtype] * torch.finfo(dtype).eps * largest)


def label(method: DrafterSettings) -> str:
    dynamic = ", dynamic length" if method.stop_below or method.adaptive else ""
    return f"{method.label.lower()}{dynamic}"
