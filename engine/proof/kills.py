"""Wrong rules must be caught: every mutant against every kind of check, and which catches which.

A check that passes a mutant proves nothing about that fault; a mutant that all checks pass is a hole in the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from engine.proof import draws_check, enumeration, identity, rows, subjects
from engine.proof.mutants import MUTANTS as CHAIN_MUTANTS
from engine.proof.mutants import Mutant
from engine.proof.report import Cancelled, Check, never, timed
from engine.proof.tables import DRAWN_TREE, FULLY_WARPED, ODD_P, ODD_Q, RARE_P, RARE_Q, TOP_TREE, WIDE, Case, wandering
from engine.proof.tree_mutants import TREE_MUTANTS
from engine.proof.trial import Checks, Spoil
from engine.settings import DrafterSettings, Sampling

PLAIN = Case("with an end token", wandering(1, 3), wandering(2, 3), eos=2)
WARPED = Case("warped", wandering(3, 3), wandering(4, 3),
              sampling=Sampling(temperature=0.7, min_p=0.2, repetition_penalty=1.5))
ODD = Case("zeros", ODD_P, ODD_Q, tokens=2)
LATER = Case("later rounds", wandering(1, 3), wandering(2, 3), gamma=1, tokens=4)
RARE = Case("rare tokens", RARE_P, RARE_Q, tokens=2)


MUTANTS = (*CHAIN_MUTANTS, *TREE_MUTANTS)


@dataclass(frozen=True)
class Net:
    """One kind of check, small enough to be run on every mutant."""

    name: str
    checks: Callable[[Spoil | None, Cancelled], Iterable[Check]]

    def passes(self, spoil: Spoil | None, cancelled: Cancelled) -> bool:
        """Does it find nothing wrong? Ends at the first check that does."""
        return all(check.passed for check in self.checks(spoil, cancelled))


def _enumeration(case: Case) -> Net:
    return Net(f"enumeration {case.name}",
               lambda spoil, cancelled: [enumeration.check(case, spoil, cancelled, coarse=spoil is not None)])


CHAIN = (DrafterSettings(kind="model", model="twin"),)


def _lanes(name: str, checks: Checks, *, short: bool = False, methods: tuple[DrafterSettings, ...] = CHAIN) -> Net:
    """Plain decoding and one draft model: one of a kind is enough here. ``short``: a few rounds are, too."""
    def thrown(spoil: Spoil | None, cancelled: Cancelled) -> Iterable[Check]:
        subject = replace(subjects.tiny("llama"), chosen=methods, small=not short)
        return checks(subject, quick=True, cancelled=cancelled, spoil=spoil)

    return Net(name, thrown)


NETS: tuple[Net, ...] = (
    _enumeration(ODD),
    _enumeration(PLAIN),
    Net("draws", lambda spoil, cancelled: [draws_check.check(spoil, cancelled)]),
    _lanes("counts", identity.forward_counts),
    _lanes("caches", identity.cache_contents),
    _lanes("verify rows", rows.verify_rows),
    _lanes("greedy identity", identity.greedy_against_generate),
    _lanes("same model", identity.same_model, short=True),
    _enumeration(RARE),
    _enumeration(LATER),
    _enumeration(WARPED),
    _enumeration(replace(FULLY_WARPED, name="all warpers")),
    _enumeration(TOP_TREE),
    _enumeration(DRAWN_TREE),
    Net("tree draws", lambda spoil, cancelled: [draws_check.check(spoil, cancelled, draws_check.TREE)]),
    _lanes("tree rows", rows.verify_rows, methods=subjects.TREES),
    _lanes("tree caches", identity.cache_contents, methods=subjects.TREES),
    _lanes("tree greedy identity", identity.greedy_against_generate, methods=subjects.TREES),
    Net("enumeration wide",
        lambda spoil, cancelled: [enumeration.check_first_token(WIDE, spoil, cancelled, coarse=spoil is not None)]),
)
"""The cheap ones first."""

AIMED = {
    "draw-clamped": "enumeration rare tokens", "residual-truncated": "enumeration wide",
    "wrong-after-acceptance": "enumeration later rounds", "top-p-before-top-k": "enumeration all warpers",
    "bonus-row-only": "enumeration warped", "penalty-without-drafts": "enumeration warped",
    "draws-by-position": "draws", "seed-ignored": "draws", "verified-twice": "counts",
    "positions-shifted": "verify rows", "p-not-warped": "greedy identity", "greedy-by-ratio": "greedy identity",
    "tree-softmax-q": "enumeration tree, top", "tree-q-not-renormalised": "enumeration tree, drawn",
    "tree-one-draw": "tree draws", "tree-pruned-after-drawn": "enumeration tree, drawn",
    "tree-longest-path": "enumeration tree, drawn", "tree-mask-leaks": "tree rows",
    "q-before-warper": "same model", "q-not-warped": "same model",
}
"""Which net was made for a wrong rule that most let pass: thrown first where one catch is enough. The
full proof throws all."""


@dataclass(frozen=True)
class Catch:
    """Which nets caught a mutant; ``tried`` are those that were thrown."""

    mutant: Mutant
    caught: tuple[str, ...]
    tried: tuple[str, ...]
    seconds: float

    @property
    def check(self) -> Check:
        missed = [name for name in self.tried if name not in self.caught]
        return Check(
            group="wrong rules", name=self.mutant.name, claim=f"caught: {self.mutant.about}", samples=len(self.tried),
            unit="kinds of check", statistic=f"caught by {', '.join(self.caught) or 'none'}", threshold="at least one",
            passed=bool(self.caught), seconds=self.seconds,
            details=(f"not by {', '.join(missed)}",) if missed else ())


def catch(mutant: Mutant, *, first: bool, cancelled: Cancelled = never) -> Catch:
    """Throw the nets at a mutant: all of them, or (``first``) until one catches it."""
    caught, tried = [], []
    with timed() as clock:
        for net in sorted(NETS, key=lambda net: net.name != AIMED.get(mutant.name)) if first else NETS:
            tried.append(net.name)
            if not net.passes(mutant.spoil, cancelled):
                caught.append(net.name)
                if first:
                    break
    return Catch(mutant, tuple(caught), tuple(tried), clock.seconds)


def catches(*, quick: bool, cancelled: Cancelled = never) -> Iterator[Catch]:
    for mutant in MUTANTS:
        yield catch(mutant, first=quick, cancelled=cancelled)


def matrix(found: Iterable[Catch]) -> str:
    """The kill matrix as a Markdown table: ● caught, · not."""
    names = [net.name for net in NETS]
    lines = ["| wrong rule | " + " | ".join(names) + " |", "| --- |" + " :-: |" * len(names)]
    for one in found:
        marks = ["●" if name in one.caught else "·" if name in one.tried else "" for name in names]
        lines.append(f"| {one.mutant.name} | " + " | ".join(marks) + " |")
    return "\n".join(lines)
