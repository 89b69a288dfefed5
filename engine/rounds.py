"""One round's judgement from logits to plain numbers, with one transfer from the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from engine.contrast import contrasts, digests, entropy, reduce, softmax_entropy
from engine.drafters.base import Draft, RoundDraws
from engine.errors import NumericsError
from engine.records import Contrast
from engine.runner import Runner, Stopwatch, as_ids, fetch
from engine.sampling import Seen, Warper, best, runner_up
from engine.settings import RunSettings
from engine.tree import Tree
from engine.verify import Verdict, judge_greedy, judge_sampled

SampledRule = Callable[
    [torch.Tensor, torch.Tensor | None, torch.Tensor, torch.Tensor, torch.Tensor], Verdict]
"""p, q, drafts, accept draws, final draws: see :func:`engine.verify.judge_sampled`."""

GreedyRule = Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor], Verdict]
"""Winners, p, q, drafts: see :func:`engine.verify.judge_greedy`."""


class Rows(NamedTuple):
    """What one round is judged by, on the device."""

    tokens: torch.Tensor
    """(k,) int64: the drafts."""
    scores: torch.Tensor
    """(k+1, V) logits after the repetition penalty."""
    p: torch.Tensor
    """(k+1, V)"""
    q: torch.Tensor | None
    """(k, V); None where it is one-hot at each draft, or nothing was drafted."""


@dataclass(frozen=True)
class Facts:
    """What one round's judgement found, on the host. Lists have one entry a draft, or one a row (k + 1)."""

    drafts: list[int]
    tree: Tree
    path: tuple[int, ...]
    """The accepted drafts' numbers; in a chain the first ones."""
    tested: tuple[int, ...]
    """The tested drafts' numbers, in the order of their tests."""
    p: list[float]
    """Of each draft in its test (in a tree after earlier siblings' rejections); of an untested one as in its row."""
    q: list[float]
    final: int
    mass: float
    committed_p: list[float]
    """Of each accepted draft and the final token p in its row."""
    best: list[int]
    """Each row's argmax."""
    rows: tuple[Contrast, ...]
    gaps: list[float]
    digests: list[int]
    accept_draws: list[float | None]
    final_draw: float | None
    judge_seconds: float
    record_seconds: float
    drawn_as_tree: bool = False
    """The drafts told their parents (they may form a chain nonetheless)."""

    @property
    def tokens(self) -> list[int]:
        """The accepted drafts and the final token."""
        return [*(self.drafts[i] for i in self.path), self.final]

    @property
    def judged_by(self) -> list[int]:
        """Of each of :attr:`tokens` the row it was judged or drawn by."""
        return [0, *(i + 1 for i in self.path)]

    def tested_for(self, committed: int) -> tuple[int, ...]:
        """The tests that led to the first ``committed`` of :attr:`tokens`, where the run ended there."""
        if committed > len(self.path):
            return self.tested
        return self.tested[: self.tested.index(self.path[committed - 1]) + 1]


class Judge:
    """Judges the rounds of one run: the same warper for every row, and the tokens seen so far if a penalty wants
    them. ``sampled`` and ``greedily`` are the rules; a proof puts others in their place."""

    sampled: SampledRule = staticmethod(judge_sampled)
    greedily: GreedyRule = staticmethod(judge_greedy)

    def __init__(self, target: Runner, settings: RunSettings, name: str) -> None:
        self.name = name
        self.target = target
        self.settings = settings
        self.warper = Warper(settings.sampling)
        self.seen = Seen(target.vocabulary, target.device) if self.warper.penalises else None

    def commit(self, tokens: Sequence[int]) -> None:
        """These tokens now belong to the prefix."""
        if self.seen:
            self.seen.add(list(tokens))

    def read(self, draft: Draft) -> tuple[int, float]:
        """Token and q(token) of one draft, at the price of a synchronisation: for stepping token by token."""
        if isinstance(draft.token, int):
            return draft.token, 1.0 if draft.q is None else float(draft.q[draft.token])
        token, q = fetch(draft.token, draft.token.double() * 0 + 1 if draft.q is None else draft.q[draft.token])
        return int(token), float(q)

    @torch.inference_mode()
    def rows(self, logits: torch.Tensor, drafts: Sequence[Draft]) -> Rows:
        """``logits`` (k+1, V)."""
        tokens = as_ids([d.token for d in drafts], logits.device)
        q = None if not drafts or drafts[0].q is None else torch.stack([whole(d, len(logits[0])) for d in drafts])
        scores = self.warper.scores(logits, self.seen.rows(list(tokens)) if self.seen else None)
        return Rows(tokens, scores, self.warper.distribution(scores), q)

    @torch.inference_mode()
    def __call__(self, logits: torch.Tensor, drafts: Sequence[Draft], tree: Tree, draws: RoundDraws, watch: Stopwatch
                 ) -> Facts:
        """Judge ``logits`` (k+1, V) of a chain. Raises :class:`NumericsError` when a row is NaN or infinite."""
        begin = watch.mark()
        k, device = len(drafts), logits.device
        tokens, scores, p, q = self.rows(logits, drafts)
        greedy, detail = self.warper.greedy, self.settings.detail
        winners = best(scores)
        if greedy:
            accept_draws: list[float | None] = [None] * k
            verdict = self.greedily(winners, p, q, tokens)
        else:
            accept_draws = [draws.accept(i) for i in range(k)]
            final_draws = [draws.final(i) for i in range(k + 1)]
            verdict = self.sampled(p, q, tokens, _floats(accept_draws, device), _floats(final_draws, device))
        top = scores.gather(1, winners[:, None])[:, 0]
        reduced_at = watch.mark()
        found = {"drafts": tokens, "p_draft": verdict.p, "q_draft": verdict.q, "accepted": verdict.accepted,
                 "final": verdict.final, "p_final": p[verdict.accepted, verdict.final], "mass": verdict.mass,
                 "best": winners, "top": top}
        if detail:
            reduced = reduce(p, q, verdict, scores if greedy else None)
            second = runner_up(scores, winners, reduced.ids if greedy else None)
            found |= {**reduced.named(), "second": second, "digests": digests(logits)}
        reduced_by = watch.mark()  # before the transfer: it has surely passed once that is done
        host = dict(zip(found, fetch(*found.values()), strict=True))
        began = time.perf_counter()
        rows = contrasts(host, self.entropies(host, p)) if detail else ()
        host_seconds = time.perf_counter() - began
        self.check(host, draws.start)
        accepted = int(host["accepted"])
        p_draft = host["p_draft"].tolist()
        return Facts(
            drafts=host["drafts"].tolist(), tree=tree, path=tuple(range(accepted)),
            tested=tuple(range(min(accepted + 1, k))), p=p_draft, q=host["q_draft"].tolist(),
            final=int(host["final"]), mass=float(host["mass"]),
            committed_p=[*p_draft[:accepted], float(host["p_final"])], best=host["best"].tolist(), rows=rows,
            gaps=gaps(host["top"], host["second"]) if detail else [],
            digests=host["digests"].tolist() if detail else [],
            accept_draws=accept_draws, final_draw=None if greedy else draws.final(accepted),
            judge_seconds=watch.between(begin, reduced_at),
            record_seconds=watch.between(reduced_at, reduced_by) + host_seconds,
            drawn_as_tree=bool(drafts) and drafts[0].parent is not None)

    def entropies(self, host: Mapping[str, NDArray[Any]], p: torch.Tensor) -> NDArray[Any]:
        """(k+1,) nats."""
        found = softmax_entropy(host) if "mean_score" in host else host["p_entropy"]
        return found if np.isfinite(found).all() else entropy(p).cpu().numpy()

    def check(self, host: Mapping[str, NDArray[Any]], start: int) -> None:
        """Raises :class:`NumericsError` where a distribution can't have been one, and says whose. ``host``: of the
        round's figures the tops and the mass of p, and q of the drafts."""
        top, q = host["top"], host["q_draft"]
        bad, spoilt = np.flatnonzero(~np.isfinite(top)), np.flatnonzero(~np.isfinite(q))
        dtype = str(self.target.dtype).removeprefix("torch.")
        if not len(bad) and len(spoilt):  # the mass may be NaN only for that
            raise NumericsError(
                f"The drafter's distribution for draft {spoilt[0] + 1} behind position {start - 1} holds NaN in "
                f"{dtype}; try float32, or check the drafter's weights.")
        if len(bad) or not np.isfinite(host["mass"]):
            position = start + int(bad[0] if len(bad) else 0)
            raise NumericsError(
                f"{self.name} produced NaN or infinite logits for position {position} in {dtype}; try float32, or "
                "check the model's weights.")


def whole(draft: Draft, size: int) -> torch.Tensor:
    """q over the target's vocabulary."""
    assert draft.q is not None
    return torch.nn.functional.pad(draft.q, (0, size - draft.q.shape[0]))


def _floats(values: Sequence[float | None], device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, device=device)


def gaps(first: NDArray[Any], second: NDArray[Any]) -> list[float]:
    """Differences of the two largest logits, finite even where only one token is possible."""
    return np.minimum(first.astype(np.float64) - second, np.finfo(np.float32).max).tolist()  # type: ignore[no-any-return]
