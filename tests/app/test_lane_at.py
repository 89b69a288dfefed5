"""A lane seen as of an earlier moment is what it was then, to every widget; going back costs no replay."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from app.lane_at import LaneAt
from app.lane_state import Cell, LaneSpec, LaneState
from app.screen import Screen
from app.store import Store
from engine.records import Record
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, SKIP
from widgets.text_layout import Line, TextLayout

METHODS = (PLAIN, LOOKUP, DRAFT)


def spec_of(method: fake_run.Method) -> LaneSpec:
    return LaneSpec(method.lane, method.title, method.about, plain=method.gamma == 0)


def lane_of(method: fake_run.Method, records: list[Record]) -> LaneState:
    lane = LaneState(spec_of(method), 1)
    for serial, record in enumerate(records):
        lane.append(record, serial)
    return lane


def told(cell: Cell) -> tuple[object, ...]:
    return (cell.id, cell.text, cell.kind, cell.round, cell.index, cell.position, cell.p, cell.q, cell.overlap,
            cell.draw, cell.draft_draw, cell.best, cell.seconds, cell.source)


def assert_same(seen: LaneAt, then: LaneState) -> None:
    assert [told(c) for c in seen.cells] == [told(c) for c in then.cells]
    for name in ("settled", "status", "message", "totals", "committed", "rounds", "output", "revision", "started",
                 "finished", "records", "serials", "ids", "gamma", "title"):
        assert getattr(seen, name) == getattr(then, name), name
    assert seen.clock == pytest.approx(then.clock)
    for name in ("seconds", "tokens", "round_table", "tested_at", "accepted_at"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(then, name), name)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.lane)
def test_every_moment_is_what_it_was(method: fake_run.Method) -> None:
    records = list(fake_run.lane_records(method, limit=40))
    whole = lane_of(method, records)
    growing = LaneState(spec_of(method), 1)
    for serial, record in enumerate(records):
        growing.append(record, serial)
        assert_same(LaneAt(whole, whole.moment(serial)), growing)


def test_the_screen_shows_now_without_a_cursor_and_then_with_one() -> None:
    store = Store()
    store.begin("run-1", [spec_of(m) for m in (PLAIN, LOOKUP)])
    store.extend(fake_run.race((PLAIN, LOOKUP), limit=40))
    screen = Screen(store)
    assert screen.lanes == store.lanes
    store.cursor = 30
    seen = screen.lane("ngram")
    assert seen is screen.lane("ngram")  # made once, however many widgets ask
    assert seen is not None
    assert seen.revision == sum(r.lane == "ngram" for r in store.records()[:31])
    assert all(len(lane.records) < len(lane.base.records) for lane in screen.lanes)
    store.cursor = len(store.records()) - 1
    assert screen.speedup("ngram") == pytest.approx(store.speedup("ngram"))
    assert screen.divergence("ngram") == store.divergence("ngram")


def shape(lines: list[Line]) -> list[tuple[object, ...]]:
    return [(line.wrapped, line.indent, line.fragments) for line in lines]


@pytest.mark.parametrize("text", [fake_run.CODE, fake_run.PROSE, fake_run.WORLD], ids=["code", "prose", "world"])
@pytest.mark.parametrize("ghosts", [True, False])
def test_text_of_an_earlier_moment_is_laid_out_as_it_was(text: str, ghosts: bool) -> None:
    records = list(fake_run.lane_records(SKIP, text, limit=60))
    whole = lane_of(SKIP, records)

    def fresh() -> TextLayout:
        layout = TextLayout(len, 1.0)
        layout.reset(34)
        layout.ghosts = ghosts
        return layout

    complete = fresh()
    complete.sync(whole.cells, whole.settled)
    growing = LaneState(spec_of(SKIP), 1)
    for serial, record in enumerate(records):
        growing.append(record, serial)
        then = fresh()
        then.sync(growing.cells, growing.settled)
        seen = LaneAt(whole, whole.moment(serial))
        assert shape(complete.as_of(seen.cells, seen.settled)) == shape(then.lines)


def test_lines_of_earlier_rounds_are_shared() -> None:
    """Their pictures are kept by line, so that going back paints next to nothing anew."""
    whole = lane_of(LOOKUP, list(fake_run.lane_records(LOOKUP, fake_run.PROSE, limit=400)))
    layout = TextLayout(len, 1.0)
    layout.reset(60)
    layout.sync(whole.cells, whole.settled)
    half = LaneAt(whole, whole.moment(len(whole.serials) // 2))
    lines = layout.as_of(half.cells, half.settled)
    assert len(lines) > 5
    assert all(a is b for a, b in itertools.islice(zip(lines, layout.lines, strict=False), len(lines) - 2))
