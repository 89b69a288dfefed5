"""A trained drafter on the hub is fetched before its lane runs, with progress; no lane asks the hub then."""

from __future__ import annotations

import argparse
import dataclasses
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from app.commandline import parse
from app.commands import decoding, prove
from app.orders import LaneChoice, Loading, ModelChoice, Race
from app.workshop import EngineWorkshop
from engine import drafters, models
from engine.drafters import checkpoint
from engine.errors import Cancelled, MismatchError, ModelError
from engine.models import MemoryPlan, Model, Progress
from engine.models.progress import Reporter
from engine.records import RunFinished
from engine.settings import DrafterSettings
from engine.training.recipe import METHODS
from tests.engine import foreign_heads as heads
from tests.engine.support import lanes, settings, target
from tests.engine.test_trained_drafters import PROMPT, folder


@dataclass
class FakeHub:
    """Downloads in two steps, from folders here."""

    repos: dict[str, Path] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    """Repositories whose weights were downloaded."""

    def download(self, repo: str, *, revision: str | None, code: bool, report: Reporter,
                 examine: Callable[[Path], None]) -> Path:
        assert not code
        self.asked.append(repo)
        if repo not in self.repos:
            raise ModelError(f"There is no model {repo} on the hub.")
        examine(self.repos[repo])
        for done in (0, 50, 100):
            report(f"Downloading {repo}", done, 100, "bytes")
        self.weights.append(repo)
        return self.repos[repo]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    made = FakeHub()
    monkeypatch.setattr(checkpoint.hub, "download", made.download)
    monkeypatch.setattr(checkpoint, "_fetched", {})
    return made


@pytest.mark.parametrize("method", METHODS)
def test_fetched_with_progress_and_asked_for_once(hub: FakeHub, method: str) -> None:
    hub.repos["someone/it"] = folder(method)
    told: list[Progress] = []
    wanted = settings(f"{method}:someone/it")
    drafters.fetch(wanted.drafter, target(), progress=told.append)
    assert told == [Progress("Downloading someone/it", done, 100, "bytes") for done in (0, 50, 100)]
    plain, one = lanes(target(), PROMPT, [settings("none"), wanted])
    assert one.tokens == plain.tokens
    assert one.started.settings.drafter.weights == checkpoint.digest(folder(method))
    assert hub.asked == ["someone/it"]


def test_what_changes_on_the_hub_meanwhile_is_not_mixed_in(hub: FakeHub, tmp_path: Path) -> None:
    wanted = settings("eagle:someone/it")
    for variant in ("bare", "plain"):
        hub.repos["someone/it"] = heads.copy(variant, tmp_path / variant)
        drafters.fetch(wanted.drafter, heads.target())
        found = drafters.resolved(wanted, heads.target()).drafter.weights
        assert found == checkpoint.digest(tmp_path / "bare")
    assert hub.asked == ["someone/it"]


def test_cancelled_midway(hub: FakeHub) -> None:
    hub.repos["someone/it"] = folder("medusa")
    told: list[Progress] = []
    with pytest.raises(Cancelled):
        drafters.fetch(settings("medusa:someone/it").drafter, target(), progress=told.append,
                       cancelled=lambda: len(told) == 2)
    assert hub.weights == []


@pytest.mark.parametrize("method", METHODS)
def test_one_that_does_not_fit_is_refused_before_its_weights_come(hub: FakeHub, method: str) -> None:
    hub.repos["someone/it"] = folder(method)
    one = settings(f"{method}:someone/it").drafter
    stranger = dataclasses.replace(target(), info=msgspec.structs.replace(target().info, fingerprint="other"))
    with pytest.raises(MismatchError, match="someone/it was trained for tiny, but the target is tiny with other"):
        drafters.fetch(one, stranger)
    with pytest.raises(MismatchError, match=f"someone/it is a drafter of the method {method}, not"):
        drafters.fetch(DrafterSettings(kind=next(m for m in METHODS if m != method), model="someone/it"), target())
    with pytest.raises(ModelError, match="There is no model someone/nothing"):
        drafters.fetch(DrafterSettings(kind=method, model="someone/nothing"), target())
    assert hub.weights == []


@pytest.mark.parametrize("spelled", ["none", "ngram", "layer-skip", "model:someone/it", *METHODS])
def test_others_need_nothing(hub: FakeHub, spelled: str) -> None:
    drafters.fetch(settings(spelled).drafter, target())
    drafters.fetch(DrafterSettings(kind="eagle", model=str(folder("eagle"))), target())
    assert hub.asked == []


@pytest.fixture
def loads_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(source: str, **options: object) -> Model:
        return target()

    monkeypatch.setattr(models, "load", load)
    monkeypatch.setattr(models, "estimate", lambda *args, **others: MemoryPlan("cpu", (), 0, 1))


def test_the_window_fetches_before_the_race(hub: FakeHub, loads_tiny: None) -> None:
    """What can't be had costs its own lane only."""
    hub.repos["someone/it"] = folder("eagle")
    lost, found = (settings(f"eagle:someone/{name}", tokens=4) for name in ("nothing", "it"))
    order = Race("race", ModelChoice(), (LaneChoice("a", lost), LaneChoice("b", found)), "abc", chat=False)
    told: list[object] = []
    records = list(EngineWorkshop().race(order, told.append, lambda: False, lambda: False))
    ends = {one.lane: one for one in records if isinstance(one, RunFinished)}
    assert "no model someone/nothing" in ends["a"].message
    assert ends["b"].reason == "length"
    assert Loading("Downloading someone/it", 50, 100, "bytes") in told
    assert hub.asked == ["someone/nothing", "someone/it"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def arguments(*argv: str) -> argparse.Namespace:
    return parse(argv)[1]


def test_commands_fetch_before_they_decode(hub: FakeHub, loads_tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repos["someone/it"] = folder("eagle")
    monkeypatch.setattr(sys, "stderr", Terminal())
    args = arguments("compare", "--drafter", "eagle:someone/it", "--prompt", "abc", "--max-new-tokens", "4")
    job = decoding.prepare(args, args.drafter)
    assert hub.weights == ["someone/it"]
    assert "Downloading someone/it 0 of 0 MB" in sys.stderr.getvalue()
    assert len(job.settings) == 1


def test_the_proof_fetches_before_it_begins(hub: FakeHub, loads_tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Begun(Exception):
        pass

    def begin(self: prove.Report, title: str) -> None:
        raise Begun

    monkeypatch.setattr(prove.Report, "about", begin)
    hub.repos["someone/it"] = folder("eagle")
    args = arguments("prove", "--quick", "--drafter", "eagle:someone/it")
    with pytest.raises(Begun):
        prove._prove(args, prove.Report(as_json=False))
    assert hub.weights == ["someone/it"]
