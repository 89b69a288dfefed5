"""The engine thread with the real workshop and a tiny model: the same gate, real records; and leaving mid-run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app.engine_thread import EngineThread, Outbox
from app.orders import (
    Branch,
    Branched,
    Continue,
    Ended,
    Estimate,
    Estimated,
    Failed,
    LaneChoice,
    Load,
    Loaded,
    Loading,
    ModelChoice,
    Paused,
    Quit,
    Race,
    Rows,
    RowsFailed,
    RowsFound,
    StepRecord,
    StepRound,
    Stop,
    Watch,
)
from app.torch_import import import_gently
from app.workshop import EngineWorkshop
from engine import trace
from engine.debugger.breakpoints import Breakpoint
from engine.debugger.conditions import AnyRejection
from engine.debugger.what_if import AnyChange, NoChange, OtherSettings
from engine.errors import Cancelled
from engine.records import Committed, Drafted, Judged, Record, RunFinished, RunStarted, Verified
from engine.settings import DrafterSettings, RunSettings
from tests.app.on_thread import records, reports, wait_for
from tests.engine import tiny
from tests.engine.branching import same
from tests.widgets import fake_run

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "one two three one two three one two"


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelChoice:
    folder = tmp_path_factory.mktemp("model")
    tiny.save_tiny(folder, "llama")
    return ModelChoice(source=str(folder), dtype="float32", device="cpu")


@pytest.fixture
def engine() -> Iterator[tuple[EngineThread, Outbox]]:
    outbox: Outbox = deque()
    thread = EngineThread(EngineWorkshop, outbox)
    thread.start()
    yield thread, outbox
    thread.send(Quit())
    assert thread.join(20)


def race(model: ModelChoice, *drafters: DrafterSettings, run: str = "r1", start: str = "run", tokens: int = 24) -> Race:
    lanes = tuple(LaneChoice(str(i), RunSettings(drafter=drafter, max_new_tokens=tokens, ignore_eos=True))
                  for i, drafter in enumerate((DrafterSettings(), *drafters)))
    return Race(run, model, lanes, PROMPT, False, start)  # type: ignore[arg-type]


def last_is(outbox: Outbox, kind: type[Record]) -> bool:
    return isinstance(records(outbox)[-1], kind)


def test_it_loads_and_says_what_it_needs(engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    thread, outbox = engine
    order = race(model, DrafterSettings(kind="ngram"))
    thread.send(Estimate(model, order.lanes))
    thread.send(Load(model, order.lanes))
    wait_for(lambda: reports(outbox, Loaded), 60)
    estimated, = reports(outbox, Estimated)
    assert isinstance(estimated, Estimated)
    assert estimated.fits
    assert "free on cpu" in estimated.sentence


def test_the_check_of_trees_shows_how_far_it_is_and_can_be_called_off(model: ModelChoice) -> None:
    """Once a shape: a second lane of the same one waits for nothing, and what was called off begins anew."""
    workshop, told = EngineWorkshop(), list[Loading]()
    tree = DrafterSettings(kind="eagle", tree="top", tree_nodes=6, gamma=3)
    order = Load(model, race(model, DrafterSettings(kind="ngram"), tree, tree).lanes)

    def trees() -> list[tuple[float, float]]:
        return [(one.done, one.total) for one in told if "trees" in one.stage]

    with pytest.raises(Cancelled):
        workshop.load(order, told.append, lambda: len(trees()) == 2)
    assert trees() == [(0, 2), (1, 2)]
    for _ in range(2):
        assert workshop.load(order, told.append, lambda: False).exactness is not None
        assert trees() == [(0, 2), (1, 2), (0, 2), (1, 2)]


def test_trees_that_cannot_be_checked_cost_their_own_lane_only(
        engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    thread, outbox = engine
    thread.send(race(model, DrafterSettings(kind="eagle", model="/no/such/heads", tree="top"),
                     DrafterSettings(kind="ngram", tree="top")))
    wait_for(lambda: reports(outbox, Ended), 60)
    reasons = {r.lane: r.reason for r in records(outbox) if isinstance(r, RunFinished)}
    assert reasons == {"0": "length", "1": "error", "2": "error"}


def test_steps_of_the_real_loop(engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    thread, outbox = engine
    thread.send(race(model, DrafterSettings(kind="layer-skip", gamma=3), start="round"))
    steps = 0

    def step(order: object) -> None:
        nonlocal steps
        steps += 1
        before = len(reports(outbox, Paused))
        thread.send(order)  # type: ignore[arg-type]
        wait_for(lambda: len(reports(outbox, Paused)) > before, 30)

    wait_for(lambda: reports(outbox, Paused), 60)
    assert last_is(outbox, Committed)
    seen = []
    while not {Drafted, Verified, Judged, Committed} <= set(seen):
        step(StepRecord())
        seen.append(type(records(outbox)[-1]))
        assert steps < 60
    rounds = sum(isinstance(r, Committed) for r in records(outbox))
    step(StepRound())
    assert sum(isinstance(r, Committed) for r in records(outbox)) == rounds + 1
    thread.send(Continue())
    wait_for(lambda: reports(outbox, Ended), 30)
    texts = {r.lane: r.text for r in records(outbox) if isinstance(r, RunFinished)}
    assert len(texts) == 2


def test_stop_in_the_middle(engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    thread, outbox = engine
    thread.send(race(model, DrafterSettings(kind="ngram"), tokens=200))
    wait_for(lambda: len(records(outbox)) > 20, 60)
    thread.send(Stop())
    wait_for(lambda: reports(outbox, Ended), 30)
    assert {r.reason for r in records(outbox) if isinstance(r, RunFinished)} <= {"stopped", "length", "context"}


def test_a_lane_whose_model_is_not_there_leaves_the_others_going(
        engine: tuple[EngineThread, Outbox], model: ModelChoice, tmp_path: Path) -> None:
    thread, outbox = engine
    missing = DrafterSettings(kind="model", model=str(tmp_path / "nothing"))
    thread.send(race(model, missing, DrafterSettings(kind="ngram")))
    wait_for(lambda: reports(outbox, Ended), 60)
    reasons = {r.lane: r.reason for r in records(outbox) if isinstance(r, RunFinished)}
    assert reasons == {"0": "length", "1": "error", "2": "length"}
    failed = next(r for r in records(outbox) if isinstance(r, RunFinished) and r.lane == "1")
    assert "nothing" in failed.message


def whole(thread: EngineThread, outbox: Outbox, order: Race) -> dict[str, list[Record]]:
    """A run to its end, by lane."""
    thread.send(order)
    wait_for(lambda: Ended(order.run) in outbox, 60)
    mine = [record for record in records(outbox) if record.run == order.run]
    return {lane: [record for record in mine if record.lane == lane] for lane in {r.lane for r in mine}}


def branch(model: ModelChoice, original: list[Record], change: AnyChange, lane: str = "b") -> Branch:
    return Branch(original[0].run, lane, "what if", model, tuple(original), change)


@pytest.mark.parametrize("kind", ["none", "ngram", "layer-skip", "model"])
def test_a_branch_with_no_change_repeats_its_original(
        kind: str, engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    thread, outbox = engine
    drafter = DrafterSettings(kind=kind, model=model.source if kind == "model" else "")  # type: ignore[arg-type]
    original = whole(thread, outbox, race(model, drafter))["1"]
    for number in (0, 3):
        thread.send(branch(model, original, NoChange(round=number), f"b{number}"))
        wait_for(lambda number=number: Branched("r1", f"b{number}") in outbox, 30)
        same(records(outbox, f"b{number}"), original)


def test_in_the_middle_of_a_race_nothing_of_it_changes(
        engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    """What is branched and asked for while it waits leaves no trace in a race."""
    thread, outbox = engine
    drafters = DrafterSettings(kind="layer-skip", gamma=3), DrafterSettings(kind="model", model=model.source, gamma=2)
    alone = whole(thread, outbox, race(model, *drafters))
    thread.send(race(model, *drafters, run="r2", start="round"))
    wait_for(lambda: any(isinstance(item, Paused) and item.run == "r2" for item in list(outbox)), 60)
    for lane in ("1", "2", "1", "2"):
        count = len(reports(outbox, Paused))
        thread.send(StepRound(lane))
        wait_for(lambda count=count: len(reports(outbox, Paused)) > count, 30)
    now = {lane: [r for r in records(outbox, lane) if r.run == "r2"] for lane in ("1", "2")}
    for lane, original in now.items():
        thread.send(branch(model, original, NoChange(round=1), f"{lane}.1"))
        wait_for(lambda lane=lane: Branched("r2", f"{lane}.1") in outbox, 30)
        same(records(outbox, f"{lane}.1"), alone[lane])
        for number, index in ((1, 0), (1, 1), (0, 0)):
            thread.send(Rows("r2", model, tuple(original), number, index))
    wait_for(lambda: len(reports(outbox, RowsFound)) == 6, 30)
    for found in reports(outbox, RowsFound):
        assert isinstance(found, RowsFound)
        verified = next(r for r in now[found.lane] if isinstance(r, Verified) and r.round == found.row.round)
        recorded = verified.rows[found.row.index]
        assert [found.row.p[token] for token in recorded.ids] == pytest.approx(list(recorded.p))
        assert len(found.row.texts) == len(found.row.p)
    thread.send(Rows("r2", model, tuple(now["1"]), 1, 9))
    wait_for(lambda: reports(outbox, RowsFailed), 30)
    assert "row 10 was asked for" in reports(outbox, RowsFailed)[0].sentence  # type: ignore[attr-defined]
    thread.send(Continue())
    wait_for(lambda: Ended("r2") in outbox, 30)
    for lane, original in alone.items():
        same([r for r in records(outbox, lane) if r.run == "r2"], original)


def test_a_breakpoint_stops_a_real_run(engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    thread, outbox = engine
    thread.send(Watch((Breakpoint(id="b", condition=AnyRejection()),)))
    thread.send(race(model, DrafterSettings(kind="layer-skip", gamma=3)))
    wait_for(lambda: reports(outbox, Paused) or reports(outbox, Ended), 60)
    paused = outbox[-1]
    judged = outbox[-2]
    assert isinstance(judged, Judged)
    assert not judged.accepted
    assert paused == Paused("r1", "1", len(records(outbox, "1")), ("b",))
    assert all(r.accepted for r in records(outbox)[:-1] if isinstance(r, Judged))


def test_a_branch_with_another_drafter_loads_it(
        engine: tuple[EngineThread, Outbox], model: ModelChoice, tmp_path: Path) -> None:
    thread, outbox = engine
    original = whole(thread, outbox, race(model, DrafterSettings(kind="ngram")))["1"]
    started = next(r for r in original if isinstance(r, RunStarted))

    def drafting(source: str) -> OtherSettings:
        settings = msgspec.structs.replace(started.settings, drafter=DrafterSettings(kind="model", model=source))
        return OtherSettings(round=2, settings=settings)

    thread.send(branch(model, original, drafting(model.source)))
    wait_for(lambda: Branched("r1", "b") in outbox, 30)
    thread.send(branch(model, original, drafting(str(tmp_path / "nothing")), "c"))
    wait_for(lambda: len(reports(outbox, Branched)) == 2, 30)
    failed = reports(outbox, Branched)[-1]
    assert isinstance(failed, Branched)
    assert "draft model" in failed.sentence
    assert "nothing" in failed.sentence
    texts = {r.lane: r.text for r in records(outbox) if isinstance(r, RunFinished)}
    assert texts["b"] == texts["1"]


def test_another_target_is_refused_in_words(
        engine: tuple[EngineThread, Outbox], model: ModelChoice, tmp_path: Path) -> None:
    thread, outbox = engine
    original = whole(thread, outbox, race(model, DrafterSettings(kind="ngram")))["1"]
    tiny.save_tiny(tmp_path, "gpt2")
    other = ModelChoice(source=str(tmp_path), dtype="float32", device="cpu")
    thread.send(branch(other, original, NoChange(round=1)))
    thread.send(Rows("r1", other, tuple(original), 1, 0))
    wait_for(lambda: reports(outbox, RowsFailed), 30)
    for failed in (*reports(outbox, Branched), *reports(outbox, RowsFailed)):
        assert isinstance(failed, (Branched, RowsFailed))
        assert "This recording was made with" in failed.sentence


@pytest.mark.parametrize(("choice", "said"), [
    (ModelChoice(source="/no/such/folder"), "/no/such/folder"),
    (ModelChoice(source="no such id!"), "no such id!"),
    (ModelChoice(device="abacus"), "abacus")])
def test_a_target_that_is_not_there_is_a_sentence(
        engine: tuple[EngineThread, Outbox], choice: ModelChoice, said: str) -> None:
    thread, outbox = engine
    thread.send(race(choice))
    wait_for(lambda: reports(outbox, Ended), 60)
    failed, = reports(outbox, Failed)
    assert isinstance(failed, Failed)
    assert said in failed.sentence


def test_a_prompt_longer_than_the_context(engine: tuple[EngineThread, Outbox], model: ModelChoice) -> None:
    thread, outbox = engine
    order = race(model)
    thread.send(Race(order.run, model, order.lanes, "word " * 2000, False))
    wait_for(lambda: reports(outbox, Ended), 60)
    failed, = reports(outbox, Failed)
    assert isinstance(failed, Failed)
    assert "tokens" in failed.sentence


def test_the_gentle_import_is_harmless_when_done() -> None:
    import_gently()
    assert "torch" in sys.modules


CLOSING = """
import sys
from PySide6.QtCore import QTimer
import app.window
from app.commandline import main

def close_when(window, ready):
    timer = QTimer(window)
    timer.timeout.connect(lambda: window.close() if ready(window) else None)
    timer.start(5)

made = app.window.Window.__init__
def init(self, *args, **options):
    made(self, *args, **options)
    close_when(self, {ready})
app.window.Window.__init__ = init
sys.exit(main(sys.argv[1:]))
"""
MOMENTS = {
    "at once": "lambda w: w.isVisible()",
    "while torch comes in": "lambda w: 'torch' in sys.modules",
    "while loading": "lambda w: w.conductor.loading is not None",
    "mid-run": "lambda w: len(w.store.records()) > 30",
}


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen", "SPECSCOPE_CONFIG": str(tmp_path),
            "SPECSCOPE_STATE": str(tmp_path)}


@pytest.mark.parametrize("moment", MOMENTS)
def test_closing_ends_well_at_any_moment(moment: str, model: ModelChoice, tmp_path: Path) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", CLOSING.format(ready=MOMENTS[moment]), "--target", model.source,
         "--prompt", PROMPT], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=90,
        check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{moment}, after {time.monotonic() - began:.1f} s"
    assert (tmp_path / "specscope.ini").exists()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_signals_close_the_window(number: int, status: int, tmp_path: Path) -> None:
    itself = f"lambda w: w.isVisible() and __import__('os').kill(__import__('os').getpid(), {int(number)})"
    done = subprocess.run([sys.executable, "-c", CLOSING.format(ready=itself), "--target", str(tmp_path)], cwd=ROOT,
                          env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (status, "")


def test_a_recording_plays_without_torch(tmp_path: Path) -> None:
    recording = tmp_path / "race.spectrace"
    with trace.Writer(recording) as writer:
        for record in fake_run.race(limit=10, forward=0.01):
            writer.write(record)
    over = "lambda w: w.conductor.phase == 'over' and not print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", CLOSING.format(ready=over), "--trace", str(recording)], cwd=ROOT,
                          env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, set(done.stdout.split()), done.stderr) == (0, {"False"}, "")


def test_a_screenshot_is_a_picture_of_that_size(tmp_path: Path) -> None:
    picture = tmp_path / "window.png"
    command = [sys.executable, "main.py", "--target", str(tmp_path), "--screenshot", str(picture), "--size", "1280x720",
               "--after", "0.5", "--theme", "light"]
    done = subprocess.run(command, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=60,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert picture.read_bytes()[16:24] == (1280).to_bytes(4, "big") + (720).to_bytes(4, "big")
    command[command.index(str(picture))] = str(tmp_path / "no" / "window.png")
    failed = subprocess.run(command, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=60,
                            check=False)
    assert failed.returncode == 2
    assert len(failed.stderr.splitlines()) == 1
