"""EAGLE-3 heads of other packages: what they compute is what the package computes, and their lanes stay exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest
import torch

from engine import drafters
from engine.attention import attend
from engine.drafters.base import RoundDraws
from engine.drafters.eagle import EagleDrafter
from engine.errors import ModelError
from engine.proof import identity
from engine.proof.subjects import Subject
from engine.runner import Runner
from engine.sampling import choose
from engine.settings import DrafterSettings, RunSettings, Sampling
from tests.engine import foreign_heads as heads
from tests.engine import tiny
from tests.engine.hub_server import Hub, Repo, serve
from tests.engine.support import GREEDY, PROMPT, WARM, lanes, settings, wrap

CLOSE = {"rtol": 0.0, "atol": 1e-5}
"""Of logits up to 9: the largest difference seen was 2.4e-6."""


@pytest.fixture(params=heads.ALL)
def variant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_target_is_the_recorded_one(variant: str) -> None:
    """Else the other comparisons say nothing."""
    recorded = heads.reference(variant)
    torch.testing.assert_close(heads.load(heads.DATA / variant).embed(recorded["ids"][1:]), recorded["embeds"])


def test_the_layer_agrees_with_the_package(variant: str) -> None:
    """Three steps at all positions at once, each seeing the true positions up to its own and its own former steps."""
    recorded, eagle = heads.reference(variant), heads.load(heads.DATA / variant)
    ids, count = recorded["ids"], len(recorded["features"])
    past: list[tuple[torch.Tensor, torch.Tensor]] = []

    def grow(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        past.append((k, v))
        sees = torch.cat([torch.ones(count, count).tril(), *[torch.eye(count)] * (len(past) - 1)], 1).bool()
        keys, values = (torch.cat(parts, 2) for parts in zip(*past, strict=True))
        return attend(eagle.head, q, keys, values, sees[None, None])[0].transpose(1, 2)

    state = eagle.head.fuse(recorded["features"][None])
    for step, logits in enumerate(recorded["logits"]):
        tokens = torch.cat([ids[1 + step :], ids.new_zeros(step)])
        state = eagle.head(state, eagle.embed(tokens)[None], step + 1 + torch.arange(count)[None], grow)
        torch.testing.assert_close(eagle.head.logits(state)[0], logits, **CLOSE)


class Forced(RoundDraws):
    """Drafts the given tokens."""

    def __init__(self, tokens: list[int]) -> None:
        super().__init__(0, 0)
        self.tokens = tokens

    def instead(self, index: int) -> int:
        return self.tokens[index]


def made(folder: Path | str, sampling: Sampling = WARM) -> tuple[Runner, EagleDrafter]:
    runner = Runner(heads.target().hf)
    chosen = RunSettings(drafter=DrafterSettings(kind="eagle", model=str(folder)), sampling=sampling)
    drafter = drafters.make(chosen, heads.target(), runner, {})
    assert isinstance(drafter, EagleDrafter)
    return runner, drafter


def test_the_drafter_s_q_is_the_package_s(variant: str) -> None:
    """From the target's own states at the right depths, in rounds, with the true tokens forced upon it."""
    recorded, eagle = heads.reference(variant), heads.load(heads.DATA / variant)
    ids, logits = recorded["ids"].tolist(), recorded["logits"]
    runner, drafter = made(heads.DATA / variant)
    runner.prefill(ids[:4])
    drafter.prefill(ids[:5])
    for known in range(5, len(ids) - 2):
        runner.forward(ids[known - 1 : known])
        drafts = list(drafter.propose(ids[: known + 1], 3, Forced([*ids[known + 1 :], 0])))
        for step, draft in enumerate(drafts):
            assert draft.q is not None
            expected = torch.zeros(352).index_copy(0, eagle.head.ids, logits[step][known - 1].softmax(-1))
            torch.testing.assert_close(draft.q, expected, **CLOSE)
        drafter.cut(known + 1)


def test_a_draft_is_drawn_from_its_q(variant: str) -> None:
    runner, drafter = made(heads.DATA / variant)
    runner.prefill(PROMPT[:-1])
    drafter.prefill(PROMPT[:-1])
    drafts = list(drafter.propose(PROMPT, 4, RoundDraws(3, len(PROMPT))))
    assert len(drafts) == 4
    for draft in drafts:
        assert draft.q is not None
        assert draft.draw is not None
        assert int(draft.token) == int(choose(draft.q, draft.draw))
        assert float(draft.q.sum()) == pytest.approx(1)


def eagle_settings(variant: str, **more: object) -> DrafterSettings:
    return DrafterSettings(kind="eagle", model=str(heads.DATA / variant), **more)  # type: ignore[arg-type]


def subject(variant: str) -> Subject:
    """A chain and trees of both kinds."""
    tree = {"gamma": 3, "tree_top": 3, "tree_nodes": 9}
    return Subject("foreign head", heads.target(), tuple(PROMPT), small=True, chosen=(
        eagle_settings(variant), eagle_settings(variant, tree="top", **tree),
        eagle_settings(variant, tree="sampled", gather=True, **tree)))


def test_greedy_lanes_are_the_library_s_generate(variant: str) -> None:
    checks = list(identity.greedy_against_generate(subject(variant), quick=True, cancelled=lambda: False))
    assert len(checks) == 4
    assert [check for check in checks if check.passed is not True] == []


def test_caches_and_forwards_are_as_they_should_be() -> None:
    """Greedy and sampled; the head that the package trains unless told otherwise."""
    for proof in (identity.cache_contents, identity.forward_counts):
        checks = list(proof(subject("trained"), quick=True, cancelled=lambda: False))
        assert len(checks) == 8
        assert [check for check in checks if check.passed is not True] == []


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_a_race(sampling: Sampling) -> None:
    runs = lanes(heads.target(), PROMPT, [settings("none", tokens=40, sampling=sampling)] + [
        settings(f"eagle:{heads.DATA / variant}", tokens=40, sampling=sampling) for variant in heads.ALL])
    assert all(run.finished.reason == "length" for run in runs)
    assert {len(run.tokens) for run in runs} == {40}
    if sampling.greedy:
        assert len({tuple(run.tokens) for run in runs}) == 1
    assert "made for specscope/tiny-llama" in runs[1].started.about


def test_without_an_output_head_the_target_s_is_taken(tmp_path: Path) -> None:
    eagle = heads.load(heads.copy("bare", tmp_path / "head", lambda _, tensors: tensors.pop("lm_head.weight")))
    assert torch.equal(eagle.head.lm_head.weight, heads.target().hf.lm_head.weight[eagle.head.ids])


@pytest.mark.parametrize("gone", ["d2t", "t2d"])
def test_one_vocabulary_map_is_enough(gone: str, tmp_path: Path) -> None:
    whole, half = (heads.load(folder) for folder in (
        heads.DATA / "bare", heads.copy("bare", tmp_path / "head", lambda _, tensors: tensors.pop(gone))))
    assert torch.equal(whole.head.ids, half.head.ids)


def test_a_draft_vocabulary_in_any_order_is_put_in_order(tmp_path: Path) -> None:
    """Ties are broken by the target's ids, everywhere."""
    def shuffle(_: heads.Config, tensors: heads.Tensors) -> None:
        order = torch.randperm(64, generator=torch.Generator().manual_seed(1))
        ids = (torch.arange(64) + tensors["d2t"])[order]
        tensors.update({"d2t": ids - torch.arange(64), "lm_head.weight": tensors["lm_head.weight"][order]})

    whole, other = heads.load(heads.DATA / "bare"), heads.load(heads.copy("bare", tmp_path / "head", shuffle))
    assert torch.equal(whole.head.ids, other.head.ids)
    assert torch.equal(whole.head.lm_head.weight, other.head.lm_head.weight)


def test_the_public_layout_may_name_its_layers(tmp_path: Path) -> None:
    """By the layers whose outputs are taken."""
    named = heads.copy("plain", tmp_path / "named", lambda config, _: config.update(
        eagle_config={"use_aux_hidden_state": True, "eagle_aux_hidden_state_layer_ids": [0, 3, 6]}))
    assert heads.load(named).depths == (1, 4, 7)
    assert heads.load(heads.DATA / "plain").depths == (2, 3, 4)


def test_a_narrower_head_with_an_embedding_of_its_own(tmp_path: Path) -> None:
    """target_hidden_size: features as wide as the target's, the layer not."""
    dice = torch.Generator().manual_seed(0)

    def narrow(config: heads.Config, tensors: heads.Tensors) -> None:
        config["target_hidden_size"] = 32
        config["transformer_layer_config"]["hidden_size"] = 16
        shapes = {key: tuple(16 if size == 32 else 32 if size == 64 and "proj" in key and place else size
                             for place, size in enumerate(one.shape)) for key, one in tensors.items() if "2" not in key}
        shapes |= {"embed_tokens.weight": (352, 16), "layers.0.self_attn.q_proj.weight": (32, 32),
                   "layers.0.self_attn.o_proj.weight": (16, 32)}
        tensors.update({key: torch.randn(shape, generator=dice) for key, shape in shapes.items()})

    folder = heads.copy("bare", tmp_path / "head", narrow)
    plain, run = lanes(heads.target(), PROMPT, [settings("none"), settings(f"eagle:{folder}")])
    assert run.tokens == plain.tokens
    assert run.drafted


def test_in_half_precision_positions_stay_exact() -> None:
    model = wrap(tiny.model("llama", vocabulary=352, layers=7, seed=1).__class__(
        tiny.config("llama", vocabulary=352, layers=7)).to(torch.bfloat16).eval().requires_grad_(False))
    head = heads.load(heads.DATA / "bare", model).head
    assert head.fc.weight.dtype == torch.bfloat16
    assert torch.equal(head.rotary.inv_freq, heads.load(heads.DATA / "bare").head.rotary.inv_freq)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serve() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def test_from_the_hub(hub: Hub, tmp_path: Path) -> None:
    hub.repos["someone/head"] = Repo({"main": heads.copy("trained", tmp_path / "head")})
    plain, run = lanes(heads.target(), PROMPT, [settings("none"), settings("eagle:someone/head")])
    assert run.tokens == plain.tokens
    assert run.drafted
    assert "someone/head" in run.started.about


def test_a_head_that_does_not_fit_is_refused_before_its_weights_come(hub: Hub, tmp_path: Path) -> None:
    hub.repos["someone/mlp"] = Repo({"main": heads.copy(
        "bare", tmp_path / "head", lambda config, _: config.update(speculators_model_type="mlp"))})
    with pytest.raises(ModelError, match="of the kind 'mlp'"):
        heads.load("someone/mlp")
    assert hub.files_fetched() == ["config.json"]
    with pytest.raises(ModelError, match="There is no model someone/nothing"):
        heads.load("someone/nothing")
