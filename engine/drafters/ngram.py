"""Prompt lookup: copy what followed the same words earlier (Saxena, "Prompt Lookup Decoding", 2023).

The longest suffix of the committed tokens, from ``max_n`` down to ``min_n`` tokens, that occurred before is continued
from there. The copy may run into the tokens it is itself producing, as in LZ77, so a repeating text is continued for as
long as asked. No model, no training, no memory; the proposal is deterministic, so q is one-hot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from engine.drafters.base import BY_HAND, Draft, RoundDraws
from engine.models import Model
from engine.runner import Runner

if TYPE_CHECKING:
    from engine.settings import RunSettings

WEAK = 4
"""Drafts at most after a match of a single token, which says little. The rule looks at earlier tokens only."""


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> PromptLookup:
    d = settings.drafter
    return PromptLookup(d.min_n, d.max_n, d.match)


class PromptLookup:
    about = "copies what followed the same words before"
    slots = 0

    def __init__(self, min_n: int, max_n: int, match: Literal["latest", "earliest"]) -> None:
        self.sizes = range(max_n, min_n - 1, -1)
        self.match = match
        self._ends: dict[tuple[int, ...], int] = {}
        """n-gram → index of the token behind its latest (or earliest) occurrence."""
        self._indexed = 0

    def prefill(self, tokens: Sequence[int]) -> None:
        self._index(tokens)

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        self._index(tokens)
        yield from self._copies(tokens, 0, count, draws)

    def _copies(self, tokens: Sequence[int], first: int, count: int, draws: RoundDraws) -> Iterator[Draft]:
        """Drafts ``first`` … ``count`` − 1, which continue ``tokens``: committed ones and the drafts before."""
        for n in self.sizes:
            start = self._ends.get(tuple(tokens[-n:])) if n < len(tokens) else None
            if start is None:
                continue
            copied = [tokens[start + i % (len(tokens) - start)] for i in range(count - first)]
            for i, token in enumerate(copied[:WEAK] if n == 1 else copied):
                other = draws.instead(first + i)
                if other not in (None, token):
                    yield Draft(other, None, source=BY_HAND)
                    yield from self._copies([*tokens, *copied[:i], other], first + i + 1, count, draws)
                    return
                yield Draft(token, None, source=f"{n} tokens matched at {start - n}")
            return

    def cut(self, length: int) -> None:
        """Only committed tokens were ever indexed."""

    def _index(self, tokens: Sequence[int]) -> None:
        """Index every n-gram that has a token behind it."""
        for end in range(max(self._indexed, 1), len(tokens)):
            for n in self.sizes:
                if n <= end:
                    key = tuple(tokens[end - n : end])
                    if self.match == "latest":
                        self._ends[key] = end
                    else:
                        self._ends.setdefault(key, end)
        self._indexed = max(self._indexed, len(tokens))
