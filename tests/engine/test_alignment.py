"""A branch beside its original: the first difference and the price, from records alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from engine.debugger.alignment import Pair, aligned, cost
from engine.records import (
    Committed,
    Exactness,
    Origin,
    Record,
    RunFinished,
    RunStarted,
    StopReason,
    Timings,
    Totals,
    Vocabulary,
)
from engine.settings import RunSettings
from tests.engine.support import target

PROMPT = (1, 2, 3)


def lane(rounds: Sequence[Sequence[int]], *, branch: int | None = None, reason: StopReason | None = None
         ) -> list[Record]:
    """A lane that commits these tokens, a round each; k is always 3."""
    name = "a" if branch is None else "b"
    exact = Exactness(invariant=True, padded=False, width_checked=1, width_limit=1, row_difference=0.0, sentence="")
    origin = None if branch is None else Origin(lane="a", round=branch, change="x", lossless=True)
    out: list[Record] = [
        Vocabulary(run="r", lane=name, texts={i: f" w{i}" for i in range(20)}),
        RunStarted(run="r", lane=name, title="", about="", gamma=3, settings=RunSettings(), target=target().info,
                   exactness=exact, prompt=PROMPT, prompt_text="", machine="", version="", started="", branch=origin)]
    position = len(PROMPT)
    for number, tokens in enumerate(rounds):
        out.append(Committed(
            run="r", lane=name, round=number, position=position, tokens=tuple(tokens), texts=("",) * len(tokens),
            accepted=len(tokens) - 1, tested=3, drafted=3, final="correction", final_draw=None, residual_mass=None,
            residual_empty=False, gaps=(), digests=(), seconds=Timings(0, 0, 0, 0, 0), target_slots=0,
            drafter_slots=0))
        position += len(tokens)
    if reason:
        out.append(RunFinished(run="r", lane=name, reason=reason, message="", text="", totals=Totals()))
    return out


ORIGINAL = [[4, 5], [6, 7, 8], [9], [10, 11]]


def test_places_side_by_side() -> None:
    assert aligned([1, 2, 3], [1, 5, 3, 4]) == (
        Pair(0, 1, 1, True), Pair(1, 2, 5, False), Pair(2, 3, 3, False), Pair(3, None, 4, False))
    assert aligned([], []) == ()
    assert all(pair.shared for pair in aligned([1, 2], [1, 2]))


def test_the_first_difference_and_its_price() -> None:
    found = cost(lane(ORIGINAL), lane([[4, 5], [6], [7], [12], [13, 14]], branch=1))
    assert (found.start, found.index, found.position, found.tokens) == (2, 4, 7, 5)
    assert (found.original.forwards, found.original.drafted) == (3, 9)
    assert found.branch.forwards == 4
    assert found.extra == pytest.approx(1 / 5)
    assert "part at token 5: “·w8” there, “·w12” here" in found.sentence
    assert "0.2 a token more" in found.sentence


def test_what_a_branch_saves() -> None:
    found = cost(lane(ORIGINAL), lane([[4, 5], [6, 7, 8, 9], [10, 11]], branch=1))
    assert found.index is None
    assert found.extra == pytest.approx(-1 / 6)
    assert found.sentence == (
        "The outputs are the same so far. For the 6 tokens from the branch on the original took 3 forwards of the "
        "target, the branch 2: 0.167 a token saved.")


def test_the_same_price() -> None:
    found = cost(lane(ORIGINAL), lane(ORIGINAL, branch=2))
    assert (found.index, found.extra) == (None, 0)
    assert found.sentence.endswith("the branch as many.")


def test_two_that_have_ended_the_same() -> None:
    ours, changed = lane(ORIGINAL, reason="length"), lane(ORIGINAL, branch=1, reason="length")
    assert cost(ours, changed).sentence.startswith("The outputs are the same. For ")
    assert cost(ours, changed[:-1]).sentence.startswith("The outputs are the same so far. ")


def digested(records: Sequence[Record], *, odd: int | None = None, draw: float | None = None) -> list[Record]:
    """A lane with a digest for each token, another one for token ``odd``, and no change named."""
    out, done = list[Record](), 0
    for record in records:
        if isinstance(record, RunStarted) and record.branch is not None:
            record = replace(record, branch=replace(record.branch, change=""))
        if isinstance(record, Committed):
            digests = tuple(0 if done + i == odd else 7 + done + i for i in range(len(record.tokens)))
            record, done = replace(record, digests=digests, final_draw=draw), done + len(digests)
        out.append(record)
    return out


def test_a_branch_without_a_change_says_whether_it_was_the_same_bit_for_bit() -> None:
    ours, theirs = lane(ORIGINAL, reason="length"), lane(ORIGINAL, branch=1, reason="length")
    told = cost(digested(ours), digested(theirs)).sentence
    assert told.startswith("The outputs are the same, bit for bit: all logits digests are the same. ")
    told = cost(digested(ours, draw=0.5), digested(theirs, draw=0.5)).sentence
    assert "all logits digests and draws are the same. " in told
    assert "but not all draws. " in cost(digested(ours, draw=0.5), digested(theirs, draw=0.6)).sentence
    assert "logits differ from token 5 on: rows aren’t bit-exact here. " in cost(
        digested(ours), digested(theirs, odd=4)).sentence


def test_one_that_ended_earlier_differs_there_only_when_both_are_over() -> None:
    short = [[4, 5], [6]]
    assert cost(lane(ORIGINAL), lane(short, branch=1)).index is None
    assert cost(lane(ORIGINAL), lane(short, branch=1, reason="eos")).index is None
    over = cost(lane(ORIGINAL, reason="length"), lane(short, branch=1, reason="eos"))
    assert over.index == 3
    assert "“·w7” there, the end here" in over.sentence


def test_a_branch_that_has_just_begun_costs_nothing() -> None:
    found = cost(lane(ORIGINAL), lane([], branch=0))
    assert (found.start, found.tokens, found.index, found.extra) == (0, 0, None, None)
    assert cost(lane([]), lane([], branch=0)).sentence == ""
