"""The five ways to draft against plain decoding, by kind of task, on held-out prompts: ``make bench ARGS=drafters``.

Each prompt is one race of all lanes, which alternate by round, so every ratio is of sides that saw the same machine.
α is of chains of γ = 4, over many prompts and longer answers, since it scatters: six answers of 40 tokens once gave
EAGLE 0.37 at temperature 1 where thirty of 96 gave 0.47. By kind each method has a shape that was quickest on a few
other held-out prompts: when greedy EAGLE and Medusa draft small trees, and at temperature 1 short chains pay more than
long ones.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from engine import models
from engine.drafters.checkpoint import SHIPPED
from engine.models import Model
from engine.settings import DrafterSettings
from engine.training.prompts import Prompt, kinds, prompts
from engine.training.report import Held, held_out, together
from tests.prompts import PROMPTS

GAMMA = 4
DRAFT, EAGLE, MEDUSA = (str(SHIPPED / method) for method in ("draft", "eagle", "medusa"))
"""Named, lest one that was trained here take their place."""
TRAINED = (DrafterSettings(kind="draft", model=DRAFT, gamma=GAMMA),
           DrafterSettings(kind="eagle", model=EAGLE, gamma=GAMMA),
           DrafterSettings(kind="medusa", model=MEDUSA, gamma=GAMMA))
OTHERS = (DrafterSettings(kind="ngram"), DrafterSettings(kind="layer-skip"))
SURE = DrafterSettings(kind="draft", model=DRAFT, gamma=5, stop_below=0.4)
TREES = (DrafterSettings(kind="eagle", model=EAGLE, gamma=GAMMA, tree="top", tree_top=3, tree_nodes=8),
         DrafterSettings(kind="medusa", model=MEDUSA, gamma=3, tree="top", tree_top=4, tree_nodes=8))
SHAPES = (DrafterSettings(kind="eagle", model=EAGLE, gamma=5, stop_below=0.3),
          DrafterSettings(kind="eagle", model=EAGLE, gamma=6, adaptive=True),
          DrafterSettings(kind="eagle", model=EAGLE, gamma=GAMMA, tree="top"), *TREES, SURE)
QUICKEST = {0.0: (SURE, *TREES, *OTHERS),
            1.0: (SURE, DrafterSettings(kind="eagle", model=EAGLE, gamma=5, stop_below=0.45),
                  DrafterSettings(kind="medusa", model=MEDUSA, gamma=2), *OTHERS)}
"""Each method in the shape that is quickest here, by temperature."""


SHAPES_ON = 3
"""Chat prompts."""
WHOLE = 128
"""Tokens at most of the answers that α is measured on: as many as a run has unless told otherwise."""


def drafters(tokens: int, per_kind: int, chat: int) -> None:
    """``per_kind`` held-out prompts of each kind, ``chat`` of chat; ``tokens`` at most, :data:`WHOLE` for α."""
    target = models.load("builtin", dtype="bfloat16", device="cpu")
    warm(target)
    held = prompts("held_out", chat, kinds=("chat",))
    print(f"\ndrafters: SmolLM2-135M-Instruct, bfloat16, held-out prompts, {tokens} tokens at most, γ = {GAMMA} "
          "(prompt lookup and layer skip: their own)\n")
    for temperature in (0.0, 1.0):
        alphas(target, held, temperature, WHOLE)
    shapes(target, held[:SHAPES_ON], tokens)
    for temperature in (0.0, 1.0):
        by_kind(target, [p for kind in kinds() for p in prompts("held_out", per_kind, kinds=(kind,))], temperature,
                tokens)
    copying(target, tokens)


def warm(target: Model) -> None:
    """What is loaded and measured once happens before anything counts."""
    held_out(target, (*TRAINED, *OTHERS, *SHAPES), [Prompt("warm", "Say hello.")], temperature=0.0, max_new_tokens=8)


def alphas(target: Model, held: Sequence[Prompt], temperature: float, tokens: int) -> None:
    """α by position and costs of the trained ones, over chat."""
    print(f"chat, T = {temperature:g}, chains, {len(held)} prompts, {tokens} tokens at most\n")
    print("| drafter | α | α by position | E[m] | a draft / a plain round | predicted | measured |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    found = held_out(target, TRAINED, held, temperature=temperature, max_new_tokens=tokens, progress=_told)
    for drafter, one in zip(TRAINED, found["chat"], strict=True):
        print(_row(drafter, one))
    print()


def shapes(target: Model, held: Sequence[Prompt], tokens: int) -> None:
    """Dynamic length and trees."""
    print(f"chat, T = 0, other shapes, {len(held)} prompts (in a tree every sibling's test counts in α)\n")
    print("| drafter | α | α by position | E[m] | a draft / a plain round | predicted | measured |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    found = held_out(target, SHAPES, held, temperature=0.0, max_new_tokens=tokens, progress=_told)
    for drafter, one in zip(SHAPES, found["chat"], strict=True):
        print(_row(drafter, one))
    print()


def _row(drafter: DrafterSettings, one: Held) -> str:
    places = "" if drafter.tree or drafter.kind == "ngram" else " ".join(f"{a:.2f}" for a in one.by_position)
    return (f"| {_name(drafter)} | {_share(one.alpha)} | {places} | {one.totals.mean_committed_length:.2f} "
            f"| {_share(one.cost_ratio)} | {_share(one.predicted)}× | **{_share(one.measured)}×** |")


def _name(drafter: DrafterSettings) -> str:
    extra = [f"γ {drafter.gamma}"] if drafter.gamma not in (None, GAMMA) else []
    extra += [f"tree of {drafter.tree_nodes}"] if drafter.tree else []
    extra += [f"stop below {drafter.stop_below:g}"] if drafter.stop_below else []
    extra += ["adaptive"] if drafter.adaptive else []
    return ", ".join([drafter.kind, *extra])


def by_kind(target: Model, held: Sequence[Prompt], temperature: float, tokens: int) -> None:
    """Speed-ups, each kind's time for all its tokens."""
    print(f"speed-up over plain decoding by kind, T = {temperature:g}, {len(held)} prompts\n")
    chosen = QUICKEST[temperature]
    names = [_name(drafter) for drafter in chosen]
    print(f"| kind | {' | '.join(names)} | best |")
    print(f"| --- |{' ---: |' * len(names)} --- |")
    found = held_out(target, chosen, held, temperature=temperature, max_new_tokens=tokens, progress=_told)
    for kind, lanes in found.items():
        speeds = [one.measured or 0.0 for one in lanes]
        best = max(range(len(speeds)), key=speeds.__getitem__)
        print(f"| {kind} | {' | '.join(f'{s:.2f}×' for s in speeds)} | {names[best]} {speeds[best]:.2f}× |")
    everything = [together(lanes[i] for lanes in found.values()) for i in range(len(chosen))]
    print(f"| all | {' | '.join(f'{_share(one.measured)}×' for one in everything)} | |\n")


def copying(target: Model, tokens: int) -> None:
    """Prompt lookup where there is something to copy, with its own draft length."""
    print(f"prompt lookup, T = 0, {tokens} tokens at most\n")
    for kind in ("edit", "quotes"):
        chosen = [Prompt(p.kind, p.text) for p in PROMPTS if p.kind == kind]
        one = held_out(target, [DrafterSettings(kind="ngram")], chosen, temperature=0.0, max_new_tokens=tokens,
                       progress=_told)[kind][0]
        print(f"  {kind}: {_share(one.measured)}× (each prompt {' '.join(f'{r:.1f}' for r in one.ratios)}, median "
              f"{statistics.median(one.ratios):.1f})")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _told(done: int, total: int) -> None:
    ending = "" if done < total else "\r" + " " * 30 + "\r"
    print(f"\r{done} of {total} prompts", end=ending, file=sys.stderr, flush=True)
