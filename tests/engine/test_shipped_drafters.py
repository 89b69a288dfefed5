"""The trained drafters that ship for the built-in target: whole, small enough, made for it, and guessing."""

from __future__ import annotations

import json

import pytest

from engine.drafters import checkpoint
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.training.package import card
from engine.training.prompts import prompts
from engine.training.recipe import METHODS
from tests.engine.support import builtin, lanes

LARGEST = 45_000_000
"""Bytes, all together."""
TOKENS = 32


def shipped(kind: str, **others: object) -> DrafterSettings:
    """Named, lest one that was trained here take its place."""
    return DrafterSettings(kind=kind, model=str(checkpoint.SHIPPED / kind), **others)  # type: ignore[arg-type]


SHAPES = (shipped("draft"), shipped("eagle"), shipped("medusa"), shipped("eagle", tree="top", gather=True),
          shipped("medusa", tree="top", gather=True), shipped("eagle", gamma=6, stop_below=0.3, adaptive=True))


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in checkpoint.SHIPPED.rglob("*") if path.is_file()) <= LARGEST


@pytest.mark.parametrize("method", METHODS)
def test_each_card_says_what_the_config_says(method: str) -> None:
    folder = checkpoint.SHIPPED / method
    config = json.loads((folder / checkpoint.CONFIG).read_text())
    assert config["method"] == method
    assert (folder / checkpoint.CARD).read_text() == card(config)
    assert len(config["training"]["curve"]) >= 2
    assert {one["temperature"] for one in config["held_out"]["figures"]} == {0.0, 1.0}


@pytest.mark.model
def test_they_guess_and_the_output_is_the_targets() -> None:
    """On prompts that they were not trained on. Guessing by chance would have one draft in thousands accepted."""
    target = builtin()
    tested = dict.fromkeys(range(len(SHAPES)), 0)
    accepted = dict(tested)
    for prompt in prompts("held_out", 2, kinds=("chat",)):
        ids = target.encode(prompt.text, chat=True)
        plain, *fast = lanes(target, ids, [RunSettings(drafter=d, max_new_tokens=TOKENS)
                                           for d in (DrafterSettings(), *SHAPES)])
        for number, lane in enumerate(fast):
            assert lane.finished.reason == plain.finished.reason, lane.finished.message
            if lane.started.exactness.invariant:
                assert lane.tokens == plain.tokens, SHAPES[number]
            tested[number] += lane.finished.totals.tested
            accepted[number] += lane.finished.totals.accepted
    for number, shape in enumerate(SHAPES):
        assert accepted[number] / tested[number] > 0.1, shape


@pytest.mark.model
def test_sampled_lanes_run() -> None:
    target = builtin()
    ids = target.encode("Name three rivers.", chat=True)
    shapes = (*SHAPES, shipped("eagle", tree="sampled"), shipped("medusa", tree="sampled"))
    for lane in lanes(target, ids, [RunSettings(drafter=d, max_new_tokens=16, sampling=Sampling(temperature=1.0))
                                    for d in shapes]):
        assert lane.finished.reason in ("eos", "length"), lane.finished.message
        assert lane.finished.totals.accepted
