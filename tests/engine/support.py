"""What the engine's tests share: tiny targets as the loader hands them out, and runs as lists of records."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.models import Model, load
from engine.race import LanePlan, race
from engine.records import Committed, Drafted, Judged, Record, RunFinished, RunStarted, TargetInfo, Verified
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.text import TokenTable, token_texts
from tests.engine import tiny

VOCABULARY = 352
GREEDY = Sampling()
WARM = Sampling(temperature=1.0)


@functools.cache
def target(kind: str = "llama", *, layers: int = 3, seed: int = 0, vocabulary: int = VOCABULARY,
           eos: frozenset[int] = frozenset()) -> Model:
    """A tiny model of this kind, by default without end tokens, so that runs have the length they are given."""
    return wrap(tiny.model(kind, vocabulary=vocabulary, layers=layers, seed=seed), eos=eos)


@functools.cache
def builtin(dtype: str = "bfloat16") -> Model:
    """The built-in model on the CPU. One for all tests: what the start-up checks found of it, which costs more than
    most runs, is kept with it."""
    return load("builtin", dtype=dtype, device="cpu")


def wrap(hf: Any, *, eos: frozenset[int] = frozenset(), name: str = "tiny") -> Model:
    size = hf.get_input_embeddings().weight.shape[0]
    tokenizer = tiny.tokenizer()
    info = TargetInfo(name=name, parameters=0, layers=hf.config.num_hidden_layers, vocabulary=size,
                      context=hf.config.max_position_embeddings, dtype=str(hf.dtype).removeprefix("torch."),
                      device="cpu", fingerprint=name)
    return Model(hf=hf, tokenizer=tokenizer, info=info, table=TokenTable.of(tokenizer),
                 texts=token_texts(tokenizer, size), eos=eos)


def settings(drafter: str = "none", *, gamma: int | None = 4, tokens: int = 24, sampling: Sampling = GREEDY,
             **others: Any) -> RunSettings:
    method = {k: others.pop(k) for k in ("min_n", "max_n", "match", "skip") if k in others}
    kind, _, model = drafter.partition(":")
    return RunSettings(
        drafter=DrafterSettings(kind=kind, model=model, gamma=gamma, **method),  # type: ignore[arg-type]
        max_new_tokens=tokens, sampling=sampling, **others)


@dataclass
class Run:
    """One lane's records, sorted out."""

    records: list[Record]

    def of(self, *kinds: type[Record]) -> list[Any]:
        return [r for r in self.records if isinstance(r, kinds)]

    @property
    def started(self) -> RunStarted:
        return self.of(RunStarted)[0]  # type: ignore[no-any-return]

    @property
    def finished(self) -> RunFinished:
        return self.of(RunFinished)[-1]  # type: ignore[no-any-return]

    @property
    def rounds(self) -> list[Committed]:
        return self.of(Committed)

    @property
    def tokens(self) -> list[int]:
        return [t for r in self.rounds for t in r.tokens]

    @property
    def digests(self) -> list[int]:
        return [d for r in self.rounds for d in r.digests]

    @property
    def drafted(self) -> list[Drafted]:
        return self.of(Drafted)

    @property
    def judged(self) -> list[Judged]:
        return self.of(Judged)

    @property
    def verified(self) -> list[Verified]:
        return self.of(Verified)

    @property
    def mixed(self) -> bool:
        """Did acceptances and rejections both occur?"""
        return len({j.accepted for j in self.judged}) == 2


def lanes(model: Model, prompt: Sequence[int], many: Iterable[RunSettings], *,
          models: Mapping[str, Model] | None = None, **others: Any) -> list[Run]:
    plans = [LanePlan(str(i), one) for i, one in enumerate(many)]
    runs = [Run([]) for _ in plans]
    for record in race(model, prompt, plans, run="test", models=models, **others):
        runs[int(record.lane)].records.append(record)
    return runs


def run(model: Model, prompt: Sequence[int], one: RunSettings, **others: Any) -> Run:
    return lanes(model, prompt, [one], **others)[0]


PROMPT = [40, 41, 42, 43, 60, 40, 41, 42, 43, 61, 40, 41, 42]
"""Repeats itself, so that prompt lookup finds something."""
