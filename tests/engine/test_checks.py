"""SPECSCOPE_CHECK=1: what the caches hold is asserted each round (pitfalls 19, 21, 30)."""

from __future__ import annotations

import pytest
import torch

from engine import checks
from engine.drafters.model import ModelDrafter
from engine.errors import CacheError
from engine.proof import rig
from engine.records import Committed
from engine.rollback import Slots
from engine.runner import Runner
from tests.engine.support import GREEDY, PROMPT, WARM, lanes, run, settings, target, wrap
from tests.engine.test_decode import twins

DRAFTERS = ["none", "ngram", "layer-skip", "model:twin", "model:other"]


@pytest.fixture(autouse=True)
def _flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(checks.FLAG, "1")


@pytest.mark.parametrize("kind", ["llama", "gemma", "gpt2"])
@pytest.mark.parametrize("exact", [False, True])
def test_caches_hold_the_committed_tokens_in_every_round(
        kind: str, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [settings(d, sampling=s, exact=exact, tokens=16) for d in DRAFTERS for s in (GREEDY, WARM)]
    runs = lanes(target(kind), PROMPT, many, models=twins(kind))
    assert [(one.finished.reason, one.finished.message) for one in runs] == [("length", "")] * len(many)
    monkeypatch.delenv(checks.FLAG)
    assert [one.tokens for one in runs] == [one.tokens for one in lanes(target(kind), PROMPT, many, models=twins(kind))]


@pytest.mark.parametrize("size", [300, 352, 400])
def test_a_drafter_s_smaller_vocabulary_is_not_taken_for_a_fault(size: int) -> None:
    ends = wrap(target().hf, eos=frozenset({7, 9}))
    for seed in range(2):
        one = run(ends, [351, 350, 5, 340], settings("model:odd", sampling=WARM, seed=seed),
                  models={"odd": target(seed=3, vocabulary=size)})
        assert one.finished.reason in ("length", "eos"), one.finished.message


def test_a_drafter_whose_cut_does_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelDrafter, "cut", lambda self, length: None)
    one = run(target(), PROMPT, settings("model:other"), models=twins("llama"))
    assert one.finished.reason == "error"
    assert "of the drafter's cache holds id" in one.finished.message


@pytest.mark.parametrize("off", [-1, 1, 9])
@pytest.mark.parametrize("place", ["runner", "cache"])
def test_a_crop_off_by_one_is_noticed(off: int, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind: type = Runner if place == "runner" else Slots
    cut = kind.cut
    monkeypatch.setattr(kind, "cut", lambda self, to: cut(self, min(to + off, self.length)))
    one = run(target(), PROMPT, settings("ngram"))
    assert one.finished.reason == "error"
    assert "target's cache" in one.finished.message


def test_layers_of_other_lengths_are_noticed() -> None:
    runner = Runner(target().hf)
    runner.remember()
    runner.prefill([1, 2, 3])
    checks.check_slots("target", runner, [1, 2, 3])
    runner.cache.layers[2].length = 2
    with pytest.raises(CacheError, match="Layer 2 of the cache holds 2"):
        checks.check_slots("target", runner, [1, 2, 3])


def test_the_sentence_names_slot_and_ids() -> None:
    runner = Runner(target().hf)
    with pytest.raises(CacheError, match="not kept from the start"):
        checks.check_slots("target", runner, [])
    runner.remember()
    runner.prefill([1, 2, 3])
    for right, said in (([1, 5, 3], "Slot 1 of the target's cache holds id 2 where id 5 belongs"),
                        ([1, 2], "Slot 2 of the target's cache holds id 3 where nothing belongs"),
                        ([1, 2, 3, 4], "Slot 3 of the target's cache holds nothing where id 4 belongs")):
        with pytest.raises(CacheError, match=said):
            checks.check_slots("target", runner, right)


def test_a_proof_s_tables_are_checked_too() -> None:
    def table(tokens: tuple[int, ...]) -> torch.Tensor:
        return torch.tensor([float((sum(tokens) * (i + 3) + len(tokens)) % 5) for i in range(4)], dtype=torch.float64)

    def lane() -> rig.Rig:
        other = lambda tokens: table((*tokens, 1))  # noqa: E731
        return rig.of_tables(table, other, 4, [1, 2], settings(tokens=12, sampling=WARM), gamma=2)

    assert len([r for r in lane().run() if isinstance(r, Committed)]) > 3
    wrong = lane()
    wrong.drafter.cut = lambda length: None  # type: ignore[method-assign]
    with pytest.raises(CacheError, match="drafter's cache"):
        list(wrong.run())


def test_without_the_flag_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(checks.FLAG, "0")
    lane = rig.of_models(target(), PROMPT, settings("layer-skip", tokens=5))
    list(lane.run())
    assert lane.target.ids is None


def test_a_batch_is_refused_in_words() -> None:  # pitfall 30
    for batch in ([[1, 2, 3], [0, 0, 3]], [torch.tensor([1, 2]), torch.tensor([3])], [torch.tensor([[1], [2]])]):
        runner = Runner(target().hf)
        for take in (runner.forward, runner.prefill):
            with pytest.raises(CacheError, match="one sequence of tokens, but it was given several"):
                take(batch)  # type: ignore[operator]
        assert runner.length == 0
