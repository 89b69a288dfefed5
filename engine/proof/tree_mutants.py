"""Wrong rules and parts of trees, as mutants.py has them for chains. They do nothing to a lane without a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from engine.drafters.base import Draft, RoundDraws
from engine.drafters.tree import propose_tree
from engine.proof.mutants import Around, AroundDraws, Mutant
from engine.proof.rig import Rig, TableRunner
from engine.proof.tree_drafter import TreeDrafter
from engine.sampling import choose
from engine.tree import ROOT, Tree
from engine.verify import residual
from engine.verify_tree import Draw, Tested, TreeVerdict


class _Changed(Around):
    """Another's whole tree, changed before it is proposed."""

    def __init__(self, inner: TreeDrafter, change: Callable[[list[Draft], Tree], list[Draft]]) -> None:
        super().__init__(inner)
        self.change = change

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        drafts = list(self.inner.propose(tokens, count, draws))
        yield from self.change(drafts, Tree.of([draft.parent for draft in drafts]))


def _changing(change: Callable[[list[Draft], Tree], list[Draft]]) -> Callable[[Rig], None]:
    def spoil(rig: Rig) -> None:
        if isinstance(rig.drafter, TreeDrafter):
            rig.drafter = _Changed(rig.drafter, change)

    return spoil


def _softmax_of_top(rig: Rig) -> None:
    """The most probable children, said to be drawn from the softmax."""
    if isinstance(rig.drafter, TreeDrafter) and rig.drafter.settings.tree == "top":
        as_if_greedy: Any = lambda *given, greedy: propose_tree(*given, greedy=True)  # noqa: E731
        rig.drafter.grow = as_if_greedy


def _not_renormalised(drafts: list[Draft], tree: Tree) -> list[Draft]:
    """Every child is said to be drawn from what the first one was, less its earlier siblings, not renormalised."""
    out = list(drafts)
    for node in range(ROOT, len(drafts)):
        whole = next((drafts[child].q for child in tree.children(node)), None)
        for child in tree.children(node):
            if whole is not None:
                out[child] = replace(drafts[child], q=whole)
                whole = whole.index_fill(0, torch.tensor(int(drafts[child].token)), 0.0)
    return out


def _pruned(drafts: list[Draft], tree: Tree) -> list[Draft]:
    """Leaves whose tokens turned out to be unlikely are dropped after they were drawn."""
    kept = [node for node, draft in enumerate(drafts) if tree.children(node) or draft.q is None
            or float(draft.q[draft.token]) >= float(draft.q.max())]
    place = {old: new for new, old in enumerate(kept)} | {ROOT: ROOT}
    return [replace(drafts[node], parent=place[tree.parents[node]]) for node in kept]


class _OneForSiblings(AroundDraws):
    def accept(self, index: int, sibling: int = 0) -> float:
        return self.inner.accept(index)


def _one_draw(rig: Rig) -> None:
    draws_of = rig.draws_of
    rig.draws_of = lambda seed, start: _OneForSiblings(draws_of(seed, start))


def longest(p: torch.Tensor, q: Sequence[torch.Tensor | None], drafts: Sequence[int], tree: Tree, accept_draw: Draw,
            final_draw: Draw) -> TreeVerdict:
    """Every draft is tested on its own, and the longest path on which all pass is taken."""
    tests, passed = list[Tested](), set[int]()
    for node, parent in enumerate(tree.parents):
        y, u, own = drafts[node], accept_draw(node), q[node]
        p_y, q_y = float(p[parent + 1, y]), 1.0 if own is None else float(own[y])
        tests.append(Tested(node, p_y, q_y, u))
        if u * q_y < p_y and (parent == ROOT or parent in passed):
            passed.add(node)
    path = max((tree.path(node) for node in (ROOT, *sorted(passed))), key=len)
    end = path[-1] if path else ROOT
    left = p[end + 1]
    for child in tree.children(end):
        own = q[child]
        left = residual(left, torch.nn.functional.one_hot(torch.tensor(drafts[child]), len(left)).to(left.dtype)
                        if own is None else own)
        left = left / left.sum() if left.sum() > 0 else p[end + 1]
    seen = tuple(test for test in tests if test.draft in path or tree.parents[test.draft] == end)
    return TreeVerdict(path, seen, choose(left, final_draw(len(path))), left.sum(dtype=torch.float64))


def _by_length(rig: Rig) -> None:
    rig.judge.sampled_tree = longest


def _leaking(rig: Rig) -> None:
    """A row sees all rows before it, other branches' too."""
    target = rig.target
    if isinstance(target, TableRunner):
        forward = target.forward
        target.forward = lambda tokens, *, rows=0, tree=None: forward(tokens, rows=rows)  # type: ignore[method-assign]
        return
    masks_of = target._tree_masks

    def leaking(positions: torch.Tensor, tree: Tree) -> dict[str, torch.Tensor]:
        masks, start, width = masks_of(positions, tree), target.length, len(positions)
        for mask in masks.values():
            mask.__dict__.pop("paths", None)
            own = mask[:, :, :, start : start + width]
            own.masked_fill_(torch.ones(width, width, dtype=torch.bool, device=own.device).tril(), 0.0)
        return masks

    target._tree_masks = leaking  # type: ignore[method-assign]


TREE_MUTANTS: tuple[Mutant, ...] = (
    Mutant("tree-softmax-q", "The most probable children are said to be drawn from the softmax.", _softmax_of_top),
    Mutant("tree-q-not-renormalised", "q isn't renormalised after a sibling was drawn.", _changing(_not_renormalised)),
    Mutant("tree-one-draw", "All drafts of a tree's level are tested by one draw.", _one_draw),
    Mutant("tree-pruned-after-drawn", "A node that was drawn is pruned because it is unlikely.", _changing(_pruned)),
    Mutant("tree-longest-path", "The path is chosen by its length alone.", _by_length),
    Mutant("tree-mask-leaks", "A tree's row sees other branches.", _leaking),
)
