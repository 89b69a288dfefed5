"""How long going back and forth takes, in the real window: ``make bench ARGS=stepping``. Records are made up, their
number isn't: 10 000 rounds and more. Figures are of the window's thread: the cursor is moved and the frame painted."""

from __future__ import annotations

import itertools
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["SPECSCOPE_CONFIG"] = tempfile.mkdtemp()

from PySide6.QtWidgets import QApplication

from app.settings import Settings
from app.theme import load_fonts
from app.window import Window
from engine.race import machine
from engine.records import Record
from tests.app.fake_workshop import FakeWorkshop
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, PLAIN

STEPS = 60


def stepping(tokens: int = 26_000) -> None:
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    load_fonts()
    window = Window(Settings(), FakeWorkshop)
    window.resize(1440, 900)
    window.show()
    window.conductor._timer.stop()
    window.conductor._play(_records(tokens), Path("made-up.spectrace"))
    while window.conductor._source is not None:
        window.conductor._tick()
    lane = window.debugger.lane
    assert lane is not None
    print(f"{len(lane.rounds):,} rounds, {len(window.store.records()):,} records of two lanes; {machine()}")
    for perspective in ("debug", "race"):
        window.show_perspective(perspective)
        window.conductor.go(len(window.store.records()) // 2)
        for _ in range(30):  # text is laid out over some frames after the perspective is first shown
            _frame(window, application)
        moves: dict[str, Callable[[], None]] = {
            "record forward": lambda: window.step("record"), "record back": lambda: window.step_back("record"),
            "round forward": lambda: window.step("round"), "round back": lambda: window.step_back("round"),
            "anywhere": lambda: window.conductor.go(random.randrange(len(window.store.records()) - 1)),
        }
        for name, move in moves.items():
            spent = []
            for _ in range(STEPS):
                begun = time.perf_counter()
                move()
                _frame(window, application)
                spent.append(1e3 * (time.perf_counter() - begun))
            print(f"  {perspective:5} {name:14} median {statistics.median(spent):5.1f} ms, "
                  f"95 % {sorted(spent)[int(0.95 * STEPS)]:5.1f} ms, worst {max(spent):5.1f} ms")
    window.close()
    window.conductor.finish_quit(5.0)
    window.dismantle()


def _records(tokens: int) -> Iterator[Record]:
    lanes = [fake_run.lane_records(method, limit=tokens, detail=False) for method in (PLAIN, DRAFT)]
    return (record for pair in itertools.zip_longest(*lanes) for record in pair if record is not None)


def _frame(window: Window, application: QApplication) -> None:
    window.conductor._tick()
    application.processEvents()


if __name__ == "__main__":
    stepping()
