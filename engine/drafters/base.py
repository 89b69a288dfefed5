"""What every drafter is: something that proposes tokens and says what it drew them from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from engine.draws import Purpose, draw

if TYPE_CHECKING:
    from engine.models import Model
    from engine.runner import Runner
    from engine.settings import RunSettings


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
    parent: int | None = None
    """In a tree the number, within the round, of the draft that it continues; −1: the newest committed token. None: the
    draft before it, as in a chain."""


@dataclass(frozen=True)
class RoundDraws:
    """The draws of one round. ``start``: tokens committed when it began; ``index``: draft position (in a tree: depth),
    from 0; ``sibling``: number of the draft among those of a tree at the same depth, 0 in a chain."""

    seed: int
    start: int

    def draft(self, index: int, sibling: int = 0) -> float:
        return draw(self.seed, self.start, self.start + index, Purpose.DRAFT, sibling)

    def accept(self, index: int, sibling: int = 0) -> float:
        return draw(self.seed, self.start, self.start + index, Purpose.ACCEPT, sibling)

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


class Maker(Protocol):
    """Makes the drafter of one run."""

    def __call__(self, settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model], /) -> Drafter:
        """``runner``: the target's forwards in this run, whose ``features`` a drafter may ask for. ``models``: loaded
        draft models by the name the person gave. Raises :class:`ModelError` when it can't serve this target."""
