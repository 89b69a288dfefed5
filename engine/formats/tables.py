"""The two tables that CSV and Parquet hold: finished rounds, and every position that was drafted or committed.

A value that isn't known or doesn't apply is None: an empty cell, a null; never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.formats.lanes import Lanes, Round
from engine.records import UNKNOWN_TOKEN, Drafted, Judged, Record

Cell = str | int | float | bool | None
Kind = Literal["text", "int", "float", "bool"]


@dataclass(frozen=True)
class Place:
    """One row of the positions: a draft, or the token that ended the round."""

    round: Round
    index: int | None
    """Which draft; None for the final token."""
    draft: Drafted | None = None
    judged: Judged | None = None

    @property
    def position(self) -> int:
        committed = self.round.committed
        return committed.position + committed.accepted if self.draft is None else self.draft.position

    @property
    def q(self) -> float | None:
        return self.judged.q if self.judged is not None else self.draft.q if self.draft is not None else None

    @property
    def p(self) -> float | None:
        if self.index is not None:
            return self.judged.p if self.judged is not None else None
        c = self.round.committed
        return c.p[-1] if len(c.p) == len(c.tokens) else None


@dataclass(frozen=True)
class Column:
    """``of`` is given a :class:`Round` or a :class:`Place`."""

    name: str
    kind: Kind
    meaning: str
    """With the formula where it is derived."""
    of: Callable[..., Cell]
    unit: str = ""


def rounds(records: Iterable[Record]) -> Iterator[Round]:
    lanes = Lanes()
    for record in records:
        done = lanes.take(record)
        if done is not None:
            yield done


def places(done: Round) -> Iterator[Place]:
    """Its drafts in order, then the correction, bonus or plain token."""
    judged = {one.index: one for one in done.facts.judged}
    for draft in done.facts.drafted:
        yield Place(done, draft.index, draft, judged.get(draft.index))
    if done.committed.final != "none":
        yield Place(done, None)


def _seconds(pick: Callable[[Round], float]) -> Callable[[Round], Cell]:
    return lambda r: pick(r) if r.lane.knows("seconds") else None


def _slots(pick: Callable[[Round], int]) -> Callable[[Round], Cell]:
    return lambda r: pick(r) if r.lane.knows("slots") else None


def _token(value: int | None) -> int | None:
    return None if value == UNKNOWN_TOKEN else value


def _rate(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _kind(p: Place) -> str:
    return p.round.committed.final if p.index is None else "draft"


def _fate(p: Place) -> str:
    return "committed" if p.index is None else p.round.facts.fate(p.index)


def _place_token(p: Place) -> Cell:
    return _token(p.draft.token if p.draft is not None else p.round.final_token)


def _place_text(p: Place) -> Cell:
    if not p.round.lane.knows("texts"):
        return None
    if p.draft is not None:
        return p.draft.text
    return p.round.lane.texts.get(p.round.committed.tokens[-1], p.round.committed.texts[-1])


def _pass_chance(p: Place) -> float | None:
    """Of the test; a greedy run compares tokens instead."""
    tested = p.judged is not None and p.judged.draw is not None
    ratio = _rate(p.p, p.q) if tested else None
    return min(1.0, ratio) if ratio is not None else None


def _overlap(p: Place) -> float | None:
    index = p.round.facts.ended_at if p.index is None else p.index
    row = p.round.facts.row(index) if index is not None else None
    return row.overlap if row is not None and row.overlap is not None and not math.isnan(row.overlap) else None


def _gap(p: Place) -> float | None:
    index = p.round.facts.ended_at if p.index is None else p.index
    return p.round.facts.gap(index) if index is not None else None


def _draw(p: Place) -> float | None:
    return p.round.committed.final_draw if p.index is None else p.judged.draw if p.judged is not None else None


ROUND_COLUMNS = (
    Column("lane", "text", "the lane's id", lambda r: r.lane.id),
    Column("lane_title", "text", "the lane's name", lambda r: r.lane.title),
    Column("round", "int", "counted from 0", lambda r: r.committed.round),
    Column("position", "int", "of the first committed token, an index into prompt + output",
           lambda r: r.committed.position),
    Column("drafted", "int", "draft tokens (k)", lambda r: r.committed.drafted, "tokens"),
    Column("tested", "int", "drafts up to and including the first rejection", lambda r: r.committed.tested, "tokens"),
    Column("accepted", "int", "accepted drafts", lambda r: r.committed.accepted, "tokens"),
    Column("committed", "int", "tokens added to the output: accepted + the final one, if there is one",
           lambda r: len(r.committed.tokens), "tokens"),
    Column("final", "text", "what the last committed token is: correction, bonus, plain, or none (the run ended on an "
           "accepted draft)", lambda r: r.committed.final),
    Column("final_token", "int", "its id", lambda r: _token(r.final_token)),
    Column("final_draw", "float", "the draw it was chosen by, in [0, 1); empty when greedy",
           lambda r: r.committed.final_draw),
    Column("residual_mass", "float", "Σ max(p − q, 0) at the rejection of a sampled run",
           lambda r: r.committed.residual_mass),
    Column("start_seconds", "float", "when the round began, on the lane's own clock, prefill included",
           _seconds(lambda r: r.begin), "s"),
    Column("draft_seconds", "float", "drafting", _seconds(lambda r: r.committed.seconds.draft), "s"),
    Column("verify_seconds", "float", "the target's forward", _seconds(lambda r: r.committed.seconds.verify), "s"),
    Column("judge_seconds", "float", "judging", _seconds(lambda r: r.committed.seconds.judge), "s"),
    Column("record_seconds", "float", "recording p and q: the price of watching",
           _seconds(lambda r: r.committed.seconds.record), "s"),
    Column("commit_seconds", "float", "committing, caches cut", _seconds(lambda r: r.committed.seconds.commit), "s"),
    Column("total_seconds", "float", "draft + verify + judge + record + commit",
           _seconds(lambda r: r.committed.seconds.total), "s"),
    Column("target_slots", "int", "the target's cache slots in use after the round",
           _slots(lambda r: r.committed.target_slots), "slots"),
    Column("drafter_slots", "int", "the drafter's", _slots(lambda r: r.committed.drafter_slots), "slots"),
    Column("acceptance_rate_so_far", "float", "α = Σ accepted / Σ tested, this round included",
           lambda r: r.totals.acceptance_rate),
    Column("draft_utilisation_so_far", "float", "Σ accepted / Σ drafted; not α",
           lambda r: r.totals.draft_utilisation),
    Column("mean_committed_length_so_far", "float", "E[m] = Σ committed / rounds",
           lambda r: r.totals.mean_committed_length, "tokens"),
    Column("tokens_per_second_so_far", "float", "Σ committed / Σ total_seconds, prefill aside",
           lambda r: r.totals.tokens_per_second if r.lane.knows("seconds") else None, "tokens/s"),
)

POSITION_COLUMNS = (
    Column("lane", "text", "the lane's id", lambda p: p.round.lane.id),
    Column("round", "int", "counted from 0", lambda p: p.round.committed.round),
    Column("index", "int", "which draft of the round, from 0; empty for the token that ended it", lambda p: p.index),
    Column("position", "int", "an index into prompt + output; of a void or rejected draft, the one it was meant for",
           lambda p: p.position),
    Column("kind", "text", "draft, correction, bonus or plain", _kind),
    Column("fate", "text", "of a draft: accepted, rejected, or void (never tested); of any other token: committed",
           _fate),
    Column("token", "int", "its id", _place_token),
    Column("text", "text", "its text", _place_text),
    Column("p", "float", "p(token), the target's probability", lambda p: p.p),
    Column("q", "float", "q(token), the drafter's", lambda p: p.q),
    Column("accept_probability", "float", "min(1, p / q), of a tested draft; empty when greedy", _pass_chance),
    Column("draw", "float", "u of the test u·q < p, or the draw the final token was chosen by; empty when greedy",
           _draw),
    Column("draft_draw", "float", "the draw by which the drafter chose it",
           lambda p: p.draft.draw if p.draft is not None else None),
    Column("best", "int", "the target's argmax there", lambda p: p.judged.best if p.judged is not None else None),
    Column("overlap", "float", "Σ min(p, q) over the whole vocabulary there", _overlap),
    Column("gap", "float", "difference of the target's two largest logits there", _gap),
    Column("draft_seconds", "float", "its draft step",
           lambda p: p.draft.seconds if p.draft is not None and p.round.lane.knows("seconds") else None, "s"),
    Column("source", "text", "where the guess came from",
           lambda p: (p.draft.source or None) if p.draft is not None else None),
)


def two(path: Path) -> tuple[Path, ...]:
    """``run.csv`` becomes ``run.rounds.csv`` and ``run.positions.csv``."""
    stem = path.stem.removesuffix(".rounds").removesuffix(".positions")
    return path.with_name(f"{stem}.rounds{path.suffix}"), path.with_name(f"{stem}.positions{path.suffix}")
