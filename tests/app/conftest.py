"""Windows for tests, each checked for what it leaves behind."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from app.settings import Settings
from app.theme import load_fonts
from app.window import Window
from tests.app.fake_workshop import FakeWorkshop


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A window with a least size makes the offscreen platform say this; it means nothing."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support propagateSizeHints", extend=True))


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may touch what the person who runs it has set or logged."""
    monkeypatch.setenv("SPECSCOPE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("SPECSCOPE_STATE", str(tmp_path / "state"))


@pytest.fixture(scope="session")
def _fonts(qapp: QApplication) -> None:
    load_fonts()


@pytest.fixture
def make_window(qtbot: object, _fonts: None, qapp: QApplication,
                only_new_objects: None) -> Iterator[Callable[..., Window]]:
    """Windows on a fake workshop; when the test is over none of them, nor a thread, may be left."""
    threads = set(threading.enumerate())
    made: list[weakref.ref[Window]] = []
    shown: list[Window] = []

    def make(workshop: FakeWorkshop | None = None, **options: object) -> Window:
        fake = workshop or FakeWorkshop()
        window = Window(Settings(), lambda: fake, **options)  # type: ignore[arg-type]
        window.show()
        made.append(weakref.ref(window))
        shown.append(window)
        return window

    yield make
    for window in shown:
        window.close()
        assert window.conductor.finish_quit(5.0), "the engine thread did not end"
        window.dismantle()
        window.deleteLater()
    del window
    shown.clear()
    _collect()
    assert [ref() for ref in made if ref() is not None] == [], "a window was left behind"
    ours = [w for w in qapp.topLevelWidgets() if type(w).__module__.startswith(("app", "widgets"))]
    assert ours == [], "widgets were left behind"
    assert set(threading.enumerate()) <= threads, "a thread was left behind"


def _collect() -> None:
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        gc.collect()
