"""Growing a draft tree from a drafter's distributions, in both ways that stay exact.

*Top*: the most probable children of each node, chosen from q alone. They are deterministic, so q is one-hot at each.
After EAGLE-2 (Li et al. 2024, sections 4.1 and 4.2): the tree grows where the drafter is sure. Level by level the nodes
with the largest cumulative probability are expanded; then the best of all nodes are kept. A child is never more
probable than its parent, so what is kept hangs together. This pruning looks at q only, before anything was drawn or
verified.

*Sampled*: the children of a node are drawn from its q without replacement: each from q without the earlier siblings,
renormalised (Miao et al. 2024, "SpecInfer"; Chen et al. 2024, "Sequoia"). What was drawn stays: how many children a
node gets is settled before any of them is drawn, from earlier levels only. Each child carries the very q it was drawn
from, and each has a draw of its own.

Either way a parent comes before its children, and siblings stand in the order in which they are tested: by falling
probability, or as they were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from engine.drafters.base import Draft, RoundDraws
from engine.errors import NumericsError
from engine.sampling import choose, most_probable
from engine.settings import DrafterSettings
from engine.tree import ROOT


@dataclass(eq=False)
class Node:
    """A draft that may become part of the tree."""

    token: int
    parent: Node | None
    """None: the newest committed token."""
    q: torch.Tensor
    """(V,) the distribution that it was taken from: its parent's, or when it was drawn its own."""
    score: float
    """ln of the product of q along its path: the drafter's belief that it will be accepted."""
    draw: float | None = None
    number: int = 0
    """Its place in the order in which nodes were made; a drafter may number its own cache's slots by it."""

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def path(self) -> list[Node]:
        """From the root's child down to this one."""
        return [*(self.parent.path if self.parent else ()), self]


Follow = Callable[[Sequence[Node]], torch.Tensor]
"""Nodes of one level → (n, V): the distribution of what follows each, from the same warper as p."""


def propose_tree(first: torch.Tensor, follow: Follow, settings: DrafterSettings, depth: int, draws: RoundDraws, *,
                 greedy: bool) -> Iterator[Draft]:
    """A round's tree of at most ``depth`` levels, as ``settings`` ask. ``first`` (V,): q of what follows the newest
    token. A greedy run has nothing to draw, so its trees are of the most probable children."""
    sampled = settings.tree == "sampled" and not greedy
    grow = partial(sampled_tree, draws=draws) if sampled else top_tree
    nodes = grow(first, follow, depth=depth, top=settings.tree_top, nodes=settings.tree_nodes,
                 stop_below=settings.stop_below)
    place = {id(node): number for number, node in enumerate(nodes)}
    for node in nodes:
        yield Draft(node.token, node.q if sampled or greedy else None, node.draw,
                    parent=ROOT if node.parent is None else place[id(node.parent)])


def top_tree(first: torch.Tensor, follow: Follow, *, depth: int, top: int, nodes: int,
             stop_below: float = 0.0) -> list[Node]:
    """The ``nodes`` most probable of the nodes that were looked at: ``top`` children of each of the ``top`` best nodes
    of every level. The same tree whenever q is the same. Where q's largest probability is below ``stop_below`` nothing
    is drafted."""
    made: list[Node] = []
    level: list[Node | None] = [None]
    rows = first[None]
    for index in range(depth):
        children = [child for parent, q in zip(level, rows, strict=True) if _largest(q) >= stop_below
                    for child in _best_children(parent, q, top)]
        for child in children:
            child.number = len(made)
            made.append(child)
        # A node that isn't among the best by now never will be, and neither will its children.
        kept = {id(node) for node in _best(made, nodes)}
        expanded = [node for node in _best(children, top) if id(node) in kept]
        if index == depth - 1 or not expanded:
            break
        level = [*expanded]
        rows = follow(expanded)
    return sorted(_best(made, nodes), key=lambda node: node.number)


def sampled_tree(first: torch.Tensor, follow: Follow, draws: RoundDraws, *, depth: int, top: int, nodes: int,
                 stop_below: float = 0.0) -> list[Node]:
    """A tree of at most ``nodes``, spread evenly over its levels. Within a level the nodes with the larger cumulative
    probability get more children, at most ``top`` each; that looks at the levels before only. Where q's largest
    probability is below ``stop_below`` nothing is drawn."""
    made: list[Node] = []
    level: list[Node | None] = [None]
    rows = first[None]
    counts = [min(math.ceil(nodes / max(depth, 1)), top)]
    for index in range(depth):
        children: list[Node] = []
        for parent, q, count in zip(level, rows, counts, strict=True):
            if _largest(q) < stop_below:
                continue
            own = [draws.draft(index, len(children) + child) for child in range(count)]
            for token, q_child, u in sampled_children(q, own):
                score = (parent.score if parent else 0.0) + _ln(float(q_child[token]))
                children.append(Node(token, parent, q_child, score, u, len(made) + len(children)))
        made += children
        if index == depth - 1 or not children or len(made) >= nodes:
            break
        shares = _shares(children, math.ceil((nodes - len(made)) / (depth - index - 1)), top)
        expanded = [(node, share) for node, share in zip(children, shares, strict=True) if share]
        level, counts = [node for node, _ in expanded], [share for _, share in expanded]
        rows = follow([node for node, _ in expanded])
    return made


def sampled_children(q: torch.Tensor, draws: Sequence[float]) -> list[tuple[int, torch.Tensor, float]]:
    """One token a draw from ``q`` (V,) without replacement, fewer when q has no more: each with the distribution (V,)
    that it was drawn from, and its draw."""
    found: list[tuple[int, torch.Tensor, float]] = []
    for u in draws[: int((q > 0).sum())]:
        token = int(choose(q, u))
        found.append((token, q, u))
        q = without(q, token)
    return found


def without(q: torch.Tensor, token: int) -> torch.Tensor:
    """``q`` (V,) without one token, renormalised; all zeros when nothing is left."""
    left = q.index_fill(-1, torch.tensor([token], device=q.device), 0.0)
    mass = left.sum(dtype=torch.float64)
    return torch.where(mass > 0, left / mass.clamp_min(torch.finfo(torch.float64).tiny), left).to(q.dtype)


def _largest(q: torch.Tensor) -> float:
    """Raises :class:`NumericsError` for NaN, of which no tree would grow."""
    largest = float(q.amax())
    if math.isnan(largest):
        raise NumericsError("The drafter's distribution holds NaN; try float32, or check the drafter's weights.")
    return largest


def _best_children(parent: Node | None, q: torch.Tensor, count: int) -> list[Node]:
    ids = most_probable(q, count)
    before = parent.score if parent else 0.0
    return [Node(token, parent, q, before + math.log(min(share, 1.0)))
            for token, share in zip(ids.tolist(), q[ids].tolist(), strict=True) if share > 0]


def _best(nodes: Sequence[Node], count: int) -> list[Node]:
    """By falling cumulative probability; of equal ones what was made first, so a parent before its child."""
    return sorted(nodes, key=lambda node: (-node.score, node.number))[:count]


def _shares(level: Sequence[Node], budget: int, top: int) -> list[int]:
    """How many children each node of a level gets: one after another goes to whom it is worth most, counting what it
    has already (D'Hondt's way of sharing seats)."""
    counts = [0] * len(level)
    for _ in range(min(budget, top * len(level))):
        free = [at for at, count in enumerate(counts) if count < top]
        counts[max(free, key=lambda at: (level[at].score - math.log(counts[at] + 1), -at))] += 1
    return counts


def _ln(share: float) -> float:
    return math.log(min(share, 1.0))
