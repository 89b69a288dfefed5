"""Are the rows of a verified tree those of plain decoding, bit for bit? Measured at start-up, as a lane verifies them.

Along a path of the tree single steps are the reference. The keys of a path that lies scattered over the cache are added
up in another order than theirs, which shows in the last bits; gathered into the cache's order (attention.py) they
aren't. A path's rows are then kept, so wrong bits would stay in the cache for later rounds too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import torch

from engine.invariance import SHORT, small_in_half, tokens_for
from engine.records import Exactness
from engine.rollback import FIRST_BUCKET
from engine.runner import Runner, text_config
from engine.settings import DrafterSettings
from engine.tree import ROOT, Tree

TEXTS, MANY = 1, 12
"""Texts that are tried, and in half precision on small models (see invariance.py)."""

LEAVES = 3
"""Paths compared of each tree: the first, one in the middle, the last."""

Told = Callable[[int, int], object]
"""Is told how many comparisons are done, and of how many."""


def _nobody(done: int, total: int) -> None:
    """Nobody wants to know."""


def sample(nodes: int, depth: int, top: int) -> Tree:
    """A tree of so many drafts spread over its levels, as drafters grow them: no path but the first lies in one
    piece."""
    depth = max(1, min(depth, nodes))
    level, parents = [ROOT], list[int]()
    for index in range(depth):
        count = min(-(-(nodes - len(parents)) // (depth - index)), top * len(level))
        begun = len(parents)
        parents += [level[child % len(level)] for child in range(count)]
        level = list(range(begun, len(parents)))
    order = sorted(range(len(parents)), key=lambda i: (Tree(parents).depths[i], parents[i]))
    place = {old: new for new, old in enumerate(order)} | {ROOT: ROOT}
    return Tree([place[parents[old]] for old in order])


@torch.inference_mode()
def difference(model: Any, tree: Tree, *, gather: bool, pad_to: int = 1, one_size: bool = False,
               told: Told = _nobody, cancelled: Callable[[], bool] = lambda: False) -> float:
    """The largest |difference| of a logit between the rows of one forward over ``tree`` and single steps along its
    paths, behind a short prefix and where a cache of the first and of the second size is nearly full. 0: bit-identical,
    as are the rows behind a path that was kept. Once ``cancelled()``, no more is compared: the answer is then worth
    nothing."""
    context = getattr(text_config(model), "max_position_embeddings", None) or 2 * FIRST_BUCKET
    room = max(len(tree) + 1, pad_to)
    last = context - len(tree) - pad_to - 1  # one more token goes behind the path, and pads behind it
    prefixes = sorted({max(1, min(prefix, last)) for prefix in
                       (SHORT, FIRST_BUCKET - room, 2 * FIRST_BUCKET - room)})
    leaves = tree.leaves
    chosen = sorted({leaves[0], leaves[len(leaves) // 2], leaves[-1]}) if len(leaves) > LEAVES else leaves
    worst = 0.0
    cases = [(prefix, text) for text in range(MANY if small_in_half(model) else TEXTS)
             for prefix in (prefixes[-2:] if text else prefixes)]
    for number, (prefix, text) in enumerate(cases):
        if cancelled():
            break
        told(number, len(cases))
        worst = max(worst, _compare(model, tree, chosen, prefix, text, gather, pad_to, one_size, cancelled))
    return worst


def _compare(model: Any, tree: Tree, leaves: tuple[int, ...] | list[int], prefix: int, text: int, gather: bool,
             pad_to: int, one_size: bool, cancelled: Callable[[], bool]) -> float:
    runner = Runner(model, pad_to=pad_to, gather=gather)
    room = prefix + 2 * max(len(tree) + 1, pad_to)
    runner.cache.reserve(2 * FIRST_BUCKET + room if one_size else room)
    tokens = tokens_for(runner, prefix + len(tree) + 2, text)
    newest, drafts, after = tokens[prefix], tokens[prefix + 1 : -1], tokens[-1]
    runner.prefill(tokens[:prefix])
    rows = runner.forward([newest, *drafts], tree=tree)
    runner.keep([prefix + 1 + node for node in tree.path(leaves[-1])], prefix + 1)
    behind, worst = runner.forward([after]), 0.0
    for leaf in leaves:
        if cancelled():
            break
        path = tree.path(leaf)
        runner.cut(prefix)
        steps = torch.cat([runner.forward([token]) for token in (newest, *(drafts[node] for node in path), after)])
        found = rows[[0, *(node + 1 for node in path)]]
        found = torch.cat((found, behind if leaf == leaves[-1] else steps[-1:]))
        worst = max(worst, float((found.double() - steps.double()).abs().max()))
    return worst


_measured: WeakKeyDictionary[Any, dict[tuple[object, ...], float]] = WeakKeyDictionary()


def with_trees(model: Any, said: Exactness, drafter: DrafterSettings, depth: int, *, told: Told = _nobody,
               cancelled: Callable[[], bool] = lambda: False) -> Exactness:
    """What is true of a lane with this drafter, where ``said`` is what was measured of chains: the same when it drafts
    no tree; else with its tree's rows measured too, once a model and shape in this process. So whoever wants to call
    it off, or to show how far it is, asks ahead of the race. Called off, it says what was said."""
    if not drafter.tree or depth < 1:
        return said
    pad_to = said.width_checked if said.padded else 1
    key = (drafter.tree_nodes, depth, drafter.tree_top, drafter.gather, pad_to, said.one_size)
    known = _measured.setdefault(model, {})
    if key not in known:
        shape = sample(drafter.tree_nodes, depth, drafter.tree_top)
        found = difference(model, shape, gather=drafter.gather, pad_to=pad_to, one_size=said.one_size,
                           told=told, cancelled=cancelled)
        if cancelled():
            return said
        known[key] = found
    off = known[key]
    return msgspec.structs.replace(
        said, invariant=said.invariant and not off, row_difference=max(said.row_difference, off),
        sentence=_sentence(said, off, drafter.gather))


def _sentence(said: Exactness, off: float, gather: bool) -> str:
    how = "ancestors gathered" if gather else "ancestors not gathered"
    if not off:
        return f"{said.sentence}; rows of trees too ({how})"
    remedy = "" if gather or not said.invariant else "; gathering ancestors may mend it, at a price"
    return (f"tree rows are not bit-exact here ({how}): logits differ by up to {off:.2g} from plain decoding's, so "
            f"this lane may part from it at near-ties{remedy}. Chains: {said.sentence}")
