"""Contrasts of a verified tree. A node's children may each have a q of their own (without replacement); its row is
shown against the first child's, which is the drafter's whole distribution there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.contrast import NO_Q, entropy, sealed, union
from engine.records import Contrast
from engine.sampling import HEAD, most_probable
from engine.tree import ROOT, Tree


def first_children(tree: Tree) -> dict[int, int]:
    """Of each row that judges any the first draft it judges."""
    return {node + 1: tree.children(node)[0] for node in range(ROOT, len(tree)) if tree.children(node)}


def reduce_tree(p: torch.Tensor, q: Sequence[torch.Tensor | None], drafts: torch.Tensor, tree: Tree, ends_at: int,
                final: torch.Tensor, scores: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
    """What is kept of n + 1 rows ``p`` (n + 1, V), by name, on the device. ``ends_at``: the row that ``final`` was
    drawn from. ``scores`` (n + 1, V) where p is just their softmax (see :class:`engine.contrast.Reduced`).

    Rows whose first child was drawn from a q, m of them, are kept once more with the tops of both.
    """
    judged_by = torch.tensor([parent + 1 for parent in tree.parents], device=p.device)
    ids = most_probable(p, HEAD)
    found = {"ids": ids, "p": p.gather(1, ids), "p_at": p[judged_by, drafts]}
    if scores is None:
        found["p_entropy"] = entropy(p)
    else:
        found["mean_score"] = torch.linalg.vecdot(p, scores)
    drawn = {row: q_first for row, child in first_children(tree).items() if (q_first := q[child]) is not None}
    if not drawn:
        return found
    rows, at = torch.stack(list(drawn.values())), torch.tensor(list(drawn), device=p.device)
    place = {row: number for number, row in enumerate(drawn)}
    of = torch.tensor([place.get(parent + 1, 0) for parent in tree.parents], device=p.device)
    ids = torch.cat((ids[at], most_probable(rows, HEAD)), 1)
    return found | {
        "drawn": at, "drawn_ids": ids, "drawn_p": p[at].gather(1, ids), "q": rows.gather(1, ids),
        "q_entropy": entropy(rows), "overlap": torch.minimum(p[at], rows).sum(-1, dtype=torch.float64),
        "q_at": rows[of, drafts], "q_final": rows[place[ends_at], final] if ends_at in place else rows.new_zeros(())}


def tree_contrasts(found: Mapping[str, NDArray[Any]], p_entropy: NDArray[Any], tree: Tree, ends_at: int
                   ) -> tuple[Contrast, ...]:
    """The host half of :func:`reduce_tree`: one contrast a row, to which the tokens of its children are added, and the
    committed one where the round ended. ``found`` also has ``drafts`` (n), ``final`` and ``p_final``."""
    drafts, first = found["drafts"].tolist(), first_children(tree)
    place = {int(row): number for number, row in enumerate(found.get("drawn", ()))}
    out = []
    for row in range(len(tree) + 1):
        own = [(drafts[child], float(found["p_at"][child])) for child in tree.children(row - 1)]
        own += [(int(found["final"]), float(found["p_final"]))] if row == ends_at else []
        if row in place:
            out.append(_drawn(found, place[row], row, own, p_entropy, tree, ends_at))
            continue
        ids, p, _ = union(found["ids"][row], found["p"][row], [(token, share, 0.0) for token, share in own])
        q = sealed((ids == drafts[first[row]]).astype(np.float32)) if row in first else NO_Q
        out.append(Contrast(
            ids=ids, p=p, q=q, p_rest=_rest(p), q_rest=0.0, p_entropy=float(p_entropy[row]), q_entropy=0.0,
            overlap=float(found["p_at"][first[row]]) if row in first else None))
    return tuple(out)


def _drawn(found: Mapping[str, NDArray[Any]], number: int, row: int, own: Sequence[tuple[int, float]],
           p_entropy: NDArray[Any], tree: Tree, ends_at: int) -> Contrast:
    """Of a row whose first child was drawn from a q: the ``number``-th of those."""
    qs = [float(found["q_at"][child]) for child in tree.children(row - 1)]
    qs += [float(found["q_final"])] if row == ends_at else []
    more = [(token, share, q) for (token, share), q in zip(own, qs, strict=True)]
    ids, p, at = union(found["drawn_ids"][number], found["drawn_p"][number], more)
    q = sealed(np.append(found["q"][number], qs).astype(np.float32)[at])
    return Contrast(
        ids=ids, p=p, q=q, p_rest=_rest(p), q_rest=_rest(q), p_entropy=float(p_entropy[row]),
        q_entropy=float(found["q_entropy"][number]), overlap=float(found["overlap"][number]))


def _rest(shares: NDArray[np.float32]) -> float:
    return max(0.0, 1.0 - float(shares.sum(dtype=np.float64)))
