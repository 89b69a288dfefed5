"""EAGLE-3 heads of other packages that can't be used: each is refused with what, why and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import MismatchError, ModelError
from tests.engine import foreign_heads as heads
from tests.engine import support
from tests.engine.foreign_heads import Config, Tensors
from tests.engine.support import PROMPT, lanes, settings

Change = Callable[[Config, Tensors], object]


def says(**options: Any) -> Change:
    return lambda config, _: config.update(options)


def layer(**options: Any) -> Change:
    return lambda config, _: config["transformer_layer_config"].update(options)


def verifier(**options: Any) -> Change:
    return lambda config, _: config["speculators_config"]["verifier"].update(options)


def without(key: str) -> Change:
    return lambda config, tensors: config.pop(key, None) or tensors.pop(key, None)


def weight(key: str, made: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    return lambda _, tensors: tensors.update({key: made(tensors[key])})


def broken(one: torch.Tensor) -> torch.Tensor:
    return one.index_put((torch.tensor(3),), torch.tensor(float("nan")))


def twice(one: torch.Tensor) -> torch.Tensor:
    """The second draft token is the first one again."""
    return one.index_put((torch.tensor(1),), one[0] - 1)


REFUSED: list[tuple[str, Change, str]] = [
    # another kind of drafter
    ("bare", says(speculators_model_type="eagle"), "of the kind 'eagle', .* reads eagle3 only"),
    ("bare", says(speculators_model_type="dflash"), "of the kind 'dflash'"),
    ("bare", says(speculators_model_type="peagle", mask_token_id=3), "of the kind 'peagle'"),
    ("bare", lambda config, _: config["speculators_config"].update(algorithm="peagle"), "another way of drafting"),
    ("plain", says(architectures=["LlamaForCausalLM"]), r"no EAGLE head .*\['LlamaForCausalLM'\].* drafts as model:"),
    ("plain", says(architectures=None, model_type=None), "nothing that has a name"),
    ("plain", says(architectures=["EagleLlamaForCausalLM"]), "no EAGLE head"),
    ("plain", says(eagle_config={"use_aux_hidden_state": False}), "last feature only .*reads EAGLE-3 heads"),
    # options nobody here has heard of, or can compute
    ("bare", says(rotate_twice=True), r"doesn't know \(rotate_twice\), so it can't be computed faithfully"),
    ("plain", says(rotate_twice=True), r"doesn't know \(rotate_twice\)"),
    ("plain", says(eagle_config={"parallel_draft_step": 4}), r"doesn't know \(parallel_draft_step\)"),
    ("bare", layer(num_hidden_layers=2), "has 2 layers, but SpecScope's EAGLE computes one"),
    ("bare", layer(model_type="deepseek_v3"), "a layer of the kind 'deepseek_v3', but SpecScope knows those of llama"),
    ("bare", layer(layer_types=["sliding_attention"], sliding_window=8), "a window of the text"),
    ("qwen3", layer(layer_types=["sliding_attention"], use_sliding_window=True, sliding_window=8), "a window"),
    ("bare", layer(rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}),
     r"positions in a way \(dynamic\).* it knows default, linear, llama3, yarn"),
    ("bare", layer(rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}),
     "only a part of each head"),
    ("bare", layer(partial_rotary_factor=0.5), "only a part of each head"),
    # quantised
    ("bare", says(quantization_config={"quant_method": "fp8"}), "is quantised"),
    ("bare", layer(quantization_config={"quant_method": "gptq"}), "is quantised"),
    ("plain", says(quantization_config={"quant_method": "gptq"}), "is quantised"),
    ("bare", weight("fc.weight", lambda one: one.to(torch.float8_e4m3fn)), r"quantised \(fc.weight is float8"),
    ("bare", weight("fc.weight", lambda one: one.to(torch.int8)), r"quantised \(fc.weight is int8"),
    # weights
    ("bare", weight("norm.weight", broken), r"NaN or infinite \(norm.weight\)"),
    ("residual", weight("embed_tokens.weight", broken), r"NaN or infinite \(embed_tokens.weight\)"),
    ("bare", without("fc.weight"), "doesn't have the weights .*: fc.weight is missing"),
    ("plain", without("midlayer.mlp.up_proj.weight"), "layers.0.mlp.up_proj.weight is missing"),
    ("trained", without("input_norm.weight"), "input_norm.weight is missing"),
    ("bare", lambda _, tensors: tensors.update(extra=torch.zeros(3)), "extra is not known"),
    ("qwen3", says(fc_norm=False), "fc_norm.0.weight is not known"),
    ("bare", weight("fc.weight", lambda one: one[:, :64]), r"fc.weight has the shape \(32, 64\)"),
    ("bare", layer(intermediate_size=10**7), "mlp.* has the shape"),
    ("residual", weight("embed_tokens.weight", lambda one: one[:300]), r"its embedding has the shape \(300, 32\)"),
    # which tokens it drafts
    ("bare", lambda _, tensors: [tensors.pop(key) for key in ("d2t", "t2d")], "64 of 352 tokens but doesn't say which"),
    ("bare", weight("d2t", torch.zeros_like), "contradict each other"),
    ("bare", weight("t2d", torch.zeros_like), "contradict each other"),
    ("bare", weight("d2t", lambda one: one + 300), "its maps d2t and t2d say otherwise"),
    ("bare", weight("d2t", twice), "its maps d2t and t2d say otherwise"),
    ("bare", weight("d2t", lambda one: one[:60]), "its maps d2t and t2d say otherwise"),
    ("bare", weight("d2t", lambda one: one.float()), "d2t should hold whole numbers"),
    ("bare", weight("t2d", lambda one: one[:300]), "its maps d2t and t2d say otherwise"),
    ("bare", says(draft_vocab_size=32), "should draft 32 different ones of 352"),
    ("bare", says(draft_vocab_size=5000), "a draft vocabulary of 5000 tokens out of 352"),
    ("bare", without("draft_vocab_size"), "draft_vocab_size: None"),
    # damaged
    ("bare", says(norm_before_residual="yes"), "norm_before_residual: 'yes', where yes or no belongs"),
    ("trained", says(fc_norm=True), "both norm_before_fc and fc_norm"),
    ("bare", says(eagle_aux_hidden_state_layer_ids="1,3,5"), "where a list of layers belongs"),
    ("bare", says(eagle_aux_hidden_state_layer_ids=[]), "where a list of layers belongs"),
    ("bare", says(transformer_layer_config=None), "doesn't describe its layer"),
    ("bare", layer(hidden_size="wide"), "in a way that can't be understood"),
    ("bare", layer(num_key_value_heads=0), "in a way that can't be understood"),
    ("bare", layer(num_key_value_heads=3), "in a way that can't be understood"),
    ("bare", layer(hidden_act="no_such_thing"), "in a way that can't be understood"),
    ("plain", says(eagle_config=["x"]), "where a set of options belongs"),
]

MISFITS: list[tuple[str, Change, str]] = [
    ("bare", layer(hidden_size=64), "features of 64 numbers, but those of tiny have 32; choose a head made for"),
    ("bare", says(target_hidden_size=48), "features of 48 numbers"),
    ("bare", layer(vocab_size=1000), "a vocabulary of 1000 tokens, but tiny has 352"),
    ("bare", says(eagle_aux_hidden_state_layer_ids=[1, 3, 8]), "behind layers 1, 3, 8, but tiny has 7 layers"),
    ("bare", says(eagle_aux_hidden_state_layer_ids=[-1, 3, 5]), "behind layers -1, 3, 5"),
    ("bare", says(eagle_aux_hidden_state_layer_ids=[1, 3, 3]), "behind layers 1, 3, 3"),
    ("plain", says(eagle_config={"eagle_aux_hidden_state_layer_ids": [0, 3, 7]}), "behind layers 1, 4, 8"),
    ("bare", verifier(architectures=["Qwen3ForCausalLM"]), "of the kind Qwen3ForCausalLM, but tiny is LlamaForCaus"),
]


@pytest.mark.parametrize(("variant", "change", "sentence"), REFUSED + MISFITS,
                         ids=[f"{variant}: {sentence}" for variant, _, sentence in REFUSED + MISFITS])
def test_refused(variant: str, change: Change, sentence: str, tmp_path: Path) -> None:
    folder = heads.copy(variant, tmp_path / "head", change)
    with pytest.raises(ModelError, match=sentence) as raised:
        heads.load(folder)
    assert str(raised.value).startswith(str(folder))
    assert isinstance(raised.value, MismatchError) == ((variant, change, sentence) in MISFITS)


def test_a_target_with_too_few_layers_for_the_usual_depths() -> None:
    with pytest.raises(MismatchError, match="behind layers 2, 2, 1, but tiny has 4 layers"):
        heads.load(heads.DATA / "plain", support.target("llama", layers=4, vocabulary=352))


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = heads.copy("plain", tmp_path / "head")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"no .safetensors file .*pickled weights can run code"):
        heads.load(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_damaged_file(name: str, tmp_path: Path) -> None:
    folder = heads.copy("bare", tmp_path / "head")
    (folder / name).write_bytes(b"\0\1\2")
    with pytest.raises(ModelError, match="can't be read: its"):
        heads.load(folder)


def test_a_refused_head_ends_its_lane_only(tmp_path: Path) -> None:
    folder = heads.copy("bare", tmp_path / "head", says(speculators_model_type="mlp"))
    plain, refused = lanes(heads.target(), PROMPT, [settings("none"), settings(f"eagle:{folder}")])
    assert plain.finished.reason == "length"
    assert "of the kind 'mlp'" in str(refused.records[-1])
