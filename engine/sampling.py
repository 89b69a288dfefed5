"""From logits to a distribution, and from a distribution and a draw to a token.

One :class:`Warper` serves p, q and plain decoding, so that all three mean the same thing by "temperature 0.8, top-p
0.9". Its order and tie rules are those of transformers: repetition penalty, temperature, top-k, top-p, min-p. The code
keeps the dtype it is given: float32 in a run, float64 in a proof.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from engine.settings import Sampling
from engine.tree import Tree

HEAD = 64
"""A distribution's most probable tokens, which come first in its inverse CDF and are kept in records."""

CHUNK = 64
"""Tokens searched together when looking for the most probable ones."""

NUCLEUS = 2048
"""On a CPU, top-p first looks at this many tokens: sorting a whole vocabulary takes milliseconds a row."""


class Warper:
    """logits → the distribution that is sampled from, under one :class:`Sampling`."""

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling

    @property
    def greedy(self) -> bool:
        return self.sampling.greedy

    @property
    def penalises(self) -> bool:
        return self.sampling.repetition_penalty != 1.0

    def scores(self, logits: torch.Tensor, seen: torch.Tensor | None = None) -> torch.Tensor:
        """Logits (R, V) after the repetition penalty, at least in float32. ``seen`` (R, V): tokens of each row's own
        prefix, drafts before it included."""
        scores = logits if logits.dtype == torch.float64 else logits.float()
        if self.penalises and seen is not None:
            penalty = self.sampling.repetition_penalty
            scores = torch.where(seen, torch.where(scores < 0, scores * penalty, scores / penalty), scores)
        return scores

    def distribution(self, scores: torch.Tensor) -> torch.Tensor:
        """(R, V) probabilities that sum to 1 a row. When greedy: the softmax at temperature 1, for showing."""
        s = self.sampling
        if s.greedy:
            return torch.softmax(scores, -1)
        if s.temperature != 1.0:
            scores = (scores - scores.amax(-1, keepdim=True)) / s.temperature  # the maximum first: 1e-4 overflows else
        if 0 < s.top_k < scores.shape[-1]:
            kth = torch.topk(scores, s.top_k).values[..., -1:]
            scores = scores.masked_fill(scores < kth, -torch.inf)
        p = torch.softmax(scores, -1)
        if s.top_p < 1.0:
            p = _renormalised(p, nucleus(p, s.top_p))
        if s.min_p > 0.0:
            p = _renormalised(p, p >= s.min_p * p.amax(-1, keepdim=True))
        return p


def _renormalised(p: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    kept = torch.where(keep, p, 0.0)
    return kept / kept.sum(-1, keepdim=True)


def nucleus(p: torch.Tensor, mass: float) -> torch.Tensor:
    """(R, V) bool: the smallest set of most probable tokens with at least this mass (never empty).

    A token is kept while the mass before it is < ``mass``. transformers removes from the other end of an ascending
    sort, so of equal tokens those with the higher ids come first here. (Its sort isn't stable, so which of equal tokens
    at the edge it keeps is open.)
    """
    size = p.shape[-1]
    for count in ((NUCLEUS, size) if p.device.type == "cpu" and size > 2 * NUCLEUS else (size,)):
        order = most_probable(p, count, lower_first=False)
        sorted_p = p.gather(-1, order)
        before = sorted_p.cumsum(-1) - sorted_p
        if count == size or bool((before[..., -1] >= mass).all()):
            break
    keep = before < mass
    keep[..., 0] = True
    return torch.zeros_like(p, dtype=torch.bool).scatter_(-1, order, keep)


def most_probable(p: torch.Tensor, count: int, *, lower_first: bool = True) -> torch.Tensor:
    """Ids (…, count) by falling probability; of equal ones the lower id first (or the higher)."""
    size = p.shape[-1]
    count = min(count, size)
    if p.dtype != torch.float32:
        order = torch.sort(p if lower_first else p.flip(-1), dim=-1, descending=True, stable=True).indices
        return (order if lower_first else size - 1 - order)[..., :count]
    if not lower_first or size < CHUNK * count or size % CHUNK:
        return torch.topk(_keys(p, lower_first), count).indices
    # The ``count`` most probable tokens lie in the ``count`` chunks with the most probable best tokens (equal ones: the
    # lower chunk), so two short searches find what one over the whole vocabulary would.
    chunks = p.reshape(*p.shape[:-1], -1, CHUNK)
    where = torch.topk(_keys(chunks.amax(-1), True), count).indices[..., None]
    few = chunks.gather(-2, where.expand(*where.shape[:-1], CHUNK))
    ties = _ties(CHUNK, p.device, True) + (size - CHUNK * (where + 1))  # size − 1 − id
    keys = torch.add(ties, few.view(torch.int32), alpha=1 << 32)
    return size - 1 - (torch.topk(keys.flatten(-2), count).values & 0xFFFFFFFF)


def _keys(p: torch.Tensor, lower_first: bool) -> torch.Tensor:
    """One int64 a probability, ordered alike, without ties (which ``topk`` leaves open).

    A non-negative float32's bits rise with its value (no probability is −0); they go above the id, counted down if
    lower ids are to come first.
    """
    return torch.add(_ties(p.shape[-1], p.device, lower_first), p.view(torch.int32), alpha=1 << 32)


@lru_cache(maxsize=16)
def _ties(size: int, device: torch.device, lower_first: bool) -> torch.Tensor:
    ids = torch.arange(size, device=device)
    return size - 1 - ids if lower_first else ids


def choose(weights: torch.Tensor, u: torch.Tensor | float) -> torch.Tensor:
    """One token (int64) a draw by inverse CDF: the first whose cumulative weight exceeds u · Σ weights.

    ``weights`` (V,) needn't sum to 1; ``u`` in [0, 1): one, for a 0-d token, or (N,). The order is the :data:`HEAD`
    largest by falling weight (ties: lower id), then the rest by id. A token without weight is never chosen: its
    cumulative weight equals the one before it. Sums are float64.
    """
    head = most_probable(weights, HEAD)
    exact = weights.double()
    rest = exact.index_fill(0, head, 0.0)
    cumulative = torch.cat((exact[head], rest)).cumsum(0)
    total = cumulative[-1]
    index = torch.searchsorted(cumulative, total * u, right=True)
    last = torch.searchsorted(cumulative, total)  # u·total may round up to total: the last one with weight
    index = torch.minimum(index, last).clamp(max=cumulative.shape[0] - 1)  # NaN is found by the caller
    count = head.shape[0]
    return torch.where(index < count, head[index.clamp(max=count - 1)], index - count)


def best(scores: torch.Tensor) -> torch.Tensor:
    """(R,) the largest score's token, the lowest id on ties (``argmax`` promises the first)."""
    if scores.shape[-1] % CHUNK:
        return scores.argmax(-1)
    chunks = scores.reshape(len(scores), -1, CHUNK)  # two short searches: an argmax is far slower than a maximum
    where = chunks.amax(-1).argmax(-1)
    return where * CHUNK + chunks[torch.arange(len(scores), device=scores.device), where].argmax(-1)


def runner_up(scores: torch.Tensor, winners: torch.Tensor, tops: torch.Tensor | None = None) -> torch.Tensor:
    """(R,) the largest score besides each row's winner (R,); −inf where there is no other token. ``tops`` (R, n):
    tokens known to be no worse than all others, which spares the search."""
    if tops is not None:
        return scores.gather(1, tops).masked_fill(tops == winners[:, None], -torch.inf).amax(-1)
    rows = torch.arange(len(scores), device=scores.device)
    size = CHUNK if scores.shape[-1] % CHUNK == 0 else scores.shape[-1]
    chunks = scores.reshape(len(scores), -1, size)
    own = chunks[rows, winners // size].index_put((rows, winners % size), scores.new_tensor(-torch.inf))
    tops = chunks.amax(-1).index_put((rows, winners // size), own.amax(-1))
    return tops.amax(-1)


class Seen:
    """Which tokens are in the prefix, for the repetition penalty. Drafts count only for the rows behind them."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.mask = torch.zeros(size, dtype=torch.bool, device=device)

    def add(self, tokens: list[int]) -> None:
        """Commit tokens to the prefix."""
        if tokens:
            self.mask[torch.tensor(tokens, device=self.mask.device)] = True

    def rows(self, drafts: list[torch.Tensor]) -> torch.Tensor:
        """(len(drafts) + 1, V): the prefix, then the prefix and the first draft, and so on."""
        rows = self.mask.expand(len(drafts) + 1, -1).clone()
        for index, token in enumerate(drafts):
            rows[index + 1 :].index_fill_(1, token.reshape(1).to(rows.device), True)
        return rows

    def tree_rows(self, drafts: list[int], tree: Tree) -> torch.Tensor:
        """(len(drafts) + 1, V): the prefix, then the prefix with each draft and its ancestors."""
        rows = self.mask.expand(len(drafts) + 1, -1).clone()
        for node in range(len(drafts)):
            rows[node + 1, [drafts[above] for above in tree.path(node)]] = True
        return rows
