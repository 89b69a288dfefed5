"""Draft model: a small causal language model of the same tokenizer guesses token by token.

Its cache lags behind the committed tokens by the newest one (and by one more when all its drafts were accepted, since
the last draft's own keys and values are computed only if needed); the first step of a round catches up.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from engine.drafters.base import BY_HAND, Draft, RoundDraws
from engine.drafters.confidence import confident
from engine.errors import ModelError
from engine.models import Model, check_pair
from engine.runner import Runner
from engine.sampling import Seen, Warper, best, choose

if TYPE_CHECKING:
    from engine.settings import RunSettings


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> ModelDrafter:
    name = settings.drafter.model
    if name not in models:
        raise ModelError(f"The draft model {name} has not been loaded.")
    check_pair(target, models[name])
    return ModelDrafter(Runner(models[name].hf), Warper(settings.sampling), vocabulary=len(target.texts),
                        device=runner.device, about=f"{models[name].info.name} writes ahead",
                        context=models[name].info.context, stop_below=settings.drafter.stop_below)


class ModelDrafter:
    def __init__(self, runner: Runner, warper: Warper, *, vocabulary: int, device: torch.device,
                 about: str = "a small model writes ahead", context: int | None = None,
                 stop_below: float = 0.0) -> None:
        """``vocabulary``: the target's size of it: q is over that, padded with zeros or clamped. ``device``: where the
        target judges; drafts and q are handed over there explicitly. ``context``: tokens the drafter can take; behind
        them it drafts no more. ``stop_below``: see confidence.py."""
        self.about = about
        self.runner = runner
        self.warper = warper
        self.vocabulary = vocabulary
        self.device = device
        self.context = context or sys.maxsize
        self.stop_below = stop_below
        self.seen = Seen(vocabulary, runner.device) if warper.penalises else None
        self._noted = 0

    def prefill(self, tokens: Sequence[int]) -> None:
        if len(tokens) < self.context:
            self.runner.prefill(self._known(tokens))

    @torch.inference_mode()
    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        count = min(count, self.context - len(tokens) + 1)
        if count < 1:
            return
        pending: list[int | torch.Tensor] = [*self._known(tokens[self.runner.length :])]
        if self.seen:
            self.seen.add(list(tokens[self._noted :]))
            self._noted = len(tokens)
        drafts: list[torch.Tensor] = []
        for index in range(count):
            logits = self._fitted(self.runner.forward(pending, rows=1))
            scores = self.warper.scores(logits, self.seen.rows(drafts)[-1:] if self.seen else None)
            q = self.warper.distribution(scores)[0]
            going = confident(scores[0], self.stop_below)  # before the token is drawn
            other, u = draws.instead(index), None if self.warper.greedy else draws.draft(index)
            if other is not None:
                u, token = None, torch.tensor(other, device=q.device)
            else:
                token = best(scores)[0] if u is None else choose(q, u)
            drafts.append(token)
            pending = [token if other is None else self._known([other])[0]]
            yield Draft(token.to(self.device), q.to(self.device), u, "" if other is None else BY_HAND)
            if not going:
                return

    def resume(self, tokens: Sequence[int], width: int) -> None:
        """Take in the next ``width`` of ``tokens`` (all committed ones), as far as the context allows."""
        begin = self.runner.length
        if begin + width <= self.context:
            self.runner.forward(self._known(tokens[begin : begin + width]), rows=1)

    def cut(self, length: int) -> None:
        self.runner.cut(min(length, self.runner.length))

    @property
    def slots(self) -> int:
        return self.runner.length

    def _known(self, tokens: Sequence[int]) -> list[int]:
        """Tokens that only the target has are read as the drafter's last one: any guess is allowed, it is q that must
        be told truly."""
        return [min(token, self.runner.vocabulary - 1) for token in tokens]

    def _fitted(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits over the target's vocabulary: ids that only the drafter has can't be drafted, and the other way
        round."""
        missing = self.vocabulary - logits.shape[-1]
        return logits[:, : self.vocabulary] if missing <= 0 else torch.nn.functional.pad(
            logits, (0, missing), value=-torch.inf)
