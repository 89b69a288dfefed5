"""The suffix automaton against a search through the text, and what reading costs: in links, not in seconds."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st

from engine.drafters.suffix_automaton import ROOT, Follower, Place, SuffixAutomaton

SIZE = 100_000
"""Tokens: the context that must pass without a hiccup."""

texts = st.lists(st.one_of(st.lists(st.integers(0, n), max_size=24) for n in (0, 1, 2, 5)), min_size=1, max_size=4)
reaches = st.sampled_from([1, 2, 3, 5, 200])


def automaton(parts: Sequence[Sequence[int]], reach: int) -> SuffixAutomaton:
    made = SuffixAutomaton(reach)
    for part in parts[:-1]:
        made.read(part)
        made.border()
    made.read(parts[-1])
    return made


def joined(parts: Sequence[Sequence[int]]) -> list[int]:
    """The texts as one, borders being numbers below 0."""
    out = [*parts[0]]
    for number, part in enumerate(parts[1:], 1):
        out += [-number, *part]
    return out


def ends(text: Sequence[int], piece: Sequence[int]) -> list[int]:
    """Tokens before the end of each occurrence that a token of the same text follows."""
    n = len(piece)
    return [e for e in range(n, len(text)) if list(text[e - n : e]) == list(piece) and text[e] >= 0]


def searched(text: Sequence[int], so_far: Sequence[int], reach: int) -> tuple[int, dict[int, Follower]]:
    """The length of the longest suffix of ``so_far`` that was ever followed, and what followed it."""
    for n in range(min(reach, len(so_far)), 0, -1):
        found: dict[int, list[int]] = {}
        for end in ends(text, so_far[-n:]):
            found.setdefault(text[end], []).append(end)
        if found:
            return n, {token: Follower(token, len(at), at[0], at[-1]) for token, at in found.items()}
    return 0, {}


@how(max_examples=300, deadline=None)
@given(texts, reaches, st.lists(st.integers(0, 6), max_size=8))
def test_longest_suffix_and_followers_are_those_of_a_search(parts: list[list[int]], reach: int,
                                                            further: list[int]) -> None:
    """At the end of what was read, and wherever one goes on from there; strings end at the borders."""
    known, text, so_far = automaton(parts, reach), joined(parts), [*parts[-1]]
    place = known.end()
    for token in [*further, None]:
        length, found = searched(text, so_far, reach)
        place = known.followed(place)
        assert place.length == length
        if length:
            assert {one.token: one for one in known.followers(place)} == found
        if token is not None:
            so_far.append(token)
            place = known.after(place, token)


@how(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), reaches)
def test_reading_token_by_token_is_reading_at_once(text: list[int], reach: int) -> None:
    at_once, slowly = automaton([text], reach), SuffixAutomaton(reach)
    for index, token in enumerate(text):
        slowly.read([token])
        assert searched(text[: index + 1], text[: index + 1], reach)[0] == slowly.followed(slowly.end()).length
    assert {**vars(slowly), "steps": 0} == {**vars(at_once), "steps": 0}  # the one was asked in between


@how(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=40))
def test_there_are_at_most_two_states_a_token(text: list[int]) -> None:
    assert len(automaton([text], 4)._link) <= max(2 * len(text), 2)


def test_nothing_is_known_of_nothing() -> None:
    empty = SuffixAutomaton(4)
    assert empty.followed(empty.end()) == Place(ROOT, 0)
    assert empty.after(empty.end(), 7) == Place(ROOT, 0)
    assert empty.followers(empty.end()) == []


def fibonacci(size: int) -> list[int]:
    """The word that has the most splits."""
    a, b = [0], [0, 1]
    while len(b) < size:
        a, b = b, b + a
    return b[:size]


def wordlike(size: int) -> list[int]:
    """Few frequent tokens and many rare ones, and passages that come again."""
    numbers = random.Random(1)
    out: list[int] = []
    while len(out) < size:
        begin = numbers.randrange(len(out) or 1)
        again = out[begin : begin + numbers.randrange(60)] if numbers.random() < 0.2 else []
        out += again or [min(49_000, int(numbers.paretovariate(0.7))) for _ in range(20)]
    return out[:size]


LONG = {"one token": [5] * SIZE, "two in turn": [i % 2 for i in range(SIZE)], "Fibonacci": fibonacci(SIZE),
        "words": wordlike(SIZE), "a page again and again": wordlike(500) * (SIZE // 500)}


@pytest.mark.parametrize("name", LONG)
def test_a_long_text_costs_some_links_a_token(name: str) -> None:
    """On average and in every stretch: links up to the reach for the counts, and a few for the automaton itself."""
    text, reach = LONG[name], 32
    known, most, stretch = SuffixAutomaton(reach), 0, 1000
    for begin in range(0, SIZE, stretch):
        before = known.steps
        known.read(text[begin : begin + stretch])
        most = max(most, known.steps - before)
    assert known.size == SIZE
    assert known.steps <= (reach + 5) * SIZE
    assert most <= 2 * (reach + 5) * stretch
    assert len(known._link) <= 2 * SIZE


def test_asking_follows_no_more_links_than_the_suffix_is_long() -> None:
    known = automaton([LONG["one token"]], 32)
    before = known.steps
    place = known.end()
    for _ in range(64):
        place = known.followed(place)
        (only,) = known.followers(place)
        assert (only.token, only.earliest) == (5, 32)
        place = known.after(place, 5)
    assert known.steps - before <= 64 * 33
