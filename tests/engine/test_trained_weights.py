"""Which trained weights drafted: a recording names them, and nothing goes on from it with others unsaid."""

from __future__ import annotations

import importlib
import json
import os
import threading
from pathlib import Path

import msgspec
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine import drafters, methods, trace
from engine.debugger.what_if import NoChange, OtherSettings
from engine.drafters import checkpoint
from engine.errors import MismatchError, ModelError, SettingsError
from engine.full_rows import round_rows
from engine.records import RunStarted
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.training.recipe import METHODS
from tests.engine.branching import branched, same
from tests.engine.support import WARM, Run, lanes, run, settings, target
from tests.engine.test_trained_drafters import PROMPT, folder


def write(out: Path, method: str, *, seed: int = 0) -> Path:
    """A drafter for the tiny target; of each ``seed`` with other weights, in files of the same size."""
    out.mkdir(parents=True, exist_ok=True)
    tensors, dice = load_file(folder(method) / checkpoint.WEIGHTS), torch.Generator().manual_seed(seed)
    made = {name: one.clone() if not one.is_floating_point() or one.ndim < 2 else
            (torch.randn(one.shape, generator=dice) * 0.3).to(one.dtype) for name, one in tensors.items()}
    save_file(made, out / "new")
    (out / "new").replace(out / checkpoint.WEIGHTS)
    (out / checkpoint.CONFIG).write_text((folder(method) / checkpoint.CONFIG).read_text())
    return out


def asked(method: str, model: Path | str = "", *, sampling: Sampling = WARM, **others: object) -> RunSettings:
    drafter = DrafterSettings(kind=method, model=str(model), gamma=4, **others)  # type: ignore[arg-type]
    return RunSettings(drafter=drafter, sampling=sampling, max_new_tokens=24)


def raced(method: str, model: Path | str = "", **others: object) -> Run:
    one = run(target(), PROMPT, asked(method, model, **others))  # type: ignore[arg-type]
    assert one.finished.reason == "length", one.finished.message
    return one


def weights(one: Run) -> str:
    return one.started.settings.drafter.weights


def of_an_older_version(one: Run) -> Run:
    """Recorded before weights were named."""
    def older(started: RunStarted) -> RunStarted:
        drafter = msgspec.structs.replace(started.settings.drafter, weights="")
        return msgspec.structs.replace(started, settings=msgspec.structs.replace(started.settings, drafter=drafter))

    return Run([older(record) if isinstance(record, RunStarted) else record for record in one.records])


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where drafters ship, and where those trained here are; both empty."""
    monkeypatch.setattr(checkpoint, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "shipped", tmp_path / "cache" / "drafters" / target().info.fingerprint


@pytest.mark.parametrize("method", METHODS)
def test_a_recording_names_the_weights(method: str, tmp_path: Path) -> None:
    one = raced(method, write(tmp_path / "it", method))
    assert weights(one) == checkpoint.digest(tmp_path / "it")
    assert len(weights(one)) == 12
    assert f"weights {weights(one)}" in one.started.about
    again = msgspec.json.decode(msgspec.json.encode(one.started.settings), type=RunSettings)
    assert again == one.started.settings


@pytest.mark.parametrize("method", ["none", "ngram", "layer-skip"])
def test_other_methods_name_none(method: str) -> None:
    """Whatever the settings that they were made of said."""
    wanted = msgspec.structs.replace(settings(method), drafter=DrafterSettings(kind=method, weights="0" * 12))
    assert weights(run(target(), PROMPT, wanted)) == ""


def test_a_digest_is_of_what_drafts(tmp_path: Path) -> None:
    """The held-out figures are written afterwards, and change nothing; a shape or a single weight does."""
    out = write(tmp_path / "it", "eagle")
    before = checkpoint.digest(out)
    config = json.loads((out / checkpoint.CONFIG).read_text())
    (out / checkpoint.CONFIG).write_text(json.dumps({**config, "held_out": {"prompts": 8}}, indent=1))
    assert checkpoint.digest(out) == before
    (out / checkpoint.CONFIG).write_text(json.dumps({**config, "shape": {**config["shape"], "depths": [1, 2]}}))
    assert checkpoint.digest(out) != before
    write(out, "eagle")
    assert checkpoint.digest(out) == before
    tensors = load_file(out / checkpoint.WEIGHTS)
    next(one for one in tensors.values() if one.is_floating_point()).view(-1)[-1] += 1
    save_file(tensors, out / "new")
    (out / "new").replace(out / checkpoint.WEIGHTS)
    assert checkpoint.digest(out) != before


@pytest.mark.parametrize("method", METHODS)
def test_what_was_trained_again_is_read_again(method: str, tmp_path: Path) -> None:
    first = raced(method, write(tmp_path / "it", method, seed=1))
    second = raced(method, write(tmp_path / "it", method, seed=2))
    elsewhere = raced(method, write(tmp_path / "other", method, seed=2))
    assert weights(first) != weights(second) == weights(elsewhere)
    assert [(d.token, d.q) for d in second.drafted] == [(d.token, d.q) for d in elsewhere.drafted]
    assert [(d.token, d.q) for d in second.drafted] != [(d.token, d.q) for d in first.drafted]


@pytest.mark.parametrize("method", METHODS)
def test_with_other_weights_nothing_goes_on(method: str, tmp_path: Path) -> None:
    one = raced(method, write(tmp_path / "it", method, seed=1))
    same(branched(target(), one, NoChange(round=2)).records, one.records)
    write(tmp_path / "it", method, seed=2)
    now = checkpoint.digest(tmp_path / "it")
    reason = rf"drafted with the {method} weights {weights(one)}, but those of .* are {now}.*Put the former"
    with pytest.raises(MismatchError, match=reason):
        branched(target(), one, NoChange(round=2))
    warmer = msgspec.structs.replace(one.started.settings, sampling=Sampling(temperature=0.5))
    with pytest.raises(MismatchError, match=reason):
        branched(target(), one, OtherSettings(round=2, settings=warmer))
    with pytest.raises(MismatchError, match=reason):
        round_rows(target(), one.records, 2)
    write(tmp_path / "it", method, seed=1)
    same(branched(target(), one, NoChange(round=2)).records, one.records)


def test_another_drafter_goes_on_where_the_weights_are_gone(tmp_path: Path) -> None:
    """Also one whose settings were made of the lane's, as the dialog makes them."""
    one = raced("eagle", write(tmp_path / "it", "eagle", seed=1), sampling=Sampling())
    write(tmp_path / "it", "eagle", seed=2)
    other = write(tmp_path / "other", "medusa")
    for kind, model, digest in (("ngram", "", ""), ("medusa", str(other), checkpoint.digest(other))):
        drafter = msgspec.structs.replace(one.started.settings.drafter, kind=kind, model=model)
        wanted = msgspec.structs.replace(one.started.settings, drafter=drafter)
        again = branched(target(), one, OtherSettings(round=2, settings=wanted))
        assert again.tokens == one.tokens
        assert weights(again) == digest


@pytest.mark.parametrize("method", METHODS)
def test_older_recordings_are_gone_on_with_unasked(method: str, tmp_path: Path) -> None:
    """From them nobody can tell. No cache that was kept of the former weights is taken for one of these."""
    one = of_an_older_version(raced(method, write(tmp_path / "it", method, seed=1)))
    same(branched(target(), one, NoChange(round=2)).records[1:], one.records[1:])
    cooler = msgspec.structs.replace(one.started.settings, sampling=Sampling(temperature=0.5))
    write(tmp_path / "it", method, seed=2)
    kept, fresh = (branched(target(), one, OtherSettings(round=2, settings=cooler)) for _ in range(2))
    assert weights(fresh) == ""
    write(tmp_path / "other", method, seed=2)
    moved = msgspec.structs.replace(cooler, drafter=msgspec.structs.replace(cooler.drafter,
                                                                            model=str(tmp_path / "other")))
    elsewhere = branched(target(), one, OtherSettings(round=2, settings=moved))
    assert [(d.token, d.q) for d in kept.drafted] == [(d.token, d.q) for d in elsewhere.drafted]
    assert [(d.token, d.q) for d in kept.drafted] == [(d.token, d.q) for d in fresh.drafted]


def test_a_race_has_what_there_is_now(tmp_path: Path) -> None:
    """Settings that come from a recording don't ask for its weights."""
    out = write(tmp_path / "it", "medusa")
    assert weights(raced("medusa", out, weights="0" * 12)) == checkpoint.digest(out)


def test_the_shipped_one_and_the_one_trained_here(places: tuple[Path, Path]) -> None:
    """A recording goes on with the one it was made with, as long as that is there."""
    shipped, here = places
    write(shipped / "eagle", "eagle", seed=1)
    before = raced("eagle")
    write(here / "eagle", "eagle", seed=2)
    after = raced("eagle")
    assert weights(before) == checkpoint.digest(shipped / "eagle")
    assert weights(after) == checkpoint.digest(here / "eagle")
    for one in (before, after, before):
        same(branched(target(), one, NoChange(round=2)).records, one.records)
    (here / "eagle" / checkpoint.CONFIG).unlink()
    same(branched(target(), before, NoChange(round=2)).records, before.records)
    with pytest.raises(MismatchError, match=f"weights {weights(after)}, but .*shipped.* are {weights(before)}"):
        branched(target(), after, NoChange(round=2))


def test_without_weights_the_lane_says_why_and_the_others_go_on(places: tuple[Path, Path]) -> None:
    wanted = [asked("eagle"), asked("none")]
    assert drafters.resolved(wanted[0], target()).drafter.weights == ""
    lost, plain = lanes(target(), PROMPT, wanted)
    assert "No eagle drafter ships" in lost.finished.message
    assert plain.finished.reason == "length"


@pytest.mark.parametrize("value", ["0" * 11, "0" * 12 + "\n", "G" * 12, 5, None])
def test_a_digest_is_twelve_digits(value: object) -> None:
    with pytest.raises(SettingsError, match="weights is"):
        DrafterSettings(weights=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["~nosuchuser/x", "x" * 300, "/" + "y" * 5000,
                                    "x/../" + "y" * 300, "\ud800", "a\0b"],
                         ids=["nobody's home", "long name", "long path", "long part", "surrogate", "zero byte"])
def test_a_source_that_can_be_none_ends_its_own_lane_only(source: str, tmp_path: Path) -> None:
    """In words that a trace can hold."""
    plain, lost = lanes(target(), PROMPT, [asked("none"), asked("medusa", source)])
    assert plain.finished.reason == "length"
    assert lost.finished.reason == "error"
    assert "is neither a folder nor a hub id" in lost.finished.message or len(source) > 1000
    assert "fault of SpecScope" not in lost.finished.message
    with trace.Writer(tmp_path / "it.spectrace") as writer:
        for record in lost.records:
            writer.write(record)
    assert list(trace.read(tmp_path / "it.spectrace"))[-1] == lost.finished


@pytest.mark.parametrize("config", ["[" * 100_000, '{"a":' * 50_000,
                                    '{"specscope_format": 1, "method": ' + "[" * 900 + "]" * 900 + "}"],
                         ids=["list", "object", "what it says in words"])
def test_a_config_nested_deeply_ends_its_own_lane_only(config: str, places: tuple[Path, Path]) -> None:
    write(places[0] / "medusa", "medusa")
    (places[0] / "medusa" / checkpoint.CONFIG).write_text(config)
    plain, lost = lanes(target(), PROMPT, [asked("none"), asked("medusa")])
    assert plain.finished.reason == "length"
    assert lost.finished.message.startswith("The medusa drafter that ships with SpecScope ")
    assert "fault of SpecScope" not in lost.finished.message
    assert not checkpoint.there_is("medusa", target())


@pytest.mark.parametrize("method", METHODS)
def test_weights_trained_anew_while_a_lane_is_made(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                   ) -> None:
    """What is read is what is told of it, also when the former weights are put back; a race whose weights went says
    so."""
    out = write(tmp_path / "it", method, seed=1)
    sound = {seed: raced(method, write(tmp_path / f"sound{seed}", method, seed=seed)) for seed in (1, 2)}
    real, seeds = checkpoint.read, list[int]()

    def read(folder: Path, source: str) -> checkpoint.Checkpoint:
        if seeds:
            write(folder, method, seed=seeds.pop(0))
        return real(folder, source)

    monkeypatch.setattr(checkpoint, "read", read)
    shelf = importlib.import_module(methods.method(method).module).shelf
    seeds[:] = [2]
    assert f"weights {weights(sound[2])}" in shelf.get(asked(method, out).drafter, target()).about
    for seed in (1, 2):
        write(out, method, seed=seed)
        again = raced(method, out)
        assert weights(again) == weights(sound[seed])
        assert [(d.token, d.q) for d in again.drafted] == [(d.token, d.q) for d in sound[seed].drafted]
    write(out, method, seed=3)
    seeds[:] = [1]
    lost = run(target(), PROMPT, asked(method, out))
    assert f"but those of {out} are {weights(sound[1])}" in lost.finished.message
    seeds[:] = [4, 5, 6, 7, 8]
    with pytest.raises(ModelError, match="written anew again and again"):
        shelf.get(asked(method, out, weights="").drafter, target())


def test_between_the_two_files_of_a_training(tmp_path: Path) -> None:
    """Its weights are there, its config.json comes: neither is called damaged. Where it never comes, they are."""
    out = write(tmp_path / "it", "medusa", seed=1)
    config = (out / checkpoint.CONFIG).read_text()
    fewer = json.loads(config)
    fewer["shape"]["heads"] -= 1
    (out / checkpoint.CONFIG).write_text(json.dumps(fewer))
    os.utime(out / checkpoint.CONFIG, (0, 0))
    os.utime(out / checkpoint.WEIGHTS)
    comes = threading.Timer(0.3, lambda: (out / checkpoint.CONFIG).write_text(config))
    comes.start()
    assert weights(raced("medusa", out)) == checkpoint.digest(write(tmp_path / "sound", "medusa", seed=1))
    comes.join()
    (out / checkpoint.CONFIG).write_text(json.dumps(fewer))
    os.utime(out / checkpoint.CONFIG, (0, 0))
    os.utime(out / checkpoint.WEIGHTS)
    lost = run(target(), PROMPT, asked("medusa", out)).finished
    assert "doesn't have the weights that its config.json" in lost.message
