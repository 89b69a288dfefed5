"""All that is known of one row of a round, p against q, as of a moment; nothing that happens later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from engine.debugger.bars import Bar, Mark
from engine.debugger.choices import Choice, Source, Weights, of_p, of_q, of_residual, segments
from engine.debugger.full_row import FullRow
from engine.debugger.history import Moment, RoundSoFar, RowUse
from engine.debugger.judgement import Judgement
from engine.debugger.token_words import readable
from engine.records import UNKNOWN_TOKEN, Committed, Contrast, Drafted, FinalKind, Unknown

__all__ = ["Bar", "FullRow", "Inspection", "inspect"]

GREEDY = "Greedy: only the argmax decides; p and q are shown at temperature 1."

Use = Literal["drafted"] | RowUse
"""What became of the row by now. Drafted: it isn't computed yet."""


@dataclass(frozen=True)
class Inspection:
    lane: str
    round: int
    index: int
    """The row: drafts before it, 0 … k."""
    position: int
    title: str
    sentence: str
    """What became of it, in words."""
    use: Use
    greedy: bool
    one_hot: bool
    """The draft was deterministic: q is 1 at it and 0 elsewhere."""
    bars: tuple[Bar, ...]
    """By falling p (ties: lower id)."""
    p_rest: float | None
    """Of the tokens without a bar. None, here and below: unknown, or not known yet."""
    q_rest: float | None
    p_entropy: float | None
    """Nats."""
    q_entropy: float | None
    overlap: float | None
    mass: float | None
    """Σ max(p − q, 0) = 1 − overlap: what the residual is normalised by. None for a void row: no correction can come
    of it."""
    residual_empty: bool
    draft: Drafted | None
    draft_label: str
    judgement: Judgement | None
    """The test, once it was made."""
    awaited: Judgement | None
    """The test of a draft that isn't judged, as far as its figures are known."""
    choices: tuple[Choice, ...]
    """The draws that chose here, latest first: the final token's, the draft's. One whose distribution isn't recorded
    yet has no segments."""
    final: FinalKind
    """What was drawn in this row by now; none: nothing."""
    final_label: str
    notes: tuple[str, ...] = ()
    """What the recording doesn't tell, and why."""
    undrawn: str = "Nothing was drawn here."
    """Why there are no ``choices``, where there are none."""
    in_tree: bool = False

    @property
    def subtitle(self) -> str:
        """The sentence with all notes. What has become of it comes first, as the rest may be cut."""
        return " ".join((self.sentence, *self.notes))

    def bar(self, token: int) -> Bar | None:
        return next((bar for bar in self.bars if bar.token == token), None)


def inspect(moment: Moment, index: int | None = None) -> Inspection | None:
    """Row ``index`` (0 … k) of the moment's round; None: the most telling one so far. None when there is nothing of it
    yet."""
    so_far = moment.round
    if so_far is None:
        return None
    index = telling(so_far) if index is None else index
    if not 0 <= index <= _last(so_far):
        return None
    return _Reading(moment, so_far, index).inspection()


def telling(so_far: RoundSoFar) -> int:
    """The row to look at: where the round ended, else the last judged, else the first, else the last drafted."""
    if so_far.rejected_at is not None:
        return so_far.rejected_at
    if so_far.committed is not None and so_far.committed.final != "none":
        return so_far.ended_at or 0
    if so_far.judged:
        return so_far.judged[-1].index
    if so_far.verified is not None or so_far.committed is not None:
        return 0
    return so_far.k - 1


def _last(so_far: RoundSoFar) -> int:
    if so_far.committed is not None:
        return so_far.committed.drafted
    return so_far.verified.k if so_far.verified is not None else so_far.k - 1


class _Reading:
    """One look at one row."""

    def __init__(self, moment: Moment, so_far: RoundSoFar, index: int) -> None:
        self.moment, self.round, self.index = moment, so_far, index
        self.row = so_far.row(index)
        self.draft = so_far.drafted[index] if index < so_far.k else None
        self.before = so_far.siblings_before(index)
        self.greedy = moment.greedy
        self.unknown: tuple[Unknown, ...] = moment.started.unknown if moment.started is not None else ()
        self.committed = self._ended_here(so_far.committed)
        self.use: Use = so_far.row_use(index) if so_far.verified or so_far.committed else "drafted"
        self.has_q = self.row is not None and len(self.row.q) > 0
        self.mass = self._mass()

    def _ended_here(self, committed: Committed | None) -> Committed | None:
        """The commit, if its last token was drawn from this row."""
        return committed if self.round.ended_at == self.index else None

    def _mass(self) -> float | None:
        if self.greedy or self.use == "void":  # no correction can come from there
            return None
        if self.before:  # the row's p and q aren't those of this test
            return self.committed.residual_mass if self.committed is not None else None
        if self.committed is not None and self.committed.residual_mass is not None:
            return self.committed.residual_mass
        if self.row is None or not self.has_q or self.row.overlap is None:
            return None
        known = float(np.maximum(self.row.p - self.row.q, 0).sum(dtype=np.float64))
        return max(1.0 - self.row.overlap, known if self.row.overlap < 1 else 0.0, 0.0)

    def inspection(self) -> Inspection:
        row, draft, committed = self.row, self.draft, self.committed
        judgement = self._judgement()
        return Inspection(
            lane=self.moment.lane, round=self.round.round, index=self.index,
            position=self.round.position_of(self.index),
            title=f"Position {self.round.position_of(self.index)} · {self._name()}", sentence=self._sentence(judgement),
            use=self.use, greedy=self.greedy, one_hot=self._one_hot(), bars=self._bars(judgement),
            p_rest=row.p_rest if row is not None else None,
            q_rest=row.q_rest if row is not None and self.has_q else None,
            p_entropy=row.p_entropy if row is not None else None,
            q_entropy=row.q_entropy if row is not None and self.has_q else None,
            overlap=row.overlap if row is not None and self.has_q else None, mass=self.mass,
            residual_empty=committed is not None and committed.residual_empty, draft=draft,
            draft_label=self.label(draft.token, draft.text) if draft is not None else "", judgement=judgement,
            awaited=self._awaited() if judgement is None and draft is not None and self.use != "void" else None,
            choices=tuple(self._choices()), final=committed.final if committed is not None else "none",
            final_label=self._final_label(), notes=tuple(self._notes()), undrawn=self._undrawn(),
            in_tree=self.round.is_tree)

    def label(self, token: int, text: str = "") -> str:
        own = self.moment.history.texts.get(token, text)
        return readable(own) or (f"#{token}" if token != UNKNOWN_TOKEN else "unknown token")

    # In words

    def _name(self) -> str:
        if self.index < self._drafted():
            return self.round.name_of(self.index)
        return "bonus" if self._drafted() else "plain step"

    def _drafted(self) -> int:
        committed = self.round.committed
        return max(self.round.k, committed.drafted if committed is not None else 0)

    def _final_label(self) -> str:
        c = self.committed
        return self.label(c.tokens[-1], c.texts[-1] if c.texts else "") if c is not None else ""

    def _sentence(self, judgement: Judgement | None) -> str:
        y = f"“{self.label(self.draft.token, self.draft.text)}”" if self.draft is not None else "The draft"
        chosen = "drawn from" if not self.greedy else "the argmax of"
        final = f"“{self._final_label()}”"
        if self.committed is not None:
            c = self.committed
            if not self.greedy and not self.moment.sampled:  # how it was chosen isn't known
                return {"correction": f"{y} is rejected; the correction {final} takes its place.",
                        "bonus": f"{self._all(c.accepted)} accepted; the bonus {final} follows.",
                        "plain": f"{final} is committed.", "none": ""}[c.final]
            source = "the residual" if c.final == "correction" and not c.residual_empty and not self.greedy else "p"
            return {"correction": f"{y} is rejected; the correction {final} is {chosen} {source}.",
                    "bonus": f"{self._all(c.accepted)} accepted: the bonus {final} is {chosen} p.",
                    "plain": f"{final} is {chosen} p.", "none": ""}[c.final]
        if judgement is not None:
            return f"{y} is {'accepted' if judgement.accepted else 'rejected'}."
        if self.use == "drafted":
            return f"{y} is drafted; the target has not seen it yet."
        if self.use == "void":
            never = "tested" if self.draft is not None else "used"
            if self.round.is_tree and self.draft is not None:
                return f"Never {never}: another path was taken, or the output ended before it."
            return (f"Never {never}: its prefix no longer exists." if self.round.rejected_at is not None
                    else f"Never {never}: the output ended before it.")
        if self.draft is None:
            return "Computed; used only if all drafts before it are accepted." if self.round.k else "Computed."
        if self.round.is_tree:
            return f"Computed; {y} is judged only if its ancestors are accepted and no sibling before it is."
        return f"Computed; {y} is judged only if all drafts before it are accepted." if self.index else "Computed."

    def _all(self, accepted: int) -> str:
        """What comes before "accepted"."""
        if self.round.is_tree:
            return f"A path of {accepted} is"
        return "The one draft is" if accepted == 1 else f"All {accepted}"

    def _notes(self) -> list[str]:
        notes = []
        missing = [name for name in ("p", "q", "draws") if name in self.unknown]
        if missing:
            notes.append(f"This recording doesn't tell {' nor '.join(missing)}.")
        if self.row is None and self.use != "drafted":
            notes.append("Recorded without rows: what is known of single tokens is shown." if self._known()
                         else "Recorded without rows.")
        if self.greedy:
            notes.append(GREEDY)
        if self.before:
            notes.append(f"Tested after {len(self.before)} of its siblings: the test's p is what their rejections "
                         "left, renormalised; the bars show p and q as they were before.")
        if self._one_hot():
            notes.append("A deterministic guess: q is 1 at the draft.")
        if self.committed is not None and self.committed.residual_empty:
            notes.append("p equals q up to rounding: the residual is empty, so the correction was drawn from p.")
        return notes

    def _known(self) -> bool:
        return "p" not in self.unknown or "q" not in self.unknown

    def _one_hot(self) -> bool:
        return self.draft is not None and self.draft.draw is None and self.draft.q == 1.0 and not (
            {"q", "draws"} & set(self.unknown))

    # The bars

    def _bars(self, judgement: Judgement | None) -> tuple[Bar, ...]:
        if self.row is None:
            return tuple(self._lone_bars(judgement))
        row, mass = self.row, self.mass
        p = row.p.tolist()
        q: list[float | None] = row.q.tolist() if self.has_q else [None] * len(p)
        bars: list[Bar] = []
        for token, at_p, at_q in zip(row.ids.tolist(), p, q, strict=True):
            left = None
            if mass is not None and at_q is not None and not self.before:
                left = min(1.0, max(at_p - at_q, 0.0) / mass) if mass > 0 else 0.0
            bars.append(Bar(token, self.label(token), at_p, at_q, left, self._marks(token, not bars)))
        return tuple(bars)

    def _lone_bars(self, judgement: Judgement | None) -> list[Bar]:
        """No row: the tokens of which one figure at least is known."""
        bars = []
        if self.draft is not None:
            q = self.draft.q if "q" not in self.unknown else None
            p = judgement.p if judgement is not None else None
            if p is not None or q is not None:
                bars.append(Bar(self.draft.token, self.label(self.draft.token, self.draft.text), p, q, None,
                                frozenset({"drafted"})))
        if self.committed is not None and len(self.committed.p) == len(self.committed.tokens):
            bars.append(Bar(self.committed.tokens[-1], self._final_label(), self.committed.p[-1], None, None,
                            frozenset({"drawn"})))
        return sorted(bars, key=lambda bar: -(bar.p or 0.0))

    def _marks(self, token: int, first: bool) -> frozenset[Mark]:
        marks: set[Mark] = {"best"} if first else set()
        if self.draft is not None and token == self.draft.token:
            marks.add("drafted")
        if self.committed is not None and token == self.committed.tokens[-1]:
            marks.add("drawn")
        return frozenset(marks)

    # The test and the draws

    def _judgement(self) -> Judgement | None:
        judged = self.round.judged_at(self.index)
        if judged is None:
            return None
        row, best = self.row, judged.best
        return Judgement(
            judged.token, self.label(judged.token, judged.text), judged.accepted, self.greedy,
            judged.p if "p" not in self.unknown else None, judged.q if "q" not in self.unknown else None, judged.draw,
            best, self.label(best) if best is not None else "", self.round.gap(self.index),
            float(row.p[0]) if row is not None and len(row.p) and int(row.ids[0]) == best else None)

    def _awaited(self) -> Judgement:
        draft, row = self.draft, self.row
        assert draft is not None
        best = int(row.ids[0]) if row is not None and len(row.ids) else None
        p = row.p[row.ids == draft.token] if row is not None else np.empty(0)
        return Judgement(
            draft.token, self.label(draft.token, draft.text), None, self.greedy,
            float(p[0]) if len(p) and not self.before else None,
            draft.q if "q" not in self.unknown else None, None, best, self.label(best) if best is not None else "",
            None)

    def _undrawn(self) -> str:
        if "draws" in self.unknown:
            return "This recording doesn’t tell the draws."
        drawn = (self.draft is not None and self.draft.draw is not None) or (
            self.committed is not None and self.committed.final_draw is not None)
        if self.row is None and drawn:
            return "A draw chose here; the row that it chose from isn’t recorded."
        return "Nothing was drawn here."

    def _choices(self) -> list[Choice]:
        row = self.row
        if self.greedy or "draws" in self.unknown:
            return []
        if row is None:
            draft = self.draft if self.use == "drafted" else None
            return [] if draft is None or draft.draw is None else [Choice(
                "draft", self.index, "q", draft.draw, draft.token, self.label(draft.token, draft.text), (), 1.0)]
        choices = []
        final = self._final_source(row)
        if final is not None:
            source, weights = final
            c = self.committed
            choices.append(self._choice("final", source, weights, c.final_draw if c is not None else None,
                                        c.tokens[-1] if c is not None else None))
        if self.draft is not None and self.draft.draw is not None and self.has_q:
            choices.append(self._choice("draft", "q", of_q(self._own_q(row)), self.draft.draw, self.draft.token))
        return choices

    def _own_q(self, row: Contrast) -> Contrast:
        """``row`` with q as this draft was drawn from it: without the siblings drawn before."""
        if not self.before:
            return row
        gone = np.isin(row.ids, [self.round.drafted[sibling].token for sibling in self.before])
        return msgspec.structs.replace(row, q=np.where(gone, np.float32(0), row.q))

    def _final_source(self, row: Contrast) -> tuple[Source, Weights] | None:
        """What the final token is, or will be, drawn from, if it comes from this row."""
        judged = self.round.judged
        if self.round.is_tree and self.use == "rejected" and (self.before or self.round.rejected_at != self.index):
            return None  # what earlier siblings left isn't recorded as a row; or the next sibling is tested first
        if self.use == "rejected" and self.mass is not None and self.has_q:
            if self.mass > 0 and not (self.committed is not None and self.committed.residual_empty):
                return "residual", of_residual(row, self.mass)
            return "p", of_p(row)
        if self.use == "final" or (self.use == "computed" and self.index == self.round.k == len(judged)
                                   and not self.round.is_tree):
            return "p", of_p(row)
        return None

    def _choice(self, purpose: Literal["draft", "final"], source: Source, weights: Weights, draw: float | None,
                token: int | None) -> Choice:
        label: Callable[[int], str] = self.label
        drawn = (draw, token) if draw is not None and token is not None else None
        return Choice(purpose, self.index, source, draw, token, label(token) if token is not None else "",
                      segments(weights, label, drawn), self.mass if source == "residual" and self.mass else 1.0)
