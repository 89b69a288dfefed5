"""Windows are drawn offscreen, whoever starts the tests; what a test leaves behind is looked for among new objects."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that decode with the built-in model are the longest: first, lest at the end one process works alone."""
    longest = {item.path for item in items if item.get_closest_marker("model")}
    items.sort(key=lambda item: item.path not in longest)


@pytest.fixture(scope="module")
def only_new_objects() -> Iterator[None]:
    """While this file's tests run, the collector passes over what was there before them. Torch and transformers alone
    are 400 000 objects, and tests of windows, which collect after each, would go through them a thousand times."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
