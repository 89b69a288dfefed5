"""The gate: which records pass before it shuts."""

from __future__ import annotations

from app.gate import Gate
from app.orders import Continue, Pause, StepRecord, StepRound
from engine.records import Committed, Drafted, Record
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
