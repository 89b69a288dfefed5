"""Do target and drafter fit, and will they fit into memory?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers

from engine.errors import MismatchError, ModelError, SettingsError
from engine.models import MemoryPlan, Model, Need, check_pair, estimate, load
from engine.models.device import size
from engine.models.memory import slot_bytes, slots_needed, weights_need
from engine.settings import DrafterSettings
from tests.engine import tiny


def loaded(folder: Path, kind: str = "llama", **options: int) -> Model:
    return load(str(tiny.save_tiny(folder, kind, **options)), dtype="float32", device="cpu")


def test_one_family_with_other_paddings_fits(tmp_path: Path) -> None:
    pair = check_pair(loaded(tmp_path / "a"), loaded(tmp_path / "b", "gpt2", vocabulary=336))
    assert (pair.common, pair.context, pair.transfers) == (320, 128, False)
    assert pair.notes == (
        "The drafter takes at most 128 tokens, the target 256: beyond that no drafts.",
        "The embeddings have 352 and 336 rows; only common ids are drafted.")
    assert check_pair(loaded(tmp_path / "c"), loaded(tmp_path / "d", seed=1)).notes == ()


def test_a_mismatch_names_the_first_differing_ids(tmp_path: Path) -> None:
    target = loaded(tmp_path / "target")
    folder = tiny.save_tiny(tmp_path / "drafter", "llama")
    state = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = state["model"]["vocab"]
    first, second = sorted((vocabulary["Ġt"], vocabulary["he"]))
    vocabulary["Ġ§"], vocabulary["§§"] = vocabulary.pop("Ġt"), vocabulary.pop("he")
    state["model"]["merges"] = []  # they would speak of tokens that are gone
    (folder / "tokenizer.json").write_text(json.dumps(state))
    drafter = load(str(folder), dtype="float32", device="cpu")
    with pytest.raises(MismatchError) as caught:
        check_pair(target, drafter)
    sentence = str(caught.value)
    assert "drafter can't draft for target, because their tokenizers differ in 2 of 320 tokens" in sentence
    assert f"{first} is {target.texts[first]!r} and {drafter.texts[first]!r}" in sentence
    assert f"{second} is {target.texts[second]!r} and {drafter.texts[second]!r}" in sentence


LLAMA_PARAMETERS = 96 * 32 * 2 + 2 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 64 + 2 * 32) + 32
"""Embedding and head; per layer q, o, k, v, three of the MLP and two norms; the last norm."""


def test_the_sum_is_right_by_hand() -> None:
    config = tiny.config("llama", layers=2)
    assert LLAMA_PARAMETERS == 24_736
    assert weights_need("tiny", config, torch.float32, folder=None).weights == 4 * 24_736
    assert weights_need("tiny", config, torch.bfloat16, folder=None).weights == 2 * 24_736
    # 2 layers × 2 heads × (8 + 8) numbers × 4 bytes
    assert slot_bytes(config, torch.float32) == 256
    # gpt2: 3 layers × 4 heads × (8 + 8) × 2 bytes
    assert slot_bytes(tiny.config("gpt2"), torch.bfloat16) == 384
    assert slots_needed(503, 8) == 512
    assert slots_needed(504, 8) == 1024
    assert slot_bytes(transformers.DeepseekV3Config(), torch.bfloat16) == 61 * 128 * (128 + 64 + 128) * 2


def test_all_lanes_are_counted(tmp_path: Path) -> None:
    target = str(tiny.save_tiny(tmp_path / "target", "llama"))
    drafter = str(tiny.save_tiny(tmp_path / "drafter", "llama", layers=1))
    lanes = [DrafterSettings(), DrafterSettings(kind="ngram", gamma=8), DrafterSettings(kind="layer-skip", gamma=4),
             DrafterSettings(kind="model", model=drafter, gamma=4), DrafterSettings(kind="model", model=drafter)]
    plan = estimate(target, lanes, prompt_tokens=300, max_new_tokens=200, dtype="float32", device="cpu")
    assert plan.slots == 512  # 256 + 64 + 1: its context ends a run at 256, and the last lane leaves γ to the method
    ours, theirs = plan.needs
    assert (ours.name, ours.caches, ours.slot) == ("target", 6, 3 * 2 * 16 * 4)
    assert (theirs.name, theirs.caches, theirs.slot) == ("drafter", 2, 2 * 16 * 4)
    assert plan.cache == 512 * (6 * 384 + 2 * 128)
    assert plan.total == plan.cache + ours.weights + theirs.weights
    assert plan.device == "cpu"
    plan.check()


def test_the_built_in_model_can_be_reckoned_before_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path))
    plan = estimate("builtin", prompt_tokens=20, max_new_tokens=128, dtype="bfloat16", device="cpu")
    assert plan.weights == 2 * 134_515_008
    assert plan.cache == 256 * 30 * 3 * 128 * 2
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_fit_is_refused_with_the_arithmetic() -> None:
    plan = MemoryPlan("cpu", (Need("Big", 8_000_000_000, 131_072, 2), Need("Small", 500_000_000)), 4096, 6_000_000_000)
    assert plan.cache == 1_073_741_824
    assert not plan.fits
    with pytest.raises(ModelError) as caught:
        plan.check()
    assert str(caught.value) == (
        "Not enough memory: Big: weights 8.0 GB + KV 1.1 GB (2 × 4096 slots × 131 kB); Small: weights 500 MB = 9.6 GB; "
        "free on cpu: 6.0 GB, 3.6 GB too little; choose a smaller model, a 16-bit dtype or fewer new tokens, or close "
        "other programs.")


def test_loading_what_cannot_fit_is_refused_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny.save_tiny(tmp_path / "large", "llama")
    monkeypatch.setattr("engine.models.loading.free_memory", lambda _: 100_000)
    monkeypatch.setattr("engine.models.loading._weights", lambda *_, **__: pytest.fail("weights were read"))
    with pytest.raises(ModelError, match=r"Not enough memory: large: weights 202 kB .* free on cpu: 100 kB"):
        load(str(folder), dtype="float32", device="cpu")


def test_a_checkpoint_quantised_in_its_files_is_reckoned_by_their_size(tmp_path: Path) -> None:
    folder = tiny.save_tiny(tmp_path / "q", "llama")
    config = tiny.config("llama")
    config.quantization_config = {"quant_method": "gptq", "bits": 4}
    files = (folder / "model.safetensors").stat().st_size
    assert weights_need("q", config, torch.bfloat16, folder=folder).weights == files
    assert weights_need("q", config, torch.bfloat16, folder=folder, stored=77).weights == 77


def test_the_reckoning_refuses_what_loading_would(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="recurrent state"):
        estimate(str(tiny.save_tiny(tmp_path / "m", "mamba")), prompt_tokens=1, max_new_tokens=1, device="cpu")
    with pytest.raises(SettingsError, match="device is 'gpu'"):
        estimate("builtin", prompt_tokens=1, max_new_tokens=1, device="gpu")


def test_sizes_read_well() -> None:
    assert [size(n) for n in (5, 23_040, 269_030_144, 1_400_000_000, 140_000_000_000)] == [
        "5 bytes", "23.0 kB", "269 MB", "1.4 GB", "140 GB"]
