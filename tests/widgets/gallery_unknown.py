"""What is shown of lanes that other programs ran: `python -m tests.widgets.gallery_unknown FOLDER [SCENE …]`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.store import Store
from app.theme import Theme
from tests.engine import formats_data
from tests.engine.formats_data import json_lines, llama_line, vllm_response
from tests.widgets import gallery
from tests.widgets.gallery import column, scene
from widgets.acceptance_chart import AcceptanceChart
from widgets.hover_card import HoverCard
from widgets.lane_card import LaneCard
from widgets.race_chart import RaceChart


def imported(folder: Path, kind: str, rounds: int = 40) -> Store:
    """TEST DATA in the form of another program's file: llama (ids and q of drafts) or vllm (counts)."""
    from engine.formats import read

    chance = random.Random(rounds)
    drafted = [chance.choice((1, 3, 4)) for _ in range(rounds)]
    accepted = [min(k, chance.randrange(6)) for k in drafted]
    path = folder / f"{kind}.json"
    if kind == "vllm":
        json_lines(path, [vllm_response(accepted, drafted)])
    else:
        json_lines(path, (llama_line(i + 1, 0, [chance.randrange(30_000) for _ in range(k)], n)
                          for i, (k, n) in enumerate(zip(drafted, accepted, strict=True))))
    return formats_data.stored(read(path))


def _kept(kind: str) -> Store:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return imported(Path(folder), kind)


@scene(1180, 640)
def imported_lanes(theme: Theme) -> QWidget:
    store, counts = _kept("llama"), _kept("vllm")
    charts = QWidget()
    row = QHBoxLayout(charts)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(RaceChart(store, theme), 5)
    row.addWidget(AcceptanceChart(store, theme), 3)
    return column(theme, LaneCard(store, theme, "0"), LaneCard(counts, theme, "0"), charts)


@scene(1100, 560)
def imported_hover(theme: Theme) -> QWidget:
    page = QWidget()
    page.resize(1100, 560)
    for number, (kind, of) in enumerate((("llama", "accepted"), ("llama", "correction"), ("vllm", "void"),
                                         ("vllm", "bonus"))):
        store = _kept(kind)
        cell = next(cell for cell in store.lanes[0].cells if cell.kind == of)
        card = HoverCard(store, theme, page)
        card.show_cell("0", cell, page.mapToGlobal(QPoint(20 + number % 2 * 520, 20 + number // 2 * 260)))
    return page


if __name__ == "__main__":
    gallery.main(Path(sys.argv[1]), sys.argv[2:] or ["imported_lanes", "imported_hover"])
