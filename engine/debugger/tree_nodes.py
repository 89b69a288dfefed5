"""A round's draft tree as a person reads it: each draft with its figures and what became of it, and the token that was
drawn in the end. Of a chain there is nothing to show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from engine.debugger.history import Moment, RoundSoFar
from engine.debugger.judgement import Judgement
from engine.debugger.token_words import readable
from engine.records import UNKNOWN_TOKEN, Judged
from engine.tree import ROOT

NodeKind = Literal["accepted", "rejected", "void", "pending", "correction", "bonus"]


@dataclass(frozen=True)
class TreeNode:
    """A draft, or the token drawn behind the accepted ones. ``None``: unknown, or not yet."""

    index: int
    """Of the draft; k for the final token."""
    parent: int
    """−1: the newest committed token."""
    depth: int
    place: int
    """What to inspect: the draft's own place; for a correction the last rejected draft's."""
    position: int
    token: int
    label: str
    kind: NodeKind
    q: float | None
    """The drafter's probability of it: among what its earlier siblings left, in a sampled tree."""
    belief: float | None
    """Π q along its path: how probable the drafter took it to be that the path gets here. None where q is one-hot."""
    draw: float | None
    """The draw that chose it."""
    test: int | None = None
    """Which test of the round it was, from 1."""
    p: float | None = None
    """Of its test: what earlier siblings' rejections left of p(token), renormalised."""
    u: float | None = None
    """The draw of its test."""
    judgement: Judgement | None = None


@dataclass(frozen=True)
class DraftTree:
    round: int
    size: str
    remark: str
    root: str
    """The newest committed token's text."""
    greedy: bool
    one_hot: bool
    """Children are the most probable ones, so that each has q = 1."""
    nodes: tuple[TreeNode, ...]
    """By index: parents before children."""

    def children(self, index: int) -> tuple[TreeNode, ...]:
        return tuple(node for node in self.nodes if node.parent == index)


def drafts_trees(moment: Moment) -> bool:
    """Is it a lane of trees, or a round that drafts one?"""
    return (moment.started is not None and bool(moment.started.settings.drafter.tree)) or (
        moment.round is not None and moment.round.is_tree)


def usual_rows(moment: Moment) -> int:
    """How many rows a tree of this lane takes, a row for each way through it: the same for all rounds, so that nothing
    moves from one to the next. 1 where the round has no tree, 0 in other lanes."""
    if not drafts_trees(moment):
        return 0
    if why_no_tree(moment):
        return 1
    started = moment.started
    if started is not None and started.settings.drafter.tree:
        levels = max(1, started.gamma or 1)
        return max(1, started.settings.drafter.tree_nodes - levels + 1) + 1  # the correction has one of its own
    assert moment.round is not None
    tree = moment.history.round(moment.round.round).tree
    return len(set(range(len(tree))) - set(tree.parents)) + 1


def why_no_tree(moment: Moment) -> str:
    """Why there is none to be seen in the round under way; "" where there is one, or no round yet."""
    now, started = moment.round, moment.started
    if now is None or now.is_tree:
        return ""
    if now.k:
        return "This round drafted a chain, not a tree."
    told = "Nothing was drafted in this round"
    if started is not None and "settings" not in started.unknown and (
            now.start - len(started.prompt) == started.settings.max_new_tokens - 1):
        return f"{told}: one token was left to write, and that one is always the target’s own."
    return f"{told}: its one token is the target’s own."


def draft_tree(moment: Moment) -> DraftTree | None:
    """None where the round under way drafts no tree."""
    now = moment.round
    if now is None or not now.is_tree:
        return None
    nodes = [_draft(moment, now, index) for index in range(now.k)]
    final = _final(moment, now)
    return DraftTree(now.round, now.tree_size, _remark(now), _label(moment, moment.history.ids[now.start - 1])
                     if now.start else "", moment.greedy, all(d.q == 1.0 and d.draw is None for d in now.drafted),
                     (*nodes, *((final,) if final is not None else ())))


def _draft(moment: Moment, now: RoundSoFar, index: int) -> TreeNode:
    draft, judged = now.drafted[index], now.judged_at(index)
    label = _label(moment, draft.token, draft.text)
    tests = [one.index for one in now.judged]
    way = [now.drafted[node].q for node in now.tree.path(index)]
    known = [q for q in way if q is not None]
    belief = math.prod(known) if len(known) == len(way) and any(q != 1.0 for q in known) else None
    return TreeNode(
        index, now.tree.parents[index], now.tree.depths[index], index, draft.position, draft.token, label,
        now.fate(index), draft.q, belief, draft.draw, tests.index(index) + 1 if judged is not None else None,
        judged.p if judged is not None else None, judged.draw if judged is not None else None,
        _judgement(moment, judged, label) if judged is not None else None)


def _final(moment: Moment, now: RoundSoFar) -> TreeNode | None:
    done, place = now.committed, now.ended_at
    if done is None or place is None or done.final not in ("correction", "bonus"):
        return None
    token, text = done.tokens[-1], done.texts[-1] if done.texts else ""
    kind: NodeKind = "correction" if done.final == "correction" else "bonus"
    return TreeNode(now.k, now.path[-1] if now.path else ROOT, len(now.path), place,
                    done.position + len(done.tokens) - 1, token, _label(moment, token, text), kind, None, None,
                    done.final_draw, p=done.p[-1] if done.p else None)


def _judgement(moment: Moment, judged: Judged, label: str) -> Judgement:
    best = judged.best
    return Judgement(judged.token, label, judged.accepted, moment.greedy, judged.p, judged.q, judged.draw, best,
                     _label(moment, best) if best is not None else "", None)


def _label(moment: Moment, token: int, text: str = "") -> str:
    own = moment.history.texts.get(token, text)
    return readable(own) or (f"#{token}" if token != UNKNOWN_TOKEN else "unknown token")


def _remark(now: RoundSoFar) -> str:
    said = [now.tree_size]
    if now.judged:
        said.append(f"{len(now.judged)} tested")
        said.append(f"{len(now.path)} accepted")
    elif now.verified is not None:
        said.append("verified in one forward")
    return ", ".join(said)
