"""One lane as the widgets see it: everything that follows from its records, kept up to date record by record.

What is on screen can be told for any earlier moment too, without a second copy of the state: each cell knows the
serial number of the record that brought it (``born``) and of the one that settled its kind (``judged``), each round
the serial number of its ``Committed`` and the totals after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.growing import GrowingArray
from engine.debugger.history import History, Moment
from engine.records import (
    Committed,
    Contrast,
    Drafted,
    FinalKind,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    Timings,
    Totals,
    Verified,
    Vocabulary,
)

CellKind = Literal["prompt", "plain", "accepted", "rejected", "void", "pending", "correction", "bonus"]
Status = Literal["waiting", "prefilling", "running", "finished", "failed", "stopped"]

NEVER = 2**62
"""A serial number no record reaches: "not yet judged"."""


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """A lane that is about to run, so that its card exists before its first record."""

    id: str
    title: str
    about: str = ""
    plain: bool = False
    """Plain decoding: the lane that speed-ups are measured against."""


@dataclass(slots=True, eq=False)
class Cell:
    """One token on screen: of the prompt, committed, or only proposed. ``None`` means not known or not applicable."""

    id: int
    text: str
    """What it adds to the output (a ghost: what it would have added)."""
    label: str
    """Readable on its own: spaces, newlines and bytes shown."""
    kind: CellKind
    round: int
    index: int
    """Which draft of its round it was; -1 for a token that was not drafted."""
    position: int
    p: float | None = None
    q: float | None = None
    overlap: float | None = None
    draw: float | None = None
    """The draw of the test (a draft) or of the choice (correction, bonus, plain)."""
    draft_draw: float | None = None
    """The draw by which the drafter chose it."""
    best: int | None = None
    """The target's argmax at its position."""
    seconds: float | None = None
    """Its draft step."""
    source: str = ""
    born: int = 0
    judged: int = NEVER


@dataclass(frozen=True, slots=True)
class RoundSummary:
    """One finished round."""

    round: int
    position: int
    """Of its first committed token."""
    k: int
    tested: int
    accepted: int
    committed: int
    final: FinalKind
    first_cell: int
    last_cell: int
    """Its cells are ``cells[first_cell:last_cell]``: drafts in order, then the correction, bonus or plain token."""
    start: float
    """On the lane's own clock, prefill included."""
    seconds: Timings
    serial: int
    """Of its ``Committed``."""
    totals: Totals
    """After it."""

    @property
    def rejected(self) -> int:
        return self.tested - self.accepted

    @property
    def void(self) -> int:
        """Drafted, but never tested: an earlier draft of the round was rejected (or the run ended)."""
        return self.k - self.tested


class LaneState:
    def __init__(self, spec: LaneSpec, look: int) -> None:
        self.id = spec.id
        self.title = spec.title
        self.about = spec.about
        self.plain = spec.plain
        self.look = look
        """Which lane colour and shape: 0 is plain decoding's grey."""
        self.gamma = 0
        self.started: RunStarted | None = None
        self.status: Status = "waiting"
        self.message = ""
        self.details = ""
        self.finished: RunFinished | None = None
        self.totals = Totals()
        self.clock = 0.0
        """Seconds of the lane's own compute so far, prefill and the round in flight included."""
        self.cells: list[Cell] = []
        self.settled = 0
        """``cells[:settled]`` never change again; behind them is the round in flight."""
        self.committed: list[int] = []
        """Indices into ``cells`` of the output's tokens, in order."""
        self.ids: list[int] = []
        """The output's token ids, and for each the difference of its row's two best logits, where recorded."""
        self.gaps: list[float] = []
        self.agreed = 0
        """Output tokens known to be the plain lane's (kept here for the store, which compares)."""
        self.prompt_length = 0
        self.rounds: list[RoundSummary] = []
        self.history = History(spec.id)
        self.serials: list[int] = []
        """Of ``records``: where each stands in the whole store."""
        self.vocabulary: dict[int, str] = {}
        """Each id's own text, as far as the records have told it."""
        self._labels: dict[int, str] = {}
        self.revision = 0
        self._progress = GrowingArray(2)
        self._table = GrowingArray(8)
        self._tested = np.zeros(0, dtype=np.int64)
        self._accepted = np.zeros(0, dtype=np.int64)
        self._rows: tuple[Contrast, ...] = ()

    @property
    def base(self) -> LaneState:
        """Whose cells these are: views of earlier moments share them."""
        return self

    @property
    def records(self) -> list[Record]:
        return self.history.records

    def moment(self, cursor: int | None) -> Moment:
        """The lane as of a serial number of the store; None: now."""
        return self.history.at(len(self.serials) if cursor is None else bisect_right(self.serials, cursor))

    # What the charts read

    @property
    def seconds(self) -> NDArray[np.float64]:
        """The lane's own clock at (0), after prefill, and after each round."""
        return self._progress.column(0)

    @property
    def tokens(self) -> NDArray[np.float64]:
        """Committed tokens at each of ``seconds``."""
        return self._progress.column(1)

    @property
    def tested_at(self) -> NDArray[np.int64]:
        """By draft position: how often a draft there was tested."""
        return self._tested

    @property
    def accepted_at(self) -> NDArray[np.int64]:
        return self._accepted

    @property
    def round_table(self) -> NDArray[np.float64]:
        """A row a round: start, seconds, accepted, rejected, void, correction, bonus, plain."""
        return self._table.view()

    # What the texts read

    @property
    def output(self) -> str:
        """The whole output so far (at the end: cut at the stop string, if one ended it)."""
        if self.finished is not None and self.finished.text:
            return self.finished.text
        return "".join(self.cells[i].text for i in self.committed)

    def token_text(self, token: int) -> str:
        """An id's text made visible (spaces, newlines), as far as the records have told it."""
        return self._labels.get(token, f"#{token}")

    def label(self, token: int) -> str | None:
        return self._labels.get(token)

    def find(self, position: int | None, round: int | None = None, index: int | None = None) -> int | None:
        """The cell of a draft (round and index given) or of the committed token at a position; None if not there."""
        if round is not None and index is not None and 0 <= round < len(self.rounds):
            cell = self.rounds[round].first_cell + index
            if index >= 0 and cell < self.rounds[round].last_cell:
                return cell
        elif round is not None and index is not None and round == len(self.rounds) and index >= 0:
            cell = self.settled + index
            return cell if cell < len(self.cells) else None
        if position is None:
            return None
        place = position - self.prompt_length
        return self.committed[place] if 0 <= place < len(self.committed) else None

    # How records become all that

    def append(self, record: Record, serial: int) -> None:
        self.history.append(record)
        self.serials.append(serial)
        self.revision += 1
        handler = _HANDLERS.get(type(record))
        if handler is not None:
            handler(self, record, serial)

    def _on_started(self, record: RunStarted, serial: int) -> None:
        self.started = record
        self.title, self.about, self.gamma = record.title, record.about, record.gamma
        self.plain = record.settings.drafter.kind == "none"
        self.status = "prefilling"
        self.prompt_length = len(record.prompt)
        self._progress.append((0.0, 0.0))
        if record.prompt_text:
            self.cells.append(Cell(-1, record.prompt_text, "prompt", "prompt", -1, -1, 0, born=serial, judged=serial))
            self.settled = 1

    def _on_prefilled(self, record: Prefilled, serial: int) -> None:
        self.totals = self.totals.plus(record)
        self.clock = self.totals.total_seconds
        self.status = "running"
        self._progress.append((self.clock, 0.0))

    def _on_vocabulary(self, record: Vocabulary, serial: int) -> None:
        self.vocabulary.update(record.texts)
        self._labels.update((token, readable(text)) for token, text in record.texts.items())

    def _on_drafted(self, record: Drafted, serial: int) -> None:
        self.clock += record.seconds
        self.cells.append(Cell(
            record.token, record.text, self._labels.get(record.token) or readable(record.text), "pending", record.round,
            record.index, record.position, q=record.q, draft_draw=record.draw, seconds=record.seconds,
            source=record.source, born=serial))

    def _on_verified(self, record: Verified, serial: int) -> None:
        self.clock += record.seconds
        self._rows = record.rows
        for cell, row in zip(self.cells[self.settled:], record.rows, strict=False):
            cell.overlap = row.overlap

    def _on_judged(self, record: Judged, serial: int) -> None:
        if record.index >= len(self._tested):
            room = record.index + 1 - len(self._tested)
            self._tested = np.pad(self._tested, (0, room))
            self._accepted = np.pad(self._accepted, (0, room))
        self._tested[record.index] += 1
        self._accepted[record.index] += record.accepted
        place = self.settled + record.index
        if place < len(self.cells):
            cell = self.cells[place]
            cell.kind = "accepted" if record.accepted else "rejected"
            cell.p, cell.q, cell.draw, cell.best, cell.judged = (
                record.p, record.q, record.draw, record.best, serial)
        if not record.accepted:
            for cell in self.cells[place + 1:]:
                cell.kind, cell.judged = "void", serial

    def _on_committed(self, record: Committed, serial: int) -> None:
        first = self.settled
        for place, text in enumerate(record.texts[: record.accepted]):
            cell = self.cells[first + place]
            cell.kind, cell.text = "accepted", text
            self.committed.append(first + place)
        for cell in self.cells[first + record.accepted:]:
            if cell.kind == "pending":
                cell.kind, cell.judged = "void", serial
        if record.final != "none":
            self._commit_final(record, serial)
        self._rows = ()
        self.ids += record.tokens
        self.gaps += record.gaps
        self.totals = self.totals.plus(record)
        start = self.totals.total_seconds - record.seconds.total
        self.clock = self.totals.total_seconds
        self._progress.append((self.clock, self.totals.committed))
        final = record.final
        self._table.append((
            start, record.seconds.total, record.accepted, record.tested - record.accepted,
            record.drafted - record.tested, final == "correction", final == "bonus", final == "plain"))
        self.settled = len(self.cells)
        self.rounds.append(RoundSummary(
            record.round, record.position, record.drafted, record.tested, record.accepted, len(record.tokens), final,
            first, self.settled, start, record.seconds, serial, self.totals))

    def _commit_final(self, record: Committed, serial: int) -> None:
        """The correction, bonus or plain token: its p and q are looked up in the row it was drawn from."""
        assert record.final != "none"
        token, text = record.tokens[-1], record.texts[-1]
        p = q = overlap = best = None
        if record.accepted < len(self._rows):
            row = self._rows[record.accepted]
            best = int(row.ids[0]) if len(row.ids) else None
            found = np.flatnonzero(row.ids == token)
            if len(found):
                p = float(row.p[found[0]])
                q = float(row.q[found[0]]) if len(row.q) else None
            overlap = row.overlap if len(row.q) else None
        self.committed.append(len(self.cells))
        self.cells.append(Cell(
            token, text, self._labels.get(token) or readable(text), record.final, record.round, -1,
            record.position + len(record.tokens) - 1, p=p, q=q, overlap=overlap, draw=record.final_draw, best=best,
            born=serial, judged=serial))

    def _on_finished(self, record: RunFinished, serial: int) -> None:
        self.finished = record
        self.message, self.details = record.message, record.details
        if record.reason == "error":
            self.status = "failed"
        else:
            self.status = "stopped" if record.reason == "stopped" else "finished"
        for cell in self.cells[self.settled:]:
            if cell.kind == "pending":
                cell.kind, cell.judged = "void", serial
        self.settled = len(self.cells)


def readable(text: str) -> str:
    """A token's text made visible on its own: spaces, newlines, tabs and control characters shown."""
    shown = text.replace(" ", "·").replace("\r", "␍").replace("\n", "↵").replace("\t", "⇥")
    return "".join(c if c.isprintable() else f"⟨{ord(c):02X}⟩" for c in shown)


_HANDLERS: dict[type[Record], Callable[..., None]] = {
    RunStarted: LaneState._on_started,
    Prefilled: LaneState._on_prefilled,
    Vocabulary: LaneState._on_vocabulary,
    Drafted: LaneState._on_drafted,
    Verified: LaneState._on_verified,
    Judged: LaneState._on_judged,
    Committed: LaneState._on_committed,
    RunFinished: LaneState._on_finished,
}
