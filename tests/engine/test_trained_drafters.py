"""Draft, EAGLE and Medusa: drafters that were trained for one target, here for tiny ones. How well they guess is
another question (tests/bench.py); whatever they guess, the output must be the target's."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.debugger.what_if import NoChange, OtherSettings
from engine.drafters import checkpoint, eagle
from engine.drafters.base import RoundDraws
from engine.drafters.medusa_heads import MedusaHeads, MedusaShape
from engine.errors import MismatchError, ModelError
from engine.models import Model
from engine.records import Committed
from engine.runner import Runner
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.training import package
from engine.training.dataset import depths_for
from engine.training.recipe import METHODS, recipe
from tests.engine.branching import FEW, WARPED, branched, rounds_of, same
from tests.engine.support import GREEDY, WARM, lanes, run, settings, target

PROMPT = [5, 17, 9, 33, 21, 4, 9, 33]
IDS = torch.tensor(sorted({*range(0, 352, 3), 7, 11}))
TRAINING = {"answers": 1, "answer_tokens": 1, "temperatures": [0.0], "coverage": 0.5, "steps": 0, "batch_tokens": 1,
            "rate": 0.1}
SAMPLINGS = [GREEDY, WARM, Sampling(temperature=0.7, top_k=20), Sampling(temperature=1.0, repetition_penalty=1.3)]


@functools.cache
def folder(method: str, kind: str = "llama") -> Path:
    """A drafter with random weights, written as training writes it."""
    model = target(kind)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        made = recipe(method, model, IDS, depths_for(model.info.layers))
        with torch.no_grad():
            for p in made.module.parameters():
                if p.requires_grad and p.ndim == 2:
                    p.normal_(0, 0.3)
    out = Path(tempfile.mkdtemp(prefix="drafter-")) / method
    package.write(out, made, model, IDS, TRAINING)
    return out


def drafting(method: str, kind: str = "llama", *, gamma: int = 4, sampling: Sampling = GREEDY, tokens: int = 40,
             **others: object) -> RunSettings:
    drafter = DrafterSettings(kind=method, model=str(folder(method, kind)), gamma=gamma, **others)  # type: ignore[arg-type]
    return RunSettings(drafter=drafter, sampling=sampling, max_new_tokens=tokens)


TREES = ({"tree": "top", "tree_top": 3, "tree_nodes": 9}, {"tree": "sampled", "tree_top": 3, "tree_nodes": 9},
         {"tree": "top", "tree_top": 2, "tree_nodes": 7, "gather": True})


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma", "mistral"])
@pytest.mark.parametrize("method", METHODS)
def test_greedy_equals_plain(method: str, kind: str) -> None:
    shapes = [{}, {"stop_below": 0.3}, {"adaptive": True}, *(TREES if method != "draft" else ())]
    many = [RunSettings(max_new_tokens=40), *(drafting(method, kind, **shape) for shape in shapes)]
    plain, *fast = lanes(target(kind), PROMPT, many)
    for lane in fast:
        assert lane.finished.reason == "length", lane.finished.message
        assert lane.tokens == plain.tokens


@pytest.mark.parametrize(("top", "nodes"), [(2, 3), (1, 1), (1, 16)])
def test_a_tree_is_checked_within_a_short_context(top: int, nodes: int) -> None:
    """The start-up check feeds one token more behind the path; learned positions end where the context does."""
    fast = drafting("medusa", "gpt2", tokens=12, tree="top", tree_top=top, tree_nodes=nodes)
    plain, lane = lanes(target("gpt2"), PROMPT, [RunSettings(max_new_tokens=12), fast])
    assert lane.finished.reason == "length", lane.finished.message
    assert lane.tokens == plain.tokens


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_sampled_lanes_say_what_they_drew_from(method: str, sampling: Sampling) -> None:
    """A draft's recorded draw leads to it in the q that it is judged by; tokens outside the draft vocabulary are never
    drafted."""
    (lane,) = lanes(target(), PROMPT, [drafting(method, sampling=sampling)])
    assert lane.finished.reason == "length", lane.finished.message
    assert {d.token for d in lane.drafted} <= set(IDS.tolist())
    assert all(0 < d.q <= 1 for d in lane.drafted)
    assert all((d.draw is None) == sampling.greedy for d in lane.drafted)
    again = lanes(target(), PROMPT, [drafting(method, sampling=sampling)])[0]
    assert again.tokens == lane.tokens


@pytest.mark.parametrize("shape", TREES, ids=str)
@pytest.mark.parametrize("method", ["eagle", "medusa"])
def test_sampled_trees(method: str, shape: dict[str, object]) -> None:
    (lane,) = lanes(target(), PROMPT, [drafting(method, sampling=WARM, gamma=3, **shape)])
    assert lane.finished.reason == "length", lane.finished.message
    rounds = lane.of(Committed)
    assert max(r.drafted for r in rounds) > 3
    if shape["tree"] == "top":
        assert all(d.q == 1 and d.draw is None for d in lane.drafted)
    else:
        assert all(d.draw is not None for d in lane.drafted)


@pytest.mark.parametrize("there", [True, False], ids=["to a tree", "to a chain"])
def test_a_branch_says_what_holds_of_its_own_forwards(there: bool) -> None:
    """The verdict on a chain's rows is none on a tree's, nor the other way round; a tree's forward is wider."""
    tree = {"tree": "top", "tree_top": 3, "tree_nodes": 14}
    first, second = drafting("eagle", tokens=20), drafting("eagle", tokens=20, **tree)
    first, second = (first, second) if there else (second, first)
    one = run(target(), PROMPT, first)
    again = branched(target(), one, OtherSettings(round=0, settings=second)).started.exactness
    assert ("ancestors" in one.started.exactness.sentence, "ancestors" in again.sentence) == (not there, there)
    assert again.width_checked >= (15 if there else 5)


def test_eagle_sees_what_the_target_computed() -> None:
    """q of a first draft, a round after many drafts were cut back, is that of a fresh drafter on the same tokens."""
    model = target()
    settings = drafting("eagle", sampling=WARM)
    tokens = lanes(model, PROMPT, [settings])[0].tokens
    whole = [*PROMPT, *tokens]

    def first_q(after: int, *, by_rounds: bool) -> torch.Tensor:
        runner = Runner(model.hf)
        drafter = eagle.make(settings, model, runner, {})
        runner.prefill(whole[: len(PROMPT) - 1] if by_rounds else whole[: after - 1])
        drafter.prefill(whole[: len(PROMPT) - 1] if by_rounds else whole[: after - 1])
        q = None
        for end in range(len(PROMPT) + 2, after + 1, 2) if by_rounds else [after]:
            if by_rounds:
                runner.forward(whole[runner.length : end - 1])
            proposal = list(drafter.propose(whole[:end], 4, RoundDraws(0, end)))
            q = proposal[0].q
            drafter.cut(end - 1)
        assert q is not None
        return q

    end = len(PROMPT) + 20
    assert torch.allclose(first_q(end, by_rounds=True), first_q(end, by_rounds=False), atol=1e-6)


def test_medusas_heads_know_nothing_of_each_other() -> None:
    """q of later positions is the same whatever was drafted before."""
    model = target()
    found = []
    for seed in range(4):
        runner = Runner(model.hf)
        settings = drafting("medusa", sampling=WARM)
        from engine.drafters import medusa

        drafter = medusa.make(settings, model, runner, {})
        runner.prefill(PROMPT[:-1])
        found.append(list(drafter.propose(PROMPT, 4, RoundDraws(seed, len(PROMPT)))))
    assert len({tuple(int(d.token) for d in drafts) for drafts in found}) > 1
    for drafts in found[1:]:
        assert all(torch.equal(a.q, b.q) for a, b in zip(found[0], drafts, strict=True))


@pytest.mark.parametrize("newest", [True, False])
def test_medusas_heads_see_the_newest_token_if_trained_so(newest: bool) -> None:
    """Its embedding stands beside the feature before it; older checkpoints were trained without."""
    torch.manual_seed(0)
    heads = MedusaHeads(MedusaShape(8, heads=2, blocks=1, draft_vocabulary=4, newest=newest))
    for p in heads.parameters():
        torch.nn.init.normal_(p)
    feature = torch.randn(1, 8)
    one, other = (heads(feature, torch.randn(1, 8)) for _ in range(2))
    assert torch.equal(one, other) is not newest


@pytest.mark.parametrize("method", METHODS)
def test_a_prompt_of_one_token(method: str) -> None:
    plain, fast = lanes(target(), [5], [RunSettings(max_new_tokens=12), drafting(method, tokens=12)])
    assert fast.finished.reason == "length", fast.finished.message
    assert fast.tokens == plain.tokens


@pytest.mark.parametrize("method", METHODS)
def test_made_for_another_target_is_refused(method: str) -> None:
    stranger = target("qwen2")
    other = Model(hf=stranger.hf, tokenizer=stranger.tokenizer, table=stranger.table, texts=stranger.texts,
                  eos=stranger.eos, info=_named(stranger, "other"))
    found = checkpoint.load(method, other, str(folder(method)))
    with pytest.raises(MismatchError, match=f"trained for tiny, but the target is other.*train {method}"):
        found.check(method, other)


def _named(model: Model, name: str):  # type: ignore[no-untyped-def]
    import msgspec

    return msgspec.structs.replace(model.info, name=name, fingerprint=name)


def _changed(method: str, tmp_path: Path, **config: object) -> Path:
    out = tmp_path / method
    out.mkdir()
    said = json.loads((folder(method) / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**said, **config}))
    save_file(load_file(folder(method) / "model.safetensors"), out / "model.safetensors")
    return out


def _reason(method: str, source: Path) -> str:
    lane = lanes(target(), PROMPT, [RunSettings(drafter=DrafterSettings(kind=method, model=str(source)),
                                                max_new_tokens=4)])[0]
    assert lane.finished.reason == "error"
    return lane.finished.message


@pytest.mark.parametrize("method", METHODS)
def test_broken_checkpoints_end_the_lane_in_words(method: str, tmp_path: Path) -> None:
    out = _changed(method, tmp_path)
    tensors = load_file(out / "model.safetensors")
    name = sorted(n for n in tensors if n not in ("d2t", "t2d"))[0]
    save_file({n: t for n, t in tensors.items() if n != name}, out / "model.safetensors")
    assert "is missing" in _reason(method, out)
    save_file({**tensors, name: tensors[name][..., :-1].contiguous()}, out / "model.safetensors")
    assert "shape" in _reason(method, out)
    (out / "model.safetensors").write_bytes(b"nonsense")
    assert "damaged" in _reason(method, out)
    (out / "model.safetensors").rename(out / "model.bin")
    assert "SpecScope reads no other format" in _reason(method, out)
    (out / "config.json").write_text("[]")
    assert "config.json is missing or broken" in _reason(method, out)


@pytest.mark.parametrize("method", METHODS)
def test_a_config_that_lies_is_noticed(method: str, tmp_path: Path) -> None:
    out = _changed(method, tmp_path)
    said = json.loads((out / "config.json").read_text())

    def reason(**changed: object) -> str:
        (out / "config.json").write_text(json.dumps({**said, **changed}))
        return _reason(method, out)

    assert "doesn't say which target" in reason(target="tiny")
    assert "says None for draft_vocabulary" in reason(shape={**said["shape"], "draft_vocabulary": None})
    assert "should hold 7 whole numbers" in reason(shape={**said["shape"], "draft_vocabulary": 7})
    assert "is damaged" in reason(shape=[])
    tensors = load_file(out / "model.safetensors")
    twice = tensors["d2t"].clone()
    twice[3] -= 3  # the token of the draft id before
    (out / "config.json").write_text(json.dumps(said))
    save_file({**tensors, "d2t": twice}, out / "model.safetensors")
    assert "doesn't name" in _reason(method, out)


@pytest.mark.parametrize("method", METHODS)
def test_weights_that_are_no_numbers_are_refused(method: str, tmp_path: Path) -> None:
    """They would load without an error, and draft nothing that can be judged or recorded."""
    out = _changed(method, tmp_path)
    tensors = load_file(out / "model.safetensors")
    name = next(name for name, one in tensors.items() if one.is_floating_point() and one.ndim == 2)
    for spoilt, said in ((tensors[name].clone().index_fill_(0, torch.tensor([1]), float("nan")), "NaN or infinite"),
                         (tensors[name].to(torch.int64), "is int64")):
        save_file({**tensors, name: spoilt}, out / "model.safetensors")
        assert said in _reason(method, out)
        assert name in _reason(method, out)
    save_file({**tensors, "d2t": tensors["d2t"].index_fill(0, torch.tensor([2]), (1 << 63) - 1)},
              out / "model.safetensors")  # a sum that runs over would be ascending again
    assert "doesn't name" in _reason(method, out)


@pytest.mark.parametrize(("method", "size"), [("eagle", "intermediate"), ("medusa", "heads"), ("medusa", "blocks")])
def test_an_announced_size_costs_nothing(method: str, size: str, tmp_path: Path) -> None:
    """It is compared with the weights before a network of it is built, which would take all memory."""
    out = _changed(method, tmp_path)
    said = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**said, "shape": {**said["shape"], size: (1 << 24) - 1}}))
    assert ("shape" if method == "eagle" else "announces") in _reason(method, out)


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "warm"])
@pytest.mark.parametrize(("method", "shape"), [("eagle", {}), ("medusa", {}), ("medusa", TREES[0]),
                                               ("medusa", TREES[1])])
def test_a_q_of_nan_is_said_to_be_the_drafters(method: str, shape: dict[str, object], sampling: Sampling,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Finite weights may overflow in half precision; a recording with NaN in it could not be read again."""
    from engine.drafters.reduced import ReducedVocabulary

    scores = ReducedVocabulary.scores
    monkeypatch.setattr(ReducedVocabulary, "scores", lambda self, logits, seen: scores(self, logits, seen) * torch.nan)
    lane = lanes(target(), PROMPT, [drafting(method, sampling=sampling, tokens=12, **shape)])[0]
    assert lane.finished.reason == "error"
    assert "The drafter's distribution" in lane.finished.message


def test_a_spread_target_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target().hf, "hf_device_map", {"model.layers.0": 0, "model.layers.1": "cpu"}, raising=False)
    lane = lanes(target(), PROMPT, [drafting("eagle", tokens=4)])[0]
    assert "spread over 0, cpu" in lane.finished.message


def test_a_drafter_of_another_method_or_version_is_refused(tmp_path: Path) -> None:
    assert "of the method medusa, not eagle" in _reason("eagle", folder("medusa"))
    assert "another version" in _reason("medusa", _changed("medusa", tmp_path, specscope_format=99))


@pytest.mark.parametrize("method", METHODS)
def test_without_one_for_the_target_it_says_how_to_train(method: str) -> None:
    with pytest.raises((MismatchError, ModelError), match=f"train {method} --target"):
        checkpoint.load(method, target(), "").check(method, target())


@pytest.mark.parametrize("sampling", [GREEDY, FEW, WARPED], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_branches_repeat_the_original(method: str, sampling: Sampling) -> None:
    """Whatever the drafter had cached comes back bit for bit."""
    one = run(target(), PROMPT, drafting(method, sampling=sampling, tokens=40))
    for number in rounds_of(one):
        same(branched(target(), one, NoChange(round=number)).records, one.records)


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "warm"])
@pytest.mark.parametrize("shape", TREES, ids=["top", "sampled", "gathered"])
@pytest.mark.parametrize("method", ["eagle", "medusa"])
def test_branches_of_trees_repeat_the_original(method: str, shape: dict[str, object], sampling: Sampling) -> None:
    """By the run's own tree forwards; a tree's drafts, draws and bits come again."""
    one = run(target(), PROMPT, drafting(method, sampling=sampling, gamma=3, tokens=24, **shape))
    assert one.finished.reason == "length", one.finished.message
    for number in rounds_of(one):
        same(branched(target(), one, NoChange(round=number)).records, one.records)


@pytest.mark.parametrize("there", [True, False], ids=["to a tree", "to a chain"])
def test_a_branch_changes_between_chain_and_tree_midway(there: bool) -> None:
    chain, tree = drafting("eagle", tokens=24), drafting("eagle", tokens=24, **TREES[2])
    first, second = (chain, tree) if there else (tree, chain)
    one = run(target(), PROMPT, first)
    again = branched(target(), one, OtherSettings(round=3, settings=second))
    assert again.finished.reason == "length", again.finished.message
    assert again.tokens == one.tokens
    assert {d.parent is not None for d in again.drafted if d.round >= 3} == {there}


@pytest.mark.parametrize("method", METHODS)
def test_a_branch_changes_to_a_trained_drafter(method: str) -> None:
    one = run(target(), PROMPT, settings("ngram", tokens=40))
    asked = drafting(method, tokens=40)
    again = branched(target(), one, OtherSettings(round=3, settings=asked))
    assert again.finished.reason == "length", again.finished.message
    assert again.tokens == one.tokens


def test_trees_are_for_those_that_draft_them() -> None:
    asked = RunSettings(drafter=DrafterSettings(kind="ngram", tree="top"), max_new_tokens=4)
    lane = lanes(target(), PROMPT, [asked])[0]
    assert lane.finished.reason == "error"
    assert "drafts no trees" in lane.finished.message
