"""The whole rows of a recorded round, of which the records keep the tops only: p, q and logits over the vocabulary,
computed once more the way the run did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.branch_checks import check_target
from engine.changed_round import ChangedDraws
from engine.decode import never
from engine.past import Past, ReplayError, verified_of
from engine.records import Contrast, Record
from engine.replay import agree, restore

if TYPE_CHECKING:
    from engine.models import Model


@dataclass(frozen=True, eq=False)
class WholeRow:
    """One row of a round's verification. Arrays are read-only, (V,) float32."""

    round: int
    index: int
    p: NDArray[np.float32]
    """The distribution that was sampled from; in a greedy run the softmax at temperature 1."""
    q: NDArray[np.float32] | None
    """The drafter's, one-hot where its proposal was deterministic; None where nothing was proposed."""
    logits: NDArray[np.float32]
    """The target's own, before penalty and temperature."""
    identical: bool | None
    """Are the logits the recorded ones, bit for bit? None: no digest was recorded."""


def full_rows(target: Model, original: Sequence[Record], round: int, index: int,
              models: Mapping[str, Model] | None = None, *, cancelled: Callable[[], bool] = never) -> WholeRow:
    """Row ``index`` (0 … k) of a recorded round. See :func:`round_rows`, which costs the same."""
    rows = round_rows(target, original, round, models, cancelled=cancelled)
    if not 0 <= index < len(rows):
        raise ReplayError(f"Round {round + 1} has rows 1 to {len(rows)}, but row {index + 1} was asked for.")
    return rows[index]


@torch.inference_mode()
def round_rows(target: Model, original: Sequence[Record], round: int, models: Mapping[str, Model] | None = None, *,
               cancelled: Callable[[], bool] = never) -> tuple[WholeRow, ...]:
    """All k + 1 rows of a recorded round, whose verification must have happened. ``original``: the lane's records.

    Raises :class:`SpecScopeError` as :func:`engine.branch.branch` does; also where p turns out otherwise than recorded,
    as in the copied rounds of a branch with other settings.
    """
    past = Past.of(original, round)
    check_target(target, past.started)
    if not past.reached or past.now.verified is None:
        raise ReplayError(f"Round {round + 1} has not been verified yet, so it has no rows; step on first.")
    if past.now.is_tree:
        raise ReplayError(f"Round {round + 1} drafted a tree, whose whole rows aren't computed again; the recorded "
                          "tops of p and q are all there is.")
    now, settings = past.now, past.started.settings
    state = restore(target, past, settings, models or {}, cancelled=cancelled)
    draws = ChangedDraws(settings.seed, now.start, tokens={d.index: d.token for d in now.drafted})
    drafts = list(state.drafter.propose(state.seq.tokens, now.k, draws))
    if len(drafts) != now.k:
        raise ReplayError(f"Round {round + 1} drafted {now.k} tokens, but its drafter made {len(drafts)} when asked "
                          f"again; {_elsewhere(past)}.")
    verified = verified_of(now)
    state.target.pad_to = verified.width
    logits = state.target.forward([state.seq.tokens[-1], *(draft.token for draft in drafts)])
    tokens, _, p, q = state.judge.rows(logits, drafts)
    if now.k and q is None:
        q = torch.zeros_like(p[:-1]).scatter_(1, tokens[:, None], 1.0)
    rows = tuple(
        WholeRow(round, i, _array(p[i]), _array(q[i]) if q is not None and i < now.k else None, _array(logits[i]),
                 agree(logits[i : i + 1], verified.digests[i : i + 1]) if verified.digests else None)
        for i in range(now.k + 1))
    for row, recorded in zip(rows, verified.rows, strict=False):
        if row.identical and not _fits(row, recorded):
            raise ReplayError(f"Row {row.index + 1} of round {round + 1} was recorded with other probabilities than "
                              f"this lane's settings give; {_elsewhere(past)}.")
    return rows


def _elsewhere(past: Past) -> str:
    origin = past.started.branch
    return f"ask for it in the lane it was copied from ({origin.lane})" if origin else "the recording may be damaged"


def _fits(row: WholeRow, recorded: Contrast) -> bool:
    """Up to the digits that a file keeps."""
    p = np.allclose(row.p[recorded.ids], recorded.p, rtol=1e-3, atol=1e-9)
    return bool(p and (row.q is None or np.allclose(row.q[recorded.ids], recorded.q, rtol=1e-3, atol=1e-9)))


def _array(row: Any) -> NDArray[np.float32]:
    array: NDArray[np.float32] = row.float().cpu().numpy().copy()
    array.setflags(write=False)
    return array
