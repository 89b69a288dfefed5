"""Lanes that other programs ran: whatever their files don't tell is said to be unknown, and never shown as a figure."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.lane_at import LaneAt
from app.lane_state import NO_TEXT, LaneSpec, LaneState
from app.results import as_text
from app.screen import Screen
from app.theme import Theme
from engine.debugger import readings
from engine.debugger.scene import FINAL, Scene
from engine.records import UNKNOWN_TOKEN, RunStarted
from tests.widgets import fake_run
from tests.widgets.conftest import Fill
from tests.widgets.fake_run import LOOKUP, PLAIN
from tests.widgets.gallery_unknown import imported
from widgets import lane_figures
from widgets.hover_card import rows
from widgets.lane_card import LaneCard
from widgets.panel import Panel
from widgets.race_chart import RaceChart
from widgets.round_ribbon import RoundRibbon

KINDS = ("llama", "vllm")
TIME = re.compile(r"\d\s?(ms|s)\b|tok/s$")
"""A figure with a unit of time."""


def show(qtbot: QtBot, widget: QWidget, width: int = 900, height: int = 220) -> None:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    for _ in range(3):
        QApplication.processEvents()
        if isinstance(widget, Panel):
            widget.refresh()


@pytest.mark.parametrize("kind", KINDS)
def test_cells_know_only_what_the_file_tells(tmp_path: Path, kind: str) -> None:
    lane = imported(tmp_path, kind).lanes[0]
    assert lane.output == ""
    for cell in lane.cells:
        assert cell.seconds is cell.draw is cell.draft_draw is cell.p is cell.best is cell.overlap is None
        assert (cell.q is None) == (kind == "vllm" or cell.index < 0)
        if cell.id == UNKNOWN_TOKEN:
            assert (cell.label, cell.text) == ("unknown token", NO_TEXT)
        else:
            assert (cell.label, cell.text) == (f"#{cell.id}", f"#{cell.id} ")
    assert lane.token_text(UNKNOWN_TOKEN) == "unknown token"


@pytest.mark.parametrize("kind", KINDS)
def test_every_moment_is_what_it_was(tmp_path: Path, kind: str) -> None:
    whole = imported(tmp_path, kind, rounds=12).lanes[0]
    growing = LaneState(LaneSpec("0", "imported"), 1)
    for serial, record in enumerate(whole.records):
        growing.append(record, serial)
        seen = LaneAt(whole, whole.moment(serial))
        told = [[(c.id, c.text, c.label, c.kind, c.q, c.seconds) for c in lane.cells] for lane in (seen, growing)]
        assert told[0] == told[1]
        assert seen.output == growing.output == ""
        assert list(seen.tested_at) == list(growing.tested_at)


def test_a_zero_in_a_place_that_is_unknown_is_no_figure() -> None:
    """As a file may hold it that someone else wrote."""
    lane = LaneState(LaneSpec("draft", "Draft model"), 1)
    for serial, record in enumerate(fake_run.lane_records(fake_run.DRAFT)):
        if isinstance(record, RunStarted):
            record = msgspec.structs.replace(record, unknown=("p", "q", "draws", "seconds"))
        lane.append(record, serial)
    drafts = [cell for cell in lane.cells if cell.index >= 0]
    assert drafts
    for cell in drafts:
        assert cell.p is cell.q is cell.draw is cell.draft_draw is cell.seconds is None
    assert lane.output == fake_run.CODE  # texts are known


@pytest.mark.parametrize("kind", KINDS)
def test_the_hover_card_says_what_is_unknown(tmp_path: Path, kind: str) -> None:
    lane = imported(tmp_path, kind).lanes[0]
    for cell in lane.cells:
        told = {row.name: row for row in rows(lane, cell)}
        assert {"p", "draw", "drafted by", "overlap", "greedy"}.isdisjoint(told)
        assert ("q" in told) == (cell.q is not None)
        assert not any(TIME.search(text) for row in told.values() for text in row)
        assert "position" not in told["round"].formula  # it counts from the prompt, which is unknown
        assert f"token {cell.position + 1} of the output" in told["round"].formula
        for word in ("its text", "p, ", "draws", "times"):
            assert word in told["unknown"].formula
        assert ("its id" in told["unknown"].formula) == (cell.id == UNKNOWN_TOKEN)
        assert "greedy" not in str(told)
        assert "deterministic" not in str(told)


def test_figures_of_time_are_unknown_and_say_why(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    store = imported(tmp_path, "vllm")
    lane = store.lanes[0]
    for shown in (lane_figures.speed(lane), lane_figures.speedup(store, lane)):
        assert shown.value == "–"
        assert shown.unit is not None
        assert shown.unit.endswith("unknown")
        assert "holds no times" in shown.tooltip
        assert not re.search(r"\d", shown.tooltip)
    assert lane_figures.acceptance(lane).value == f"{lane.totals.acceptance_rate:.2f}"
    card = LaneCard(store, theme, "0")
    show(qtbot, card, 980)
    assert card._speed.accessibleName() == "– tok/s unknown"


def test_a_card_that_shows_another_run_has_its_units_again(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    store = imported(tmp_path, "vllm")
    card = LaneCard(store, theme, "0")
    show(qtbot, card, 980)
    store.begin("run-1", [LaneSpec("0", "Prompt lookup")])
    store.extend(msgspec.structs.replace(record, lane="0") for record in fake_run.lane_records(LOOKUP))
    card.mark_dirty()
    card.refresh()
    assert (card._speed.unit, card._speedup.unit) == ("tok/s", "")


def test_the_chart_counts_rounds_where_there_are_no_times(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    store = imported(tmp_path, "llama")
    chart = RaceChart(store, theme)
    show(qtbot, chart)
    lane = store.lanes[0]
    x, y = chart._lines["0"].getData()
    assert x[-1] == len(lane.rounds)
    assert list(y) == [0, 0, *(r.totals.committed for r in lane.rounds)]
    assert list(x) == [0, 0, *range(1, len(lane.rounds) + 1)]
    assert [title.isVisible() for title in chart._titles.values()] == [False, True]
    chart._hover(QPointF(3.4, 1.0))
    text = chart._figures.textItem.toPlainText()
    assert text.startswith("3 rounds")
    assert f"{lane.rounds[2].totals.committed} tokens" in text
    assert not TIME.search(text)
    chart.grab()


def test_the_chart_goes_back_to_seconds(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    store = imported(tmp_path, "llama")
    chart = RaceChart(store, theme)
    show(qtbot, chart)
    store.begin("run-1", [])
    store.extend(fake_run.race((PLAIN, LOOKUP)))
    chart.mark_dirty()
    chart.refresh()
    assert [title.isVisible() for title in chart._titles.values()] == [True, False]
    assert chart._lines["ngram"].getData()[0][-1] == store.lane("ngram").clock


@pytest.mark.parametrize("kind", KINDS)
def test_the_ribbon_is_as_wide_as_its_tokens(qtbot: QtBot, theme: Theme, tmp_path: Path, kind: str) -> None:
    store = imported(tmp_path, kind)
    screen = Screen(store)
    ribbon = RoundRibbon(screen, theme, "0")
    show(qtbot, ribbon, 900, 16)
    found = [ribbon.round_at(x) for x in range(900)]
    assert {r.round for r in found if r is not None} == set(range(len(store.lanes[0].rounds)))
    assert not TIME.search(ribbon.toolTip())
    for cursor in range(0, len(store.records()), 7):  # any moment can be painted, the first ones too
        store.cursor = cursor
        ribbon.grab()


def test_results_for_the_clipboard_say_unknown(tmp_path: Path, fill: Fill) -> None:
    head, row, *text = as_text(imported(tmp_path, "vllm")).splitlines()
    told = dict(zip(head.split("\t"), row.split("\t"), strict=True))
    assert told["seconds"] == told["tokens/s"] == told["speed-up"] == "unknown"
    assert told["rounds"] == "40"
    assert text[-1] == "(its text is unknown)"
    assert "unknown" not in as_text(fill(PLAIN, LOOKUP))


def test_ids_are_known_one_by_one(tmp_path: Path) -> None:
    """A dump of llama.cpp tells the drafts' ids, but not those of corrections and bonuses."""
    for kind, known in (("llama", True), ("vllm", False)):
        lane = imported(tmp_path, kind, rounds=12).lanes[0]
        for number, done in enumerate(lane.rounds):
            scene = Scene.of_round(lane.history, number)
            assert readings.id_of(scene, FINAL) is None
            for index in range(done.k):
                drafted = scene.drafted[index].token
                assert readings.id_of(scene, index) == (drafted if known else None)
