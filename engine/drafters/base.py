"""What every drafter is: something that proposes tokens and says what it drew them from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from engine.draws import Purpose, draw


@dataclass(frozen=True)
class Draft:
    """One proposed token."""

    token: int | torch.Tensor
    """An int, or a 0-d int64 tensor that was never read back."""
    q: torch.Tensor | None
    """(V,) the very distribution it was drawn from, over the target's vocabulary; None when it is deterministic (then
    q is one-hot). In a greedy run: the softmax at temperature 1, for showing."""
    draw: float | None = None
    """The draw that chose it."""
    source: str = ""
    """Where the guess came from, for a person."""


@dataclass(frozen=True)
class RoundDraws:
    """The draws of one round. ``start``: tokens committed when it began; ``index``: draft position, from 0."""

    seed: int
    start: int

    def draft(self, index: int) -> float:
        return draw(self.seed, self.start, self.start + index, Purpose.DRAFT)

    def accept(self, index: int) -> float:
        return draw(self.seed, self.start, self.start + index, Purpose.ACCEPT)

    def final(self, index: int) -> float:
        """For the round's last token when ``index`` drafts were accepted."""
        return draw(self.seed, self.start, self.start + index, Purpose.FINAL)

    def instead(self, index: int) -> int | None:
        """A token that is drafted at ``index`` in the place of the drafter's own choice; later drafts follow from it.
        A person's what-if; None as a rule."""
        return None


BY_HAND = "chosen by hand"
"""The source of a draft that :meth:`RoundDraws.instead` named."""


class Drafter(Protocol):
    """The four things a drafter does. Its state belongs to one run; it never changes the target.

    Between rounds it knows committed tokens only: :meth:`cut` makes it forget whatever else it had cached.
    """

    about: str
    """How it guesses, in one line, for a person."""

    def prefill(self, tokens: Sequence[int]) -> None:
        """Take in the prompt, all but its last token."""

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        """Up to ``count`` drafts that continue ``tokens`` (all committed tokens), one by one, each only when asked
        for. Whether to go on may depend on earlier tokens and drafts, never on a draft already shown: dropping a seen
        token changes q."""

    def cut(self, length: int) -> None:
        """Forget everything behind the first ``length`` tokens of the sequence."""

    @property
    def slots(self) -> int:
        """KV slots in use."""
