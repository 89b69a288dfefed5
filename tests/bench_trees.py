"""What verifying a tree costs: gathered, as it lies, and as chains, in turns over the same prefix in one run."""

from __future__ import annotations

import statistics
import time

import torch

from engine import models
from engine.invariance import exactness
from engine.runner import Runner
from engine.tree import Tree
from engine.tree_invariance import difference, sample
from tests.prompts import PROMPTS

SHAPES = ((16, 4), (8, 4), (31, 4))
"""Drafts and levels."""


def trees(repeats: int, dtype: str = "bfloat16") -> None:
    """Milliseconds of one forward of the built-in target, median of ``repeats``, and whether its rows are those of
    single steps, bit for bit."""
    target = models.load("builtin", dtype=dtype, device="cpu")
    prefix = target.encode(PROMPTS[5].text, chat=True)
    print(f"\ntrees: one forward over the newest token and a tree, {dtype}, behind {len(prefix)} tokens, "
          f"{torch.get_num_threads()} threads, {repeats} times in turns\n")
    print("| drafts × levels | one token | chain as deep | chain as wide | tree | tree, gathered | tree off by | "
          "gathered off by |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for nodes, depth in SHAPES:
        shape = sample(nodes, depth, 4)
        sides = {"one": (Tree([]), False), "deep": (Tree.chain(depth), False), "wide": (Tree.chain(nodes), False),
                 "tree": (shape, False), "gathered": (shape, True)}
        spent: dict[str, list[float]] = {name: [] for name in sides}
        runners = {}
        for name, (_, gather) in sides.items():
            runners[name] = Runner(target.hf, gather=gather)
            runners[name].prefill(prefix[:-1])
        for turn in range(repeats + 1):
            for name, (tree, _) in sides.items():
                runner = runners[name]
                begin = time.perf_counter()
                runner.forward([*prefix[-1:], *(7 * i % 1000 + 100 for i in range(len(tree)))], tree=tree)
                if turn:
                    spent[name].append(time.perf_counter() - begin)
                runner.cut(len(prefix) - 1)
        off = [difference(target.hf, shape, gather=gather, one_size=exactness(target.hf, 2).one_size)
               for gather in (False, True)]
        figures = " | ".join(f"{statistics.median(times) * 1e3:.1f} ms" for times in spent.values())
        print(f"| {nodes} × {depth} | {figures} | " + " | ".join(f"{one:.2g}" for one in off) + " |", flush=True)


if __name__ == "__main__":
    trees(9)
