"""What a draft tree says in words: a node's few figures, and its tooltip with the formulas."""

from __future__ import annotations

from engine.debugger.judgement import figure
from engine.debugger.token_words import quoted
from engine.debugger.tree_nodes import DraftTree, TreeNode
from widgets.marks import WORDS


def short(value: float) -> str:
    """Two figures, without the 0 before the point."""
    return figure(value, 2).removeprefix("0") if 0 < value < 1 else figure(value, 2)


def figures(node: TreeNode) -> str:
    """In a line under the token: of a test p, q and u; else what the drafter thought of it."""
    parts = [(name, value) for name, value in (("p", node.p), ("q", node.q), ("u", node.u)) if value is not None]
    if node.test is None and node.kind not in ("correction", "bonus"):  # a q of 1 that nobody drew says nothing
        parts = [("q", node.q)] if node.q is not None and (node.q < 1 or node.draw is not None) else []
    return "  ".join(f"{name} {short(value)}" for name, value in parts if value is not None)


def spoken(node: TreeNode) -> str:
    """For a screen reader."""
    what = WORDS[node.kind]
    name = f"draft {node.index + 1}, " if node.kind not in ("correction", "bonus") else ""
    return f"{name}{node.label}, {what}, level {node.depth + 1}"


def explain(tree: DraftTree, node: TreeNode) -> str:
    """A node in full: what it is, its test spelled out, and what the figures mean."""
    if node.kind in ("correction", "bonus"):
        return _final(tree, node)
    way, at = [node.index + 1], node
    while at.parent >= 0:
        at = tree.nodes[at.parent]
        way.insert(0, at.index + 1)
    lines = [f"{quoted(node.label)}: draft {node.index + 1} ({' › '.join(map(str, way))}), position {node.position:,}, "
             f"{WORDS[node.kind]}"]
    if node.judgement is not None:
        formula = "".join(span.text for span in node.judgement.formula())
        lines.append(f"test {node.test} of the round: {formula}")
        if node.p is not None and not tree.greedy:
            lines.append("p: what earlier siblings' rejections left of the target's p, renormalised")
    elif node.kind == "void":
        lines.append("Never tested: the round took another way, or ended before it.")
    elif node.kind == "pending":
        lines.append("Not tested yet.")
    if tree.one_hot:
        lines.append("q = 1: one of the most probable children, taken without a draw")
    elif node.q is not None:
        drawn = "" if node.draw is None else f", drawn by {figure(node.draw)}"
        without = " among what its earlier siblings left" if node.draw is not None else ""
        lines.append(f"q = {figure(node.q)}: the drafter's probability of it{without}{drawn}")
    if node.belief is not None and node.depth:
        lines.append(f"Π q along the way here = {figure(node.belief)}")
    return "\n".join(lines)


def _final(tree: DraftTree, node: TreeNode) -> str:
    source = "the residual that the rejected siblings left" if node.kind == "correction" else "p, behind a leaf"
    lines = [f"{quoted(node.label)}: {WORDS[node.kind]}, position {node.position:,}"]
    if tree.greedy:
        lines.append("the target's most probable token there")
    elif node.draw is not None:
        lines.append(f"one draw, {figure(node.draw)}, from {source}")
    if node.p is not None:
        lines.append(f"p = {figure(node.p)}: the target's probability of it there")
    return "\n".join(lines)
