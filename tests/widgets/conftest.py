"""What tests of widgets share: the theme, stores full of test data, and the check that nothing survives a test."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.store import LaneSpec, Store
from app.theme import Theme, load_fonts
from tests.widgets import fake_run

Fill = Callable[..., Store]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A window of fixed height makes the offscreen platform say this; it means nothing."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support propagateSizeHints", extend=True))


@pytest.fixture(scope="session")
def theme(qapp: QApplication) -> Theme:
    load_fonts()
    theme = Theme.load("dark")
    theme.apply(qapp)
    return theme


@pytest.fixture(scope="session")
def light(theme: Theme) -> Theme:
    return Theme.load("light", scale=1.5)


@pytest.fixture(autouse=True)
def nothing_survives(qapp: QApplication, only_new_objects: None) -> Iterator[None]:
    """After each test its widgets are closed (by qtbot); then none may be left, on screen or in memory."""
    yield
    qapp.clipboard().clear()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QCoreApplication.processEvents()
    gc.collect()
    assert [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()] == []
    ours = [type(o).__name__ for o in gc.get_objects()
            if issubclass(type(o), QWidget) and type(o).__module__.startswith("widgets.")]
    assert ours == []


@pytest.fixture
def fill() -> Fill:
    """A store with a made-up race in it."""
    def make(*methods: fake_run.Method, text: str = fake_run.CODE, **options: object) -> Store:
        store = Store()
        store.begin("run-1", [LaneSpec(m.lane, m.title, m.about, plain=m.gamma == 0) for m in methods])
        store.extend(fake_run.race(methods, text, **options))
        return store
    return make
