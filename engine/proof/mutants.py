"""Wrong rules and parts: faults that engines had, or plausibly could have. Each exchanges one part of a lane.

A proof that can't tell these from the right thing proves nothing, so the suite runs every one and fails if one survives
(see kills.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from engine.drafters.base import Draft, Drafter, RoundDraws
from engine.drafters.model import ModelDrafter
from engine.proof.rig import Rig
from engine.proof.wrong_rules import RULES, Rows, finish, left_over, ratios, redraw_from_p
from engine.records import StopReason
from engine.sampling import Warper
from engine.settings import Sampling
from engine.tree import Tree
from engine.verify import Verdict, judge_sampled, leading


@dataclass(frozen=True)
class Mutant:
    """One wrong part."""

    name: str
    about: str
    spoil: Callable[[Rig], None]
    bends: bool = True
    """Does it change the output's distribution (or length)? Else it only costs speed, and another check must see it."""


class Around:
    """A drafter with another's abilities."""

    def __init__(self, inner: Drafter) -> None:
        self.inner = inner
        self.about = inner.about

    def prefill(self, tokens: Sequence[int]) -> None:
        self.inner.prefill(tokens)

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        return self.inner.propose(tokens, count, draws)

    def cut(self, length: int) -> None:
        self.inner.cut(length)

    @property
    def slots(self) -> int:
        return self.inner.slots

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _Reporting(Around):
    """Drafts as the inner one does, but says ``said(q)`` or draws ``drawn(draft)``."""

    def __init__(self, inner: Drafter, change: Callable[[Draft], Draft]) -> None:
        super().__init__(inner)
        self.change = change

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        return map(self.change, self.inner.propose(tokens, count, draws))


def _reporting(change: Callable[[Draft], Draft]) -> Callable[[Rig], None]:
    def spoil(rig: Rig) -> None:
        rig.drafter = _Reporting(rig.drafter, change)

    return spoil


def _q(draft: Draft, change: Callable[[torch.Tensor], torch.Tensor]) -> Draft:
    return draft if draft.q is None else replace(draft, q=change(draft.q))


def _argmax_said_softmax(draft: Draft) -> Draft:
    return draft if draft.q is None else replace(draft, token=draft.q.argmax())


def _before_the_warper(rig: Rig) -> None:
    """q drawn from after temperature and the rest, told before them."""
    temperature = rig.settings.sampling.temperature or 1.0
    rig.drafter = _Reporting(rig.drafter, lambda d: _q(d, lambda q: torch.softmax(q.log() * temperature, -1)))


class _Dropping(Around):
    """Drops a draft, and stops, when it turns out to be an ``unlikely`` one for its q."""

    def __init__(self, inner: Drafter, unlikely: Callable[[torch.Tensor, int], bool]) -> None:
        super().__init__(inner)
        self.unlikely = unlikely

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        for draft in self.inner.propose(tokens, count, draws):
            if draft.q is not None and self.unlikely(draft.q, int(draft.token)):
                return
            yield draft


def _dropping(unlikely: Callable[[torch.Tensor, int], bool]) -> Callable[[Rig], None]:
    def spoil(rig: Rig) -> None:
        rig.drafter = _Dropping(rig.drafter, unlikely)

    return spoil


class _Peeking(Around):
    """Drafts only as far as the draws that will judge the drafts are small."""

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        far = next((index for index in range(count) if draws.accept(index) > 0.6), count)
        return self.inner.propose(tokens, far, draws)


def _peeking(rig: Rig) -> None:
    rig.drafter = _Peeking(rig.drafter)


class _Forgetful(Around):
    def cut(self, length: int) -> None:
        """Rejected drafts stay in the cache."""


def _stale(rig: Rig) -> None:
    rig.drafter = _Forgetful(rig.drafter)


def _redundant(rig: Rig) -> None:
    forward = rig.target.forward

    def twice(tokens: Sequence[int | torch.Tensor], *, rows: int = 0, tree: Tree | None = None) -> torch.Tensor:
        before = rig.target.length
        forward(tokens, rows=rows, tree=tree)
        rig.target.cut(before)
        return forward(tokens, rows=rows, tree=tree)

    rig.target.forward = twice  # type: ignore[method-assign]


def _cut_off_by(extra: int) -> Callable[[Rig], None]:
    def spoil(rig: Rig) -> None:
        cut = rig.target.cut
        rig.target.cut = lambda to: cut(max(0, to + extra))  # type: ignore[method-assign]

    return spoil


class AroundDraws(RoundDraws):
    """Another's draws, changed."""

    def __init__(self, inner: RoundDraws) -> None:
        super().__init__(inner.seed, inner.start)
        object.__setattr__(self, "inner", inner)

    inner: RoundDraws

    def draft(self, index: int, sibling: int = 0) -> float:
        return self.inner.draft(index, sibling)

    def accept(self, index: int, sibling: int = 0) -> float:
        return self.inner.accept(index, sibling)

    def final(self, index: int) -> float:
        return self.inner.final(index)


class _Constant(AroundDraws):
    def accept(self, index: int, sibling: int = 0) -> float:
        return 0.5


def _constant(rig: Rig) -> None:
    draws_of = rig.draws_of
    rig.draws_of = lambda seed, start: _Constant(draws_of(seed, start))


class _ByPosition(AroundDraws):
    """Of a round that began at 0, whenever it really did."""

    def __init__(self, inner: RoundDraws, start: int) -> None:
        super().__init__(inner)
        object.__setattr__(self, "offset", start)

    offset: int

    def draft(self, index: int, sibling: int = 0) -> float:
        return self.inner.draft(self.offset + index, sibling)

    def accept(self, index: int, sibling: int = 0) -> float:
        return self.inner.accept(self.offset + index, sibling)

    def final(self, index: int) -> float:
        return self.inner.final(self.offset + index)


def _keyed_by_position(rig: Rig) -> None:
    draws_of = rig.draws_of
    rig.draws_of = lambda seed, start: _ByPosition(draws_of(seed, 0), start)


class _LastRowOnly(Warper):
    """min-p and the penalty on the bonus row only."""

    def distribution(self, scores: torch.Tensor) -> torch.Tensor:
        s = self.sampling
        plain = Warper(Sampling(temperature=s.temperature, top_k=s.top_k, top_p=s.top_p))
        return torch.cat((plain.distribution(scores)[:-1], super().distribution(scores)[-1:]))


def _last_row_only(rig: Rig) -> None:
    rig.judge.warper = _LastRowOnly(rig.settings.sampling)


def _raw_p(rig: Rig) -> None:
    rig.judge.warper = Warper(Sampling(temperature=1.0))


def _raw_q(rig: Rig) -> None:
    """Honest, since q is what was drawn from; but it overlaps less with p."""
    if isinstance(rig.drafter, ModelDrafter):
        rig.drafter.warper = Warper(Sampling(temperature=1.0))


def _drafts_not_seen(rig: Rig) -> None:
    """The penalty counts the committed prefix only, not the drafts before a row."""
    seen = rig.judge.seen
    if seen is not None:
        seen.rows = lambda drafts: seen.mask.expand(len(drafts) + 1, -1)  # type: ignore[method-assign]


def _by_ratio_when_greedy(rig: Rig) -> None:
    """Greedy accepted by probability instead of by argmax."""
    def rule(winners: torch.Tensor, p: Rows, q: Rows | None, drafts: torch.Tensor) -> Verdict:
        p_draft, q_draft = ratios(p, q, drafts)
        passed = p_draft >= 0.5 * q_draft.clamp(max=p.amax(-1)[: len(drafts)].double())
        accepted = leading(passed)
        return Verdict(accepted, passed, winners[accepted], p_draft.new_ones(()), p_draft, q_draft)

    rig.judge.greedily = rule


def _end_untested(rig: Rig) -> None:
    """A drafted end token ends the run, accepted or not."""
    ends = rig.seq._eos

    def rule(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
        right = judge_sampled(p, q, drafts, accept, final)
        at = int(right.accepted)
        if at < len(drafts) and int(drafts[at]) in ends:
            return replace(right, final=drafts[at])
        return right

    rig.judge.sampled = rule


def _end_run_over(rig: Rig) -> None:
    """Tokens are still appended behind an accepted end token."""
    ask = rig.seq._reason

    def reason(token: int, piece: str) -> StopReason | None:
        found = ask(token, piece)
        return None if found == "eos" else found

    rig.seq._reason = reason  # type: ignore[method-assign]


def _one_too_many(rig: Rig) -> None:
    """The limit is checked between rounds only: a bonus lands behind it."""
    rig.seq._limit += 1


def _shifted(rig: Rig) -> None:
    """Positions of a forward over several tokens are one too high."""
    call = getattr(rig.target, "_call", None)
    if call is not None:
        rig.target._call = lambda ids, positions, rows, *tree: call(  # type: ignore[method-assign]
            ids, positions + 1 if ids.shape[1] > 1 else positions, rows, *tree)


class _TopPFirst(Warper):
    """top-p before top-k, the other way round than transformers."""

    def distribution(self, scores: torch.Tensor) -> torch.Tensor:
        s = self.sampling
        first = Warper(Sampling(temperature=s.temperature, top_p=s.top_p)).distribution(scores)
        return Warper(Sampling(temperature=1.0, top_k=s.top_k, min_p=s.min_p)).distribution(first.log())


def _top_p_first(rig: Rig) -> None:
    rig.judge.warper = _TopPFirst(rig.settings.sampling)
    if isinstance(rig.drafter, ModelDrafter):
        rig.drafter.warper = rig.judge.warper


def _seed_ignored(rig: Rig) -> None:
    draws_of = rig.draws_of
    rig.draws_of = lambda seed, start: draws_of(0, start)


def _after_acceptance(rig: Rig) -> None:
    """Redraws from p, but only in rounds behind one that was accepted whole."""
    whole = False

    def rule(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
        nonlocal whole
        judge = redraw_from_p if whole and len(drafts) else judge_sampled
        found = judge(p, q, drafts, accept, final)
        whole = len(drafts) > 0 and int(found.accepted) == len(drafts)
        return found

    rig.judge.sampled = rule


def _separate(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor) -> Verdict:
    """The first draft's draw is nudged by the second's."""
    if len(accept) > 1:
        accept = torch.cat((accept[:1] - 0.1 * (accept[1:2] - 0.5), accept[1:]))
    return judge_sampled(p, q, drafts, accept, final)


def _entangled(rig: Rig) -> None:
    rig.judge.sampled = _separate


def _clamped(rig: Rig) -> None:
    rig.judge.sampled = lambda p, q, drafts, accept, final: judge_sampled(p, q, drafts, accept.clamp_min(0.01), final)


def _short_residual(p: Rows, q: Rows | None, drafts: torch.Tensor, accept: torch.Tensor, final: torch.Tensor
                    ) -> Verdict:
    right = judge_sampled(p, q, drafts, accept, final)
    weights = left_over(p, q, drafts, right.accepted)
    kept = weights.topk(min(64, len(weights))).indices
    weights = torch.zeros_like(weights).index_copy_(0, kept, weights[kept])
    return finish(p, q, drafts, right.passed, right.accepted, weights, final[right.accepted])


def _truncated(rig: Rig) -> None:
    rig.judge.sampled = _short_residual


MUTANTS: tuple[Mutant, ...] = (
    *(Mutant(rule.name, rule.about, rule.spoil) for rule in RULES),
    Mutant("constant-draw", "Every acceptance is tested against 0.5.", _constant),
    Mutant("seed-ignored", "Every seed gives the same draws.", _seed_ignored),
    Mutant("draws-entangled", "One draft's draw is nudged by another's.", _entangled),
    Mutant("draw-clamped", "Draws below 0.01 are raised to it, so that rare tokens are never accepted.", _clamped),
    Mutant("residual-truncated", "Only the 64 largest entries of the residual are kept.", _truncated),
    Mutant("wrong-after-acceptance", "Right, but for rounds behind one that was accepted whole.", _after_acceptance),
    Mutant("top-p-before-top-k", "The warper's steps are in another order than transformers'.", _top_p_first),
    Mutant("draws-by-position", "Draws are keyed by position alone: the number that discarded a draft judges its "
           "successor.", _keyed_by_position),
    Mutant("argmax-said-softmax", "Drafted by argmax, reported as drawn from the softmax.",
           _reporting(_argmax_said_softmax)),
    Mutant("q-before-warper", "q is reported before temperature, drawn after it.", _before_the_warper),
    Mutant("half-precision-q", "q is reported through float16.",
           _reporting(lambda d: _q(d, lambda q: q.half().to(q.dtype)))),
    Mutant("dropped-after-seen", "A draft that was drawn is dropped because it is unlikely.",
           _dropping(lambda q, token: float(q[token]) < float(q.max()))),
    Mutant("confidence-after-draw", "Drafting stops where the drawn token's own probability is below 0.4, and that "
           "draft is taken back.", _dropping(lambda q, token: float(q[token]) < 0.4)),
    Mutant("length-by-draws", "The draft length is chosen by the very draws that will judge the drafts.", _peeking),
    Mutant("bonus-row-only", "min-p and penalty act on the bonus row only.", _last_row_only),
    Mutant("p-not-warped", "Temperature and the rest shape q but not p.", _raw_p),
    Mutant("penalty-without-drafts", "The penalty forgets the drafts before a row.", _drafts_not_seen),
    Mutant("end-untested", "A drafted end token ends the run without being accepted.", _end_untested),
    Mutant("end-run-over", "Tokens are committed behind an end token.", _end_run_over),
    Mutant("limit-run-over", "One token is committed beyond the limit.", _one_too_many),
    Mutant("cut-one-too-few", "The target's cache keeps one token too many.", _cut_off_by(1)),
    Mutant("cut-one-too-many", "The target's cache loses one token too many.", _cut_off_by(-1)),
    Mutant("greedy-by-ratio", "Greedy drafts are accepted by probability, not by argmax.", _by_ratio_when_greedy),
    Mutant("positions-shifted", "Position ids of a verify forward are one too high.", _shifted),
    Mutant("stale-drafter-cache", "Rejected drafts stay in the drafter's cache.", _stale, bends=False),
    Mutant("q-not-warped", "Temperature and the rest shape p but not q.", _raw_q, bends=False),
    Mutant("verified-twice", "Each round runs the target twice.", _redundant, bends=False),
)
