"""Where two lanes part, and what that means: a near-tie or a fault between greedy ones, nothing between sampled ones.

In half precision a forward of another width may move each logit a little; the start-up check measures by how much, at
most. If the two best logits of the plain run are at most twice that apart, one may have moved up and the other down,
and the order flips without anything being wrong: a near-tie. Anything else is a fault.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

import numpy as np

from engine.records import Committed, Contrast, Record, RunFinished, RunStarted, Verified


@dataclass(frozen=True, slots=True)
class Divergence:
    index: int
    """Of the first output token that differs."""
    token: int | None
    """The lane's; None when its output ended there."""
    plain_token: int | None
    gap: float | None
    """Difference of the plain run's two best logits there; None where one of the two outputs had ended."""
    near_tie: bool

    @property
    def sentence(self) -> str:
        gap = "" if self.gap is None else f", gap {self.gap:.3g}"
        return f"parts from plain at token {self.index}{gap}: {'near-tie' if self.near_tie else 'fault'}"


def first_divergence(ours: Sequence[int], theirs: Sequence[int], gaps: Sequence[float], row_difference: float, *,
                     ended: bool, start: int = 0) -> Divergence | None:
    """Compare a lane's output ids with the plain lane's, from index ``start`` on. ``gaps``: the plain lane's, one a
    token. ``ended``: both are complete, so that another length is a difference too."""
    for index in range(start, min(len(ours), len(theirs))):
        if ours[index] != theirs[index]:
            gap = gaps[index] if index < len(gaps) else None
            return Divergence(index, ours[index], theirs[index], gap, gap is not None and gap <= 2 * row_difference)
    if ended and len(ours) != len(theirs):
        index = min(len(ours), len(theirs))
        return Divergence(index, next(iter(ours[index:]), None), next(iter(theirs[index:]), None), None, False)
    return None


TOP = 5
"""Tokens listed of each row."""
BEFORE, AFTER = 700, 12
"""Characters of context before the difference, and tokens after it."""

Kind = Literal["waiting", "incomparable", "same", "so far", "near-tie", "fault", "sampled", "length"]


class Output:
    """What one lane has written so far, and by which rows. Fed record by record."""

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.finished: RunFinished | None = None
        self.tokens: list[int] = []
        self.texts: list[str] = []
        self.gaps: list[float] = []
        self.digests: list[int] = []
        self.rows: list[Contrast | None] = []
        self._verified: tuple[Contrast, ...] = ()

    def see(self, record: Record) -> None:
        match record:
            case RunStarted():
                self.started = record
            case Verified():
                self._verified = record.rows
            case Committed():
                count = len(record.tokens)
                self.tokens += record.tokens
                self.texts += record.texts
                self.gaps += record.gaps
                self.digests += record.digests
                judged_by = [0, *(index + 1 for index in record.path)] if record.path else range(count)
                self.rows += [self._verified[row] if row < len(self._verified) else None for row, _ in
                              zip(judged_by, record.tokens, strict=False)]
                self._verified = ()
            case RunFinished():
                self.finished = record

    @property
    def plain(self) -> bool:
        return self.started is not None and self.started.settings.drafter.kind == "none"

    @property
    def complete(self) -> bool:
        return self.finished is not None and self.finished.reason in ("eos", "stop", "length", "context")


@dataclass(frozen=True, slots=True)
class Candidate:
    token: int
    p: float
    behind: float
    """Its logit less the best one's (after a repetition penalty): T · (ln p − ln p of the best). −inf: cut off."""


@dataclass(frozen=True, slots=True)
class Side:
    """One lane at the place of the difference."""

    title: str
    before: str
    """The end of prompt and output before it."""
    token: int | None
    """None: it had ended."""
    text: str
    after: str
    candidates: tuple[Candidate, ...]
    """The most probable tokens of its row, and the two that were chosen; empty where no row was recorded."""
    gap: float | None
    """Difference of its two best logits."""


@dataclass(frozen=True, slots=True)
class Comparison:
    kind: Kind
    sentence: str
    index: int = 0
    """So many tokens agree before."""
    sides: tuple[Side, Side] | None = None
    shown: str = ""
    """What the p of the candidates is."""


def compare(a: Output, b: Output) -> Comparison:
    """The first token in which two lanes differ, and the verdict on it."""
    if a.started is None or b.started is None:
        return Comparison("waiting", "Both lanes must have begun.")
    if a.started.prompt != b.started.prompt:
        return Comparison("incomparable", "These lanes answer different prompts, so they can’t be compared.")
    if a.started.target.fingerprint != b.started.target.fingerprint:
        return Comparison("incomparable", "These lanes have different targets, so they can’t be compared.")
    if a.started.target.dtype != b.started.target.dtype:
        return Comparison("incomparable", "These lanes compute in different precisions, so they can’t be compared.")
    index = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a.tokens, b.tokens, strict=False)))
    shorter, longer = sorted((len(a.tokens), len(b.tokens)))
    if index == shorter and (shorter == longer or not (a if len(a.tokens) == shorter else b).complete):
        return Comparison("same" if a.complete and b.complete else "so far", _agreement(a, b, index), index)
    kind, sentence = _judge(a, b, index)
    return Comparison(kind, sentence, index, (_side(a, b, index), _side(b, a, index)), _shown(a.started, b.started))


def _agreement(a: Output, b: Output, count: int) -> str:
    so_far = "" if a.complete and b.complete else " so far"
    if not count:
        return "No token of both lanes yet."
    equal = sum(x == y for x, y in zip(a.digests[:count], b.digests[:count], strict=False))
    if equal == count:
        return f"Identical{so_far}: {_tokens(count)}, bit for bit by the digests of their logits."
    if len(a.digests) < count or len(b.digests) < count:
        return f"Identical{so_far}: {_tokens(count)}. Their logits weren’t recorded, so nothing is known of their bits."
    return (f"Identical{so_far}: {_tokens(count)}. The logits agree bit for bit in {equal:,} of the {count:,} rows, in "
            "the others up to rounding.")


def _judge(a: Output, b: Output, index: int) -> tuple[Kind, str]:
    assert a.started is not None
    assert b.started is not None
    where = f"They differ from token {index + 1} on"
    ours, theirs = a.started.settings.sampling, b.started.settings.sampling
    if ours != theirs:
        return "sampled", f"{where}. They sample differently, so their outputs needn’t agree."
    same_row = index < min(len(a.digests), len(b.digests)) and a.digests[index] == b.digests[index]
    if not ours.greedy:
        bits = " The logits there are the same bit for bit: only the draws differ." if same_row else ""
        return "sampled", (f"{where}. Both drew from the target’s distribution, so different tokens are expected."
                           f"{bits}")
    if index >= min(len(a.tokens), len(b.tokens)):
        if _ends(a) != _ends(b):
            return "length", f"Identical for {_tokens(index)}; then one lane was told to end, by its own settings."
        return "length", f"Fault: one lane ended after {_tokens(index)} where the other went on."
    reference = b if b.plain and not a.plain else a
    moved = (reference.started or a.started).exactness.row_difference
    bound = (2 if reference.plain else 4) * moved  # without a plain lane both rows may have moved
    gap = reference.gaps[index] if index < len(reference.gaps) else None
    if same_row:
        return "fault", f"Fault. {where}, although the logits there are the same bit for bit."
    if gap is None:
        return "fault", f"Fault. {where}, and no gap was recorded that could explain it."
    whose = "plain decoding’s" if reference.plain else f"{(reference.started or a.started).title}’s"
    rule = f"{whose} two best logits are {gap:.3g} apart"
    rule += ("; rows of every width were measured to be the same bit for bit, so nothing can turn them round"
             if not moved else f", and a forward of another width moves each by up to {moved:.3g} here, so up to "
             f"{bound:.3g} is a near-tie{'' if reference.plain else ' between two speculative lanes'}")
    return ("near-tie", f"Near-tie. {where}: {rule}.") if gap <= bound else ("fault", f"Fault. {where}: {rule}.")


def _ends(lane: Output) -> tuple[object, ...]:
    """What decides where a lane ends, besides its tokens."""
    assert lane.started is not None
    settings = lane.started.settings
    return settings.max_new_tokens, settings.stop, settings.ignore_eos


def _side(own: Output, other: Output, index: int) -> Side:
    assert own.started is not None
    text = own.started.prompt_text + "".join(own.texts[:index])
    token = own.tokens[index] if index < len(own.tokens) else None
    row = own.rows[index] if index < len(own.rows) else None
    chosen = [token, other.tokens[index] if index < len(other.tokens) else None]
    sampling = own.started.settings.sampling
    return Side(
        title=own.started.title, before=text[-BEFORE:], token=token, text=own.texts[index] if token is not None else "",
        after="".join(own.texts[index + 1 : index + 1 + AFTER]),
        candidates=_candidates(row, chosen, 1.0 if sampling.greedy else sampling.temperature) if row else (),
        gap=own.gaps[index] if index < len(own.gaps) else None)


def _candidates(row: Contrast, chosen: Sequence[int | None], temperature: float) -> tuple[Candidate, ...]:
    ids = [int(token) for token in row.ids]
    listed = [i for i, token in enumerate(ids) if i < TOP or token in chosen]
    if not listed:
        return ()
    with np.errstate(divide="ignore"):
        logs = np.log(row.p.astype(np.float64))
    behind = [temperature * float(logs[i] - logs[0]) if row.p[i] > 0 else -math.inf for i in listed]
    return tuple(Candidate(ids[i], float(row.p[i]), b) for i, b in zip(listed, behind, strict=True))


def _shown(a: RunStarted, b: RunStarted) -> str:
    if a.settings.sampling.greedy and b.settings.sampling.greedy:
        return "p: softmax of the logits at temperature 1; greedy takes the largest"
    return "p: the distribution that each lane drew from, after temperature, top-k, top-p and min-p"


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"
