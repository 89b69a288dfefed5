"""Writes a run's records: joins what the round found with who, where and what the tokens look like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.drafters.base import Draft
from engine.records import (
    Committed,
    Contrast,
    Drafted,
    FinalKind,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    StopReason,
    Timings,
    Totals,
    Verified,
    Vocabulary,
)
from engine.rounds import Facts


class Scribe:
    """The records of one lane. Token texts are sent once, before the first record that uses them."""

    def __init__(self, run: str, lane: str, texts: Sequence[str], *, sampled: bool) -> None:
        self.run = run
        self.lane = lane
        self.texts = texts
        self.sampled = sampled
        self.round = 0
        self.totals = Totals()
        self._known = np.zeros(len(texts), dtype=bool)

    def words(self, ids: Iterable[int]) -> Iterator[Record]:
        """A :class:`Vocabulary` record if any of these ids is new."""
        return self._new_words(np.fromiter(ids, dtype=np.int64))

    def row_words(self, rows: Sequence[Contrast]) -> Iterator[Record]:
        return self._new_words(np.concatenate([row.ids for row in rows])) if rows else iter(())

    def _new_words(self, ids: NDArray[np.integer]) -> Iterator[Record]:
        new = ids[~self._known[ids]]
        if len(new):
            self._known[new] = True
            yield Vocabulary(run=self.run, lane=self.lane, texts={i: self.texts[i] for i in sorted(set(new.tolist()))})

    def prefilled(self, tokens: int, target_seconds: float, drafter_seconds: float) -> Record:
        return self._kept(Prefilled(run=self.run, lane=self.lane, tokens=tokens, target_seconds=target_seconds,
                                    drafter_seconds=drafter_seconds))

    def drafted(self, index: int, position: int, draft: Draft, token: int, q: float, seconds: float
                ) -> Iterator[Record]:
        yield from self.words([token])
        yield Drafted(run=self.run, lane=self.lane, round=self.round, index=index, position=position, token=token,
                      text=self.texts[token], q=q, draw=draft.draw, seconds=seconds, source=draft.source,
                      parent=draft.parent)

    def verified(self, facts: Facts, width: int, seconds: float) -> Iterator[Record]:
        yield from self.row_words(facts.rows)
        yield Verified(run=self.run, lane=self.lane, round=self.round, k=len(facts.drafts), width=width,
                       seconds=seconds, rows=facts.rows, gaps=tuple(facts.gaps), digests=tuple(facts.digests))

    def judged(self, facts: Facts, start: int, tested: Sequence[int]) -> Iterator[Record]:
        for i in tested:
            yield Judged(run=self.run, lane=self.lane, round=self.round, index=i, position=start + facts.tree.depths[i],
                         token=facts.drafts[i], text=self.texts[facts.drafts[i]], accepted=i in facts.path,
                         p=facts.p[i], q=facts.q[i], draw=facts.accept_draws[i],
                         best=facts.best[facts.tree.parents[i] + 1])

    def committed(self, facts: Facts, start: int, added: Sequence[str], tokens: Sequence[int], tested: int,
                  seconds: Timings, target_slots: int, drafter_slots: int) -> Iterator[Record]:
        """The round's end; ``added`` and ``tokens`` are what was really committed, an early end already cut."""
        count, by = len(tokens), facts.judged_by[: len(tokens)]
        final = final_kind(facts, count)
        sampled = self.sampled and final != "none"
        yield from self.words(tokens)
        yield self._kept(Committed(
            run=self.run, lane=self.lane, round=self.round, position=start, tokens=tuple(tokens), texts=tuple(added),
            accepted=min(len(facts.path), count), tested=tested, drafted=len(facts.drafts), final=final,
            final_draw=facts.final_draw if sampled else None,
            residual_mass=facts.mass if sampled and final == "correction" else None,
            residual_empty=sampled and facts.mass <= 0, gaps=_at(facts.gaps, by), digests=_at(facts.digests, by),
            seconds=seconds, target_slots=target_slots, drafter_slots=drafter_slots,
            p=tuple(facts.committed_p[:count]), path=facts.path[:count] if facts.drawn_as_tree else ()))
        self.round += 1

    def finished(self, reason: StopReason, text: str, message: str = "", details: str = "") -> Record:
        return RunFinished(run=self.run, lane=self.lane, reason=reason, message=message, text=text,
                           totals=self.totals, details=details)

    def _kept(self, record: Record) -> Record:
        self.totals = self.totals.plus(record)
        return record


def final_kind(facts: Facts, committed: int) -> FinalKind:
    """What the round's last committed token is."""
    if committed <= len(facts.path):
        return "none"
    if not facts.drafts:
        return "plain"
    return "correction" if len(facts.tested) > len(facts.path) and facts.tested[-1] not in facts.path else "bonus"


def _at(values: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    return tuple(values[i] for i in places) if values else ()
