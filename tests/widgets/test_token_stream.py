"""The token stream as a person meets it: it follows, it tells what is under the mouse, it selects, it copies."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.store import LaneSpec, Store
from app.theme import Theme
from tests.widgets import fake_run
from tests.widgets.conftest import Fill
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, WIDE, lane_records
from widgets.text_layout import line_of
from widgets.token_stream import TokenStream


def shown(qtbot: QtBot, store: Store, theme: Theme, lane: str = "ngram", width: int = 700,
          height: int = 130) -> TokenStream:
    stream = TokenStream(store, theme, lane)
    qtbot.addWidget(stream)
    stream.resize(width, height)
    stream.show()
    for _ in range(3):
        QApplication.processEvents()
        stream.refresh()
    return stream


def point_of(stream: TokenStream, cell: int) -> QPoint:
    """Middle of a cell on the viewport."""
    for y in range(stream._painter.line_height // 2 + 3, stream.viewport().height(), stream._painter.line_height):
        for x in range(0, stream.viewport().width(), 2):
            if stream.cell_at(QPointF(x, y)) == cell:
                return QPoint(x + 1, y)
    raise AssertionError(f"cell {cell} is not in view")


def test_follows_the_end_until_one_scrolls_up(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(LOOKUP, until=1.5)
    stream = shown(qtbot, store, theme)
    bar = stream.verticalScrollBar()
    assert stream.following
    assert bar.value() == bar.maximum() > 0
    bar.setValue(0)
    assert not stream.following
    records = list(lane_records(LOOKUP))
    store.extend(records[len(store.records()):])
    stream.refresh()
    assert bar.value() == 0 < bar.maximum()
    bar.setValue(bar.maximum())
    assert stream.following


def test_hover_tells_the_cell_once_and_none_when_leaving(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(LOOKUP)
    stream = shown(qtbot, store, theme)
    told: list[object] = []
    stream.hovered.connect(lambda cell, point: told.append(cell))
    cells = store.lane("ngram").cells
    place = point_of(stream, len(cells) - 1)
    qtbot.mouseMove(stream.viewport(), place)
    qtbot.mouseMove(stream.viewport(), place + QPoint(1, 0))
    qtbot.mouseMove(stream.viewport(), QPoint(690, 2))
    assert told[0] is cells[-1]
    assert told[-1] is None
    assert len(told) == 2


def test_a_click_selects_the_token_in_all_lanes(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(PLAIN, LOOKUP)
    stream, plain = shown(qtbot, store, theme), shown(qtbot, store, theme, "plain")
    plain.verticalScrollBar().setValue(0)
    lane, other = store.lane("ngram"), store.lane("plain")
    qtbot.mouseClick(stream.viewport(), Qt.MouseButton.LeftButton, pos=point_of(stream, lane.committed[-1]))
    selection = store.selection
    assert selection is not None
    assert (selection.lane, selection.position) == ("ngram", lane.cells[lane.committed[-1]].position)
    plain.refresh()
    first, end = plain._outlined()
    assert (first, end) == (other.committed[-1], other.committed[-1] + 1)
    assert plain.cell_at(QPointF(point_of(plain, first))) == first  # scrolled into view
    qtbot.mouseClick(stream.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(690, 2))
    assert store.selection is None


def test_a_ghost_can_be_selected_and_hidden(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(LOOKUP)
    stream = shown(qtbot, store, theme, height=700)
    lane = store.lane("ngram")
    ghost = next(i for i, cell in enumerate(lane.cells) if cell.kind == "rejected")
    qtbot.mouseClick(stream.viewport(), Qt.MouseButton.LeftButton, pos=point_of(stream, ghost))
    assert (store.selection.round, store.selection.index) == (lane.cells[ghost].round, lane.cells[ghost].index)
    assert stream._outlined() == (ghost, ghost + 1)
    assert "rejected draft" in stream.accessibleDescription()
    stream.set_ghosts(False)
    stream.refresh()
    with pytest.raises(AssertionError, match="not in view"):
        point_of(stream, ghost)


def test_a_whole_round_can_be_outlined(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(LOOKUP)
    stream = shown(qtbot, store, theme)
    store.select("ngram", round=3)
    chosen = store.lane("ngram").rounds[3]
    assert stream._outlined() == (chosen.first_cell, chosen.last_cell)


def test_keys_move_the_selection(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(LOOKUP)
    stream = shown(qtbot, store, theme)
    lane = store.lane("ngram")
    qtbot.keyClick(stream, Qt.Key.Key_Left)
    assert stream._outlined() == (len(lane.cells) - 1, len(lane.cells))
    qtbot.keyClick(stream, Qt.Key.Key_Left)
    assert stream._outlined() == (len(lane.cells) - 2, len(lane.cells) - 1)
    qtbot.keyClick(stream, Qt.Key.Key_Right)
    qtbot.keyClick(stream, Qt.Key.Key_Up)
    line = line_of(stream._lines, stream._outlined()[0])
    assert line == line_of(stream._lines, len(lane.cells) - 1) - 1
    qtbot.keyClick(stream, Qt.Key.Key_Home)
    assert stream._outlined()[0] == stream._layout.lines[line].fragments[0].cell
    for _ in range(60):
        qtbot.keyClick(stream, Qt.Key.Key_Up)
    assert stream.verticalScrollBar().value() == 0
    qtbot.keyClick(stream, Qt.Key.Key_Escape)
    assert store.selection is None


def test_copy_gives_the_output_without_ghosts(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    stream = shown(qtbot, fill(LOOKUP), theme)
    qtbot.keyClick(stream, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == fake_run.CODE


def test_only_whole_lines_are_painted(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    stream = shown(qtbot, fill(LOOKUP), theme, height=100)
    assert stream._rows() * stream._painter.line_height <= stream.viewport().height()
    assert stream.cell_at(QPointF(3, stream._rows() * stream._painter.line_height + 1)) is None


def test_a_new_run_starts_from_the_top(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(LOOKUP)
    stream = shown(qtbot, store, theme)
    store.begin("run-2", [LaneSpec("ngram", "Prompt lookup")])
    stream.refresh()
    assert stream._layout.laid_out == 0
    assert stream.verticalScrollBar().maximum() == 0


@pytest.mark.parametrize("text", [fake_run.WORLD, fake_run.PROSE])
def test_every_script_is_painted_and_found_again(qtbot: QtBot, theme: Theme, fill: Fill, text: str) -> None:
    """Right-to-left lines included: each token has a place of its own on its line."""
    store = fill(PLAIN, text=text.replace("\U0001f469\u200d\U0001f680 🎉 ✅ 🇨🇭, ", ""))
    stream = shown(qtbot, store, theme, "plain", height=600)
    for line in stream._layout.lines:
        spans = stream._painter.spans(line)
        assert all(right > left for left, right in spans)
        for (left, right), fragment in zip(spans, line.fragments, strict=True):
            middle = (left + right) / 2
            inside = [f.cell for (a, b), f in zip(spans, line.fragments, strict=True) if a <= middle < b]
            assert fragment.cell in inside
    stream.viewport().repaint()


def test_theme_and_size_can_change(qtbot: QtBot, theme: Theme, light: Theme, fill: Fill) -> None:
    stream = shown(qtbot, fill(DRAFT), theme, "draft")
    height = stream._painter.line_height
    stream.set_theme(light)
    stream.resize(300, 300)
    stream.refresh()
    assert stream._painter.line_height > height
    assert stream._layout.width < 300
    stream.grab()


def test_two_hundred_thousand_tokens(qtbot: QtBot, theme: Theme, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints what a frame costs; design: under 6 ms."""
    store = Store()
    store.begin("run-1", [LaneSpec("wide", "Prompt lookup")])
    records = list(lane_records(WIDE, limit=200_000, detail=False, finish=False))
    store.extend(records[:-400])
    stream = shown(qtbot, store, theme, "wide", 1200, 400)
    while stream._layout.laid_out < len(store.lane("wide").cells):
        stream.mark_dirty()
        stream.refresh()
    stream.grab()
    frames = []
    canvas = QPixmap(stream.viewport().size())
    for start in range(len(records) - 400, len(records), 20):
        store.extend(records[start : start + 20])
        begin = time.perf_counter()
        stream.refresh()
        stream.viewport().render(canvas)
        frames.append(1e3 * (time.perf_counter() - begin))
    frames.sort()
    with capsys.disabled():
        print(f"\n{store.lane('wide').totals.committed:,} tokens: a frame takes {frames[len(frames) // 2]:.1f} ms "
              f"(median), {frames[-1]:.1f} ms at most")
    assert stream.following


def test_one_line_is_full_of_the_newest_tokens(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    """Wrapped, it would hold a word or two each time a line begins; and the signs stay what they are."""
    for until in (1.0, 1.5, 2.0, 9.0):
        store = fill(LOOKUP, until=until)
        stream = shown(qtbot, store, theme, width=420)
        stream.set_least(1)
        stream.resize(420, 30)
        QApplication.processEvents()
        stream.refresh()
        lane = store.lane("ngram")
        (line,) = stream._lines_in_view()
        assert line.fragments[-1].cell == len(lane.cells) - 1
        first = line.fragments[0].cell
        before = stream._layout.last(lane.cells[:first], 1e-9).right
        assert line.right <= stream._text_width() < line.right + before + 3 * stream._painter.unit
        assert point_of(stream, len(lane.cells) - 1).x() < stream.viewport().width()
    qtbot.mouseClick(stream.viewport(), Qt.MouseButton.LeftButton, pos=point_of(stream, lane.committed[-1]))
    assert stream._outlined() == (lane.committed[-1], lane.committed[-1] + 1)
    stream.set_ghosts(False)
    stream.refresh()
    assert all(lane.cells[f.cell].kind not in ("rejected", "void") for f in stream._lines_in_view()[0].fragments)
    stream.verticalScrollBar().setValue(0)  # one scrolls up: the lines as they are wrapped
    assert stream._lines_in_view() == stream._lines[:1]
    stream.grab()
    stream.set_least(2)
    stream.resize(420, 130)
    QApplication.processEvents()
    stream.refresh()
    assert stream._tail is None
