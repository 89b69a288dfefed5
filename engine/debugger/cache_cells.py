"""The two key-value caches as of a moment: which slots are held, which were just cut, which are still to be computed.

With L tokens committed when a round begins, the newest of them is in neither cache:

    target    L − 1 before the round; its one forward adds the newest token and the k drafts: L + k
    drafter   its first step catches up to L, each further one adds the draft before: L + k − 1
    commit    both are cut back to one less than is committed now; the drafter may lack one more

A tree's drafts stand in the order in which they were made; the commit moves the accepted path together. How far the
drafter of a tree has filled its own cache isn't recorded before the commit.

A last draft that nobody asked to continue has no slot at the drafter. See engine/rollback.py and engine/decode.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from engine.debugger.history import Moment, RoundSoFar
from engine.records import Committed, Prefilled

SlotKind = Literal["kept", "accepted", "drafted", "doomed", "cut", "awaited"]
"""Kept: of a committed token. Accepted: of a draft that was accepted in this round. Drafted: of a draft that isn't
judged yet. Doomed: of a draft that was not accepted; the commit will cut it. Cut: just forgotten. Awaited: of a
committed token whose keys and values come with the next round; not held yet."""

HELD: frozenset[SlotKind] = frozenset({"kept", "accepted", "drafted", "doomed"})


@dataclass(frozen=True)
class SlotRun:
    """Neighbouring slots of one kind."""

    kind: SlotKind
    first: int
    """Slot number: the place in prompt + output of its token, or of its draft."""
    count: int


@dataclass(frozen=True)
class CacheSide:
    """One model's cache. Either ``reason`` says why there is nothing to show, or ``runs`` cover every slot in order;
    cut ones stand before awaited ones, which will take their places."""

    owner: Literal["target", "drafter"]
    runs: tuple[SlotRun, ...] = ()
    slot_bytes: int = 0
    """Of keys and values of one token; 0: unknown."""
    reason: str = ""

    @property
    def held(self) -> int:
        """Slots in use."""
        return self.count(*HELD)

    @property
    def bytes(self) -> int:
        """Of the slots in use; 0: unknown."""
        return self.held * self.slot_bytes

    def count(self, *kinds: SlotKind) -> int:
        return sum(run.count for run in self.runs if run.kind in kinds)


@dataclass(frozen=True)
class CacheCells:
    target: CacheSide
    drafter: CacheSide
    labels: tuple[tuple[int, str], ...]
    """Slot number and text of this round's drafts."""
    start: int
    """Tokens committed when the round began."""


def cache_cells(moment: Moment) -> CacheCells | None:
    """None before the run has started."""
    if moment.started is None:
        return None
    now = moment.round
    labels = _labels(now) if now is not None else ()
    start = now.start if now is not None else moment.length
    if "slots" in moment.started.unknown:
        why = "This recording does not tell what its caches held."
        return CacheCells(CacheSide("target", reason=why), CacheSide("drafter", reason=why), labels, start)
    runs = _runs(moment, *_target_fill(moment))
    target = CacheSide("target", runs, moment.started.target.slot_bytes)
    return CacheCells(target, _drafter_side(moment), labels, start)


def _labels(now: RoundSoFar) -> tuple[tuple[int, str], ...]:
    if now.is_tree and now.committed is not None:
        return tuple((now.start + place, now.drafted[index].text) for place, index in enumerate(now.committed.path))
    return tuple((now.start + d.index, d.text) for d in now.drafted)


def _drafter_side(moment: Moment) -> CacheSide:
    assert moment.started is not None
    reasons = {"none": "Plain decoding has no drafter.",
               "ngram": "Prompt lookup keeps no cache: it copies from the committed tokens themselves."}
    kind = moment.started.settings.drafter.kind
    if kind in reasons:
        return CacheSide("drafter", reason=reasons[kind])
    return CacheSide("drafter", _runs(moment, *_drafter_fill(moment)))


def _target_fill(moment: Moment) -> tuple[int, int]:
    """Slots in use now, and how many there were just before the cut."""
    now = moment.round
    if now is None:
        return _prefilled(moment), 0
    filled = now.start + now.k if now.verified is not None else _slots_before(moment, now, "target")
    return (now.committed.target_slots if now.committed is not None else filled), filled


def _drafter_fill(moment: Moment) -> tuple[int, int]:
    now = moment.round
    if now is None:
        return _prefilled(moment), 0
    filled = now.start + now.k - 1 if now.k and not now.is_tree else _slots_before(moment, now, "drafter")
    return (now.committed.drafter_slots if now.committed is not None else filled), filled


def _slots_before(moment: Moment, now: RoundSoFar, owner: Literal["target", "drafter"]) -> int:
    """When this round began."""
    if not now.round:
        return max(0, now.start - 1)
    last = moment.history.records[moment.history.ends[now.round - 1]]
    assert isinstance(last, Committed)
    return last.target_slots if owner == "target" else last.drafter_slots


def _prefilled(moment: Moment) -> int:
    """Tokens in the caches before the first round."""
    known = (r for r in moment.history.records[: moment.index] if isinstance(r, Prefilled))
    found = next(known, None)
    return found.tokens if found is not None else 0


def _runs(moment: Moment, held: int, filled: int) -> tuple[SlotRun, ...]:
    """Slots 0 … held − 1 by kind, those cut between held and filled, and committed tokens that have none."""
    now = moment.round
    kept = min(held, now.start) if now is not None else held
    runs = [SlotRun("kept", 0, kept)] if kept else []
    if now is not None:
        reach = min(held, now.start + now.k)  # a foreign file may claim any number
        kinds = [_kind(now, slot) for slot in range(kept, reach)]
        first = kept
        for kind, group in groupby(kinds):
            count = len(list(group))
            runs.append(SlotRun(kind, first, count))
            first += count
        if held > first:
            runs.append(SlotRun("kept", first, held - first))
        if filled > held:
            runs.append(SlotRun("cut", held, filled - held))
    if moment.length > held and moment.finished is None:
        runs.append(SlotRun("awaited", held, moment.length - held))
    return tuple(runs)


def _kind(now: RoundSoFar, slot: int) -> SlotKind:
    """Of a slot in use behind the tokens that were committed before the round."""
    if now.is_tree and now.committed is not None:
        return "accepted"
    fate = now.fate(slot - now.start)
    if fate == "accepted":
        return "accepted"
    return "drafted" if fate == "pending" else "doomed"
