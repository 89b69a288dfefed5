"""TEST DATA: what every made-up lane has, however it drafts. No model ran; no figure here was measured.

A lane's text is a real one, split into word-like tokens. How it begins and ends, the target's rows, the verdicts and
what a round commits are made here; whoever makes up a drafter says what is drafted, and what of it is right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

import numpy as np

from engine.records import (
    Committed,
    Contrast,
    Exactness,
    FinalKind,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    TargetInfo,
    Timings,
    Totals,
    Vocabulary,
)
from engine.settings import DrafterSettings, RunSettings, Sampling

PROMPT = "Rename the variable total to amount in this code and return all of it unchanged otherwise.\n"
PROMPT_TOKENS = tuple(range(1, 23))

_TOKEN = re.compile(r"\n+ *| {2,}(?= )| ?[A-Za-z]{1,7}| ?\d{1,3}|[\u3040-\u9fff]{1,2}| ?[\u0590-\u06ff]{1,4}|\t"
                    r"| ?[^\s]")


def split(text: str) -> list[str]:
    tokens = _TOKEN.findall(text)
    return tokens if "".join(tokens) == text else list(text)


class Lane:
    """The text in tokens, the chance that decides all the rest, and the records that every way to draft has."""

    def __init__(self, name: str, text: str, *, run: str, seed: int, limit: int | None, temperature: float) -> None:
        """``limit`` repeats or cuts the text to so many tokens."""
        self.chance = random.Random(f"{seed}{name}")
        pieces = split(text)
        self.pieces = pieces if limit is None else (pieces * (limit // len(pieces) + 1))[:limit]
        self.ids = {piece: 100 + i for i, piece in enumerate(dict.fromkeys(self.pieces))}
        self.common = {"run": run, "lane": name}
        self.temperature = temperature
        self.greedy = temperature == 0

    def records(self, title: str, about: str, drafter: DrafterSettings, exactness: Exactness, drafter_seconds: float,
                rounds: Iterable[Record], finish: bool) -> Iterator[Record]:
        """From start to end: ``rounds`` are the records between."""
        yield RunStarted(
            **self.common, title=title, about=about, gamma=drafter.gamma or 0,
            settings=RunSettings(sampling=Sampling(temperature=self.temperature), drafter=drafter),
            target=TargetInfo(name="test data, no model", parameters=0, layers=0, vocabulary=50_000, context=8192,
                              dtype="bfloat16", device="cpu", fingerprint="0" * 16),
            exactness=exactness, prompt=PROMPT_TOKENS, prompt_text=PROMPT, machine="none", version="0",
            started="2025-01-01T00:00:00")
        yield Vocabulary(**self.common, texts={token: piece for piece, token in self.ids.items()})
        filled = Prefilled(**self.common, tokens=len(PROMPT_TOKENS) - 1, target_seconds=0.18,
                           drafter_seconds=drafter_seconds)
        totals = Totals().plus(filled)
        yield filled
        for record in rounds:
            if isinstance(record, Committed):
                totals = totals.plus(record)
            yield record
        if finish:
            yield RunFinished(**self.common, reason="length", message="", text="".join(self.pieces), totals=totals)

    def row(self, truth: str, draft: str | None, q: float | None) -> Contrast:
        others = self.chance.sample(list(self.ids), min(6, len(self.ids)))
        words = list(dict.fromkeys([truth, *([draft] if draft else []), *others]))
        weights = np.array([8.0, *(self.chance.uniform(0.05, 1.5) for _ in words[1:])])
        p = (0.98 * weights / weights.sum()).astype(np.float32)
        order = np.argsort(-p, kind="stable")
        tokens = np.array([self.ids[word] for word in words], dtype=np.int32)[order]
        if draft is None:
            qs = np.zeros(0, dtype=np.float32)
        else:
            guess = np.full(len(words), 0.02 / len(words), dtype=np.float32)
            guess[words.index(draft)] = q or 0.5
            qs = guess[order]
        overlap = float(np.minimum(p[order], qs).sum()) if draft is not None else float("nan")
        return Contrast(ids=tokens, p=p[order], q=qs, p_rest=0.02, q_rest=0.02, overlap=overlap,
                        p_entropy=self.chance.uniform(0.2, 2.5), q_entropy=self.chance.uniform(0.2, 2.5))

    def judged(self, number: int, index: int, position: int, piece: str, truth: str, ok: bool, p: float, q: float
               ) -> Judged:
        """With a draw that leads to this verdict: a draft is accepted below p / q."""
        edge = min(1.0, p / q)
        return Judged(**self.common, round=number, index=index, position=position, token=self.ids[piece], text=piece,
                      accepted=ok, p=p, q=q, best=self.ids[truth],
                      draw=None if self.greedy else self.chance.uniform(0, edge) if ok
                      else self.chance.uniform(edge, 1.0))

    def committed(self, number: int, position: int, texts: list[str], final: FinalKind, gaps: tuple[float, ...],
                  digests: tuple[int, ...], *, tested: int, drafted: int, draft: float, verify: float, judge: float,
                  drafter_slots: int, path: tuple[int, ...] = ()) -> Committed:
        """``gaps``, ``digests``: of the rows that the tokens come from; ``draft``, ``verify``, ``judge``: seconds."""
        return Committed(
            **self.common, round=number, position=position, tokens=tuple(self.ids[t] for t in texts),
            texts=tuple(texts), accepted=len(texts) - 1, tested=tested, drafted=drafted, final=final,
            final_draw=None if self.greedy else self.chance.random(),
            residual_mass=self.chance.uniform(0.1, 0.9) if final == "correction" and not self.greedy else None,
            residual_empty=False, gaps=gaps, digests=digests,
            seconds=Timings(draft=draft, verify=verify, judge=judge, record=0.0006, commit=0.0002),
            target_slots=position + len(texts) - 1, drafter_slots=drafter_slots, path=path)
