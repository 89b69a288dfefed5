"""Statistics on the real loop: what is committed is distributed as the target's p, told by transformers' processors.

Three views of it. Tiny models: whole runs of four tokens, for every drafter and every kind of sampling. The built-in
model: its first token a hundred thousand times, on rows that stay; and long runs, each once, through the probability
integral transform. No seed is picked: they count up from 0, and a test that fails is run again on ten times as many
new ones before it counts as failed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from engine.drafters.base import RoundDraws
from engine.drafters.ngram import PromptLookup
from engine.models import Model
from engine.proof import firsttoken, tiny_models
from engine.proof.reference import distribution
from engine.proof.report import Cancelled, Check, never, timed
from engine.proof.rig import Rig, of_models, of_tables
from engine.proof.statistics import GTest, g_test, together, transformed, uniform
from engine.records import Committed
from engine.rounds import SampledRule
from engine.runner import Runner
from engine.settings import DrafterKind, DrafterSettings, RunSettings, Sampling
from engine.verify import judge_sampled

ALPHA = 1e-6
"""A right engine fails a test this rarely, and then has to fail it again on new samples."""

AGAIN = 10
"""Times as many samples when a test is run again."""

KINDS: tuple[DrafterKind, ...] = ("none", "ngram", "layer-skip", "model")

NAMES: dict[DrafterKind, str] = {
    "none": "plain decoding", "ngram": "prompt lookup", "layer-skip": "layer skip", "model": "draft model"}

TINY_SAMPLINGS = {
    "T 0.7": Sampling(temperature=0.7),
    "T 1": Sampling(temperature=1.0),
    "T 1.5": Sampling(temperature=1.5),
    "top-k 4": Sampling(temperature=1.0, top_k=4),
    "top-p 0.8": Sampling(temperature=1.0, top_p=0.8),
    "min-p 0.1": Sampling(temperature=1.0, min_p=0.1),
    "penalty 1.5": Sampling(temperature=1.0, repetition_penalty=1.5),
}

SAMPLINGS = {
    "T 0.7": Sampling(temperature=0.7),
    "T 1": Sampling(temperature=1.0),
    "T 1.5": Sampling(temperature=1.5),
    "top-k 40": Sampling(temperature=1.0, top_k=40),
    "top-p 0.9": Sampling(temperature=1.0, top_p=0.9),
    "min-p 0.05": Sampling(temperature=1.0, min_p=0.05),
    "penalty 1.3": Sampling(temperature=1.0, repetition_penalty=1.3),
}
"""For vocabularies of real size."""

BUILTIN_PROMPT = "We saw a bird, then a fish, then a dog and then a cat. At night we dreamt of a bird, then a"
"""Repeats itself, so that prompt lookup finds something, and yet what comes next is open."""

TINY_GAMMA = 2
"""So that four tokens hold corrections, bonuses and second rounds."""

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    test: GTest
    table: Callable[[], list[str]]
    """What was seen and what was expected, for a test that fails."""


# --- Tiny models: whole runs


def tiny_checks(quick: bool, cancelled: Cancelled) -> Iterator[Check]:
    """Every drafter × every kind of sampling; 28 tests."""
    samples, size = 160 if quick else 5000, len(KINDS) * len(TINY_SAMPLINGS)
    yield from _until(cancelled, (
        tiny_check(kind, name, samples=samples, tests=size, cancelled=cancelled)
        for kind, name in product(KINDS, TINY_SAMPLINGS)))


def tiny_check(kind: DrafterKind, sampling: str, *, samples: int, rule: SampledRule = judge_sampled, tests: int = 1,
               cancelled: Cancelled = never) -> Check:
    """Tokens 1 to 4 of ``samples`` runs of one drafter, under one of :data:`TINY_SAMPLINGS`, judged by ``rule``."""
    asked = TINY_SAMPLINGS[sampling]

    def trial(first: int, count: int) -> Outcome:
        runs = [tiny_run(kind, asked, seed, rule) for seed in range(first, first + count) if not cancelled()]
        return chain(runs, lambda context: distribution(
            tiny_models.rows().target(tiny_models.PROMPT + context), tiny_models.PROMPT + context, asked))

    return _tested(f"tiny models, {NAMES[kind]}, {sampling}", "each of tokens 1 to 4 has the target's probability, "
                   "given the ones before it", samples, "runs", tests, trial)


def tiny_run(kind: DrafterKind, sampling: Sampling, seed: int, rule: SampledRule = judge_sampled) -> Tokens:
    """One run of the real loop on the tiny models' rows."""
    rows = tiny_models.rows()
    settings = RunSettings(sampling=sampling, seed=seed, max_new_tokens=tiny_models.TOKENS, detail=False)
    rig = of_tables(
        rows.target, {"layer-skip": rows.skipping, "model": rows.draft}.get(kind), tiny_models.VOCABULARY,
        tiny_models.PROMPT, settings, gamma=0 if kind == "none" else TINY_GAMMA, dtype=torch.float32,
        drafter=PromptLookup(1, 4, "earliest") if kind == "ngram" else None)
    rig.judge.sampled = rule
    return _output(rig)


def chain(runs: Sequence[Tokens], p: Callable[[Tokens], torch.Tensor]) -> Outcome:
    """The G-tests of each token given all before it, added up: row by row of the tree of continuations, whatever rows
    have enough samples. ``p``: continuation → (V,)."""
    seen: dict[Tokens, Counter[int]] = {}
    for run in runs:
        for place, token in enumerate(run):
            seen.setdefault(run[:place], Counter())[token] += 1
    tests: dict[Tokens, GTest] = {}
    tallies: dict[Tokens, tuple[torch.Tensor, torch.Tensor]] = {}
    for context, counter in seen.items():
        row = p(context)
        counts = torch.zeros_like(row).index_add_(
            0, torch.tensor(list(counter)), torch.tensor(list(counter.values()), dtype=row.dtype))
        tests[context] = g_test(counts, row)
        tallies[context] = (counts, row)

    def table() -> list[str]:
        worst = sorted(tests, key=lambda context: tests[context].p_value)[:3]
        return [line for context in worst for line in (
            f"after {context or 'the prompt'}: {tests[context]}", *_rows(*tallies[context]))]

    return Outcome(together(tests.values()), table)


# --- The built-in model: token 1 on rows that stay


METHODS = (DrafterSettings(), DrafterSettings(kind="ngram"), DrafterSettings(kind="layer-skip"))
"""Those that need no second model."""


def builtin_checks(target: Model, quick: bool, cancelled: Cancelled, *, methods: Sequence[DrafterSettings] = METHODS,
                   models: Mapping[str, Model] | None = None, prompt: Sequence[int] | None = None) -> Iterator[Check]:
    """Token 1 for each method × every kind of sampling (21 tests), then whole runs (3 tests). The latter only in
    float32, since they are held against forwards of another shape. ``models``: loaded draft models by name."""
    ids = list(prompt or target.encode(BUILTIN_PROMPT, chat=False))
    exact = target.hf.dtype == torch.float32
    logits = row(target, ids)
    chains = [method for method in methods if not method.tree and not method.adaptive]  # with one draft to judge
    size = len(chains) * len(SAMPLINGS) + len(methods) * exact
    yield from _until(cancelled, (
        first_token_check(target, ids, method, name, samples=100_000, tests=size, models=models, logits=logits)
        for method, name in product(chains, SAMPLINGS)))
    runs, tokens = (1, 20) if quick else (12, 64)
    yield from _until(cancelled, (
        whole_runs_check(target, ids, method, runs=runs, tokens=tokens, tests=size, models=models, cancelled=cancelled)
        for method in methods if exact))


def first_token_check(target: Model, prompt: Sequence[int], method: DrafterSettings, sampling: str, *, samples: int,
                      tests: int = 1, models: Mapping[str, Model] | None = None, logits: torch.Tensor | None = None
                      ) -> Check:
    """The models' rows are computed once, by the engine's runner and drafter; ``logits``: the target's, if at hand."""
    logits = row(target, prompt) if logits is None else logits
    asked = SAMPLINGS[sampling]
    rig = of_models(target, prompt, RunSettings(sampling=asked, drafter=method, max_new_tokens=2), models)

    def trial(first: int, count: int) -> Outcome:
        counts = firsttoken.tally(p, q, count, first, draft=draft, plain=q is None and draft is None)
        return Outcome(g_test(_alike(counts, level), _alike(expected, level)),
                       lambda: _rows(counts, expected, target.texts))

    with torch.inference_mode():
        expected = distribution(logits.float().cpu(), prompt, asked)
        level = torch.unique(logits.float().cpu(), return_inverse=True)[1]
        p = _warped(rig, logits, prompt).cpu()
        q, draft = _proposal(rig, prompt)
        return _tested(f"{target.info.name}, token 1, {_name(method)}, {sampling}",
                       "the engine's draws, acceptance test and residual give the first token the target's probability",
                       samples, "samples", tests, trial)


def _alike(values: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
    """Outcomes with equal logits (common in half precision) as one: of those at the edge of a nucleus one may be in and
    one out, and which is left open by transformers, whose sort isn't stable."""
    return values.new_zeros(int(level.max()) + 1).index_add_(0, level, values)


@torch.inference_mode()
def row(target: Model, prompt: Sequence[int]) -> torch.Tensor:
    """(V,) logits behind the prompt."""
    runner = Runner(target.hf)
    runner.prefill(prompt[:-1])
    return runner.forward(prompt[-1:])[0]


def _warped(rig: Rig, logits: torch.Tensor, prompt: Sequence[int]) -> torch.Tensor:
    """(V,) p, as the judge makes it."""
    judge = rig.judge
    judge.commit(prompt)
    seen = judge.seen.rows([]) if judge.seen else None
    return judge.warper.distribution(judge.warper.scores(logits[None], seen))[0]


def _proposal(rig: Rig, prompt: Sequence[int]) -> tuple[torch.Tensor | None, int | None]:
    """What the first draft is drawn from: q (V,), or the one token it always is; neither: nothing is drafted."""
    if rig.target.features:  # some guess from what the target computes
        rig.target.prefill(prompt[:-1])
    rig.drafter.prefill(prompt[:-1])
    draft = next(rig.drafter.propose(prompt, 1, RoundDraws(0, len(prompt))), None)
    if draft is None:
        return None, None
    return (None, int(draft.token)) if draft.q is None else (draft.q.cpu(), None)


# --- The built-in model: whole runs


def whole_runs_check(target: Model, prompt: Sequence[int], method: DrafterSettings, *, runs: int, tokens: int,
                     rule: SampledRule = judge_sampled, tests: int = 1, models: Mapping[str, Model] | None = None,
                     cancelled: Cancelled = never) -> Check:
    """A few long runs, their settings taken in turn from :data:`SAMPLINGS`; every token counts once."""
    samplings = list(SAMPLINGS.values())

    def trial(first: int, count: int) -> Outcome:
        settings = [RunSettings(sampling=samplings[seed % len(samplings)], drafter=method, seed=seed,
                                max_new_tokens=tokens, detail=False) for seed in range(first, first + count)]
        values = [value for one in settings if not cancelled()
                  for value in run_transformed(of_models(target, prompt, one, models), target, rule)]
        return Outcome(uniform(torch.tensor(values, dtype=torch.float64)), lambda: [
            "values: " + " ".join(f"{value:.3f}" for value in values)])

    return _tested(f"{target.info.name}, whole runs, {_name(method)}",
                   f"the probability integral transform of every token of runs of up to {tokens} is uniform", runs,
                   "runs", tests, trial)


@torch.inference_mode()
def run_transformed(rig: Rig, target: Model, rule: SampledRule = judge_sampled) -> list[float]:
    """One run, each of its tokens transformed by the p of one plain forward of ``target`` over the whole text."""
    rig.judge.sampled = rule
    _output(rig)
    whole, begin, settings = rig.seq.tokens, rig.seq.prompt_length, rig.settings
    logits = target.hf(input_ids=torch.tensor([whole], device=rig.target.device), use_cache=False).logits[0]
    randomness = np.random.default_rng(settings.seed)  # its own: the run's draws say what the tokens are
    return [transformed(distribution(logits[at - 1].float().cpu(), whole[:at], settings.sampling), whole[at],
                        randomness.random())
            for at in range(begin, len(whole))]


# --- What all of them share


def _tested(name: str, claim: str, samples: int, unit: str, tests: int, trial: Callable[[int, int], Outcome]) -> Check:
    """``trial(first seed, count)`` is run; if it fails, again on ten times as many seeds behind those, unless it saw
    what can't be."""
    with timed() as clock:
        first, count = 0, samples
        outcome = trial(first, count)
        details: list[str] = []
        if outcome.test.p_value < ALPHA:
            details = [f"seeds {first} to {first + count - 1}: {outcome.test}", *outcome.table()]
        if outcome.test.p_value < ALPHA and math.isfinite(outcome.test.g):
            first, count = samples, AGAIN * samples
            outcome = trial(first, count)
            details += [f"again, seeds {first} to {first + count - 1}: {outcome.test}", *outcome.table()]
    return Check(group="statistics", name=name, claim=claim, samples=count, unit=unit, statistic=str(outcome.test),
                 threshold=f"p-value at least {ALPHA:.0e} ({tests} such test{'s' if tests > 1 else ''})",
                 passed=outcome.test.p_value >= ALPHA, seconds=clock.seconds, details=tuple(details))


def _until(cancelled: Cancelled, checks: Iterator[Check]) -> Iterator[Check]:
    """Checks one by one, but not one that was cut short."""
    while not cancelled():
        check = next(checks, None)
        if check is None or cancelled():
            return
        yield check


def _name(method: DrafterSettings) -> str:
    return method.label[0].lower() + method.label[1:]


def _output(rig: Rig) -> Tokens:
    return tuple(token for record in rig.run() if isinstance(record, Committed) for token in record.tokens)


def _rows(counts: torch.Tensor, p: torch.Tensor, texts: Sequence[str] | None = None) -> list[str]:
    """The outcomes that are furthest off, in standard deviations."""
    n = float(counts.sum())
    off = (counts.double() - n * p.double()) / (n * p.double() * (1 - p.double())).clamp_min(1e-9).sqrt()
    return [f"  {texts[t] if texts else t!r:>12}: seen {int(counts[t])}, expected {n * float(p[t]):.1f} "
            f"({float(off[t]):+.1f} σ)" for t in off.abs().argsort(descending=True)[:8].tolist()]
