"""The order of a recording, and what its records must agree on.

All records of a file belong to one run. Those of one lane come as

    RunStarted  Prefilled  ( Drafted*  Verified  Judged*  Committed )*  RunFinished?

with Vocabulary anywhere before RunFinished, even before RunStarted. Lanes interleave freely. A recording may end
anywhere (a person stopped it, the process died), and RunFinished may come anywhere: a lane that failed before it began
has nothing else. Within a round, which is numbered from 0 without gaps,

    positions    count on from prompt + output without gaps, in a tree from depth to depth
    parent       of every draft or of none; in a tree it comes before the draft
    k            is the number of drafts shown; Verified has k + 1 rows, gaps and digests, or none of a kind
    Judged       tests the drafts in order, up to and including the first rejection; in a tree the children of a node
                 in order, up to and including the first that is accepted, then the children of that one
    Committed    tested, accepted and drafted are what was shown; its tokens are the accepted drafts and one more
                 (a plain token when nothing was drafted, a bonus when nothing was left to test, a correction after a
                 rejection), or no more, when an accepted draft ended the run; texts, and gaps, digests and p where
                 they are there, have one entry a token; path is that of the accepted drafts in a tree, else empty
    slots        don't exceed the tokens there are

and RunFinished's counts are those of the rounds. A lane imported from another program (RunStarted.unknown isn't empty)
may lack Drafted, Verified and Judged, may have fewer rows, and commit nothing in a round; but accepted drafts must have
been shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from engine.records import (
    Committed,
    Drafted,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    Totals,
    Verified,
    Vocabulary,
)
from engine.settings import MAX_GAMMA
from engine.trace_values import ImpossibleError, check_values, require
from engine.tree import ROOT, Tree

MOST_LANES = 1024


class RunOrder:
    """Watches one file's records. :meth:`take` raises :class:`ImpossibleError` for the first that can't follow."""

    def __init__(self) -> None:
        self._run: str | None = None
        self._lanes: dict[str, LaneOrder] = {}

    def take(self, record: Record) -> None:
        check_values(record)
        if self._run is None:
            self._run = record.run
        require(record.run == self._run, "it belongs to another run than those before it")
        lane = self._lanes.get(record.lane)
        if lane is None:
            require(len(self._lanes) < MOST_LANES, f"there are more than {MOST_LANES} lanes")
            lane = self._lanes[record.lane] = LaneOrder()
        lane.take(record)


@dataclass
class _Round:
    """The round under way."""

    drafted: list[Drafted] = field(default_factory=list)
    verified: Verified | None = None
    judged: list[Judged] = field(default_factory=list)

    @property
    def rejected(self) -> bool:
        return bool(self.judged) and not self.judged[-1].accepted

    @property
    def as_tree(self) -> bool:
        return bool(self.drafted) and self.drafted[0].parent is not None

    @cached_property
    def tree(self) -> Tree:
        """Of all drafts: asked for once they are all there."""
        return Tree.of([draft.parent for draft in self.drafted])

    @property
    def path(self) -> tuple[int, ...]:
        return tuple(judged.index for judged in self.judged if judged.accepted)

    @property
    def untested(self) -> tuple[int, ...]:
        """Which drafts may be tested next, the first of them first; a chain's are children of one another."""
        path, tested = self.path, {judged.index for judged in self.judged}
        siblings = self.tree.children(path[-1] if path else ROOT)
        return tuple(child for child in siblings if child not in tested)


class LaneOrder:
    """Watches one lane's records."""

    def __init__(self) -> None:
        self._started: RunStarted | None = None
        self._prefilled = self._finished = self._imported = False
        self._length = 0
        """Tokens committed, prompt included."""
        self._totals = Totals()
        self._round = _Round()

    def take(self, record: Record) -> None:
        require(not self._finished, "its lane had finished")
        match record:
            case Vocabulary():
                pass
            case RunStarted():
                self._start(record)
            case RunFinished():
                self._finish(record)
            case _:
                require(self._started is not None, "its lane has not started")
                self._step(record)

    def _start(self, record: RunStarted) -> None:
        require(self._started is None, "its lane had started before")
        self._started, self._length, self._imported = record, len(record.prompt), bool(record.unknown)

    def _step(self, record: Record) -> None:
        match record:
            case Prefilled():
                require(not self._prefilled, "its lane was prefilled before")
                require(self._imported or record.tokens <= self._length, "more tokens than the prompt has")
                self._prefilled = True
            case Drafted():
                self._number(record.round)
                self._draft(record)
            case Verified():
                self._number(record.round)
                self._verify(record)
            case Judged():
                self._number(record.round)
                self._judge(record)
            case Committed():
                self._number(record.round)
                self._commit(record)
            case _:
                raise ImpossibleError(f"a {type(record).__name__} has no place in a lane")

    def _number(self, round: int) -> None:
        require(self._prefilled, "its lane was not prefilled")
        require(round == self._totals.rounds, f"it is of round {round}, but round {self._totals.rounds} is next")

    def _draft(self, record: Drafted) -> None:
        made = len(self._round.drafted)
        require(self._round.verified is None and not self._round.judged, "a draft after its round was verified")
        require(record.index == made, f"it is draft {record.index}, but draft {made} is next")
        require(made < MAX_GAMMA, f"more than {MAX_GAMMA} drafts in one round")
        depth = made
        if record.parent is not None:
            require(not made or self._round.as_tree, "a draft of a tree behind those of a chain")
            require(-1 <= record.parent < made, f"it continues draft {record.parent}, which doesn't come before it")
            parent = self._round.drafted[record.parent] if record.parent >= 0 else None
            depth = parent.position - self._length + 1 if parent else 0
        else:
            require(not self._round.as_tree, "a draft of a chain among those of a tree")
        self._place(record.position, self._length + depth)
        self._round.drafted.append(record)

    def _verify(self, record: Verified) -> None:
        shown = len(self._round.drafted)
        require(self._round.verified is None, "its round was verified before")
        require(not self._round.judged, "it comes after the judgement")
        require(record.k == shown or (self._imported and not shown), f"k is {record.k}, but {shown} drafts were made")
        require(self._imported or record.width > record.k, f"{record.width} rows can't verify {record.k} drafts")
        rows = record.k + 1
        for name, count in (("rows", len(record.rows)), ("gaps", len(record.gaps)), ("digests", len(record.digests))):
            require(count in (0, rows) or (self._imported and count < rows), f"{count} {name} where {rows} belong")
        self._round.verified = record

    def _judge(self, record: Judged) -> None:
        now = self._round
        require(now.verified is not None or self._imported, "it comes before its round was verified")
        require(record.index < len(now.drafted), f"draft {record.index} was never made")
        require(bool(now.untested), "an earlier draft of its round was rejected" if now.rejected else
                "no draft of its round is left to test")
        require(record.index == now.untested[0], f"it tests draft {record.index}, but draft {now.untested[0]} is next")
        require(record.token == now.drafted[record.index].token, f"draft {record.index} was another token")
        self._place(record.position, self._length + now.tree.depths[record.index])
        now.judged.append(record)

    def _commit(self, record: Committed) -> None:
        now, count = self._round, len(record.tokens)
        self._place(record.position, self._length)
        require(record.accepted <= record.tested <= record.drafted <= MAX_GAMMA,
                f"{record.accepted} accepted of {record.tested} tested of {record.drafted} drafted")
        self._shown(record)
        require(count == record.accepted + (record.final != "none"),
                f"{count} tokens of {record.accepted} accepted drafts and {int(record.final != 'none')} more")
        require(record.path == (now.path if now.as_tree and (now.judged or not self._imported) else ()),
                f"its path is {record.path}, but its round's tests accepted {now.path if now.as_tree else 'a chain'}")
        accepted = record.path if now.as_tree else range(record.accepted)
        drafts = tuple(now.drafted[index].token for index in accepted)
        require(record.tokens[: record.accepted] == drafts, "its accepted tokens aren't those that were drafted")
        require(len(record.texts) == count, f"{len(record.texts)} texts of {count} tokens")
        for name, have in (("gaps", len(record.gaps)), ("digests", len(record.digests)), ("p", len(record.p))):
            require(have in (0, count), f"{have} {name} of {count} tokens")
        self._length += count
        require(max(record.target_slots, record.drafter_slots) <= self._length or self._imported,
                f"more slots in use than there are tokens ({self._length})")
        self._totals = self._totals.plus(record)
        self._round = _Round()

    def _shown(self, record: Committed) -> None:
        """Is what it counts what the round's other records showed?"""
        now = self._round
        accepted = sum(judged.accepted for judged in now.judged)
        if self._imported:
            require(record.accepted <= len(now.drafted), "accepted drafts that were never shown")
            require(len(now.drafted) in (0, record.drafted), f"{record.drafted} drafted, but {len(now.drafted)} shown")
            require(not now.judged or (len(now.judged), accepted) == (record.tested, record.accepted),
                    "other counts than its round's judgements")
            return
        require(now.verified is not None, "it comes before its round was verified")
        require((len(now.drafted), len(now.judged), accepted) == (record.drafted, record.tested, record.accepted),
                f"{record.drafted} drafted, {record.tested} tested, {record.accepted} accepted, but its round shows "
                f"{len(now.drafted)}, {len(now.judged)}, {accepted}")
        require(len(record.tokens) > 0, "a round that commits nothing")
        require(_fits(record, now), f"its last token can't be a {record.final}")

    def _finish(self, record: RunFinished) -> None:
        ours, theirs = self._totals, record.totals
        require(self._started is not None or record.reason in ("error", "stopped"), "its lane has not started")
        require(self._imported or all(getattr(ours, name) == getattr(theirs, name) for name in
                                      ("rounds", "committed", "drafted", "tested", "accepted")),
                "its totals aren't those of the rounds before it")
        self._finished = True

    def _place(self, position: int, expected: int) -> None:
        require(position == expected, f"its position is {position}, but {expected} is next")


def _fits(record: Committed, now: _Round) -> bool:
    """Can the round's last token be what it is said to be?"""
    match record.final:
        case "correction":
            return now.rejected and not now.untested
        case "bonus":
            return bool(now.drafted) and not now.rejected and not now.untested
        case "plain":
            return not now.drafted
        case "none":
            return not now.rejected
