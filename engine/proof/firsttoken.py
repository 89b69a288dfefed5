"""The first token of a round, many times over, on rows that stay: it must come out as the target's p, whatever q is.

One draft is enough: what is committed behind it is judged by other rows, in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import torch

from engine.draws import Purpose, draw
from engine.proof.report import Sampled
from engine.proof.statistics import total_variation
from engine.rounds import SampledRule
from engine.sampling import choose, most_probable
from engine.verify import accepts, leftover

LISTED = 8
"""Outcomes shown one by one; the others are added up."""

OTHERS = "all others"


@lru_cache(maxsize=16)
def uniforms(seed: int, count: int, position: int, purpose: Purpose) -> torch.Tensor:
    """(count,) the draws at one place of the runs with seeds ``seed``, ``seed`` + 1, …; shared, so don't change it."""
    return torch.from_numpy(np.array([draw(seed + i, 0, position, purpose) for i in range(count)]))


@torch.inference_mode()
def watch(p: torch.Tensor, q: torch.Tensor | None, rule: SampledRule, *, samples: int, seed: int,
          labels: Sequence[str], every: int, draft: int | None = None) -> Iterator[Sampled]:
    """Judge one draft ``samples`` times by ``rule``, and tell every ``every`` samples how often each token came first.

    ``p`` (2, V): the row of the first token and the one behind it; ``q`` (1, V): what the draft is drawn from, or None
    where it always is ``draft``. ``labels``: a text per token. Seeds are ``seed``, ``seed`` + 1, …
    """
    counts = torch.zeros(p.shape[-1], dtype=torch.int64)
    for start in range(0, samples, every):
        size = min(every, samples - start)
        places = [(0, Purpose.DRAFT), (0, Purpose.ACCEPT), (0, Purpose.FINAL), (1, Purpose.FINAL)]
        u = torch.tensor([[draw(seed + start + i, 0, *place) for place in places] for i in range(size)],
                         dtype=torch.float64, device=p.device)
        drafts = _drafts(q, draft, u[:, 0])
        tokens = []
        for i in range(size):
            verdict = rule(p, q, drafts[i : i + 1], u[i, 1:2], u[i, 2:4])
            tokens.append(int(drafts[i] if int(verdict.accepted) else verdict.final))
        counts += torch.bincount(torch.tensor(tokens), minlength=len(counts))
        yield sampled(counts, p[0], labels)


@torch.inference_mode()
def tally(p: torch.Tensor, q: torch.Tensor | None, samples: int, seed: int, *, draft: int | None = None,
          plain: bool = False) -> torch.Tensor:
    """(V,) how often each token came first: what :func:`watch` counts with the engine's own rule, made of the same
    functions, but for all samples at once. ``p`` (V,), ``q`` (V,) or None. ``plain``: nothing was drafted."""
    final = uniforms(seed, samples, 0, Purpose.FINAL)
    if plain:
        return torch.bincount(choose(leftover(p, torch.zeros_like(p))[0], final), minlength=p.shape[0])
    drafts = _drafts(None if q is None else q[None], draft, uniforms(seed, samples, 0, Purpose.DRAFT))
    one_hot = torch.zeros_like(p).index_fill_(0, drafts[:1], 1.0)
    q = one_hot if q is None else q
    passed = accepts(p[drafts].double(), q[drafts].double(), uniforms(seed, samples, 0, Purpose.ACCEPT))
    corrections = choose(leftover(p, q)[0], final)
    return torch.bincount(torch.where(passed, drafts, corrections), minlength=p.shape[0])


def sampled(counts: torch.Tensor, p: torch.Tensor, labels: Sequence[str]) -> Sampled:
    """The most probable outcomes one by one, the rest together."""
    n = int(counts.sum())
    expected = p.double().cpu()
    top = most_probable(p.cpu(), LISTED).tolist()
    names, chances, seen = [labels[t] for t in top], expected[top].tolist(), counts[top].tolist()
    if len(counts) > LISTED:
        names, chances, seen = [*names, OTHERS], [*chances, max(0.0, 1 - sum(chances))], [*seen, n - sum(seen)]
    return Sampled(labels=tuple(names), expected=tuple(chances), counts=tuple(seen), samples=n,
                   total_variation=total_variation(counts, expected).value)


def _drafts(q: torch.Tensor | None, draft: int | None, u: torch.Tensor) -> torch.Tensor:
    """(n,) a draft per draw."""
    if q is not None:
        return choose(q[0], u)
    if draft is None:
        raise ValueError("Without q the draft token must be given.")
    return torch.full(u.shape, draft, dtype=torch.int64, device=u.device)
