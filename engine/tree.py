"""The shape of a draft tree: who continues whom. Plain numbers; nothing here knows a model or a probability.

Drafts are numbered in the order in which they were proposed, a parent always before its children. :data:`ROOT` is the
newest committed token, from which the tree grows; depth 0 are its children. A chain is the tree in which every draft
continues the one before it.

A verified round has one row more than drafts: row 0 was computed after the newest token, row i + 1 after draft i and
its ancestors. So draft i is judged by row ``parent + 1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from engine.errors import DraftError

ROOT = -1


class Tree:
    """``parents`` (n): of each draft its parent's number, or :data:`ROOT`."""

    def __init__(self, parents: Sequence[int]) -> None:
        """Raises :class:`DraftError` where a parent doesn't come before its child."""
        self.parents = tuple(parents)
        for number, parent in enumerate(self.parents):
            if not ROOT <= parent < number:
                raise DraftError(f"Draft {number} of the tree continues draft {parent}, which doesn't come before it.")

    @classmethod
    def chain(cls, count: int) -> Tree:
        return cls(range(ROOT, count - 1))

    @classmethod
    def of(cls, parents: Sequence[int | None]) -> Tree:
        """``parents`` as drafts tell them (:attr:`engine.drafters.base.Draft.parent`): None continues the draft
        before. Raises :class:`DraftError` as the constructor does."""
        return cls([number - 1 if parent is None else parent for number, parent in enumerate(parents)])

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def is_chain(self) -> bool:
        return self.parents == tuple(range(ROOT, len(self) - 1))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Of each draft, from 0."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent == ROOT else depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Of each draft its number among those of the same depth: what tells their draws apart."""
        count: dict[int, int] = {}
        found = []
        for depth in self.depths:
            found.append(count.get(depth, 0))
            count[depth] = found[-1] + 1
        return tuple(found)

    @cached_property
    def _children(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for number, parent in enumerate(self.parents):
            found.setdefault(parent, []).append(number)
        return {parent: tuple(numbers) for parent, numbers in found.items()}

    def children(self, node: int) -> tuple[int, ...]:
        """Of a draft or the root, in the order in which they are tested."""
        return self._children.get(node, ())

    def path(self, node: int) -> tuple[int, ...]:
        """From the root's child down to ``node``, which is included; empty for the root."""
        found: list[int] = []
        while node != ROOT:
            found.append(node)
            node = self.parents[node]
        return tuple(reversed(found))

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """What nothing continues: drafts, or the root when there are none."""
        return tuple(node for node in range(ROOT, len(self)) if not self.children(node))

    def is_path(self, nodes: Sequence[int]) -> bool:
        """Does each of ``nodes`` continue the one before it, the first of them the root?"""
        known = all(0 <= node < len(self) for node in nodes)
        return known and all(self.parents[b] == a for a, b in zip((ROOT, *nodes), nodes, strict=False))
