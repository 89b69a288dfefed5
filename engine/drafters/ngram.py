"""Prompt lookup: copy what followed the same words before (Saxena, "Prompt Lookup Decoding", 2023).

The longest suffix of the committed tokens, from ``max_n`` down to ``min_n`` tokens, that a token ever followed is
continued by such a token; then the suffix that ends with this token, and so on. A suffix automaton knows them all
(suffix_automaton.py). Where the copy reaches the end of what is known, it goes on from a shorter suffix, so it runs
into what it is itself producing, as in LZ77: a repeating text is continued for as long as asked.

Which token, if several followed: the one that did most often, or that of the earliest or of the latest occurrence. No
model, no training; the proposal is deterministic, so q is one-hot.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine import lookup_texts
from engine.drafters.base import BY_HAND, Draft, RoundDraws
from engine.drafters.suffix_automaton import Follower, SuffixAutomaton
from engine.errors import ModelError
from engine.models import Model
from engine.runner import Runner

if TYPE_CHECKING:
    from engine.settings import Match, RunSettings

Text = tuple[str, Sequence[int]]
"""A text's name and tokens."""


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> PromptLookup:
    """Raises :class:`SettingsError` as :func:`engine.lookup_texts.read_all` does, :class:`ModelError` for ids that the
    target doesn't have."""
    d = settings.drafter
    contents = lookup_texts.read_all(d.texts)
    return PromptLookup(d.min_n, d.max_n, d.match,
                        [(Path(path).name, _tokens(path, content, target)) for path, content in contents.items()])


def _tokens(path: str, content: str, target: Model) -> list[int]:
    with target.lock:
        ids = [int(i) for i in target.tokenizer.encode(content, add_special_tokens=False, verbose=False)]
    if not ids:
        raise ModelError(f"{target.info.name}'s tokenizer finds no token in the lookup text {path}; leave it out.")
    target.check_ids(ids)
    return ids


def worth(match: int) -> int:
    """Drafts at most after a match of so many tokens, which is all that the rule looks at.

    A match of one token says little, one of seven or more nearly always goes on; and a forward of 32 costs 1.4 times
    one of 1 on a CPU in bfloat16, one of 16 hardly more than one of 9. Simulated on the built-in target's greedy
    answers to the edit and quote prompts of tests/prompts.py, 128 tokens (rounds × measured cost by width), against
    plain decoding: this rule 3.73× and 5.52×; 4 after one token and else 12, as before, 3.55× and 4.86×; 15 always,
    3.63× and 5.19×; 31 always, 3.53× and 5.60×. Rules between those differ by less than 2 %.
    """
    return 4 + 4 * match


class PromptLookup:
    about = "copies what followed the same words before"
    slots = 0

    def __init__(self, min_n: int, max_n: int, match: Match, texts: Sequence[Text] = ()) -> None:
        """``texts``: further ones to copy from; they count as earlier than the prompt."""
        self.min_n = min_n
        self.match = match
        self._known = SuffixAutomaton(max_n)
        self._names: list[str] = []
        self._begins: list[int] = []
        for name, tokens in texts:
            self._begin(name)
            self._known.read(tokens)
            self._known.border()
        self._begin("")
        self._read = 0
        """Tokens of the run that the automaton has read: committed ones only."""

    def prefill(self, tokens: Sequence[int]) -> None:
        self._catch_up(tokens)

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        self._catch_up(tokens)
        place, most = self._known.end(), -1
        for index in range(count):
            place = self._known.followed(place)
            if most < 0:
                most = index + worth(place.length)
            if index == most or place.length < self.min_n:
                return
            followers = self._known.followers(place)
            chosen = self._choose(followers)
            other = draws.instead(index)
            if other in (None, chosen.token):
                yield Draft(chosen.token, None, source=self._source(place.length, chosen, followers))
                place = self._known.after(place, chosen.token)
            else:
                yield Draft(other, None, source=BY_HAND)
                place, most = self._known.after(place, other), -1  # another text from here on: judge its match anew

    def cut(self, length: int) -> None:
        """Only committed tokens were ever read."""

    def _choose(self, followers: Sequence[Follower]) -> Follower:
        match self.match:
            case "latest":
                return max(followers, key=lambda one: one.latest)
            case "earliest":
                return min(followers, key=lambda one: one.earliest)
            case _:
                return max(followers, key=lambda one: (one.times, -one.earliest))

    def _source(self, length: int, chosen: Follower, followers: Sequence[Follower]) -> str:
        """In words: how much matched, where, and how often the same token followed."""
        at = (chosen.latest if self.match == "latest" else chosen.earliest) - length
        text = bisect_right(self._begins, at) - 1
        of = f" of {self._names[text]}" if self._names[text] else ""
        times = sum(one.times for one in followers)
        often = f", followed so {chosen.times} of {times} times" if times > 1 else ""
        return f"{length} token{'' if length == 1 else 's'} matched at {at - self._begins[text]}{of}{often}"

    def _begin(self, name: str) -> None:
        self._names.append(name)
        self._begins.append(self._known.size)

    def _catch_up(self, tokens: Sequence[int]) -> None:
        self._known.read(tokens[self._read :])
        self._read = max(self._read, len(tokens))
