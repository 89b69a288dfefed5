"""No drafter: each round commits the one token that the target draws. Plain decoding is the same loop with this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from engine.drafters.base import Draft, RoundDraws
from engine.models import Model
from engine.runner import Runner

if TYPE_CHECKING:
    from engine.settings import RunSettings


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> NoDrafter:
    return NoDrafter()


class NoDrafter:
    about = "one token a forward"
    slots = 0

    def prefill(self, tokens: Sequence[int]) -> None:
        pass

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        return iter(())

    def cut(self, length: int) -> None:
        pass
