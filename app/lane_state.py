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
from app.lane_parts import NEVER, Cell, CellKind, RoundSummary, show_tree
from engine.debugger.history import History, Moment
from engine.debugger.token_words import readable
from engine.records import (
    UNKNOWN_TOKEN,
    Committed,
    Contrast,
    Drafted,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    Totals,
    Unknown,
    Verified,
    Vocabulary,
)
from engine.tree import Tree

__all__ = ["NEVER", "Cell", "CellKind", "LaneSpec", "LaneState", "RoundSummary", "Status"]

Status = Literal["waiting", "prefilling", "running", "finished", "failed", "stopped"]

NO_TEXT = "□ "
"""Stands for a token of which not even the id is known; in a stream, where there is no room for words."""


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """A lane that is about to run, so that its card exists before its first record."""

    id: str
    title: str
    about: str = ""
    plain: bool = False
    """Plain decoding: the lane that speed-ups are measured against."""
    original: str | None = None
    """Of a branch: the lane it comes from."""
    kind: str = ""
    """The name of its method, as far as that is known."""


class LaneState:
    def __init__(self, spec: LaneSpec, look: int) -> None:
        self.id = spec.id
        self.title = spec.title
        self.about = spec.about
        self.plain = spec.plain
        self.original = spec.original
        self.kind = spec.kind
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
        self._parents: list[int | None] = []
        """Of the round's drafts."""
        self._levels = 0
        """Of the round's drafts, how many have seen a test."""

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

    def knows(self, what: Unknown) -> bool:
        """False: an imported lane whose file doesn't tell it, so that its records hold zeros there."""
        return self.started is None or what not in self.started.unknown

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
        """By draft position: how often a draft there was tested; by a tree's level: how often it was reached."""
        return self._tested

    @property
    def accepted_at(self) -> NDArray[np.int64]:
        return self._accepted

    @property
    def round_table(self) -> NDArray[np.float64]:
        """A row a round: start, seconds, accepted, rejected, void, correction, bonus, plain. A tree's untested drafts
        stand beside the way that was taken, so they don't count as void here."""
        return self._table.view()

    # What the texts read

    @property
    def output(self) -> str:
        """The whole output so far (at the end: cut at the stop string, if one ended it); "" where it is unknown."""
        if self.finished is not None and self.finished.text:
            return self.finished.text
        if not self.knows("texts"):
            return ""
        return "".join(self.cells[i].text for i in self.committed)

    def token_text(self, token: int) -> str:
        """An id's text made visible (spaces, newlines), as far as the records have told it."""
        return self.label(token)

    def label(self, token: int, text: str = "") -> str:
        """A token made visible: its own text, else ``text``, what it added to the output, else its id."""
        own = self._labels.get(token) or readable(text)
        return own or (f"#{token}" if token != UNKNOWN_TOKEN else "unknown token")

    def shown(self, token: int, text: str) -> str:
        """What stands for a token in the stream: ``text``, which may be "", unless texts are unknown."""
        if text or self.knows("texts"):
            return text
        return f"{self.label(token)} " if token != UNKNOWN_TOKEN else NO_TEXT

    def draft_cell(self, draft: Drafted) -> Cell:
        """Of a draft that has just been proposed."""
        return Cell(
            draft.token, self.shown(draft.token, draft.text), self.label(draft.token, draft.text), "pending",
            draft.round, draft.index, draft.position, q=draft.q if self.knows("q") else None,
            draft_draw=draft.draw if self.knows("draws") else None,
            seconds=draft.seconds if self.knows("seconds") else None, source=draft.source)

    def judge_cell(self, cell: Cell, judged: Judged) -> None:
        """All of a draft's test but the verdict."""
        cell.p, cell.q = (judged.p if self.knows("p") else None), (judged.q if self.knows("q") else None)
        cell.draw, cell.best = (judged.draw if self.knows("draws") else None), judged.best

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
        self.kind = record.settings.drafter.kind
        self.plain = self.kind == "none"
        if record.branch is not None:
            self.original = record.branch.lane
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
        self._parents.append(record.parent)
        cell = self.draft_cell(record)
        cell.born = serial
        self.cells.append(cell)
        if record.parent is not None:
            show_tree(self.history.round(len(self.rounds)), self.cells[self.settled:])

    def _on_verified(self, record: Verified, serial: int) -> None:
        self.clock += record.seconds
        self._rows = record.rows
        numbers = [parent + 1 for parent in Tree.of(self._parents).parents]
        for place, (cell, number) in enumerate(zip(self.cells[self.settled:], numbers, strict=False)):
            first = number not in numbers[:place]  # behind a rejected sibling neither p nor q is the row's
            if number < len(record.rows) and first:
                cell.overlap = record.rows[number].overlap

    def _on_judged(self, record: Judged, serial: int) -> None:
        in_tree = self._parents[:1] not in ([], [None])
        level = record.position - self.prompt_length - self.totals.committed if in_tree else record.index
        if level >= len(self._tested):
            room = level + 1 - len(self._tested)
            self._tested = np.pad(self._tested, (0, room))
            self._accepted = np.pad(self._accepted, (0, room))
        self._tested[level] += level >= self._levels  # siblings are one level's chance
        self._accepted[level] += record.accepted
        self._levels = max(self._levels, level + 1)
        place = self.settled + record.index
        if place < len(self.cells):
            cell = self.cells[place]
            cell.kind, cell.judged = "accepted" if record.accepted else "rejected", serial
            self.judge_cell(cell, record)
        if in_tree:
            show_tree(self.history.round(len(self.rounds)), self.cells[self.settled:])
        elif not record.accepted:
            for cell in self.cells[place + 1:]:
                cell.kind, cell.judged = "void", serial

    def _on_committed(self, record: Committed, serial: int) -> None:
        first = self.settled
        accepted = record.path or range(record.accepted)
        for place, text in zip(accepted, record.texts, strict=False):
            cell = self.cells[first + place]
            cell.kind, cell.text = "accepted", self.shown(cell.id, text)
            self.committed.append(first + place)
        for cell in self.cells[first:]:
            if cell.kind == "pending":
                cell.kind, cell.judged = "void", serial
        tree = Tree.of(self._parents) if self._parents[:1] not in ([], [None]) else None
        if tree is not None:
            show_tree(self.history.round(len(self.rounds)), self.cells[first:])
        if record.final != "none":
            self._commit_final(record, serial)
        self._rows, self._parents, self._levels = (), [], 0
        self.ids += record.tokens
        self.gaps += record.gaps
        self.totals = self.totals.plus(record)
        start = self.totals.total_seconds - record.seconds.total
        self.clock = self.totals.total_seconds
        self._progress.append((self.clock, self.totals.committed))
        final = record.final
        self._table.append((
            start, record.seconds.total, record.accepted, record.tested - record.accepted,
            record.drafted - record.tested if tree is None else 0, final == "correction", final == "bonus",
            final == "plain"))
        self.settled = len(self.cells)
        self.rounds.append(RoundSummary(
            record.round, record.position, record.drafted, record.tested, record.accepted, len(record.tokens), final,
            first, self.settled, start, record.seconds, serial, self.totals,
            max(tree.depths) + 1 if tree is not None else 0))

    def _commit_final(self, record: Committed, serial: int) -> None:
        """The correction, bonus or plain token: its p and q are looked up in the row it was drawn from."""
        assert record.final != "none"
        token, text = record.tokens[-1], record.texts[-1]
        p = q = overlap = best = None
        number = record.path[-1] + 1 if record.path else record.accepted
        if number < len(self._rows):
            row = self._rows[number]
            best = int(row.ids[0]) if len(row.ids) else None
            found = np.flatnonzero(row.ids == token)
            if len(found):
                p = float(row.p[found[0]])
                q = float(row.q[found[0]]) if len(row.q) else None
            overlap = row.overlap if len(row.q) else None
        self.committed.append(len(self.cells))
        self.cells.append(Cell(
            token, self.shown(token, text), self.label(token, text), record.final, record.round, -1,
            record.position + len(record.tokens) - 1, p=p, q=q, overlap=overlap,
            draw=record.final_draw if self.knows("draws") else None, best=best, born=serial, judged=serial))

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
