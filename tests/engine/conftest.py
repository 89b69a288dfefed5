"""Tiny models gain nothing from a second thread, and lose much where the machine is busy: one thread for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    if "model" not in request.keywords:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
