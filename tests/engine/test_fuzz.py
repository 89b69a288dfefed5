"""2 000 settings and prompts, hostile ones preferred: each ends in a right result or in one clear error; none hangs,
none crashes."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, event, example, given
from hypothesis import settings as how
from hypothesis import strategies as st

from engine import checks
from engine.errors import SpecScopeError
from engine.models import Model
from engine.race import LanePlan, race
from engine.records import Committed, Drafted, Judged, Prefilled, RunFinished, RunStarted, Verified
from engine.settings import DrafterSettings, RunSettings, Sampling
from tests.engine.support import VOCABULARY, Run, target

CONTEXT = 72
END = 0

odd_texts = st.sampled_from([
    "", " ", "a", "\0", "a\0b", "\ud800", "x\udfffy", "\ud83d", "<|end|>", "<|end|><|start|><|end|>", "שלום עולם",
    "\u202eabc\u202c مرحبا", "e\u0301\u200d🏳️‍🌈", "\r\n\t", "the dog " * 20, "word " * 10_000, "\ufffd\ufeff", "𝔘" * 30])
texts = odd_texts | st.text(st.characters(), max_size=40)
repeating = st.lists(st.integers(3, 6), max_size=20)
ids = repeating | st.lists(st.integers(0, VOCABULARY - 1), max_size=20) | st.sampled_from(
    [[], [END], [1], [END, 1, END], [5] * (CONTEXT - 1), [5] * CONTEXT, [7] * 10_000, [VOCABULARY - 1], [VOCABULARY],
     [-1], [2**40]])

samplings = st.fixed_dictionaries({"temperature": st.sampled_from([0, 0, 1e-6, 1e-5, 1e-4, 0.7, 1.0, 1, 100, 1000])},
                                  optional={
    "top_k": st.sampled_from([0, 1, 2, 351, 352, 10**6]), "top_p": st.sampled_from([1e-9, 0.5, 0.9, 1 - 1e-9, 1]),
    "min_p": st.sampled_from([0, 0.05, 1]), "repetition_penalty": st.sampled_from([1.0, 1.3, 0.01, 100, 0.5])})
drafters = st.fixed_dictionaries({
    "kind": st.sampled_from(["none", "ngram", "layer-skip", "model", "model"]),
    "gamma": st.sampled_from([None, 0, 1, 2, 5, 64, 64]),
    "model": st.sampled_from(["stranger", "stranger", "small", "large", "twin"])}, optional={
    "min_n": st.sampled_from([1, 2]), "max_n": st.sampled_from([2, 4, 32]),
    "match": st.sampled_from(["latest", "earliest", "frequent"]), "skip": st.sampled_from([(), (0,), (2,), (0, 2)]),
    "stop_below": st.sampled_from([0.0] * 4 + [0.3, 0.99]), "adaptive": st.booleans(),
    "exit_layer": st.sampled_from([0, 0, 1, 2, 3])})
runs = st.fixed_dictionaries({"max_new_tokens": st.sampled_from([0, 1, 2, 4, 7, 7, 7, 11, 200])}, optional={
    "seed": st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    "stop": st.sampled_from([(), ("e",), ("the", " "), ("\0",), ("\ud800",), ("x" * 1000,)]),
    "ignore_eos": st.booleans(), "exact": st.booleans(), "detail": st.booleans()})

WRONG: dict[str, dict[str, list[Any]]] = {
    "sampling": {"temperature": [-1, float("nan"), float("inf"), "1", True], "top_k": [-1, 1.5],
                 "top_p": [0, 1.1, None], "min_p": [-0.1, 1.1], "repetition_penalty": [0, -1, 101]},
    "drafter": {"kind": ["tree", ""], "gamma": [65, -1, True, 1.0], "model": ["nowhere", ""], "min_n": [0, 33],
                "max_n": [33, 0], "match": ["any"], "skip": [(9,), (-1,), (0, 1, 2)],
                "stop_below": [1, -0.1, float("nan")], "adaptive": [1, None], "exit_layer": [-1, 10**9, 1.0]},
    "run": {"max_new_tokens": [-1, 2**70, 1.0], "seed": [2**64, -1, None], "stop": [("",), (3,)]}}
wrong = st.sampled_from([(part, name, value) for part, fields in WRONG.items() for name, values in fields.items()
                         for value in values])
maybe_wrong = st.one_of(*[st.none()] * 7, wrong)


def bare(seed: int, vocabulary: int = VOCABULARY) -> Model:
    model = target("llama", layers=3 if seed == 0 else 1, seed=seed, vocabulary=vocabulary)
    return Model(hf=model.hf, tokenizer=model.tokenizer, table=model.table, texts=model.texts, eos=frozenset({END, 1}),
                 info=msgspec.structs.replace(model.info, context=CONTEXT))


@functools.cache
def models() -> dict[str, Model]:
    return {"target": bare(0), "stranger": bare(3), "small": bare(4, 330), "large": bare(5, 400), "twin": bare(0)}


def asked(sampling: dict[str, Any], drafter: dict[str, Any], run: dict[str, Any]) -> RunSettings:
    return RunSettings(sampling=Sampling(**sampling), drafter=DrafterSettings(**drafter), **run)


def outcome(prompt: str | list[int], one: RunSettings, chat: bool) -> Run:
    """A run of one lane beside the plain one."""
    model = models()["target"]
    tokens = prompt if isinstance(prompt, list) else model.encode(prompt, chat=chat)
    if isinstance(prompt, list) and prompt:
        model.check_ids(prompt)
    plans = [LanePlan("0", one)]
    found = Run(list(race(model, tokens, plans, run="fuzz", models=models())))
    assert isinstance(found.records[-1], RunFinished)
    return found


def plainly(found: Run, one: RunSettings) -> list[int]:
    """The plain lane's greedy output on the same prompt, with the same padding."""
    settings = msgspec.structs.replace(one, drafter=DrafterSettings(), detail=False)
    model = models()["target"]
    lane = race(model, found.started.prompt, [LanePlan("0", settings)], run="plain")
    return [t for r in lane if isinstance(r, Committed) for t in r.tokens]


def consistent(found: Run, one: RunSettings) -> None:
    """Whatever a finished run must be."""
    started, finished, tokens = found.started, found.finished, found.tokens
    room = min(one.max_new_tokens, CONTEXT - len(started.prompt))
    assert len(tokens) <= room
    assert all(0 <= t < VOCABULARY for t in tokens)
    ends = set() if one.ignore_eos else {END, 1}
    assert not ends & set(tokens[:-1]), "nothing stands behind an end token"
    reason = finished.reason
    assert (reason == "eos") == bool(tokens and tokens[-1] in ends)
    if reason in ("length", "context"):
        assert len(tokens) == room
        assert reason == ("length" if len(started.prompt) + one.max_new_tokens <= CONTEXT else "context")
    else:
        assert reason in ("eos", "stop"), finished.message
    if reason != "stop":
        assert finished.text == "".join(t for r in found.rounds for t in r.texts)
    assert not any(stop in finished.text for stop in one.stop)

    position = len(started.prompt)
    drafted, judged, verified = iter(found.drafted), iter(found.judged), iter(found.verified)
    for end in found.rounds:
        proposed = [next(drafted) for _ in range(end.drafted)]
        tests = [next(judged) for _ in range(end.tested)]
        rows = next(verified)
        assert end.position == position
        assert 0 <= end.accepted <= end.tested <= end.drafted == rows.k <= started.gamma
        assert end.accepted <= len(end.tokens) <= end.accepted + 1
        assert position + end.drafted < len(started.prompt) + room, "drafts leave room for the token behind them"
        assert [d.token for d in proposed[: end.accepted]] == list(end.tokens[: end.accepted])
        assert [j.token for j in tests] == [d.token for d in proposed[: end.tested]]
        assert [j.accepted for j in tests] == [i < end.accepted for i in range(end.tested)]
        assert [d.position for d in proposed] == list(range(position, position + end.drafted)), "one draft a position"
        assert all(0 <= d.q <= 1 + 1e-6 and d.position < CONTEXT for d in proposed)
        assert (end.final == "none") == (len(end.tokens) == end.accepted)
        assert end.final != "bonus" or end.accepted == end.drafted > 0
        assert end.final != "correction" or end.accepted < end.drafted
        assert len(end.texts) == len(end.p) == len(end.tokens)
        assert all(0 < p <= 1 + 1e-6 for p in end.p), "only what has mass is committed"
        position += len(end.tokens)
        assert end.target_slots == position - 1
        assert len(rows.rows) == (rows.k + 1 if one.detail else 0)
    assert next(drafted, None) is next(judged, None) is next(verified, None) is None
    totals = finished.totals
    assert totals.committed == len(tokens)
    assert totals.accepted <= totals.tested <= totals.drafted
    kinds = [type(r) for r in found.records]
    assert kinds.count(RunStarted) == kinds.count(Prefilled) == kinds.count(RunFinished) == 1
    assert kinds.count(Verified) == totals.rounds
    assert kinds.count(Drafted) == totals.drafted
    assert kinds.count(Judged) == totals.tested


@pytest.fixture(autouse=True)
def _caches_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(checks.FLAG, "1")


@given(prompt=texts | ids, sampling=samplings, drafter=drafters, run=runs, chat=st.booleans(), error=maybe_wrong)
@how(max_examples=2000, deadline=None, derandomize=True, database=None,
     suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture])
@example(prompt="", sampling={}, drafter={"kind": "none", "gamma": None}, run={"max_new_tokens": 0},
         chat=False, error=None)
@example(prompt=[5], sampling={"temperature": 1e-4}, drafter={"kind": "ngram", "gamma": 64},
         run={"max_new_tokens": 70, "seed": 2**64 - 1, "ignore_eos": True}, chat=False, error=None)
def test_any_settings_and_prompt_end_in_a_right_result_or_one_clear_error(
        prompt: str | list[int], sampling: dict[str, Any], drafter: dict[str, Any], run: dict[str, Any],
        chat: bool, error: tuple[str, str, Any] | None) -> None:
    if error:
        part, name, value = error
        {"sampling": sampling, "drafter": drafter, "run": run}[part][name] = value
    try:
        one = asked(sampling, drafter, run)
        found = outcome(prompt, one, chat)
    except SpecScopeError as refusal:
        clear(str(refusal))
        event("refused")
        return
    if found.finished.reason == "error":
        assert not found.finished.message.startswith("This lane stopped on a fault"), found.finished.details
        assert "cache" not in found.finished.message, "no setting may lead there"
        clear(found.finished.message)
        event("lane refused")
        return
    event("finished")
    consistent(found, one)
    if one.sampling.greedy and one.drafter.kind != "none" and (one.max_new_tokens < 12 or found.started.gamma == 64):
        assert found.tokens == plainly(found, one)


def clear(message: str) -> None:
    """One sentence or two, with an end, and nothing of Python in it."""
    assert message.strip()
    assert len(message) < 400
    assert "Traceback" not in message
    assert message.rstrip()[-1] in ".)", message
