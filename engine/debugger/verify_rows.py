"""The rows of a round's one forward: what each was computed after, and what became of it. In a tree siblings are judged
by one row; it is listed once for each, in the order in which they would be tested, under its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.debugger.history import Moment, RoundSoFar, RowUse
from engine.debugger.token_words import squeezed
from engine.records import UNKNOWN_TOKEN

TAIL = 24
"""Tokens of the prefix that are kept for showing; its end is what matters."""


@dataclass(frozen=True)
class VerifyRow:
    """Place ``index`` of round ``round`` (see :class:`engine.debugger.history.RoundSoFar`): in a chain row ``index``,
    p after the prefix and drafts 0 … index − 1."""

    round: int
    index: int
    position: int
    """Of the token it decides."""
    prefix: str
    """The end of what it depends on, on one line."""
    use: RowUse | Literal["missing"]
    """Missing: not computed yet."""
    status: str
    """The same in words."""
    outcome: str = ""
    """Text of the correction drawn from it."""
    token: int | None = None
    """The draft it judges, or the last token drawn from it; None: not known yet."""
    label: str = ""
    kind: str = "pending"
    """Of that token, as everywhere: accepted, rejected, void, pending, bonus or plain."""


@dataclass(frozen=True)
class VerifyRows:
    title: str
    remark: str
    rows: tuple[VerifyRow, ...]


def verify_rows(moment: Moment) -> VerifyRows | None:
    """None before the first round."""
    now = moment.round
    if now is None or moment.started is None:
        return None
    base = now.start
    tail = [moment.in_line(token) for token in moment.history.ids[max(0, base - TAIL) : base]]
    prefix = ("…" if base > TAIL else "") + squeezed("".join(tail))
    places = [*range(now.k), *((now.k,) if not now.is_tree or now.ended_at == now.k else ())]
    rows = [_row(moment, now, index, prefix + _between(moment, now, index)) for index in places]
    return VerifyRows(_title(now), _remark(moment, now), tuple(rows))


def _between(moment: Moment, now: RoundSoFar, index: int) -> str:
    """The drafts between the prefix and place ``index``, on one line."""
    above: Sequence[int] = range(index)
    if now.is_tree:
        above = now.tree.path(now.tree.parents[index]) if index < now.k else now.path
    return "".join(squeezed(moment.in_line(now.drafted[i].token, now.drafted[i].text)) for i in above)


def _row(moment: Moment, now: RoundSoFar, index: int, prefix: str) -> VerifyRow:
    use: RowUse | Literal["missing"] = now.row_use(index) if now.verified is not None or now.committed is not None \
        else "missing"
    token, label, kind = _token(moment, now, index)
    correction = ""
    if index == now.rejected_at and now.committed is not None and now.committed.final == "correction":
        last = now.committed.tokens[-1]
        correction = moment.label(last) if last != UNKNOWN_TOKEN else moment.in_line(last).strip()
    status = _named(now, index) + _status(moment, now, index, use)
    return VerifyRow(now.round, index, now.position_of(index), prefix, use, status, correction,
                     token, label, kind)


def _token(moment: Moment, now: RoundSoFar, index: int) -> tuple[int | None, str, str]:
    """Id, text and kind of what stands at the right of a row."""
    if index < now.k:
        draft = now.drafted[index]
        return draft.token, moment.in_line(draft.token, draft.text), now.fate(index)
    if now.committed is not None and now.committed.final in ("bonus", "plain"):
        token = now.committed.tokens[-1]
        return token, moment.in_line(token, now.committed.texts[-1]), now.committed.final
    return None, "", "void" if now.fate(index) == "void" else "pending"


def _named(now: RoundSoFar, index: int) -> str:
    """A tree's path before the status; nothing in a chain."""
    if not now.is_tree or index >= now.k:
        return ""
    return f"{' › '.join(str(node + 1) for node in now.tree.path(index))}: "


def _status(moment: Moment, now: RoundSoFar, index: int, use: RowUse | Literal["missing"]) -> str:
    drawn = "drawn" if moment.sampled else "chosen"
    match use:
        case "missing":
            return "not computed yet"
        case "computed":
            return "computed, not judged yet" if index < now.k else f"computed, nothing {drawn} from it yet"
        case "final":
            bonus = now.committed is not None and now.committed.final == "bonus"
            return f"{'bonus' if bonus else 'token'} {drawn}"
        case "void":
            if now.is_tree:
                return "void: not on the path"
            gone = now.rejected_at is not None
            return "void: its prefix no longer exists" if gone else "void: the output ended first"
    return use


def _title(now: RoundSoFar) -> str:
    if now.verified is None and now.committed is None:
        return "Verify"
    return f"Verify: one forward, {_number(now.k + 1)}"


def _remark(moment: Moment, now: RoundSoFar) -> str:
    if now.verified is None:
        return "" if now.committed is not None else "not computed yet"
    if moment.started is not None and "seconds" in moment.started.unknown:
        return ""
    return f"{1e3 * now.verified.seconds:.1f} ms"


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def _number(rows: int) -> str:
    word = _WORDS[rows] if rows < len(_WORDS) else str(rows)
    return f"{word} {'row' if rows == 1 else 'rows'}"
