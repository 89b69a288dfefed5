"""The distribution of the whole committed sequence, without sampling.

The real loop is run with draws from a script instead of the generator. One draw after another is moved through [0, 1)
while the others stand still, and cut into the intervals on which the round's outcome stays the same. That choices don't
depend on each other in other ways is then tried: at draws taken at random each round must decide as predicted. The
probability of an outcome is the product of its intervals' lengths. Draws of one round are independent of every other
round's, by their key, so rounds chain: P(sequence) = Σ over all ways to commit it.

It must be the target's own: P(x₁ … xₙ) = Π p(xᵢ | x₁ … xᵢ₋₁), where a sequence ends behind EOS or at its longest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import torch

from engine.draws import Purpose
from engine.errors import RuleError
from engine.proof.intervals import NEAR, intervals
from engine.proof.reference import distribution
from engine.proof.report import Cancelled, Check, never, timed
from engine.proof.rig import Rig
from engine.proof.tables import Case, looked_up
from engine.records import Committed, Drafted, RunFinished
from engine.sampling import most_probable
from engine.tree import ROOT, Tree

TOLERANCE = 1e-12
"""Float64 sums of some hundred interval lengths, each known to about 1e-16."""

COARSE, COARSE_TOLERANCE = 1e-7, 2e-5
"""Resolution and tolerance that are enough to see a wrong rule."""

SPOT_CHECKS = 40
"""Random scripts a round."""

Tokens = tuple[int, ...]
Way = tuple[Tokens, tuple[tuple[int, int], ...]]
"""What was committed and, where the draft length depends on it, how many were accepted and drafted in each round."""
Key = tuple[Purpose, int, int]
"""Purpose, depth, and number among the siblings of a tree's level."""
Script = Mapping[Key, float]
Box = Mapping[Key, tuple[float, float]]
Spoil = Callable[[Rig], None]


@dataclass(frozen=True)
class Outcome:
    """All that one round decided."""

    drafts: Tokens
    parents: tuple[int | None, ...]
    path: Tokens
    """Of a tree: its accepted drafts."""
    accepted: int
    tokens: Tokens
    ended: bool


@dataclass
class ScriptedDraws:
    """The draws of one round as a script has them; remembers which were asked for."""

    seed: int
    start: int
    script: Script
    asked: dict[Key, None] = field(default_factory=dict)

    def _get(self, purpose: Purpose, index: int, sibling: int = 0) -> float:
        self.asked[purpose, index, sibling] = None
        return self.script.get((purpose, index, sibling), 0.5)

    def draft(self, index: int, sibling: int = 0) -> float:
        return self._get(Purpose.DRAFT, index, sibling)

    def accept(self, index: int, sibling: int = 0) -> float:
        return self._get(Purpose.ACCEPT, index, sibling)

    def final(self, index: int) -> float:
        return self._get(Purpose.FINAL, index)

    def instead(self, index: int) -> None:
        """Nothing is chosen by hand."""


class Target:
    """The target's own distribution, independently of the engine."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._p, self._q = looked_up(case.p), looked_up(case.q) if case.q else None
        self._rows: dict[tuple[str, Tokens], torch.Tensor] = {}

    def p(self, output: Tokens) -> torch.Tensor:
        return self._row("p", output)

    def q(self, output: Tokens) -> torch.Tensor | None:
        return self._row("q", output) if self._q else None

    def _row(self, of: str, output: Tokens) -> torch.Tensor:
        if (of, output) not in self._rows:
            context = self.case.prompt + output
            logits = self._p if of == "p" or self._q is None else self._q
            self._rows[of, output] = distribution(logits(context), context, self.case.sampling)
        return self._rows[of, output]

    def probability(self, output: Tokens) -> float:
        """Π p(xᵢ | x₁ … xᵢ₋₁); 0 for what goes on behind EOS or beyond the limit."""
        end, limit = self.case.eos, self.case.tokens
        if len(output) > limit or end in output[:-1]:
            return 0.0
        found = 1.0
        for i, token in enumerate(output):
            found *= float(self.p(output[:i])[token])
        return found

    def possible(self, output: Tokens) -> bool:
        """Can the target say this, however seldom? (A product of small numbers may be 0 where no factor is.)"""
        end, limit = self.case.eos, self.case.tokens
        return len(output) <= limit and end not in output[:-1] and all(
            float(self.p(output[:i])[token]) > 0 for i, token in enumerate(output))

    def sequences(self, output: Tokens = ()) -> Iterator[Tokens]:
        """All that can be committed in the end."""
        if len(output) == self.case.tokens or (output and output[-1] == self.case.eos):
            yield output
        else:
            for token in range(self.case.vocabulary):
                yield from self.sequences((*output, token))


class Rounds:
    """The rounds of one case, played by the real loop."""

    def __init__(self, case: Case, target: Target, spoil: Spoil | None, cancelled: Cancelled,
                 resolution: float) -> None:
        self.resolution = resolution
        self.case = case
        self.target = target
        self.spoil = spoil
        self.cancelled = cancelled
        self.plays = 0
        self.surprises: list[str] = []
        """Rounds that decided otherwise than their intervals predict."""
        self._known: dict[tuple[tuple[Key, float], ...], tuple[Outcome, list[Key]]] = {}
        self._random = random.Random(0)

    def outcomes(self, path: tuple[Script, ...], output: Tokens) -> Iterator[tuple[Outcome, float, Script]]:
        """What the round behind ``path``, which committed ``output``, may decide: outcome, probability, and draws that
        lead to it. An outcome may come more than once."""
        self._known.clear()
        leaves = []
        for outcome, weight, script, box in self._cut(path, output, {}, 1.0, {}):
            leaves.append((box, outcome))
            yield outcome, weight, script
        self._spot_check(path, leaves)

    def _cut(self, path: tuple[Script, ...], output: Tokens, script: Script, weight: float, box: Box
             ) -> Iterator[tuple[Outcome, float, Script, Box]]:
        outcome, asked = self._play(path, script)
        # In the order of use; of the final draws the one that is used comes last, so that the others are cut once.
        keys = sorted((key for key in asked if key not in script),
                      key=lambda key: (key[0], key == (Purpose.FINAL, outcome.accepted, 0), key[1:]))
        if not keys:
            yield outcome, weight, script, box
            return
        key, suspects = keys[0], self._suspects(output, outcome, keys[0])
        for low, high, at in intervals(lambda u: self._play(path, {**script, key: u})[0], suspects, self.resolution):
            yield from self._cut(path, output, {**script, key: at}, weight * (high - low), {**box, key: (low, high)})

    def _spot_check(self, path: tuple[Script, ...], leaves: list[tuple[Box, Outcome]]) -> None:
        """At random draws, does the round decide as the intervals that hold them predict?"""
        keys = list(dict.fromkeys(key for box, _ in leaves for key in box))
        for _ in range(SPOT_CHECKS if keys else 0):
            script = {key: self._random.random() for key in keys}
            predicted = next((outcome for box, outcome in leaves if all(
                low <= script[key] < high for key, (low, high) in box.items())), None)
            found, _ = self._play(path, script)
            if found != predicted:
                self.surprises.append(f"{found} where the draws, moved one by one, promised {predicted}")
                return

    def _suspects(self, output: Tokens, outcome: Outcome, key: Key) -> list[float]:
        """Where a right rule changes its mind. Wrong ones cost bisections, no more."""
        if self.case.tree:
            return self._tree_suspects(output, outcome, key)
        purpose, index, _ = key
        before = output + outcome.drafts[:index]
        p, q = self.target.p(before), self.target.q(before)
        if purpose is Purpose.DRAFT:
            return [] if q is None else _steps(q)
        drafted = outcome.drafts[index] if index < len(outcome.drafts) else None
        if drafted is not None and q is None:
            q = torch.nn.functional.one_hot(torch.tensor(drafted), len(p)).double()
        if purpose is Purpose.ACCEPT:
            return [] if q is None or drafted is None or not q[drafted] else [float(p[drafted] / q[drafted])]
        return _steps(p) if drafted is None or q is None else _steps((p - q).clamp_min(0))

    def _tree_suspects(self, output: Tokens, outcome: Outcome, key: Key) -> list[float]:
        """The same along the tree that was drafted: what is left of p and q between siblings, told once more here."""
        purpose, depth, number = key
        tree = Tree.of(outcome.parents)
        node = next((i for i in range(len(tree)) if (tree.depths[i], tree.numbers[i]) == (depth, number)), None)
        ended = outcome.path[-1] if outcome.path else ROOT
        if node is None and purpose is not Purpose.FINAL:
            return []
        parent = ended if node is None or purpose is Purpose.FINAL else tree.parents[node]
        before = output + tuple(outcome.drafts[i] for i in tree.path(parent))
        p, q = self.target.p(before).double(), self.target.q(before)
        assert q is not None
        for child in tree.children(parent):
            y = outcome.drafts[child]
            own = q if self.case.tree == "sampled" else torch.nn.functional.one_hot(torch.tensor(y), len(p)).double()
            if child == node and purpose is Purpose.DRAFT:
                return _steps(own)
            if child == node and purpose is Purpose.ACCEPT:
                return [float(p[y] / own[y])] if own[y] else []
            rest, q = (p - own).clamp_min(0), q.index_fill(0, torch.tensor(y), 0.0)
            p, q = rest / rest.sum() if rest.sum() > 0 else p, q / q.sum() if q.sum() > 0 else q
        return _steps(p)

    def _play(self, path: tuple[Script, ...], script: Script) -> tuple[Outcome, list[Key]]:
        """Run the rounds of ``path`` and one more; returns what that decided, and the draws it asked for."""
        known = tuple(script.items())
        if known not in self._known:
            self._known[known] = self._run((*path, script))
        return self._known[known]

    def _run(self, path: tuple[Script, ...]) -> tuple[Outcome, list[Key]]:
        if self.cancelled():
            raise InterruptedError
        self.plays += 1
        rig = self.case.rig()
        draws: list[ScriptedDraws] = []

        def draws_of(seed: int, start: int) -> ScriptedDraws:
            draws.append(ScriptedDraws(seed, start, path[len(draws)]))
            return draws[-1]

        rig.draws_of = draws_of  # type: ignore[assignment]
        if self.spoil:
            self.spoil(rig)
        drafts: list[Drafted] = []
        for record in rig.run():
            if isinstance(record, Drafted):
                drafts.append(record)
            elif isinstance(record, RunFinished):
                break
            elif isinstance(record, Committed):
                if record.round + 1 == len(path):
                    outcome = Outcome(
                        tuple(d.token for d in drafts), tuple(d.parent for d in drafts), record.path, record.accepted,
                        tuple(record.tokens), rig.seq.ended is not None)
                    return outcome, list(draws[-1].asked)
                drafts.clear()
        raise RuntimeError("The run ended earlier than the rounds that led here.")


def _steps(weights: torch.Tensor) -> list[float]:
    """Where the inverse CDF steps from one token to the next."""
    cumulative = weights[most_probable(weights, len(weights))].cumsum(0)
    return [] if not cumulative[-1] > 0 else (cumulative / cumulative[-1]).tolist()


@dataclass
class Enumerated:
    """The committed sequences' probabilities, and what can never be but was."""

    probabilities: dict[Tokens, float] = field(default_factory=dict)
    impossible: dict[Tokens, float] = field(default_factory=dict)
    surprises: list[str] = field(default_factory=list)
    plays: int = 0


def enumerate_sequences(case: Case, spoil: Spoil | None = None, cancelled: Cancelled = never, *,
                        resolution: float = NEAR) -> Enumerated:
    """All ways through ``case``, played by the loop (after ``spoil`` has had its way with each lane). ``resolution``:
    how exactly boundaries are found that a right rule doesn't have."""
    target = Target(case)
    rounds = Rounds(case, target, spoil, cancelled, resolution)
    found = Enumerated()
    pending: dict[Way, tuple[float, float, tuple[Script, ...]]] = {((), ()): (1.0, 0.0, ())}
    while pending:
        place = min(pending, key=lambda way: len(way[0]))  # all ways that lead there come from shorter ones
        output, lengths = place
        probability, _, path = pending.pop(place)
        for outcome, weight, script in rounds.outcomes(path, output):
            tokens, mass = output + outcome.tokens, probability * weight
            if not target.possible(tokens):
                found.impossible[tokens] = found.impossible.get(tokens, 0.0) + mass
            if outcome.ended or len(tokens) > case.tokens:
                found.probabilities[tokens] = found.probabilities.get(tokens, 0.0) + mass
            elif mass > 0:
                then = tokens, (*lengths, (outcome.accepted, len(outcome.drafts))) if case.adaptive else ()
                known, best, way = pending.get(then, (0.0, 0.0, ()))
                pending[then] = (known + mass, max(best, weight), (*path, script) if weight > best else way)
    found.plays, found.surprises = rounds.plays, rounds.surprises
    return found


def check(case: Case, spoil: Spoil | None = None, cancelled: Cancelled = never, *, coarse: bool = False) -> Check:
    """Is the committed sequences' distribution the target's own? ``coarse``: a wrong rule is expected, whose every
    boundary must be searched for."""
    target = Target(case)
    resolution, tolerance = (COARSE, COARSE_TOLERANCE) if coarse else (NEAR, TOLERANCE)
    with timed() as clock:
        try:
            found = enumerate_sequences(case, spoil, cancelled, resolution=resolution)
            expected = {tokens: target.probability(tokens) for tokens in target.sequences()}
        except (InterruptedError, RuleError):
            raise
        except Exception as error:  # a spoiled part may break in any way; so may an unknown rule
            return _verdict(case, 0, tolerance, False, f"stopped: {type(error).__name__}: {error}", (), clock.seconds)
    off = {tokens: found.probabilities.get(tokens, 0.0) - expected.get(tokens, 0.0)
           for tokens in expected.keys() | found.probabilities.keys()}
    worst = max(off, key=lambda tokens: abs(off[tokens]))
    distance = sum(map(abs, off.values())) / 2
    details = [f"{worst}: {found.probabilities.get(worst, 0.0):.12g}, target {expected.get(worst, 0.0):.12g}"]
    details += [f"{tokens} was committed, which the target can't say" for tokens in list(found.impossible)[:3]]
    details += found.surprises[:3]
    passed = abs(off[worst]) <= tolerance and not found.impossible and not found.surprises
    if not passed:
        details.append(f"total variation {distance:.3g}")
    return _verdict(case, found.plays, tolerance, passed, f"largest difference {abs(off[worst]):.2g}", details,
                    clock.seconds)


def check_first_token(case: Case, spoil: Spoil | None = None, cancelled: Cancelled = never, *, coarse: bool = False
                      ) -> Check:
    """Has the first token the target's probability? One round only, so that the vocabulary may be large and the inverse
    CDF reaches behind its sorted head. ``coarse``: as for :func:`check`."""
    target = Target(case)
    resolution, tolerance = (COARSE, COARSE_TOLERANCE) if coarse else (NEAR, TOLERANCE)
    rounds = Rounds(case, target, spoil, cancelled, resolution)
    found = torch.zeros(case.vocabulary, dtype=torch.float64)
    with timed() as clock:
        for outcome, weight, _ in rounds.outcomes((), ()):
            found[outcome.tokens[0]] += weight
    off = (found - target.p(())).abs()
    passed = bool(off.max() <= tolerance) and not rounds.surprises
    return Check(group="enumeration", name=case.name, claim="the first token has the target's probability",
                 samples=rounds.plays, unit="rounds played", statistic=f"largest difference {float(off.max()):.2g}",
                 threshold=f"at most {tolerance:g}", passed=passed, seconds=clock.seconds,
                 details=(f"token {int(off.argmax())}", *rounds.surprises[:3]))


def _verdict(case: Case, plays: int, tolerance: float, passed: bool, statistic: str, details: Iterable[str],
             seconds: float) -> Check:
    return Check(group="enumeration", name=case.name,
                 claim=f"all sequences of up to {case.tokens} tokens have the target's probability",
                 samples=plays, unit="rounds played", statistic=statistic, threshold=f"at most {tolerance:g}",
                 passed=passed, seconds=seconds, details=tuple(details))
