"""Near-tie or fault: by the gap in the plain run and the measured difference of rows. And any two lanes compared."""

from __future__ import annotations

import math

import msgspec
import pytest

from engine.divergence import Comparison, Output, compare, first_divergence
from engine.records import Record
from tests.widgets import fake_proof


def test_a_gap_within_twice_the_row_difference_is_a_near_tie() -> None:
    for moved, near in ((0.1, True), (0.0999, False), (0.0, False)):
        found = first_divergence([1, 2, 9], [1, 2, 3], [5.0, 5.0, 0.2], moved, ended=False)
        assert found is not None
        assert (found.index, found.token, found.plain_token, found.gap, found.near_tie) == (2, 9, 3, 0.2, near)
        assert found.sentence == f"parts from plain at token 2, gap 0.2: {'near-tie' if near else 'fault'}"


def test_an_unfinished_lane_has_not_parted_by_being_shorter() -> None:
    assert first_divergence([1, 2], [1, 2, 3], [1.0] * 3, 0.1, ended=False) is None
    shorter = first_divergence([1, 2], [1, 2, 3], [1.0] * 3, 0.1, ended=True)
    assert shorter is not None
    assert (shorter.index, shorter.token, shorter.plain_token, shorter.near_tie) == (2, None, 3, False)


def test_what_agreed_need_not_be_compared_again() -> None:
    assert first_divergence([7, 2], [1, 2], [1.0, 1.0], 0.0, ended=True, start=1) is None
    assert first_divergence([], [], [], 0.0, ended=True) is None


# Any two lanes


def output(records: list[Record], lane: str) -> Output:
    found = Output()
    for record in records:
        if record.lane == lane:
            found.see(record)
    return found


def parted(moved: float, temperature: float = 0.0) -> Comparison:
    records = fake_proof.parting(moved, temperature)
    return compare(output(records, "plain"), output(records, "ngram"))


def test_a_fault_and_a_near_tie_between_two_lanes() -> None:
    fault, near = parted(0.0), parted(4.0)
    assert (fault.kind, fault.index, near.kind, near.index) == ("fault", 11, "near-tie", 11)
    assert "plain decoding’s two best logits are" in fault.sentence
    assert "the same bit for bit, so nothing can turn them round" in fault.sentence
    assert "moves each by up to 4 here, so up to 8 is a near-tie" in near.sentence
    assert "temperature 1" in near.shown


def test_both_sides_are_shown_with_context_and_rows() -> None:
    sides = parted(0.0).sides
    assert sides is not None
    ours, theirs = sides
    assert (ours.title, theirs.title) == ("Plain decoding", "Prompt lookup")
    assert ours.before == theirs.before
    assert ours.before.startswith("Rename the variable")
    assert ours.token != theirs.token == 103
    assert theirs.text == " other"
    assert len(ours.candidates) >= 5
    assert ours.candidates[0].behind == 0.0
    best, second = ours.candidates[:2]
    assert second.behind == pytest.approx(math.log(second.p / best.p), rel=1e-5)


def test_sampled_lanes_are_expected_to_differ_and_logits_are_in_units_of_logits() -> None:
    found = parted(0.0, temperature=0.5)
    assert found.kind == "sampled"
    assert "Both drew from the target’s distribution, so different tokens are expected." in found.sentence
    assert found.sides is not None
    best, second = found.sides[0].candidates[:2]
    assert second.behind == pytest.approx(0.5 * math.log(second.p / best.p), rel=1e-5)
    assert "drew from" in found.shown


def test_what_is_the_same_is_said_to_the_bit() -> None:
    one = output(fake_proof.same("a"), "a")
    found = compare(one, output(fake_proof.same("b"), "b"))
    assert (found.kind, found.sentence) == (
        "same", "Identical: 3 tokens, bit for bit by the digests of their logits.")
    rounded = compare(one, output(fake_proof.same("b", digest=1), "b"))
    assert rounded.sentence == ("Identical: 3 tokens. The logits agree bit for bit in 1 of the 3 rows, in the others "
                                "up to rounding.")
    growing = compare(one, output(fake_proof.same("b", texts=("a",), finish=False), "b"))
    assert (growing.kind, growing.sentence) == (
        "so far", "Identical so far: 1 token, bit for bit by the digests of their logits.")


def test_equal_logits_and_another_token_is_a_fault_when_greedy_and_a_draw_when_not() -> None:
    greedy = compare(output(fake_proof.same("a"), "a"), output(fake_proof.same("b", texts=("a", "x", "c")), "b"))
    assert (greedy.kind, greedy.index) == ("fault", 1)
    assert "although the logits there are the same bit for bit" in greedy.sentence
    hot = [output(fake_proof.same(lane, texts=texts, temperature=1.0), lane)
           for lane, texts in (("a", ("a", "b")), ("b", ("a", "x")))]
    drawn = compare(*hot)
    assert drawn.kind == "sampled"
    assert "only the draws differ" in drawn.sentence


def test_a_token_cut_off_by_the_warper_has_no_logit() -> None:
    found = compare(output(fake_proof.same("a"), "a"), output(fake_proof.same("b", texts=("x",)), "b"))
    assert found.sides is not None
    assert found.sides[0].candidates[-1].behind == -math.inf


def test_one_ended_early_and_lanes_that_cannot_be_compared() -> None:
    long, short = output(fake_proof.same("a"), "a"), output(fake_proof.same("b", texts=("a", "b")), "b")
    found = compare(long, short)
    assert (found.kind, found.index) == ("length", 2)
    assert found.sentence == "Fault: one lane ended after 2 tokens where the other went on."
    assert found.sides is not None
    assert found.sides[1].token is None
    assert compare(long, Output()).kind == "waiting"
    assert long.started is not None
    other = Output()
    other.see(msgspec.structs.replace(long.started, prompt=(1, 2)))
    assert compare(long, other).kind == "incomparable"
    warm = output(fake_proof.same("b", texts=("x",), temperature=1.0), "b")
    assert "They sample differently" in compare(long, warm).sentence


def changed(output: Output, **settings: object) -> Output:
    assert output.started is not None
    output.started = msgspec.structs.replace(
        output.started, settings=msgspec.structs.replace(output.started.settings, **settings))
    return output


def test_a_lane_that_was_told_to_end_earlier_is_no_fault() -> None:
    long, short = output(fake_proof.same("a"), "a"), output(fake_proof.same("b", texts=("a", "b")), "b")
    found = compare(long, changed(short, max_new_tokens=2))
    assert found.sentence == "Identical for 2 tokens; then one lane was told to end, by its own settings."


def test_other_precisions_are_not_compared() -> None:
    one, other = output(fake_proof.same("a"), "a"), output(fake_proof.same("b"), "b")
    assert other.started is not None
    other.started = msgspec.structs.replace(
        other.started, target=msgspec.structs.replace(other.started.target, dtype="float32"))
    assert one.started is not None
    assert one.started.target.dtype != "float32"
    assert compare(one, other).kind == "incomparable"


def test_without_a_plain_lane_both_rows_may_have_moved() -> None:
    """A gap of 4 times the row difference is explained then, where a plain lane would allow twice."""
    records = fake_proof.parting(1.6, 0.0)  # the gap there is between 2 and 4 times that
    plain, ngram = output(records, "plain"), output(records, "ngram")
    assert compare(plain, ngram).kind == "fault"
    assert plain.started is not None
    assert ngram.started is not None
    plain.started = msgspec.structs.replace(plain.started, settings=ngram.started.settings)
    found = compare(plain, ngram)
    assert found.kind == "near-tie"
    assert "between two speculative lanes" in found.sentence
