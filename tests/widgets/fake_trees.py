"""TEST DATA: made-up record streams of a lane that drafts trees, with the structure of real ones. No model ran.

The tree of a round is grown level by level; somewhere in it may stand the right continuation, more probably near its
top. Siblings are tested in order, with p and q as they are after the siblings before.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from engine.records import Drafted, Exactness, FinalKind, Record, Verified
from engine.settings import DrafterSettings
from engine.tree import ROOT, Tree
from tests.widgets.fake_lane import PROMPT_TOKENS, Lane
from tests.widgets.fake_run import CODE

NOT_EXACT = ("tree rows are not bit-exact here (ancestors not gathered): logits differ by up to 0.25 from plain "
             "decoding's, so this lane may part from it at near-ties; gathering ancestors may mend it, at a price")


@dataclass(frozen=True)
class Growth:
    """How a made-up drafter grows its trees."""

    lane: str = "tree"
    kind: str = "eagle"
    depth: int = 4
    top: int = 3
    nodes: int = 16
    skill: float = 0.86
    """Chance that the right token is among a node's children."""
    sampled: bool = True
    gather: bool = False

    def records(self, text: str = CODE, **options: object) -> Iterator[Record]:
        return lane_records(self, text, **options)  # type: ignore[arg-type]

    def parents(self, chance: random.Random) -> list[int]:
        level, parents = [ROOT], list[int]()
        for index in range(self.depth):
            count = min(-(-(self.nodes - len(parents)) // (self.depth - index)), self.top * len(level))
            shares = dict.fromkeys(level, 0)
            for _ in range(count):
                free = [node for node in level if shares[node] < self.top]
                shares[min(free, key=lambda node: (shares[node] + chance.random(), node))] += 1
            begun = len(parents)
            for node in level:
                parents += [node] * shares[node]
            level = list(range(begun, len(parents)))
        return parents


def lane_records(growth: Growth = Growth(), text: str = CODE, *, run: str = "run-1", seed: int = 3,
                 limit: int | None = None, temperature: float = 0.8, finish: bool = True, detail: bool = True
                 ) -> Iterator[Record]:
    """One lane's records. ``limit`` cuts or repeats the text to so many tokens."""
    lane = Lane(growth.lane, text, run=run, seed=seed, limit=limit, temperature=temperature)
    drafter = DrafterSettings(kind=growth.kind, gamma=growth.depth, tree="sampled" if growth.sampled else "top",
                              tree_top=growth.top, tree_nodes=growth.nodes, gather=growth.gather)
    return lane.records(
        drafter.label, "one light layer continues the target's own features, several ways", drafter,
        Exactness(invariant=growth.gather, padded=False, width_checked=17, width_limit=17,
                  row_difference=0.0 if growth.gather else 0.25,
                  sentence="test data" if growth.gather else NOT_EXACT),
        0.01, _rounds(growth, lane, detail), finish)


def _rounds(growth: Growth, lane: Lane, detail: bool) -> Iterator[Record]:
    done = number = 0
    while done < len(lane.pieces):
        truth = lane.pieces[done : done + growth.depth + 1]
        done += yield from _round(growth, lane, number, len(PROMPT_TOKENS) + done, truth, detail)
        number += 1


def _round(growth: Growth, lane: Lane, number: int, start: int, truth: list[str], detail: bool
           ) -> Generator[Record, None, int]:
    """Returns how many tokens it commits."""
    chance, ids, common = lane.chance, lane.ids, lane.common
    sampled = growth.sampled and not lane.greedy
    deepest = len(truth) - 1
    shape = Tree(growth.parents(chance))
    kept = [node for node in range(len(shape)) if shape.depths[node] < deepest]
    tree = Tree([shape.parents[node] for node in kept])  # levels come one after another, so the numbers stay
    tokens, right = _tokens(tree, chance, growth.skill, truth, list(ids))
    qs = [chance.uniform(0.35, 0.9) if tree.children(parent)[0] == node else chance.uniform(0.05, 0.5)
          for node, parent in enumerate(tree.parents)]
    qs = qs if sampled else [1.0] * len(qs)
    for node, piece in enumerate(tokens):
        yield Drafted(**common, round=number, index=node, position=start + tree.depths[node], token=ids[piece],
                      text=piece, q=qs[node], draw=chance.random() if sampled else None,
                      seconds=0.0007 * chance.uniform(0.9, 1.2), parent=tree.parents[node])
    k = len(tokens)
    first = {parent: tree.children(parent)[0] for parent in range(ROOT, k) if tree.children(parent)}
    rows = tuple(lane.row(truth[min(len(tree.path(node)), deepest)], tokens[first[node]] if node in first else None,
                          qs[first[node]] if node in first else None) for node in range(ROOT, k))
    digests = tuple(chance.getrandbits(64) for _ in range(k + 1))
    gaps = tuple(chance.uniform(0.1, 6.0) for _ in range(k + 1))
    verify = 0.051 * (1 + 0.006 * k) * chance.uniform(0.97, 1.06)
    yield Verified(**common, round=number, k=k, width=k + 1, seconds=verify, rows=rows if detail else (), gaps=gaps,
                   digests=digests)
    node, path, tested = ROOT, list[int](), 0
    while tree.children(node):
        for child in tree.children(node):
            tested += 1
            ok = child in right
            p = chance.uniform(0.3, 0.95) if ok else chance.uniform(0.0, 0.2)
            depth = tree.depths[child]
            yield lane.judged(number, child, start + depth, tokens[child], truth[depth], ok, p, qs[child])
            if ok:
                break
        else:
            break
        path.append(child)
        node = child
    final: FinalKind = "plain" if not k else "correction" if tree.children(node) else "bonus"
    count, by = len(path) + 1, [0, *(one + 1 for one in path)]
    yield lane.committed(
        number, start, truth[:count], final, tuple(gaps[i] for i in by), tuple(digests[i] for i in by), tested=tested,
        drafted=k, draft=0.0007 * k, verify=verify, judge=0.0004 * tested, drafter_slots=start + count - 1,
        path=tuple(path))
    return count


def _tokens(tree: Tree, chance: random.Random, skill: float, truth: list[str], words: list[str]
            ) -> tuple[list[str], set[int]]:
    """Each node's token, no two siblings alike; and the nodes that are right and whose ancestors are."""
    tokens, right = [""] * len(tree), set[int]()
    shown = [word for word in words if word.strip()]
    for parent in range(ROOT, len(tree)):
        children = tree.children(parent)
        if not children:
            continue
        wanted = truth[tree.depths[children[0]]]
        others = chance.sample([word for word in shown if word != wanted], len(children))
        on_way = parent == ROOT or parent in right
        at = next((i for i in range(len(children)) if chance.random() < skill * 0.6), None) if on_way else None
        for i, child in enumerate(children):
            tokens[child] = wanted if i == at else others[i]
            if i == at:
                right.add(child)
    return tokens, right
