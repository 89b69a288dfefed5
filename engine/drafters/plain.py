"""No drafter: each round commits the one token that the target draws. Plain decoding is the same loop with this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.drafters.base import Draft, RoundDraws


class NoDrafter:
    about = "one token a forward"
    slots = 0

    def prefill(self, tokens: Sequence[int]) -> None:
        pass

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        return iter(())

    def cut(self, length: int) -> None:
        pass
