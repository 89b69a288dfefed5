"""The gate: which records pass before it shuts."""

from __future__ import annotations

from app.gate import Gate
from app.orders import Continue, Pause, StepRecord, StepRound
from engine.records import Committed, Drafted, Record, RunFinished
from tests.widgets import fake_run

RECORDS = list(fake_run.lane_records(fake_run.LOOKUP, limit=20))


def pass_through(gate: Gate, records: list[Record]) -> list[Record]:
    passed = []
    for record in records:
        if not gate.is_open:
            break
        gate.passed(record)
        passed.append(record)
    return passed


def test_it_is_shut_until_told() -> None:
    assert pass_through(Gate(), RECORDS) == []


def test_run_lets_everything_through() -> None:
    gate = Gate()
    gate.take(Continue())
    assert pass_through(gate, RECORDS) == RECORDS


def test_a_record_step_ends_behind_one_visible_record() -> None:
    gate, rest, seen = Gate(), list(RECORDS), []
    while rest:
        gate.take(StepRecord())
        assert gate.by_record()
        passed = pass_through(gate, rest)
        rest = rest[len(passed):]
        seen.append(type(passed[-1]).__name__)
    assert "Vocabulary" not in seen
    assert "RunStarted" not in seen
    assert seen[0] == "Prefilled"
    assert seen[1] == "Drafted"
    assert seen[-1] == "RunFinished"


def test_a_round_step_ends_behind_a_commit() -> None:
    gate, rest = Gate(), list(RECORDS)
    ends = []
    while rest:
        gate.take(StepRound())
        assert not gate.by_record()
        passed = pass_through(gate, rest)
        rest = rest[len(passed):]
        ends.append(passed[-1])
    assert all(isinstance(record, Committed) for record in ends[:-1])
    assert len(ends) - 1 == sum(isinstance(record, Committed) for record in RECORDS)


def test_pause_in_the_middle_of_a_round_and_on() -> None:
    gate = Gate("run")
    middle = next(i for i, record in enumerate(RECORDS) if isinstance(record, Drafted)) + 1
    first = pass_through(gate, RECORDS[:middle])
    gate.take(Pause())
    assert pass_through(gate, RECORDS[middle:]) == []
    gate.take(Continue())
    assert first + pass_through(gate, RECORDS[middle:]) == RECORDS


RACE = fake_run.race([fake_run.PLAIN, fake_run.LOOKUP], limit=20)
LANES = ("plain", "ngram")


def test_a_step_of_one_lane_lets_the_others_go_on() -> None:
    """Every step ends behind a record of that lane, and together they let everything through in order."""
    for order, ends in ((StepRecord("ngram"), Record), (StepRound("ngram"), (Committed, RunFinished))):
        gate, rest, others = Gate(lanes=LANES), list(RACE), 0
        while any(record.lane == "ngram" for record in rest):
            gate.take(order)
            passed = pass_through(gate, rest)
            rest = rest[len(passed):]
            assert not gate.is_open
            assert passed[-1].lane == "ngram"
            assert isinstance(passed[-1], ends)
            shown = [r for r in passed if r.lane == "ngram" and type(r).__name__ not in ("RunStarted", "Vocabulary")]
            assert len(shown) == 1 or isinstance(order, StepRound)
            others += len(passed) - len(shown)
        assert others


def test_no_step_of_a_lane_that_has_finished_or_is_not_there() -> None:
    gate = Gate("run", LANES)
    for record in RACE:
        gate.passed(record)
    for order in (StepRecord("ngram"), StepRound("ngram"), StepRecord("a branch's")):
        gate.take(order)
        assert not gate.is_open
    gate.take(StepRecord())
    assert gate.is_open  # of any lane: there may be more of them
    gate.take(StepRecord("ngram"))
    gate.take(Continue())
    assert gate.is_open


def test_a_step_that_another_order_takes_back_is_forgotten() -> None:
    gate = Gate(lanes=LANES)
    gate.take(StepRecord("ngram"))
    gate.take(StepRecord())
    assert len(pass_through(gate, [record for record in RACE if record.lane == "plain"])) <= 3
    assert not gate.is_open
