"""The judgement of a draft tree: which path is accepted, and the one token drawn behind it.

Walk down from the root. At a node stands p, the target's row after that node, and its children y₁ … yₘ are tested one
after another, each with a draw of its own:

    accept yᵢ  when u·qᵢ(yᵢ) < pᵢ(yᵢ), and walk on from it
    else       pᵢ₊₁ ← max(pᵢ − qᵢ, 0) / Σ max(pᵢ − qᵢ, 0), and test the next one

where p₁ = p and qᵢ is what yᵢ was drawn from given its earlier siblings: q without them, renormalised (drawn without
replacement), or one-hot (a deterministic child). When no child passes, the token is drawn from pₘ₊₁; at a leaf from p.

Why it is exact: one test and its residual turn a draft from qᵢ into a token from pᵢ, whatever the qᵢ (verify.py). Given
that y₁ … yᵢ₋₁ were drawn and rejected, yᵢ is a draft from qᵢ, so the tests from i on together give a token from pᵢ. By
induction from the last child up the node gives one from p₁ = p. What hangs below a child was drawn without looking at
the test, so it doesn't matter here; each level is exact given the one above it. This is the multi-step speculative
sampling of SpecInfer (Miao et al. 2024, section 4.3), with q renormalised between siblings as Sequoia has it (Chen et
al. 2024, section 3.2). The path follows from the tests alone: a longer one that also passes somewhere else isn't
looked for.

Greedy: take the child that is the target's argmax, if there is one; else commit the argmax.

A chain is a tree with one child a node, and gets the verdict of verify.py, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.sampling import choose
from engine.tree import ROOT, Tree
from engine.verify import residual

Draw = Callable[[int], float]


@dataclass(frozen=True)
class Tested:
    """One draft was tested."""

    draft: int
    p: float
    """pᵢ(yᵢ): what is left of p after earlier siblings' rejections, renormalised."""
    q: float
    """qᵢ(yᵢ)"""
    draw: float | None
    """None when greedy."""


@dataclass(frozen=True)
class TreeVerdict:
    path: tuple[int, ...]
    """The accepted drafts, from the root down."""
    tests: tuple[Tested, ...]
    """In the order in which they were made; those of ``path`` passed."""
    final: torch.Tensor
    """0-d int64: the token after the accepted ones."""
    mass: torch.Tensor
    """0-d float64: the weight the final token was drawn from: the residual's mass, or Σ p; 1 when greedy."""


def judge_tree_sampled(p: torch.Tensor, q: Sequence[torch.Tensor | None], drafts: Sequence[int], tree: Tree,
                       accept_draw: Draw, final_draw: Draw) -> TreeVerdict:
    """``p`` (n + 1, V): row i + 1 stands after draft i; ``q``: of each draft the (V,) that it was drawn from, None for
    one-hot; ``accept_draw(i)``: that of draft i; ``final_draw(d)``: for the final token behind d accepted drafts."""
    node, path, tests = ROOT, list[int](), list[Tested]()
    while True:
        left = p[node + 1]
        mass = left.sum(dtype=torch.float64)
        for child in tree.children(node):
            y, u = drafts[child], accept_draw(child)
            q_child = q[child]
            p_y, q_y = float(left[y]), 1.0 if q_child is None else float(q_child[y])
            tests.append(Tested(child, p_y, q_y, u))
            if u * q_y < p_y and q_y > 0:
                break
            rest = residual(left, _one_hot(y, left) if q_child is None else q_child)
            mass = rest.sum(dtype=torch.float64)
            weights = torch.where(mass > 0, rest, left)
            left = torch.where(mass > 0, rest.double() / mass, left.double())
        else:
            if not tree.children(node):
                weights = left
            return TreeVerdict(tuple(path), tuple(tests), choose(weights, final_draw(len(path))), mass)
        path.append(child)
        node = child


def judge_tree_greedy(winners: Sequence[int], p: torch.Tensor, q: Sequence[torch.Tensor | None],
                      drafts: Sequence[int], tree: Tree) -> TreeVerdict:
    """``winners`` (n + 1), each row's argmax, decide; ``p`` and ``q`` (softmax at temperature 1) are only read for
    showing. Children are tested up to the one that passes."""
    node, path, tests = ROOT, list[int](), list[Tested]()
    while True:
        best = winners[node + 1]
        for child in tree.children(node):
            y, q_child = drafts[child], q[child]
            tests.append(Tested(child, float(p[node + 1, y]), 1.0 if q_child is None else float(q_child[y]), None))
            if y == best:
                break
        else:
            return TreeVerdict(tuple(path), tuple(tests), torch.tensor(best, device=p.device),
                               torch.ones((), dtype=torch.float64, device=p.device))
        path.append(child)
        node = child


def _one_hot(token: int, like: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(like).index_fill_(0, torch.tensor([token], device=like.device), 1.0)
