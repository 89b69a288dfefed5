"""What can be done from a token's bar, and with the whole position: plain data that a menu is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from engine.debugger.bars import Bar
from engine.debugger.inspection import Inspection
from engine.debugger.judgement import figure
from engine.debugger.token_words import quoted
from engine.debugger.what_if import AnyChange, Forced, OtherToken

Does = Literal["change", "stop", "copy", "csv", "text", "row", ""]


UNTESTED = "This draft is never tested, so another one changes nothing"


@dataclass(frozen=True)
class Entry:
    """One line of a menu. Without text: a line between."""

    text: str = ""
    does: Does = ""
    what: object = None
    """Change: a :class:`Change`. Stop: a dict that describes the breakpoint. Text: what to copy."""
    enabled: bool = True
    tip: str = ""


def of_token(found: Inspection, bar: Bar, may_branch: bool, reason: str) -> list[Entry]:
    name = _name(bar)
    known = bar.token >= 0
    entries = []
    if found.draft is not None:
        can, why = _can_redraft(found, bar, may_branch, reason)
        change: AnyChange = OtherToken(round=found.round, index=found.index, token=max(0, bar.token))
        entries += [Entry(f"Draft {name} here instead", "change", change, can, why), Entry()]
    entries += [Entry(f"Break when {name} is {role}", "stop",
                      {"type": "token-id", "role": role, "token": bar.token, "shown": bar.label[:200]}, known)
                for role in ("drafted", "rejected", "committed")]
    return [*entries, Entry(), Entry(f"Copy {name}", "text", bar.label)]


def of_position(found: Inspection, may_branch: bool, reason: str) -> list[Entry]:
    entries = []
    if found.judgement is not None:
        warning = reason if not may_branch else "The output is then no longer the target’s"
        accept = not found.judgement.accepted
        forced: AnyChange = Forced(round=found.round, index=found.index, accept=accept)
        text = f"Force {'accept' if accept else 'reject'} (no longer lossless)"
        entries += [Entry(text, "change", forced, may_branch, warning), Entry()]
    stops = []
    if found.overlap is not None and 0 < found.overlap <= 1:
        stops.append(_below("overlap", "overlap", found.overlap))
    judgement = found.judgement
    if judgement is not None and judgement.p and judgement.q:
        stops.append(_below("p/q", "ratio", judgement.p / judgement.q))
    if found.final == "correction" and found.mass:
        stops.append(_below("residual mass", "residual", found.mass))
    if stops:
        entries += [*stops, Entry()]
    rows = Entry("Recompute the full rows of p and q", "row", None, may_branch, "" if may_branch else reason)
    return [*entries, rows, Entry(), Entry("Copy as text", "copy"), Entry("Copy as CSV", "csv")]


def _can_redraft(found: Inspection, bar: Bar, may_branch: bool, reason: str) -> tuple[bool, str]:
    if not may_branch:
        return False, reason
    if bar.token < 0:
        return False, "The recording doesn’t tell which token this is"
    if found.draft is not None and bar.token == found.draft.token:
        return False, "It was drafted here"
    if found.use == "void":
        return False, UNTESTED
    return True, ""


def _below(name: str, kind: str, value: float) -> Entry:
    """The next number of two digits above the value here, so that this very place would stop it."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    limit = float(f"{(math.floor(value / unit) + 1) * unit:.2g}")
    limit = limit if kind == "ratio" else min(1.0, limit)
    shown = f"{limit:g}" if limit >= 1e-3 else figure(limit, 2)
    return Entry(f"Break when {name} < {shown}", "stop", {"type": kind, "below": limit})


def _name(bar: Bar) -> str:
    return quoted(bar.label)
