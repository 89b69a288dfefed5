"""A moment is a function of the records before it, whichever way one came to it."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from engine.debugger.history import History, Moment
from engine.debugger.slices import slices
from engine.records import Committed, Drafted, Judged, Origin, Prefilled, Record, RunStarted, Totals, Verified
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN

METHODS = (PLAIN, LOOKUP, DRAFT)


def history_of(method: fake_run.Method, limit: int = 60) -> History:
    history = History(method.lane)
    for record in fake_run.lane_records(method, limit=limit):
        history.append(record)
    return history


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.lane)
def test_back_shows_what_forth_showed(method: fake_run.Method) -> None:
    whole = history_of(method)
    growing, forth = History(method.lane), []
    for record in whole.records:
        forth.append(growing.at(len(growing)))
        growing.append(record)
    forth.append(growing.at(len(growing)))
    back = [whole.at(index) for index in range(len(whole), -1, -1)]
    assert back[::-1] == forth


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.lane)
def test_nothing_later_is_there_yet(method: fake_run.Method) -> None:
    history = history_of(method)
    for index in range(len(history) + 1):
        moment, known = history.at(index), history.records[:index]
        committed = [r for r in known if isinstance(r, Committed)]
        assert moment.totals == total(known)
        assert list(moment.tokens) == (list(moment.started.prompt) if moment.started else []) + [
            token for r in committed for token in r.tokens]
        if moment.round is not None:
            of_round = [r for r in known if getattr(r, "round", None) == moment.round.round]
            assert list(moment.round.drafted) == [r for r in of_round if isinstance(r, Drafted)]
            assert list(moment.round.judged) == [r for r in of_round if isinstance(r, Judged)]
            assert moment.round.verified is next((r for r in of_round if isinstance(r, Verified)), None)
            assert moment.round.committed is next((r for r in of_round if isinstance(r, Committed)), None)


def total(records: list[Record]) -> Totals:
    totals = Totals()
    for record in records:
        totals = totals.plus(record)
    return totals


def rounds(method: fake_run.Method) -> list[Moment]:
    history = history_of(method, 200)
    return [history.at(end + 1) for end in history.ends]


def test_fates_and_rows_of_a_finished_round() -> None:
    seen = set()
    for moment in rounds(DRAFT):
        r = moment.round
        assert r is not None
        assert r.committed is not None
        c = r.committed
        seen.add(c.final)
        assert [r.fate(i) for i in range(r.k)] == (
            ["accepted"] * c.accepted + ["rejected"] * (c.tested - c.accepted) + ["void"] * (c.drafted - c.tested))
        uses = [r.row_use(i) for i in range(r.k + 1)]
        assert uses.count("accepted") == c.accepted
        assert uses[c.accepted] == {
            "correction": "rejected", "bonus": "final", "plain": "final", "none": "void"}[c.final]
        assert all(use == "void" for use in uses[c.accepted + 1:])
    assert seen >= {"correction", "bonus"}


def test_while_drafting_rows_are_not_there() -> None:
    history = history_of(DRAFT)
    first = next(i for i, r in enumerate(history.records) if isinstance(r, Drafted))
    moment = history.at(first + 1)
    assert moment.phase == "draft"
    assert moment.round is not None
    assert moment.round.k == 1
    assert moment.round.row(0) is None
    assert moment.round.fate(0) == "pending"


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.lane)
def test_slices_fill_the_clock_without_overlap(method: fake_run.Method) -> None:
    history = history_of(method)
    found = list(slices(history.records))
    for before, after in itertools.pairwise(found):
        assert before.start + before.seconds <= after.start + 1e-9
    prefill = next(r for r in history.records if isinstance(r, Prefilled))
    last = found[-1]
    assert last.start + last.seconds == pytest.approx(history.totals_after(len(history.ends)).total_seconds)
    assert found[0].seconds == prefill.target_seconds + prefill.drafter_seconds
    assert sum(s.kind == "draft" for s in found) == sum(isinstance(r, Drafted) for r in history.records)


@pytest.mark.parametrize("sampled", [True, False])
def test_rounds_that_a_branch_copied_keep_their_own_rule(sampled: bool) -> None:
    """Their settings may be others than the branch's: only the draws tell."""
    made, begins = History("x"), 3
    for copied in fake_run.lane_records(DRAFT, limit=30, temperature=0.8 if sampled else 0.0):
        if isinstance(copied, Drafted) and copied.round == begins:
            break
        if isinstance(copied, RunStarted):
            other = msgspec.structs.replace(
                copied.settings.sampling, temperature=0.0 if sampled else 0.8)
            copied = msgspec.structs.replace(
                copied, branch=Origin(lane="y", round=begins, change="", lossless=True),
                settings=msgspec.structs.replace(copied.settings, sampling=other))
        made.append(copied)
    for own in fake_run.lane_records(DRAFT, limit=30, temperature=0.0 if sampled else 0.8):
        if getattr(own, "round", -1) == begins:
            made.append(own)
    for index in range(made.begins[0] + 1, len(made) + 1):
        moment = made.at(index)
        assert moment.round is not None
        assert moment.sampled is (sampled if moment.round.round < begins else not sampled)
        assert moment.greedy is not moment.sampled
