"""TEST DATA: rounds whose p and q are given figure by figure. No model ran."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.debugger.history import History, Moment
from engine.records import (
    Committed,
    Contrast,
    Drafted,
    Exactness,
    FinalKind,
    Judged,
    Record,
    RunStarted,
    TargetInfo,
    Timings,
    Unknown,
    Verified,
    Vocabulary,
)
from engine.settings import DrafterSettings, RunSettings, Sampling

WORDS = (" black", " green", " hot", " iced", " herbal", " my", " the", " strong", " a", " sweet", " like", " tea")
P = (0.41, 0.22, 0.11, 0.07, 0.05, 0.04, 0.03, 0.02, 0.02, 0.01, 0.005, 0.003)
Q = (0.06, 0.55, 0.09, 0.12, 0.03, 0.02, 0.05, 0.01, 0.03, 0.02, 0.006, 0.004)
WORLD = (" 绿茶", "👩‍🔬", " שלום", " مرحبا", "⟨E4 BD⟩", "\n\n    ", "\t", " ", "<|im_end|>",
         "antidisestablishmentarianism_of_the_very_long_token", "&copy;", "。」")
COMMON = {"run": "run-1", "lane": "draft"}
RIGHT = (0.001,) * 12


def contrast(p: Sequence[float], q: Sequence[float] = (), ids: Sequence[int] | None = None, vocabulary: int = 12
             ) -> Contrast:
    """Over tokens 0 … by falling p."""
    ids = range(len(p)) if ids is None else ids
    entropy = -sum(x * float(np.log(x)) for x in p if x > 0)
    return Contrast(ids=np.array(ids, dtype=np.int32), p=np.array(p, dtype=np.float32), q=np.array(q, dtype=np.float32),
                    p_rest=max(0.0, 1 - sum(p)), q_rest=max(0.0, 1 - sum(q)) if len(q) else 0.0, p_entropy=entropy,
                    q_entropy=1.1 if len(q) else 0.0,
                    overlap=float(np.minimum(p, q).sum()) + 0.004 if len(q) else None)


def started(*, greedy: bool = False, unknown: tuple[Unknown, ...] = ()) -> RunStarted:
    return RunStarted(
        **COMMON, title="Draft model", about="", gamma=3,
        settings=RunSettings(sampling=Sampling(temperature=0.0 if greedy else 1.0),
                             drafter=DrafterSettings(kind="model", model="tiny", gamma=3)),
        target=TargetInfo(name="test data, no model", parameters=0, layers=0, vocabulary=12, context=512,
                          dtype="float32", device="cpu", fingerprint="0"),
        exactness=Exactness(invariant=True, padded=False, width_checked=1, width_limit=1, row_difference=0.0,
                            sentence="test data"),
        prompt=tuple(range(18)), prompt_text="", machine="", version="0", started="", unknown=unknown)


def a_round(*, greedy: bool = False, accepted: int = 1, p: Sequence[float] = P, q: Sequence[float] = Q,
            words: Sequence[str] = WORDS, unknown: tuple[Unknown, ...] = (), one_hot: bool = False) -> list[Record]:
    """“like green tea” is drafted; “like” is accepted, “green” (unless ``accepted`` says else) is corrected to
    “black”."""
    drafts = (10, 1, 11)
    if one_hot:
        q = tuple(1.0 if i == 1 else 0.0 for i in range(len(p)))
    rows = (contrast((0.62, 0.2, 0.1, 0.05), (0.7, 0.1, 0.1, 0.05), (10, 0, 1, 2)), contrast(p, q),
            contrast((0.5, 0.3, 0.1), (0.6, 0.2, 0.1), (11, 0, 4)), contrast((0.8, 0.1, 0.05), (), (2, 3, 4)))
    draws = (0.44, 0.71 if accepted < 2 else 0.31, 0.2)
    records: list[Record] = [started(greedy=greedy, unknown=unknown),
                             Vocabulary(**COMMON, texts=dict(enumerate(words)))]
    q_of = (0.7, float(q[1]), 0.6)
    records += [Drafted(**COMMON, round=0, index=i, position=18 + i, token=token, text=words[token], q=q_of[i],
                        draw=None if greedy or one_hot else (0.3, 0.42, 0.1)[i], seconds=0.004)
                for i, token in enumerate(drafts)]
    records.append(Verified(**COMMON, round=0, k=3, width=4, seconds=0.05, rows=rows, gaps=(1.13, 0.62, 0.5, 2.1),
                            digests=(1, 2, 3, 4)))
    p_of = (0.62, float(p[1]), 0.5)
    for i in range(min(3, accepted + 1)):
        records.append(Judged(**COMMON, round=0, index=i, position=18 + i, token=drafts[i], text=words[drafts[i]],
                              accepted=i < accepted, p=p_of[i], q=q_of[i], draw=None if greedy else draws[i],
                              best=(10, 0, 11)[i]))
    final: FinalKind = "correction" if accepted < 3 else "bonus"
    chosen = 0 if accepted < 3 else 2
    mass = float(np.maximum(np.array(p) - np.array(q), 0).sum()) + 0.001
    records.append(Committed(
        **COMMON, round=0, position=18, tokens=(*drafts[:accepted], chosen),
        texts=tuple(words[t] for t in (*drafts[:accepted], chosen)), accepted=accepted, tested=min(3, accepted + 1),
        drafted=3, final=final, final_draw=None if greedy else 0.38,
        residual_mass=mass if final == "correction" and not greedy else None, residual_empty=False,
        gaps=(0.1,) * (accepted + 1), digests=(1,) * (accepted + 1),
        seconds=Timings(draft=0.012, verify=0.05, judge=0.001, record=0.001, commit=0.001), target_slots=20,
        drafter_slots=20))
    return records


def moment(records: Sequence[Record], back: int = 0) -> Moment:
    """After all of them but the last ``back``."""
    history = History("draft")
    for record in records:
        history.append(record)
    return history.at(len(records) - back)
