"""What an experiment is tried on: two examples small enough for a blackboard, and one position of a real model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine import drafters
from engine.drafters.base import RoundDraws
from engine.errors import SettingsError
from engine.models import Model
from engine.runner import Runner, as_ids
from engine.sampling import Warper, best
from engine.settings import DrafterSettings, RunSettings, Sampling

TOP_K = 50
"""Tokens that the model may sample from. The others then have probability 0 under p and q, so no rule can tell rows
without them from whole ones, and a hundred thousand judgements take seconds instead of hours."""


@dataclass(frozen=True)
class Rows:
    """p before and behind one draft, and the q that the draft is drawn from."""

    p: torch.Tensor
    """(2, V)"""
    q: torch.Tensor
    """(1, V)"""
    labels: tuple[str, ...]
    """Every outcome's text, made visible."""


def two_tokens() -> Rows:
    """Half of the drafted A are accepted and every B; a redraw from p after a rejection gives A 0.56 instead of 0.4."""
    return _small([0.4, 0.6], [0.8, 0.2])


def quiz() -> Rows:
    return _small([0.3, 0.7], [0.6, 0.4])


def _small(p: list[float], q: list[float]) -> Rows:
    rows = torch.tensor([p, p], dtype=torch.float64)
    return Rows(rows, torch.tensor([q], dtype=torch.float64), ("A", "B"))


@torch.inference_mode()
def of_model(target: Model, prompt: Sequence[int], drafter: DrafterSettings) -> Rows:
    """The first position after the prompt, at temperature 1 and top-k 50. The row behind the draft, which only a bonus
    is drawn from, is computed after the drafter's most probable token.

    Raises :class:`SettingsError` where the drafter proposes nothing.
    """
    settings = RunSettings(sampling=Sampling(temperature=1.0, top_k=TOP_K), drafter=drafter)
    runner = Runner(target.hf)
    guess = drafters.make(settings, target, runner, {})
    runner.prefill(prompt[:-1])
    guess.prefill(prompt[:-1])
    draft = next(iter(guess.propose(prompt, 1, RoundDraws(0, len(prompt)))), None)
    if draft is None:
        raise SettingsError(f"{drafter.label} proposes nothing after this prompt, since its last words don't occur "
                            "earlier in it; choose layer skip, or a prompt that repeats itself.")
    if draft.q is None:
        likely = as_ids([draft.token], runner.device)
        q = torch.zeros(1, runner.vocabulary, device=runner.device).scatter_(1, likely[None], 1.0)
    else:
        q = draft.q[None]
        likely = best(q)
    warper = Warper(settings.sampling)
    p = warper.distribution(warper.scores(runner.forward([prompt[-1], likely[0]])))
    possible = torch.cat((p, q)).amax(0).nonzero()[:, 0]
    return Rows(p[:, possible].cpu(), q[:, possible].float().cpu(),
                tuple(visible(target.texts[token]) for token in possible.tolist()))


def visible(text: str) -> str:
    """Spaces, newlines and tabs shown, as everywhere on screen."""
    shown = text.replace(" ", "·").replace("\r", "␍").replace("\n", "↵").replace("\t", "⇥")
    return "".join(c if c.isprintable() else f"⟨{ord(c):02X}⟩" for c in shown)
