"""When things happened: each round's steps as slices on the lane's own clock, in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from engine.records import Committed, Drafted, Prefilled, Record

SliceKind = Literal["prefill", "draft", "verify", "judge", "record", "commit"]


@dataclass(frozen=True, slots=True)
class Slice:
    kind: SliceKind
    start: float
    seconds: float
    round: int
    """-1: prefill."""
    index: int = -1
    """Which draft; -1 for what isn't one."""


def slices(records: Iterable[Record]) -> Iterator[Slice]:
    """Of one lane's finished rounds, in order. A round's drafting may end with a look that found nothing more: it is
    part of the draft phase but no draft's own slice, so between the last draft and the verification there can be a
    gap."""
    clock = 0.0
    drafts: list[Drafted] = []
    for record in records:
        match record:
            case Prefilled():
                filled = record.target_seconds + record.drafter_seconds
                yield Slice("prefill", clock, filled, -1)
                clock += filled
            case Drafted():
                drafts.append(record)
            case Committed():
                spent, at = record.seconds, clock
                drafted = sum(draft.seconds for draft in drafts)
                fits = min(1.0, spent.draft / drafted) if drafted > 0 else 1.0  # a foreign file may contradict itself
                for draft in drafts:
                    yield Slice("draft", at, draft.seconds * fits, record.round, draft.index)
                    at += draft.seconds * fits
                drafts = []
                at = clock + spent.draft
                steps: tuple[tuple[SliceKind, float], ...] = (
                    ("verify", spent.verify), ("judge", spent.judge), ("record", spent.record),
                    ("commit", spent.commit))
                for kind, seconds in steps:
                    yield Slice(kind, at, seconds, record.round)
                    at += seconds
                clock += spent.total
