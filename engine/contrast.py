"""Reducing whole rows to what is recorded: contrasts of p and q, digests of logits. On the device, before the round's
one transfer; then the host half makes records of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.records import Contrast
from engine.sampling import HEAD, most_probable
from engine.verify import Verdict

NO_Q = np.empty(0, dtype=np.float32)
NO_Q.setflags(write=False)


@dataclass(frozen=True)
class Reduced:
    """What is kept of R = k + 1 rows of p and k of q. As few operations as possible: behind a forward each finds the
    processor's caches cold, and costs three times what it does alone."""

    ids: torch.Tensor
    """(R, m) int64: the most probable tokens of p, in order; then, where there is a q, its own."""
    p: torch.Tensor
    """(R, m) at ids."""
    p_entropy: torch.Tensor | None = None
    """(R,) nats."""
    mean_score: torch.Tensor | None = None
    """(R,) Σ p·score, instead, where p is just the softmax of scores: a logarithm of every p costs twice as much."""
    q: torch.Tensor | None = None
    """(k, m) at ids; None where q is one-hot at the draft, which the host knows; so too the rest."""
    q_entropy: torch.Tensor | None = None
    """(k,) nats."""
    overlap: torch.Tensor | None = None
    """(k,) Σ min(p, q), float64."""
    q_final: torch.Tensor | None = None
    """0-d: q of the token that was committed in place of a rejected draft."""

    def named(self) -> dict[str, torch.Tensor]:
        return {name: value for name, value in vars(self).items() if value is not None}


def entropy(p: torch.Tensor) -> torch.Tensor:
    """−Σ p ln p, a row; 0 ln 0 = 0."""
    total: torch.Tensor = torch.linalg.vecdot(p, p.clamp_min(torch.finfo(p.dtype).tiny).log())
    return -total


def reduce(p: torch.Tensor, q: torch.Tensor | None, verdict: Verdict, scores: torch.Tensor | None = None) -> Reduced:
    """Contrast rows ``p`` (k+1, V) with ``q`` (k, V); None: one-hot at the drafts. ``scores`` (k+1, V) where p is just
    their softmax."""
    k = p.shape[0] - 1
    p_entropy, mean = (entropy(p), None) if scores is None else (None, torch.linalg.vecdot(p, scores))
    ids = most_probable(p, HEAD)
    if q is None or not k:
        return Reduced(ids, p.gather(1, ids), p_entropy, mean)
    tops = most_probable(q, HEAD)
    ids = torch.cat((ids, torch.cat((tops, tops[-1:]))), 1)
    return Reduced(ids, p.gather(1, ids), p_entropy, mean, q.gather(1, ids[:k]), entropy(q),
                   torch.minimum(p[:k], q).sum(-1, dtype=torch.float64),
                   q[verdict.accepted.clamp(max=k - 1), verdict.final])


def softmax_entropy(found: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """(R,) nats: ln Z − Σ p·score, where ln Z follows from the best token, whose score ``top`` is ln p + ln Z. NaN
    where a score is −∞, which makes 0 · ∞."""
    with np.errstate(invalid="ignore"):
        log_z = found["top"] - np.log(found["p"][:, 0], dtype=np.float64)
        return np.maximum(log_z - found["mean_score"], 0.0)  # type: ignore[no-any-return]


def contrasts(found: Mapping[str, NDArray[Any]], p_entropy: NDArray[Any]) -> tuple[Contrast, ...]:
    """The host half: one :class:`Contrast` a row of :meth:`Reduced.named`, to which the round's own tokens are added:
    ``drafts``, ``p_draft``, ``q_draft`` (k,) and ``accepted``, ``final``, ``p_final``. With a one-hot q, rows whose own
    tokens are among the most probable, nearly all, are views of one array."""
    ids, p, q, drafts = found["ids"].astype(np.int32), found["p"], found.get("q"), found["drafts"]
    for array in (ids, p):
        array.setflags(write=False)
    k, accepted, final = len(drafts), int(found["accepted"]), int(found["final"])
    missing = (ids[:k] != drafts[:, None]).all(1)
    in_p = p.sum(1, dtype=np.float64)
    out = []
    for row in range(k + 1):
        more: list[tuple[int, float, float]] = []
        if row < k and missing[row]:
            more.append((int(drafts[row]), float(found["p_draft"][row]), float(found["q_draft"][row])))
        if row == accepted and final not in ids[row]:
            more.append((final, float(found["p_final"]), float(found.get("q_final", 0.0))))
        row_ids, row_p, row_q, sum_p = ids[row], p[row], NO_Q, in_p[row]
        if q is not None or more:
            row_ids, row_p, at = union(row_ids, row_p, more)
            sum_p = row_p.sum(dtype=np.float64)
        if row < k and q is not None:
            row_q = sealed(np.append(q[row], [x for _, _, x in more]).astype(np.float32)[at])
        elif row < k:
            row_q = sealed((row_ids == drafts[row]).astype(np.float32))
        out.append(Contrast(
            ids=row_ids, p=row_p, q=row_q, p_rest=max(0.0, 1.0 - float(sum_p)),
            q_rest=max(0.0, 1.0 - float(row_q.sum(dtype=np.float64))) if q is not None and row < k else 0.0,
            p_entropy=float(p_entropy[row]),
            q_entropy=float(found["q_entropy"][row]) if q is not None and row < k else 0.0,
            overlap=float(found["p_draft" if q is None else "overlap"][row]) if row < k else None))
    return tuple(out)


def union(ids: NDArray[np.int32], p: NDArray[np.float32], more: Sequence[tuple[int, float, float]]
           ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.intp]]:
    """Each token once, by falling p (ties: lower id), with its p; and where it stood."""
    ids = np.append(ids, [token for token, _, _ in more]).astype(np.int32)
    p = np.append(p, [x for _, x, _ in more]).astype(np.float32)
    order = np.lexsort((ids, -p))
    once = np.ones(len(order), dtype=np.bool_)
    once[1:] = ids[order[1:]] != ids[order[:-1]]
    at = order[once]
    return sealed(ids[at]), sealed(p[at]), at


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


_weights: dict[tuple[torch.device, int], torch.Tensor] = {}


def digests(logits: torch.Tensor) -> torch.Tensor:
    """(R,) int64: Σ wordᵢ · weightᵢ mod 2⁶⁴ over each row's raw bits, with fixed odd random weights.

    Two rows with the same digest are bit-identical but for a chance of about 2⁻⁶³.
    """
    rows = logits.contiguous()
    spare = -rows.shape[-1] * rows.element_size() % 8 // rows.element_size()
    if spare:
        rows = torch.nn.functional.pad(rows, (0, spare))
    words = rows.view(torch.int64)
    key = (words.device, words.shape[-1])
    if key not in _weights:
        bits = np.random.Philox(key=0x5EC5C09E).random_raw(words.shape[-1]) | np.uint64(1)
        _weights[key] = torch.from_numpy(bits.astype(np.uint64).view(np.int64)).to(words.device)
    return (words * _weights[key]).sum(-1)
