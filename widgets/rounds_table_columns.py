"""The columns of the rounds table: what each holds, how it comes about, how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.debugger.round_rows import RoundRow
from engine.debugger.token_words import one_line, readable

Value = float | int | str | None
Kind = Literal["count", "figure", "word", "text"]
"""Count: a whole number. Figure: one with decimals. Word: a short text. Text: of tokens."""

APART = " "
"""Between the texts of drafts; spaces within them are shown as ·."""


@dataclass(frozen=True)
class Column:
    name: str
    formula: str
    kind: Kind
    of: Callable[[RoundRow], Value]
    """To sort by, and to copy; None: unknown, or there is none."""
    sample: str
    """As wide a text as it usually holds."""

    def write(self, value: Value) -> str:
        """As shown."""
        if value is None:
            return "–"
        if self.kind == "figure":
            assert not isinstance(value, str)
            return f"{value:.2f}" if self.name in MILLISECONDS else _decimal(value)
        return f"{value:,}" if self.kind == "count" else str(value)


def _decimal(value: float) -> str:
    """Four decimals, so that a column lines up; other forms where those would say nothing."""
    return f"{value:.4f}" if value == 0 or 5e-5 <= abs(value) < 1e4 else f"{value:.2e}"


def _ms(step: str) -> Callable[[RoundRow], Value]:
    return lambda row: None if row.seconds is None else 1e3 * float(getattr(row.seconds, step))


def _committed(row: RoundRow) -> Value:
    return None if row.committed_text is None else one_line(row.committed_text)


def _drafted(row: RoundRow) -> Value:
    return None if row.drafted_texts is None else APART.join(readable(text) for text in row.drafted_texts)


_LAST = "at the last tested draft: the rejected one, or the last of all if none was"

COLUMNS: tuple[Column, ...] = (
    Column("round", "counted from 1", "count", lambda row: row.round + 1, "10,000"),
    Column("position", "of the round’s first committed token, in prompt + output, from 0", "count",
           lambda row: row.position, "10,000"),
    Column("k", "draft tokens proposed; γ is how many were asked for", "count", lambda row: row.k, "10"),
    Column("tested", "drafts judged, up to and including the first rejection", "count", lambda row: row.tested, "10"),
    Column("accepted", "drafts accepted, each if u·q < p (greedy: if it is the target’s argmax)", "count",
           lambda row: row.accepted, "10"),
    Column("rejected", "tested − accepted: 0 or 1", "count", lambda row: row.rejected, "10"),
    Column("void", "k − tested: drafted after a rejected one, so never tested", "count", lambda row: row.void, "10"),
    Column("committed", "accepted + 1 for the correction, bonus or plain token (+ 0 where the run ended before it)",
           "count", lambda row: row.committed, "10"),
    Column("final", "the last token: a correction (drawn from the residual after a rejection), a bonus (drawn from p "
           "after k acceptances), plain, or none", "word", lambda row: row.final, "correction"),
    Column("committed text", "what the round added to the output, on one line", "text", _committed, "m" * 17),
    Column("drafted text", "what the drafter proposed, token by token; their own spaces are shown as ·", "text",
           _drafted, "m" * 20),
    Column("overlap", f"Σ min(p, q) {_LAST}: the chance that a draft from q is accepted there", "figure",
           lambda row: row.overlap, "0.0000"),
    Column("p/q", f"p(y) / q(y) {_LAST}: a draw below it accepts", "figure", lambda row: row.ratio, "00.0000"),
    Column("draw", f"u of the test u·q(y) < p(y) {_LAST}", "figure", lambda row: row.draw, "0.0000"),
    Column("residual", "the residual’s mass, Σ max(p − q, 0) = 1 − overlap, where the correction was drawn", "figure",
           lambda row: row.residual_mass, "0.0000"),
    Column("total ms", "draft + verify + judge + record + commit, in milliseconds", "figure", _ms("total"), "1000.00"),
    Column("draft ms", "the drafter’s steps, in milliseconds", "figure", _ms("draft"), "1000.00"),
    Column("verify ms", "one forward of the target over k + 1 tokens, in milliseconds", "figure", _ms("verify"),
           "1000.00"),
    Column("judge ms", "testing the drafts and drawing the last token, in milliseconds", "figure", _ms("judge"),
           "100.00"),
    Column("commit ms", "adding to the output and cutting back the caches, in milliseconds. Recording, the price of "
           "watching, is in the total alone", "figure", _ms("commit"), "100.00"),
    Column("α so far", "accepted drafts / tested drafts, of all rounds up to this one", "figure",
           lambda row: row.alpha, "0.0000"),
)
MILLISECONDS = frozenset(column.name for column in COLUMNS if column.name.endswith(" ms"))
ROUND = 0
