"""When each step of a lane's rounds began and ended, in growing arrays: what the timeline paints from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.debugger.history import Moment
from engine.records import Committed, Drafted, Prefilled, Record, RunStarted

Floats = NDArray[np.float64]
Step = Literal["draft", "verify", "judge", "record", "commit"]

STEPS: tuple[Step, ...] = ("draft", "verify", "judge", "record", "commit")
_DRAFTS = len(STEPS) + 1


class Growing:
    """Rows of floats in a buffer that at least doubles when full."""

    def __init__(self, columns: int) -> None:
        self._buffer: Floats = np.zeros((64, columns))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, rows: Floats) -> None:
        need = self._count + len(rows)
        if need > len(self._buffer):
            grown = np.zeros((max(need, 2 * len(self._buffer)), self._buffer.shape[1]))
            grown[: self._count] = self._buffer[: self._count]
            self._buffer = grown
        self._buffer[self._count:need] = rows
        self._count = need

    @property
    def rows(self) -> Floats:
        """A view of what is filled: valid until the next extend."""
        return self._buffer[: self._count]


class Track:
    """One lane's finished rounds on its own clock, in seconds. Rounds are counted from 0 in the order they ended."""

    def __init__(self) -> None:
        self.prefill = 0.0
        """The clock when the first round began."""
        self.timed = True
        """False: the lane comes from a format that doesn't tell how long anything took."""
        self._read = 0
        self._rounds = Growing(_DRAFTS + 1)
        """Where each step begins, where the round ends, and how many draft slices there were before it."""
        self._drafts = Growing(2)
        self._spent = Growing(len(STEPS))
        """Seconds of each step in all rounds before; one row more than rounds."""
        self._spent.extend(np.zeros((1, len(STEPS))))

    def __len__(self) -> int:
        return len(self._rounds)

    def catch_up(self, records: Sequence[Record]) -> bool:
        """Take the rounds that ended since the last call; True if there was any. Costs nothing when nothing ended."""
        end = len(records)
        while end > self._read and not isinstance(records[end - 1], Committed):
            end -= 1
        if end == self._read:
            return False
        part = records[self._read:end]
        if self._read == 0:
            started = next((record for record in part if isinstance(record, RunStarted)), None)
            self.timed = started is None or "seconds" not in started.unknown
        self._read = end
        self._take(part)
        return True

    def _take(self, part: Sequence[Record]) -> None:
        """All rounds at once: tens of thousands of slices one by one would take longer than a frame. The figures are
        those of :func:`engine.debugger.slices.slices`."""
        spent: list[tuple[float, ...]] = []
        drafts: list[float] = []
        counts = [0]
        for record in part:
            kind = type(record)
            if kind is Drafted:
                drafts.append(record.seconds)  # type: ignore[attr-defined]  # isinstance would take twice as long
            elif isinstance(record, Committed):
                s = record.seconds
                spent.append((s.draft, s.verify, s.judge, s.record, s.commit))
                counts.append(len(drafts))
            elif isinstance(record, Prefilled):
                self.prefill = record.target_seconds + record.drafter_seconds
        steps, firsts = np.array(spent), np.array(counts)
        edges = self.end + np.concatenate(([0.0], np.cumsum(steps.ravel())))
        starts = edges[:-1].reshape(steps.shape)
        rounds = np.column_stack((starts, edges[len(STEPS)::len(STEPS)], len(self._drafts) + firsts[:-1]))
        self._drafts.extend(_draft_slices(np.array(drafts), firsts, starts[:, 0], steps[:, 0]))
        self._rounds.extend(rounds)
        self._spent.extend(self._spent.rows[-1] + np.cumsum(steps, axis=0))

    # Where things stand

    @property
    def starts(self) -> Floats:
        return self._rounds.rows[:, 0]

    @property
    def end(self) -> float:
        """Of the last finished round, or of prefill."""
        return float(self._rounds.rows[-1, _DRAFTS - 1]) if len(self) else self.prefill

    @property
    def mean_round(self) -> float:
        return (self.end - self.prefill) / len(self) if len(self) else 0.0

    @property
    def mean_draft(self) -> float:
        """Seconds of one draft step; 0 without any."""
        count = len(self._drafts)
        return float(self._spent.rows[-1, 0]) / count if count else 0.0

    def span(self, round: int) -> tuple[float, float]:
        row = self._rounds.rows[round]
        return float(row[0]), float(row[_DRAFTS - 1])

    def steps(self, first: int, last: int, step: Step) -> tuple[Floats, Floats]:
        """Starts and ends of one step in rounds ``first`` … ``last`` − 1."""
        column = STEPS.index(step)
        rows = self._rounds.rows[first:last]
        return rows[:, column], rows[:, column + 1]

    def seconds(self, round: int, step: Step) -> float:
        starts, ends = self.steps(round, round + 1, step)
        return float(ends[0] - starts[0])

    def drafts(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Starts and ends of every draft's slice in rounds ``first`` … ``last`` − 1."""
        rows = self._drafts.rows[self.first_draft(first):self.first_draft(last)]
        return rows[:, 0], rows[:, 1]

    def first_draft(self, round: int) -> int:
        """How many draft slices there are before that round."""
        return int(self._rounds.rows[round, _DRAFTS]) if round < len(self) else len(self._drafts)

    def between(self, start: float, end: float) -> tuple[int, int]:
        """The rounds that touch this stretch of time: first, and one past the last."""
        starts = self.starts
        first = max(0, int(np.searchsorted(starts, start, side="right")) - 1)
        return first, int(np.searchsorted(starts, end, side="left"))

    def round_at(self, time: float) -> int | None:
        place = int(np.searchsorted(self.starts, time, side="right")) - 1
        return place if place >= 0 and time < self.end else None

    def shares(self, edges: Floats) -> dict[Step, Floats]:
        """For each stretch between two ``edges`` (n + 1, rising): the share of it spent in each step, (n,)."""
        if not len(self):
            return {step: np.zeros(len(edges) - 1) for step in STEPS}
        rows, spent = self._rounds.rows, self._spent.rows
        place = np.clip(np.searchsorted(rows[:, 0], edges, side="right") - 1, 0, None)
        here, before = rows[place], spent[place]
        wide = np.maximum(np.diff(edges), 1e-12)
        found = {}
        for column, step in enumerate(STEPS):
            inside = np.clip(edges - here[:, column], 0.0, here[:, column + 1] - here[:, column])
            found[step] = np.clip(np.diff(before[:, column] + inside) / wide, 0.0, 1.0)
        return found

    # As of a moment

    def reached(self, moment: Moment | None) -> float:
        """The clock of a moment. It is the end of the last step taken, so that it never falls within a slice but while
        a round's drafts are being judged: judgements share their step's time."""
        if moment is None:
            return self.end
        now = moment.round
        if now is None or now.committed is not None or now.round >= len(self):
            return moment.clock
        row = self._rounds.rows[now.round]
        judged = len(now.judged)
        if judged:
            history = moment.history
            tested = len(history.round(now.round).judged)
            return float(row[2] + (row[3] - row[2]) * judged / max(tested, 1))
        if now.verified is not None:
            return float(row[2])
        if now.drafted:
            _, ends = self.drafts(now.round, now.round + 1)
            return float(ends[min(len(now.drafted), len(ends)) - 1]) if len(ends) else float(row[0])
        return float(row[0])


def _draft_slices(seconds: Floats, firsts: NDArray[np.int64], starts: Floats, phases: Floats) -> Floats:
    """Start and end of every draft step, (drafts, 2). ``firsts``: (rounds + 1), how many there are before each round,
    whose draft phase begins at ``starts`` and takes ``phases``: a foreign file's drafts may claim to take longer."""
    rounds = np.repeat(np.arange(len(starts)), np.diff(firsts))
    claimed = np.bincount(rounds, seconds[: len(rounds)], len(starts))
    fits = np.minimum(1.0, phases / np.where(claimed > 0, claimed, np.inf), where=claimed > 0,
                      out=np.ones(len(starts)))
    seconds = seconds[: len(rounds)] * fits[rounds]
    passed = np.concatenate(([0.0], np.cumsum(seconds)))
    begin = starts[rounds] + passed[:-1] - passed[firsts[rounds]]
    return np.column_stack((begin, begin + seconds))
