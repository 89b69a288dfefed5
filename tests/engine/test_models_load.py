"""Loading from folders and GGUF files, what is refused, and what a loaded model says of itself."""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import shutil
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.utils import logging as transformers_logging

from engine import attention
from engine.errors import Cancelled, ModelError, SettingsError
from engine.models import Model, Progress, load, loading, refusal
from engine.models.describe import device_name, eos_ids, generation_notes
from engine.models.device import choose_dtype, native_bfloat16
from engine.models.find import Place
from engine.models.progress import Reporter
from engine.models.quiet import quiet
from tests.engine import tiny


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Tiny checkpoints on disk, made when first asked for."""
    root = tmp_path_factory.mktemp("tiny")
    return functools.cache(lambda kind: tiny.save_tiny(root / kind, kind))


def load32(folder: Path | str) -> Model:
    return load(str(folder), dtype="float32", device="cpu")


def changed(folder: Path, to: Path, file: str = "config.json", **values: object) -> Path:
    """A copy of a checkpoint with other entries in one of its JSON files."""
    shutil.copytree(folder, to)
    written = json.loads((to / file).read_text()) | values
    (to / file).write_text(json.dumps(written))
    return to


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_every_kind_loads_as_it_was_saved(kind: str, folders: Any) -> None:
    model = load32(folders(kind))
    prompt = torch.tensor([[7, 8, 9, 10]])
    theirs = tiny.model(kind, vocabulary=352)(prompt).logits
    assert torch.allclose(model.hf(prompt).logits, theirs, atol=1e-4)
    assert not model.hf.training
    assert not any(p.requires_grad for p in model.hf.parameters())
    info = model.info
    assert (info.name, info.layers, info.vocabulary, info.dtype, info.device) == (kind, 3, 352, "float32", "cpu")
    assert info.context == (128 if kind == "gpt2" else tiny.CONTEXT)
    assert info.parameters == sum(p.numel() for p in model.hf.parameters())
    assert info.generation_notes == ()
    assert model.eos == {0}
    assert len(model.texts) == 352
    assert model.texts[351] == "⟨id 351⟩"
    expected = attention.NAME if attention.supported(model.hf.config) else "eager"
    assert model.hf.config._attn_implementation == expected


def test_a_recurrent_model_is_refused_by_its_configuration(folders: Any) -> None:
    with pytest.raises(ModelError, match="mamba can't be used: it keeps a recurrent state, which can't be cut back"):
        load32(folders("mamba"))


@pytest.mark.parametrize(("config", "reason"), [
    (transformers.T5Config(), "encoder-decoder"),
    (transformers.MambaConfig(), "recurrent state"),
    (transformers.Mamba2Config(), "recurrent state"),
    (transformers.JambaConfig(), "recurrent state"),
    (transformers.RecurrentGemmaConfig(), "recurrent state"),
    (transformers.Qwen3NextConfig(), "recurrent state"),
    (transformers.RwkvConfig(), "recurrent state"),
    (transformers.Lfm2Config(num_hidden_layers=2, layer_types=["full_attention", "conv"]), "convolution state"),
    (transformers.Llama4TextConfig(), "whole chunks"),
    (transformers.BloomConfig(), "ALiBi"),
    (transformers.OpenAIGPTConfig(), "no key-value cache"),
    (transformers.ViTConfig(), "not a causal language model"),
    (transformers.BertConfig(architectures=["BertForMaskedLM"]), "doesn't predict the next token"),
])
def test_why_a_configuration_cannot_be_used(config: Any, reason: str) -> None:
    assert reason in (refusal(config) or "")


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_no_reason_against_the_kinds_that_work(kind: str) -> None:
    assert refusal(tiny.config(kind)) is None


def test_a_gguf_file_loads(tmp_path: Path) -> None:
    reference = tiny.model("llama", vocabulary=320)
    file = tmp_path / "tiny-llama.gguf"
    write_gguf(file, reference)
    for source in (file, tmp_path):  # the file, or a folder with nothing else in it
        model = load32(source)
        prompt = torch.tensor([[7, 8, 9, 10]])
        assert torch.allclose(model.hf(prompt).logits, reference(prompt).logits, atol=1e-3)
        assert model.info.name == "tiny-llama"
        assert not hasattr(model.hf.config, "quantization_config")
        text = "The quick 🙂"
        assert "".join(map(model.detokenizer().push, model.encode(text, chat=False)))[-len(text):].strip() == text
    assert model.info.fingerprint == load32(file).info.fingerprint


def write_gguf(file: Path, model: Any) -> None:
    """A float32 GGUF of a tiny Llama. GGUF keeps the rows of q and k in another order, so that rotary pairs are
    neighbours."""
    config, tokenizer = model.config, tiny.tokenizer()
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    names = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    writer.add_token_list(names)
    writer.add_token_types([3 if name in ("<|end|>", "<|start|>") else 1 for name in names])
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(1)
    renamed = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
               "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
               "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
               "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
               "model.layers": "blk"}
    for name, weight in model.state_dict().items():
        for old, new in renamed.items():
            name = name.replace(old, new)
        if "attn_q.weight" in name or "attn_k.weight" in name:
            heads = weight.shape[0] // config.head_dim
            weight = weight.view(heads, 2, config.head_dim // 2, -1).transpose(1, 2).reshape(weight.shape)
        writer.add_tensor(name, weight.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_paths_that_hold_nothing_usable_are_explained(tmp_path: Path, folders: Any) -> None:
    with pytest.raises(ModelError, match=r"There is no folder or file \./nothing/here"):
        load32("./nothing/here")
    with pytest.raises(ModelError, match="There is no folder or file a b"):
        load32("a b")
    with pytest.raises(ModelError, match="holds no model"):
        load32(tmp_path)
    pickle = tmp_path / "model.bin"
    pickle.write_bytes(b"\x80\x04.")
    with pytest.raises(ModelError, match="is a pickle"):
        load32(pickle)
    with pytest.raises(ModelError, match="only pickled weights"):
        load32(tmp_path)
    with pytest.raises(ModelError, match="neither a folder nor"):
        load32(folders("llama") / "model.safetensors")
    with pytest.raises(ModelError, match="is of the kind 'unheard-of', which transformers"):
        load32(changed(folders("llama"), tmp_path / "unheard", model_type="unheard-of"))


def test_broken_and_incomplete_weights_are_explained(tmp_path: Path, folders: Any) -> None:
    cut = changed(folders("llama"), tmp_path / "cut")
    whole = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="cut couldn't be loaded"):
        load32(cut)
    lacking = changed(folders("llama"), tmp_path / "lacking")
    weights = load_file(lacking / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, lacking / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 of its weights, model\.layers\.1\.mlp\.up_proj\.weight"):
        load32(lacking)
    untokenised = changed(folders("llama"), tmp_path / "untokenised")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (untokenised / name).unlink()
    with pytest.raises(ModelError, match="has no tokenizer that can be read"):
        load32(untokenised)


def test_dtypes_and_devices(folders: Any) -> None:
    assert load(str(folders("llama")), device="cpu").info.dtype == ("bfloat16" if native_bfloat16() else "float32")
    assert load(str(folders("llama")), dtype="float16", device="cpu").info.dtype == "float16"
    with pytest.raises(SettingsError, match="dtype is 'int8'"):
        load(str(folders("llama")), dtype="int8", device="cpu")
    with pytest.raises(SettingsError, match="device is 'tpu'"):
        load(str(folders("llama")), device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ModelError, match="sees no CUDA GPU"):
            load(str(folders("llama")), device="cuda:1")
    config = tiny.config("llama")
    config.dtype = torch.float16
    assert choose_dtype("auto", config, torch.device("cuda")) == torch.float16


def test_progress_is_told_and_loading_can_be_cancelled(folders: Any) -> None:
    seen: list[Progress] = []
    load(str(folders("llama")), device="cpu", progress=seen.append)
    assert seen[0].stage == "Loading llama"
    counted = [p for p in seen if p.stage == "Loading weights"]
    assert counted
    assert counted[-1].done == counted[-1].total
    assert dataclasses.is_dataclass(seen[0])
    for stage in ("Loading llama", "Loading weights"):
        reached: list[str] = []
        with pytest.raises(Cancelled):
            load(str(folders("llama")), device="cpu", progress=lambda p, reached=reached: reached.append(p.stage),
                 cancelled=lambda reached=reached, stage=stage: stage in reached)
        assert reached[-1] == stage


def test_the_libraries_are_silent_while_loading_and_as_before_afterwards(
        folders: Any, capfd: pytest.CaptureFixture[str]) -> None:
    def state() -> tuple[object, ...]:
        hook = transformers_logging.set_tqdm_hook(None)
        transformers_logging.set_tqdm_hook(hook)
        return hook, logging.getLogger("transformers").level, list(warnings.filters)

    kinds = [folders(kind) for kind in ("llama", "qwen3", "gpt2", "mamba")]
    capfd.readouterr()  # writing them isn't silent
    before = state()
    threads = [threading.Thread(target=load32, args=(folder,)) for folder in kinds[:3]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pytest.raises(ModelError):
        load32(folders("mamba"))
    assert state() == before
    tied = transformers.LlamaConfig(**{**tiny.config("llama").to_dict(), "tie_word_embeddings": True})
    fresh = transformers.AutoModelForCausalLM.from_config(tied)  # its base class is whole again
    assert fresh.lm_head.weight is fresh.model.embed_tokens.weight
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


@pytest.mark.parametrize(("written", "expected"), [(7, {7}), ([7, 9, 300], {7, 9, 300}), (None, set())])
def test_eos_may_be_one_several_or_none(written: object, expected: set[int], tmp_path: Path, folders: Any) -> None:
    folder = changed(folders("llama"), tmp_path / "a", eos_token_id=None if written is None else 5)
    folder = changed(folder, tmp_path / "b", "generation_config.json", eos_token_id=written)
    assert load32(folder).eos == expected


def test_eos_ids_without_a_row_are_left_out() -> None:
    model = tiny.model("llama")
    settings = transformers.GenerationConfig(eos_token_id=[3, 96, 97])

    class Other:
        generation_config = settings
        config = model.config
        get_input_embeddings = staticmethod(model.get_input_embeddings)

    assert eos_ids(Other()) == {3}


def test_what_a_generation_config_asks_for_is_told_not_applied(tmp_path: Path, folders: Any) -> None:
    folder = changed(folders("llama"), tmp_path / "noted", "generation_config.json", repetition_penalty=1.1,
                     do_sample=True, temperature=0.6, top_p=1.0, cache_implementation="quantized")
    assert load32(folder).info.generation_notes == (
        "repetition_penalty 1.1 (not applied; set it yourself if wanted)",
        "cache_implementation quantized (not applied; set it yourself if wanted)",
        "temperature 0.6 (not applied; set it yourself if wanted)")
    assert generation_notes(transformers.GenerationConfig()) == ()
    assert generation_notes(None) == ()


def test_fingerprints_tell_checkpoints_apart_but_not_dtypes(tmp_path: Path, folders: Any) -> None:
    base = load32(folders("llama")).info.fingerprint
    assert len(base) == 16
    assert load(str(folders("llama")), dtype="bfloat16", device="cpu").info.fingerprint == base
    assert load32(shutil.copytree(folders("llama"), tmp_path / "copy")).info.fingerprint == base
    assert load32(tiny.save_tiny(tmp_path / "other", "llama", seed=1)).info.fingerprint != base
    assert load32(changed(folders("llama"), tmp_path / "rope", rms_norm_eps=1e-5)).info.fingerprint != base


def test_prompts_become_ids(folders: Any) -> None:
    model = load32(folders("llama"))
    plain = model.tokenizer.encode("The dog")
    assert model.encode("The dog", chat=False) == plain
    chat = model.encode("The dog", chat=True)
    assert model.tokenizer.decode(chat) == "<|start|>user\nThe dog<|end|>\n<|start|>assistant\n"
    assert model.encode("", chat=False) == [0]  # no BOS, so EOS
    with pytest.raises(ModelError, match="half of a surrogate pair"):
        model.encode("\ud83d", chat=False)


def test_prompts_that_cannot_become_ids_are_explained(folders: Any) -> None:
    model = load32(folders("llama"))
    model.tokenizer.chat_template = None
    with pytest.raises(ModelError, match="has no chat template"):
        model.encode("Hi", chat=True)
    model.tokenizer.chat_template = "{{ raise_exception('no') }}"
    with pytest.raises(ModelError, match="chat template failed"):
        model.encode("Hi", chat=True)
    model.tokenizer.eos_token = None
    with pytest.raises(ModelError, match="The prompt is empty"):
        model.encode("", chat=False)


def test_an_id_without_a_row_never_reaches_the_embedding(tmp_path: Path) -> None:
    model = load32(tiny.save_tiny(tmp_path / "small", "llama", vocabulary=300))
    with pytest.raises(ModelError, match=r"Token \d+ \(.+\) is outside small's vocabulary of 300 tokens"):
        model.encode("The quick brown fox jumps over the lazy dog", chat=False)
    assert len(model.texts) == 300
    for wrong in (-1, 300):
        with pytest.raises(ModelError, match="outside small's vocabulary"):
            model.check_ids([wrong])


def test_a_model_too_large_for_one_gpu_is_spread(folders: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU the decision is tried on made-up figures, and spreading on whatever devices there are."""
    place = Place(folders("llama"), None, "llama", "llama")
    config = tiny.config("llama", vocabulary=352)
    gpu = torch.device("cuda", 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    room = {"cuda:0": 150_000, "cuda:1": 40_000, "cpu": 100_000}
    monkeypatch.setattr(loading, "free_memory", lambda device: room[str(device)])
    assert loading._spread(place, config, torch.float32, gpu, may_spread=True, code=False)  # needs 202 kB
    assert not loading._spread(place, config, torch.bfloat16, gpu, may_spread=True, code=False)
    with pytest.raises(ModelError, match="free on cuda:0: 150 kB"):
        loading._spread(place, config, torch.float32, gpu, may_spread=False, code=False)
    room["cuda:1"] = room["cpu"] = 1_000
    with pytest.raises(ModelError, match="free on all GPUs and the CPU: 152 kB"):
        loading._spread(place, config, torch.float32, gpu, may_spread=True, code=False)


def test_a_spread_model_computes_the_same(folders: Any) -> None:
    place = Place(folders("llama"), None, "llama", "llama")
    with quiet(Reporter()):
        hf = loading._weights(place, tiny.config("llama", vocabulary=352), torch.float32, "auto", code=False,
                              report=Reporter())
    prompt = torch.tensor([[7, 8, 9]])
    assert torch.allclose(hf(prompt.to(hf.device)).logits.cpu(), load32(folders("llama")).hf(prompt).logits, atol=1e-4)
    spread = types.SimpleNamespace(hf_device_map={"model.layers.0": 0, "model.layers.1": 1, "lm_head": "cpu"})
    assert device_name(spread) == "cuda:0 + cuda:1 + cpu"


def test_code_of_the_model_itself_runs_only_when_allowed(tmp_path: Path, folders: Any,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("sys.path", [*sys.path])
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}
    folder = changed(folders("llama"), tmp_path / "own", model_type="specscope-own", auto_map=own)
    (folder / "own.py").write_text(
        "from transformers import LlamaConfig, LlamaForCausalLM\n"
        "class OwnConfig(LlamaConfig):\n    model_type = 'specscope-own'\n"
        "class OwnForCausalLM(LlamaForCausalLM):\n    config_class = OwnConfig\n")
    with pytest.raises(ModelError, match="allow it with trust_remote_code"):
        load32(folder)
    model = load(str(folder), dtype="float32", device="cpu", trust_remote_code=True)
    assert type(model.hf).__name__ == "OwnForCausalLM"
    prompt = torch.tensor([[7, 8, 9]])
    assert torch.allclose(model.hf(prompt).logits, load32(folders("llama")).hf(prompt).logits, atol=1e-4)
