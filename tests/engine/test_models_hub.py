"""The hub path, against a small hub on loopback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest
import torch

from engine.errors import Cancelled, ModelError
from engine.models import Progress, estimate, load
from tests.engine import tiny
from tests.engine.hub_server import Hub, Repo, serve

ID = "someone/tiny-llama"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serve() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        folder = tiny.save_tiny(tmp_path / "main", "llama")
        (folder / "pytorch_model.bin").write_bytes(b"not to be fetched")
        (folder / "modeling_own.py").write_text("raise SystemExit\n")
        other = tiny.save_tiny(tmp_path / "other", "llama", seed=1)
        running.repos[ID] = Repo({"main": folder, "v2": other})
        yield running


def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def test_loads_with_progress_by_bytes_and_only_what_is_needed(hub: Hub) -> None:
    seen: list[Progress] = []
    model = load(ID, dtype="float32", device="cpu", progress=seen.append)
    reference = tiny.model("llama", vocabulary=352)
    prompt = torch.tensor([[5, 6, 7]])
    assert torch.equal(model.hf(prompt).logits.argmax(-1), reference(prompt).logits.argmax(-1))
    assert model.info.name == ID
    fetched = hub.files_fetched()
    assert "model.safetensors" in fetched
    assert "pytorch_model.bin" not in fetched
    assert "modeling_own.py" not in fetched
    loads = [p for p in seen if p.stage == f"Downloading {ID}"]
    assert {p.unit for p in loads} == {"bytes"}
    assert [p.done for p in loads] == sorted(p.done for p in loads)
    assert loads[-1].done == loads[-1].total == sum(
        (hub.repos[ID].folders["main"] / name).stat().st_size for name in set(fetched))


def test_a_revision_is_honoured_and_the_second_load_fetches_nothing(hub: Hub) -> None:
    first = load(ID, dtype="float32", device="cpu")
    second = load(ID, dtype="float32", device="cpu", revision="v2")
    assert first.info.fingerprint != second.info.fingerprint
    hub.requests.clear()
    assert load(ID, dtype="float32", device="cpu").info.fingerprint == first.info.fingerprint
    assert hub.files_fetched() == []


def test_offline_uses_the_cache_and_says_what_is_missing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        offline(patch)
        with pytest.raises(ModelError, match=r"isn't in the local cache, and offline mode is on .*HF_HUB_OFFLINE"):
            load(ID, device="cpu")
    load(ID, device="cpu")
    hub.requests.clear()
    offline(monkeypatch)
    assert load(ID, device="cpu").info.name == ID
    assert hub.requests == []


def test_without_a_network_the_cache_serves_or_the_error_says_so(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    load(ID, device="cpu")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert load(ID, device="cpu").info.name == ID
    with pytest.raises(ModelError, match="the hub can't be reached; check the network"):
        load("someone/else", device="cpu")


def test_the_token_comes_from_the_environment(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos[ID].token = "hf_secret"
    with pytest.raises(ModelError, match="set HF_TOKEN"):
        load(ID, device="cpu")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    load(ID, device="cpu")
    assert set(hub.tokens) == {"Bearer hf_secret"}


def test_what_is_not_there_is_named(hub: Hub) -> None:
    with pytest.raises(ModelError, match="There is no model someone/nothing on the hub"):
        load("someone/nothing", device="cpu")
    with pytest.raises(ModelError, match="has no revision v9"):
        load(ID, device="cpu", revision="v9")
    hub.repos[ID].gated = True
    with pytest.raises(ModelError, match="is gated: accept its terms"):
        load(ID, device="cpu")


def test_pickles_are_refused_unseen(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    folder.mkdir()
    shutil.copy(tmp_path / "main" / "config.json", folder)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    hub.repos["someone/pickled"] = Repo({"main": folder})
    with pytest.raises(ModelError, match="only pickled weights"):
        load("someone/pickled", device="cpu")
    assert hub.files_fetched() == []


def test_a_model_that_cannot_be_used_is_refused_before_its_weights_come(hub: Hub, tmp_path: Path) -> None:
    hub.repos["someone/mamba"] = Repo({"main": tiny.save_tiny(tmp_path / "mamba", "mamba")})
    with pytest.raises(ModelError, match="someone/mamba can't be used: it keeps a recurrent state"):
        load("someone/mamba", device="cpu")
    assert "model.safetensors" not in hub.files_fetched()


def test_code_of_the_model_itself_is_not_run_unasked(hub: Hub, tmp_path: Path) -> None:
    folder = tiny.save_tiny(tmp_path / "own", "llama")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "modeling_own.Config"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling_own.py").write_text("raise SystemExit('ran')\n")
    hub.repos["someone/own"] = Repo({"main": folder})
    with pytest.raises(ModelError, match=r"needs Python code from its own repository.*trust_remote_code"):
        load("someone/own", device="cpu")


def test_a_download_can_be_cancelled_and_goes_on_later(hub: Hub, tmp_path: Path) -> None:
    hub.repos["someone/big"] = Repo({"main": tiny.save_tiny(tmp_path / "big", "llama", layers=12)})
    hub.seconds_per_chunk = 0.02
    reached: list[int] = []
    with pytest.raises(Cancelled):
        load("someone/big", device="cpu", progress=lambda p: reached.append(p.done),
             cancelled=lambda: bool(reached) and reached[-1] > 0)
    hub.seconds_per_chunk = 0
    assert load("someone/big", device="cpu").info.layers == 12


def test_sharded_checkpoints_are_fetched_whole(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sharded"
    tiny.model("llama", vocabulary=352).save_pretrained(folder, max_shard_size="50KB")
    tiny.tokenizer().save_pretrained(folder)
    shards = {file.name for file in folder.glob("*.safetensors")}
    assert len(shards) > 1
    hub.repos["someone/sharded"] = Repo({"main": folder})
    assert load("someone/sharded", device="cpu").info.layers == 3
    assert shards <= set(hub.files_fetched())
    for blob in (tmp_path / "hub-cache").rglob(min(shards)):
        blob.unlink()
    offline(monkeypatch)
    with pytest.raises(ModelError, match="is only partly in the local cache"):
        load("someone/sharded", device="cpu")


def test_the_reckoning_needs_only_the_configuration(hub: Hub) -> None:
    plan = estimate(ID, prompt_tokens=10, max_new_tokens=20, dtype="float32", device="cpu")
    assert plan.needs[0].name == ID
    assert hub.files_fetched() == ["config.json"]
