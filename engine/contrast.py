"""Reducing whole rows to what is recorded: contrasts of p and q, digests of logits. On the device, before the round's
one transfer; then the host half makes records of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.records import Contrast
from engine.sampling import HEAD, most_probable

_NO_Q = np.empty(0, dtype=np.float32)
_NO_Q.setflags(write=False)


@dataclass(frozen=True)
class Reduced:
    """R rows, R = k + 1; the first k have a proposal."""

    ids: torch.Tensor
    """(R, m) int64, with repetitions: tops of p, tops of q, the draft, the final token."""
    p: torch.Tensor
    """(R, m) at ids."""
    q: torch.Tensor
    """(k, m)."""
    entropies: torch.Tensor
    """(2, R) nats: of p, of q (0 where there is none)."""
    overlap: torch.Tensor
    """(k,) Σ min(p, q), float64."""

    def tensors(self) -> tuple[torch.Tensor, ...]:
        return self.ids, self.p, self.q, self.entropies, self.overlap


def entropy(p: torch.Tensor) -> torch.Tensor:
    """−Σ p ln p, a row; 0 ln 0 = 0."""
    total: torch.Tensor = torch.linalg.vecdot(p, p.clamp_min(torch.finfo(p.dtype).tiny).log())
    return -total


def softmax_entropy(scores: torch.Tensor, p: torch.Tensor, top: torch.Tensor) -> torch.Tensor:
    """The entropy of p = softmax(scores) without a logarithm of every p: ln Z − Σ p·score, where ln Z follows from the
    most probable token ``top`` (R,), whose score is ln p + ln Z. On a CPU half the price of :func:`entropy`."""
    best = top[:, None]
    log_z = (scores.gather(1, best) - p.gather(1, best).log())[:, 0]
    found: torch.Tensor = log_z - torch.linalg.vecdot(p, scores)
    return found.clamp_min(0) if bool(found.isfinite().all()) else entropy(p)  # a score of −∞ makes 0 · ∞


def reduce(p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor, final: torch.Tensor,
           scores: torch.Tensor | None = None) -> Reduced:
    """Contrast rows ``p`` (k+1, V) with ``q`` (k, V); None: one-hot at ``drafts`` (k,). ``final``: 0-d token.
    ``scores`` (k+1, V) where p is just their softmax."""
    rows, k = p.shape[0], drafts.shape[0]
    own = torch.cat((drafts, final.reshape(1)))[:, None]  # each row's own token: its draft, or the last row's final
    parts = [most_probable(p, HEAD), own, final.expand(rows, 1)]
    if q is not None and k:
        tops = most_probable(q, HEAD)
        parts.append(torch.cat((tops, tops[-1:])))
    ids = torch.cat(parts, 1)
    p_at = p.gather(1, ids)
    if scores is not None and p.device.type == "cpu":  # elsewhere its test would be a synchronisation
        p_entropy = softmax_entropy(scores, p, ids[:, 0])
    else:
        p_entropy = entropy(p)
    none = p.new_zeros(rows)
    if q is None:
        q_at = (ids[:k] == drafts[:, None]).to(p.dtype)
        return Reduced(ids, p_at, q_at, torch.stack((p_entropy, none)), p_at[:k].gather(1, _column(ids[:k], drafts))
                       .squeeze(1).double())
    q_entropy = torch.cat((entropy(q), none[:1]))
    overlap = torch.minimum(p[:k], q).sum(-1, dtype=torch.float64)
    return Reduced(ids, p_at, q.gather(1, ids[:k]), torch.stack((p_entropy, q_entropy)), overlap)


def _column(ids: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """(k, 1): a column of each row of ``ids`` that holds its token."""
    return (ids == tokens[:, None]).to(torch.uint8).argmax(1, keepdim=True)


def contrasts(ids: NDArray[Any], p: NDArray[Any], q: NDArray[Any], entropies: NDArray[Any],
              overlap: NDArray[Any]) -> tuple[Contrast, ...]:
    """The host half: :meth:`Reduced.tensors`, fetched, as one :class:`Contrast` a row."""
    out = []
    for row in range(len(ids)):
        unique, first = np.unique(ids[row], return_index=True)
        order = np.lexsort((unique, -p[row, first]))
        first = first[order]
        has_q = row < len(q)
        out.append(Contrast(
            ids=_sealed(ids[row, first], np.int32), p=_sealed(p[row, first], np.float32),
            q=_sealed(q[row, first], np.float32) if has_q else _NO_Q,
            p_rest=max(0.0, 1.0 - float(p[row, first].sum(dtype=np.float64))),
            q_rest=max(0.0, 1.0 - float(q[row, first].sum(dtype=np.float64))) if has_q else 0.0,
            p_entropy=float(entropies[0, row]), q_entropy=float(entropies[1, row]),
            overlap=float(overlap[row]) if has_q else None))
    return tuple(out)


def _sealed(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    out = array.astype(dtype)
    out.setflags(write=False)
    return out


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
