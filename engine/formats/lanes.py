"""Records sorted into lanes and finished rounds, one pass, as every writer needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.debugger.history import RoundSoFar
from engine.formats.errors import FormatError
from engine.records import Committed, Drafted, Judged, Record, RunStarted, Totals, Unknown, Verified, Vocabulary


@dataclass(eq=False)
class Lane:
    """One lane, as far as it has been read."""

    id: str
    number: int
    """In the order in which lanes appear, from 0."""
    started: RunStarted | None = None
    totals: Totals = field(default_factory=Totals)
    last_token: int | None = None
    """The output's newest; None before the first."""
    texts: dict[int, str] = field(default_factory=dict)
    """Each id's own text, as far as the records have told it."""
    _part: list[Record] = field(default_factory=list)
    """Records of the round under way."""

    @property
    def title(self) -> str:
        return self.started.title if self.started is not None and self.started.title else f"lane {self.id}"

    @property
    def plain(self) -> bool:
        return self.started is not None and self.started.settings.drafter.kind == "none"

    def knows(self, what: Unknown) -> bool:
        return self.started is None or what not in self.started.unknown

    def take(self, record: Record) -> Round | None:
        """Raises :class:`FormatError` where a round contradicts itself: a file from elsewhere may hold anything."""
        if isinstance(record, RunStarted):
            self.started = record
        elif isinstance(record, Vocabulary):
            self.texts.update(record.texts)
        elif isinstance(record, (Drafted, Verified, Judged)):
            self._part.append(record)
        begin = self.totals.total_seconds
        self.totals = self.totals.plus(record)
        if not isinstance(record, Committed):
            return None
        facts = RoundSoFar(
            record.round, record.position, tuple(r for r in self._part if isinstance(r, Drafted)),
            next((r for r in self._part if isinstance(r, Verified)), None),
            tuple(r for r in self._part if isinstance(r, Judged)), record)
        self._part = []
        self._check(record, facts)
        done = Round(self, facts, record, begin, self.totals, self.last_token)
        self.last_token = record.tokens[-1] if record.tokens else self.last_token
        return done

    def _check(self, record: Committed, facts: RoundSoFar) -> None:
        count = record.accepted + (record.final != "none")
        wrong = ""
        if len(record.tokens) != count:
            wrong = f"{len(record.tokens)} tokens are committed where {count} are accounted for"
        elif len(record.texts) != count:
            wrong = f"{len(record.texts)} texts belong to {count} tokens"
        elif facts.drafted and len(facts.drafted) != record.drafted:
            wrong = f"{len(facts.drafted)} drafts are listed, but {record.drafted} counted"
        elif not record.accepted <= record.tested <= record.drafted:
            wrong = f"{record.accepted} accepted, {record.tested} tested and {record.drafted} drafted can't be"
        if wrong:
            raise FormatError(f"Round {record.round} of lane {self.id} contradicts itself ({wrong}), so it can't be "
                              "converted; record it again, or convert another lane with --lane.")


@dataclass(frozen=True)
class Round:
    """A finished round."""

    lane: Lane
    facts: RoundSoFar
    committed: Committed
    begin: float
    """Seconds on the lane's own clock, prefill included."""
    totals: Totals
    """After it."""
    before: int | None
    """The output's last token before it; None in the first round."""

    @property
    def final_token(self) -> int | None:
        """The correction, bonus or plain token."""
        return self.committed.tokens[-1] if self.committed.final != "none" else None


class Lanes:
    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def of(self, record: Record) -> Lane:
        lane = self._lanes.get(record.lane)
        if lane is None:
            lane = self._lanes[record.lane] = Lane(record.lane, len(self._lanes))
        return lane

    def take(self, record: Record) -> Round | None:
        """The round that this record finishes, if it does."""
        return self.of(record).take(record)
