"""Small worlds in which everything can be counted: targets and drafters given by tables of weights."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import torch

from engine.drafters.ngram import PromptLookup
from engine.proof.rig import Logits, Rig, of_tables
from engine.settings import DrafterSettings, RunSettings, Sampling

Row = tuple[float, ...]


def looked_up(rows: Sequence[Row]) -> Logits:
    """The language model whose row depends on all of its context: ``rows`` are weights, zeros allowed."""
    logs = torch.tensor(rows, dtype=torch.float64).log()

    def logits(context: tuple[int, ...]) -> torch.Tensor:
        place = 0
        for token in context:
            place = (place * 5 + token + 1) % 1_000_003
        return logs[place % len(rows)]

    return logits


RARE_P: tuple[Row, ...] = ((0.001, 0.499, 0.5), (0.3, 0.0002, 0.6998), (0.2, 0.79, 0.01))
RARE_Q: tuple[Row, ...] = ((0.9, 0.05, 0.05), (0.1, 0.85, 0.05))
"""The drafter is fond of what the target hardly ever says."""

WARM = Sampling(temperature=1.0)


@dataclass(frozen=True)
class Case:
    """One world: a target, what drafts for it, and how long a sequence may get."""

    name: str
    p: tuple[Row, ...]
    q: tuple[Row, ...] = ()
    """Empty: prompt lookup drafts."""
    gamma: int = 2
    tokens: int = 3
    eos: int | None = None
    sampling: Sampling = WARM
    prompt: tuple[int, ...] = (0,)
    stop_below: float = 0.0
    adaptive: bool = False
    tree: Literal["", "top", "sampled"] = ""
    """With ``gamma`` levels."""
    top: int = 2
    nodes: int = 3

    @property
    def vocabulary(self) -> int:
        return len(self.p[0])

    def rig(self) -> Rig:
        """A fresh lane in this world, in float64."""
        kind, model = ("model", "table") if self.q else ("ngram", "")
        drafter = DrafterSettings(kind=kind, model=model, stop_below=self.stop_below, adaptive=self.adaptive)
        drafter = msgspec.structs.replace(drafter, tree=self.tree, tree_top=self.top, tree_nodes=self.nodes)
        settings = RunSettings(sampling=self.sampling, max_new_tokens=self.tokens, drafter=drafter, detail=False)
        return of_tables(
            looked_up(self.p), looked_up(self.q) if self.q else None, self.vocabulary, self.prompt, settings,
            gamma=self.gamma, eos=() if self.eos is None else (self.eos,),
            drafter=None if self.q else PromptLookup(1, 3, "latest"))


def wandering(seed: int, vocabulary: int, rows: int = 7, *, sharp: float = 1.0) -> tuple[Row, ...]:
    """Rows without structure; ``sharp`` widens the spread of their logarithms."""
    numbers = random.Random(seed)
    return tuple(tuple(2.0 ** (sharp * numbers.gauss(0, 1)) for _ in range(vocabulary)) for _ in range(rows))


ODD_P: tuple[Row, ...] = ((1, 0, 0), (0.5, 0.5, 0), (1 / 3, 1 / 3, 1 / 3), (0.2, 0.3, 0.5), (5e-324, 1, 1e-300))
ODD_Q: tuple[Row, ...] = ((0, 1, 0), (0.2, 0.3, 0.5 + 1e-16), (0.5, 0.5, 0), (0, 0, 1), (1, 1e-310, 1), (0.4, 0.4, 0.2))
"""One-hots, ties, disjoint supports, rows equal up to the last bit, and the smallest numbers there are."""


FULLY_WARPED = Case("temperature, top-k, top-p and min-p", wandering(11, 5), wandering(12, 5), gamma=1, tokens=2,
                    sampling=Sampling(temperature=0.8, top_k=4, top_p=0.85, min_p=0.1))

WIDE = Case("72 tokens, the tail behind the sorted head", wandering(15, 72),
            tuple(row[:2] + (0.0,) * 70 for row in wandering(16, 72)), gamma=1, tokens=2)
"""Two tokens are drafted, any may be committed."""


TOP_TREE = Case("tree, top", wandering(1, 3), wandering(2, 3), eos=2, tree="top", nodes=4)
DRAWN_TREE = Case("tree, drawn", wandering(13, 5, sharp=2), wandering(14, 5, sharp=2), tokens=2, tree="sampled")
"""Of five tokens more than one is left after a sibling's rejection, so that its draw and its q matter."""


def cases(*, quick: bool) -> Iterable[Case]:
    """The worlds that a proof enumerates."""
    p, q = wandering(1, 3), wandering(2, 3)
    yield Case("draft model, γ 1", p, q, gamma=1)
    yield Case("draft model, γ 2, with an end token", p, q, eos=2)
    yield Case("draft model, γ 3", p, q, gamma=3, tokens=4, eos=2)
    yield Case("rounds behind accepted ones", p, q, gamma=1, tokens=5, eos=2)
    yield Case("p and q far apart", wandering(13, 3, sharp=5), wandering(14, 3, sharp=5))
    yield Case("rare tokens drafted often", RARE_P, RARE_Q)
    yield FULLY_WARPED
    yield Case("prompt lookup, γ 2", p, (), prompt=(0, 1, 2, 0, 1))
    yield Case("stops where the drafter is unsure", p, q, gamma=3, tokens=4, eos=2, stop_below=0.45)
    yield Case("adaptive length", p, q, gamma=3, tokens=5, eos=2, adaptive=True)
    yield Case("adaptive, stops where unsure, warped", wandering(3, 3), wandering(4, 3), gamma=3, tokens=4, eos=2,
               stop_below=0.45, adaptive=True, sampling=Sampling(temperature=0.7, top_p=0.9))
    yield Case("prompt lookup, adaptive length", p, (), prompt=(0, 1, 2, 0, 1), tokens=4, adaptive=True)
    yield Case("zeros, ties, one-hots, denormals", ODD_P, ODD_Q, gamma=2)
    yield replace(TOP_TREE, name="tree of the most probable")
    yield replace(DRAWN_TREE, name="drawn tree")
    yield replace(DRAWN_TREE, name="drawn tree, with an end token", p=p, q=q, tokens=3, eos=2)
    yield replace(DRAWN_TREE, name="drawn tree, three siblings", gamma=1, top=3)
    yield replace(DRAWN_TREE, name="drawn tree, stops where unsure", p=p, q=q, tokens=3, eos=2, stop_below=0.45)
    yield replace(TOP_TREE, name="tree of the most probable, stops where unsure", gamma=3, tokens=4, nodes=5,
                  stop_below=0.45)
    yield replace(DRAWN_TREE, name="drawn tree, zeros, ties, one-hots", p=ODD_P, q=ODD_Q)
    yield replace(DRAWN_TREE, name="drawn tree, top-k, repetition penalty", p=wandering(5, 4), q=wandering(6, 4),
                  sampling=Sampling(temperature=1.3, top_k=3, repetition_penalty=1.4))
    yield Case("temperature 0.7, top-p, min-p", wandering(3, 4), wandering(4, 4), gamma=1,
               sampling=Sampling(temperature=0.7, top_p=0.9, min_p=0.1))
    yield Case("top-k, repetition penalty", wandering(5, 4), wandering(6, 4), gamma=1,
               sampling=Sampling(temperature=1.3, top_k=3, repetition_penalty=1.4))
    if quick:
        return
    yield Case("draft model, γ 4", p, q, gamma=4, tokens=5, eos=2)
    yield Case("four tokens, γ 2, sequences of 5", wandering(7, 4), wandering(8, 4), gamma=2, tokens=5, eos=3)
    yield Case("five tokens, γ 2", wandering(9, 5), wandering(10, 5), gamma=2, tokens=4, eos=4)
    yield Case("repetition penalty, γ 2", wandering(5, 3), wandering(6, 3), gamma=2, tokens=4,
               sampling=Sampling(temperature=1.0, repetition_penalty=1.7))
    yield Case("plain decoding", p, q, gamma=0, tokens=5, eos=2)
    yield replace(DRAWN_TREE, name="drawn tree, five drafts", p=p, q=q, nodes=5, tokens=4, eos=2)
    yield replace(TOP_TREE, name="tree of the most probable, six drafts", gamma=3, nodes=6, tokens=5)
    yield replace(DRAWN_TREE, name="drawn tree, four tokens", p=wandering(7, 4), q=wandering(8, 4), nodes=4, tokens=3,
                  eos=3)
