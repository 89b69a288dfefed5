"""Training prompts: every template fills, nothing held out leaks, the same call gives the same list."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import Literal

import pytest

from engine.training.prompts import PATH, fields, kinds, prompts, table

SPLITS: tuple[Literal["train"], Literal["held_out"]] = ("train", "held_out")
KINDS = ("chat", "code", "creative", "dialogue", "edits", "explain", "facts", "how-to", "languages", "lists",
         "reasoning", "rewriting", "summaries")
FEWEST = {"train": 1000, "held_out": 80}
"""Different prompts that every kind must be able to make."""


def test_there_is_a_file_for_every_kind() -> None:
    assert kinds() == KINDS
    for kind in KINDS:
        content = tomllib.loads((PATH / f"{kind}.toml").read_text(encoding="utf-8"))
        assert content.keys() == {"kind", *SPLITS}
        assert content["kind"] == kind


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_template_fills_and_every_fill_is_used(kind: str, split: Literal["train", "held_out"]) -> None:
    parts = table(kind, split)
    named = {name for template in parts["templates"] for name in fields(template)}
    assert named == parts.keys() - {"templates"}
    for name, texts in parts.items():
        assert len(set(texts)) == len(texts), name
        assert all(text.strip() for text in texts), name
    for template in parts["templates"]:
        # The longest of every fill, so that no combination can be longer.
        text = template.format_map({name: max(parts[name], key=len) for name in fields(template)})
        assert 0 < len(text.strip()) < 2000, template


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_held_out_is_trained_on(kind: str) -> None:
    held_out = {text.strip().lower() for texts in table(kind, "held_out").values() for text in texts}
    for other in KINDS:
        trained = {text.strip().lower() for texts in table(other, "train").values() for text in texts}
        assert not held_out & trained, other


def test_no_held_out_prompt_is_a_training_prompt() -> None:
    trained = {prompt.text for prompt in prompts("train", 2000)}
    assert not trained & {prompt.text for prompt in prompts("held_out", 2000)}


@pytest.mark.parametrize("split", SPLITS)
def test_counts_without_repeats(split: Literal["train", "held_out"]) -> None:
    found = prompts(split, FEWEST[split])
    assert Counter(prompt.kind for prompt in found) == dict.fromkeys(KINDS, FEWEST[split])
    assert len({prompt.text for prompt in found}) == len(found)
    assert all(prompt.text.strip() == prompt.text and 0 < len(prompt.text) < 2000 for prompt in found)


def test_a_kind_gives_all_it_has_and_no_more() -> None:
    everything = prompts("held_out", 10**6, kinds=["summaries"])
    assert len(everything) == len(set(everything)) == len(prompts("held_out", 10**7, kinds=["summaries"]))
    parts = table("summaries", "held_out")
    asked = Counter(template for template in parts["templates"] for prompt in everything
                    if prompt.text in {template.format_map(dict.fromkeys(fields(template), fill)).strip()
                                       for fill in parts["article"]})
    plain = [template for template in parts["templates"] if fields(template) == ("article",)]
    assert plain
    assert all(asked[template] == len(parts["article"]) for template in plain)


def test_the_same_call_gives_the_same_list() -> None:
    assert prompts("train", 30) == prompts("train", 30)
    assert prompts("train", 30) != prompts("train", 30, seed=1)
    # A kind's prompts don't depend on which others are asked for, nor on how many of them.
    assert prompts("train", 30, kinds=["code"]) == [prompt for prompt in prompts("train", 30) if prompt.kind == "code"]
    assert prompts("train", 30)[: 10 * len(KINDS)] == prompts("train", 10)


def test_any_prefix_is_balanced() -> None:
    found = prompts("train", 40)
    for length in range(1, len(found) + 1):
        counts = Counter(prompt.kind for prompt in found[:length])
        assert max(counts.values()) - min(counts[kind] for kind in KINDS) <= 1


def test_templates_take_turns() -> None:
    parts = table("facts", "train")
    found = prompts("train", len(parts["templates"]), kinds=["facts"])
    starts = {template[:template.find("{")] for template in parts["templates"] if template.find("{") > 12}
    assert all(any(prompt.text.startswith(start) for prompt in found) for start in starts)


def test_chosen_kinds_and_unknown_ones() -> None:
    assert [prompt.kind for prompt in prompts("held_out", 2, kinds=["lists", "code", "lists"])] == [
        "lists", "code"] * 2
    assert prompts("train", 0) == []
    assert prompts("train", 5, kinds=[]) == []
    with pytest.raises(ValueError, match=r"'songs'.*chat, code"):
        prompts("train", 1, kinds=["songs"])
