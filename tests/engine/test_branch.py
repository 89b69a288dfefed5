"""A branch repeats its original exactly until something is changed, and then goes where the arithmetic says."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from engine import checks
from engine.branch import branch
from engine.debugger.what_if import AnyChange, Forced, NoChange, OtherDraw, OtherSettings, OtherToken
from engine.models import Model
from engine.records import Record, RunStarted
from engine.replay import ReplayError
from engine.sampling import Sampling
from engine.settings import DrafterSettings, RunSettings
from tests.engine.support import GREEDY, PROMPT, VOCABULARY, WARM, Run, run, settings, target, wrap
from tests.engine.test_decode import twins

DRAFTERS = ["none", "ngram", "layer-skip", "model:twin", "model:other"]
WARPED = Sampling(temperature=0.8, top_k=40, top_p=0.95, min_p=0.001, repetition_penalty=1.1)


def half(kind: str = "llama") -> Model:
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
    last = len(one.rounds)
    return sorted({0, 1, last // 2, last - 1, last})


@pytest.mark.parametrize("sampling", [GREEDY, WARM, WARPED], ids=["greedy", "warm", "warped"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_no_change_repeats_the_original(drafter: str, dtype: str, sampling: Sampling,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    model = target() if dtype == "float32" else half()
    models = twins("llama") if drafter.startswith("model") else {}
    one = run(model, PROMPT, settings(drafter, tokens=32, sampling=sampling, seed=5), models=models)
    assert one.finished.reason == "length"
    for number in rounds_of(one):
        again = branched(model, one, NoChange(round=number), models)
        same(again.records, one.records)
        assert again.started.branch is not None
        assert (again.started.branch.round, again.started.branch.change, again.started.branch.lossless) == (
            number, "", True)
        assert {(r.run, r.lane) for r in again.records} == {("again", "b")}
