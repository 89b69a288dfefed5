"""A draft tree over any model that gives rows: tables, or a tiny model. The plainest drafter there can be, so that what
a proof finds out is about the loop. Each level is one forward over all that was drafted so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from engine.drafters.base import Draft, RoundDraws
from engine.drafters.tree import Node, propose_tree
from engine.runner import Runner
from engine.sampling import Seen, Warper
from engine.settings import DrafterSettings
from engine.tree import ROOT, Tree


class TreeDrafter:
    """``runner``: of the draft model, whose vocabulary is the target's."""

    about = "a small model drafts a tree"
    grow = staticmethod(propose_tree)
    """A wrong rule puts another in its place."""

    def __init__(self, runner: Runner, warper: Warper, settings: DrafterSettings) -> None:
        self.runner = runner
        self.warper = warper
        self.settings = settings

    def prefill(self, tokens: Sequence[int]) -> None:
        self.runner.prefill(tokens)

    @torch.inference_mode()
    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        if count < 1:
            return
        self.runner.prefill(tokens[self.runner.length : -1])

        def rows(nodes: Sequence[Node]) -> torch.Tensor:
            return self._rows(tokens, nodes)

        yield from self.grow(rows([])[0], rows, self.settings, count, draws, greedy=self.warper.greedy)

    def cut(self, length: int) -> None:
        self.runner.cut(min(length, self.runner.length))

    @property
    def slots(self) -> int:
        return self.runner.length

    def _rows(self, tokens: Sequence[int], level: Sequence[Node]) -> torch.Tensor:
        """(n, V) q behind each node of a level; behind the newest token when there is none."""
        above = sorted({node for one in level for node in one.path}, key=lambda node: node.number)
        place = {node: number for number, node in enumerate(above)}
        tree = Tree([ROOT if node.parent is None else place[node.parent] for node in above])
        ids, before = [node.token for node in above], self.runner.length
        logits = self.runner.forward([tokens[-1], *ids], tree=tree)
        self.runner.cut(before)
        seen = None
        if self.warper.penalises:
            prefix = Seen(self.runner.vocabulary, self.runner.device)
            prefix.add(list(tokens))
            seen = prefix.tree_rows(ids, tree)
        q = self.warper.distribution(self.warper.scores(logits, seen))
        return q[[place[node] + 1 for node in level] or [0]]
