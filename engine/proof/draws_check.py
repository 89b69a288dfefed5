"""Is each random number used once, and is it the one that its place gives?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec

from engine.draws import Purpose, draw
from engine.proof.report import Cancelled, Check, never, timed
from engine.proof.rig import Rig
from engine.proof.tables import Case, wandering
from engine.proof.trial import Spoil
from engine.records import Committed, Drafted, Judged

TOKENS = 200

SEED = 2**63 + 11
"""Any but 0, so that a seed that gets lost is noticed."""


CHAIN = Case("draws of one run", wandering(21, 5), wandering(22, 5), gamma=3, tokens=TOKENS)
TREE = replace(CHAIN, name="draws of a run with trees", tree="sampled", top=3, nodes=8)


def check(spoil: Spoil | None = None, cancelled: Cancelled = never, case: Case = CHAIN) -> Check:
    """A run's recorded draws: all different, and each what :func:`engine.draws.draw` says for its place."""
    rig = case.rig()
    rig.settings = msgspec.structs.replace(rig.settings, seed=SEED)
    if spoil:
        spoil(rig)
    details: list[str] = []
    with timed() as clock:
        try:
            used, wrong = _collect(rig, cancelled)
            twice = [u for u, count in Counter(used).items() if count > 1]
            details = [*(f"{u} was used {used.count(u)} times" for u in twice[:3]), *wrong[:3]]
            statistic = f"{len(twice)} used twice, {len(wrong)} out of place"
            passed = bool(used) and not twice and not wrong
        except InterruptedError:
            raise
        except Exception as error:  # a spoiled part may break in any way
            used, passed, statistic = [], False, f"stopped: {type(error).__name__}: {error}"
    return Check(group="draws", name=case.name, claim="every draw is used once, and is that of its place",
                 samples=len(used), unit="draws", statistic=statistic, threshold="none", passed=passed,
                 seconds=clock.seconds, details=tuple(details))


def _collect(rig: Rig, cancelled: Cancelled) -> tuple[list[float], list[str]]:
    seed, start, used, wrong = rig.settings.seed, len(rig.seq), [], []
    positions, siblings = list[int](), list[int]()
    """Of the round's drafts: where each stands, and how many stood there before."""

    def note(u: float | None, position: int, purpose: Purpose, sibling: int = 0) -> None:
        if u is not None:
            used.append(u)
            if u != draw(seed, start, position, purpose, sibling):
                wrong.append(f"position {position}, {purpose.name.lower()}: {u}")

    for record in rig.run():
        if cancelled():
            raise InterruptedError
        if isinstance(record, Drafted):
            siblings.append(sum(position == record.position for position in positions))
            positions.append(record.position)
            note(record.draw, record.position, Purpose.DRAFT, siblings[-1])
        elif isinstance(record, Judged):
            note(record.draw, record.position, Purpose.ACCEPT, siblings[record.index])
        elif isinstance(record, Committed):
            note(record.final_draw, record.position + record.accepted, Purpose.FINAL)
            positions, siblings = [], []
            start = len(rig.seq)
    return used, wrong
