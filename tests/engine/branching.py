"""What the tests of branches share: branching off a run, comparing records, and the arithmetic of a draw."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import torch

from engine.branch import branch
from engine.debugger.history import History, RoundSoFar
from engine.debugger.what_if import AnyChange
from engine.models import Model
from engine.records import Contrast, Record
from engine.sampling import Sampling
from tests.engine.support import Run, target, wrap

DRAFTERS = ["none", "ngram", "layer-skip", "model:twin", "model:other"]
WARPED = Sampling(temperature=0.8, top_k=40, top_p=0.95, min_p=0.001, repetition_penalty=1.1)
FEW = Sampling(temperature=1.0, top_k=30)
"""Rows of at most 30 tokens are recorded whole, so a test can do the arithmetic."""
COOL = Sampling(temperature=0.5, top_k=30)


@functools.cache
def half(kind: str = "llama") -> Model:
    """One for all tests, with what the start-up check found of it: tiny models in half precision are tried longest."""
    return wrap(copy.deepcopy(target(kind).hf).to(torch.bfloat16))


def branched(model: Model, original: Run, change: AnyChange, models: Mapping[str, Model] | None = None,
             **others: Any) -> Run:
    return Run(list(branch(model, original.records, change, run="again", lane="b", models=models, **others)))


def plain(record: Any) -> Any:
    """A record without what may differ in a repetition: run, lane, seconds."""
    if isinstance(record, np.ndarray):
        return record.dtype.str, record.tobytes()
    if isinstance(record, msgspec.Struct):
        skip = {"run", "lane", "seconds", "target_seconds", "drafter_seconds", "totals", "details", "title", "started",
                "branch"}
        return type(record).__name__, [plain(getattr(record, f)) for f in record.__struct_fields__ if f not in skip]
    return [plain(one) for one in record] if isinstance(record, (tuple, list)) else record


def same(a: Sequence[Record], b: Sequence[Record]) -> None:
    assert [plain(r) for r in a] == [plain(r) for r in b]


def rounds_of(one: Run) -> list[int]:
    """From nothing, from kept caches that are cut back, and from some that are gone on with."""
    last = len(one.rounds)
    return [last // 2, 0, last, last - 1]


def history(one: Run) -> History:
    made = History("x")
    for record in one.records:
        made.append(record)
    return made


def round_where(one: Run, **wanted: Any) -> RoundSoFar:
    """The first round, but the first of all, whose end is like this."""
    made = history(one)
    number = next(r.round for r in one.rounds[1:] if all(getattr(r, name) == value for name, value in wanted.items()))
    return made.round(number)


def drawn(ids: Any, weights: Any, u: float) -> int:
    """Inverse CDF as documented: the 64 largest by falling weight (ties: lower id), the rest by id. In plain Python."""
    order = sorted(zip(ids.tolist(), weights.astype(np.float64).tolist(), strict=True), key=lambda x: (-x[1], x[0]))
    total = sum(w for _, w in order)
    reached = 0.0
    for token, weight in order:
        reached += weight
        if reached > u * total:
            return token
    return max(order, key=lambda x: x[1] > 0)[0]


def left(row: Contrast) -> Any:
    return np.maximum(row.p - row.q, 0) if len(row.q) else row.p
