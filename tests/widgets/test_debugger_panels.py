"""Cache, verify rows, state and watch list, round strip, scrubber: what they say of a moment, and what clicks do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.theme import Theme
from engine.debugger.history import History, Moment
from engine.debugger.round_words import Chip, round_words
from engine.debugger.verify_rows import VerifyRow
from engine.errors import SpecScopeError
from engine.records import Drafted, Judged
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN
from tests.widgets.gallery_debugger import at_commit, history_of, place
from widgets import cache_panel
from widgets.cache_grid import places, shared
from widgets.cache_panel import CachePanel
from widgets.moment_card import MomentCard
from widgets.round_strip import RoundStrip, explain
from widgets.scrubber import Scrubber
from widgets.state_panel import StatePanel
from widgets.verify_panel import VerifyPanel
from widgets.watch_list import told


def evaluate(expression: str, moment: Moment) -> object:
    if expression == "length":
        return moment.length
    raise SpecScopeError(f"There is no figure named {expression}.")


def show(qtbot: QtBot, widget: QWidget, width: int = 360, height: int = 300) -> None:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    QApplication.processEvents()


def every(theme: Theme) -> list[MomentCard]:  # type: ignore[type-arg]
    state = StatePanel(theme, evaluate)
    state.set_watches(["length", "nonsense"])
    return [RoundStrip(theme), VerifyPanel(theme), CachePanel(theme), state]


def menu_at(widget: QWidget, point: QPoint) -> None:
    QApplication.sendEvent(widget, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point,
                                                     widget.mapToGlobal(point)))


@pytest.fixture(scope="module")
def whole() -> History:
    return history_of(DRAFT)


# All of them


def test_they_take_any_moment_of_any_lane_both_ways_in_both_themes_and_all_sizes(qtbot: QtBot, theme: Theme,
                                                                                light: Theme) -> None:
    world = history_of(DRAFT, fake_run.WORLD, None)
    for panel in every(theme):
        show(qtbot, panel)
        for width, height in ((360, 300), (150, 90), (1200, 800)):
            panel.resize(width, height)
            for history in (history_of(PLAIN, limit=12), history_of(LOOKUP, limit=24), world):
                for index in [*range(0, len(history) + 1, 7), *range(len(history), -1, -11)]:
                    panel.show_moment(history.at(index))
                    panel.grab()
            panel.show_moment(None)
            panel.grab()
        panel.set_theme(light)
        panel.show_moment(world.at(40))
        panel.grab()


def test_the_same_model_is_not_presented_twice(qtbot: QtBot, theme: Theme, whole: History,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    for panel in every(theme):
        show(qtbot, panel)
        panel.show_moment(whole.at(20))
        presented: list[object] = []
        monkeypatch.setattr(panel, "present", lambda model, before, kept=presented: kept.append(model))
        panel.show_moment(whole.at(20))
        assert presented == []
        panel.show_moment(whole.at(21))
        assert len(presented) == 1


def test_forth_and_back_show_the_same(qtbot: QtBot, theme: Theme, whole: History) -> None:
    for panel in every(theme):
        show(qtbot, panel)
        forth, back = [], []
        for index in range(60):
            panel.show_moment(whole.at(index))
            forth.append((panel.model, panel.heading.said))
        for index in range(59, -1, -1):
            panel.show_moment(whole.at(index))
            back.append((panel.model, panel.heading.said))
        assert back[::-1] == forth


def test_a_step_is_cheap(qtbot: QtBot, theme: Theme) -> None:
    history = history_of(DRAFT, limit=20_000)
    middle = len(history) // 2
    for panel in every(theme):
        show(qtbot, panel)
        spent = []
        for index in range(middle, middle + 60):
            begun = time.thread_time()  # whatever else the machine does is no fault of the panel's
            panel.show_moment(history.at(index))
            panel.repaint()
            spent.append(time.thread_time() - begun)
        assert sorted(spent)[30] < 0.016, type(panel).__name__


def test_looks_survive_another_parent(qtbot: QtBot, theme: Theme, light: Theme) -> None:
    strip = RoundStrip(theme)
    first, second = QWidget(), QWidget()
    for page in (first, second):
        QVBoxLayout(page)
        qtbot.addWidget(page)
        page.show()
    for page, look in ((first, theme), (second, light)):
        layout = page.layout()
        assert layout is not None
        strip.set_theme(look)
        layout.addWidget(strip)
        QApplication.processEvents()
        assert strip.sentence.font().pixelSize() == look.font("body").pixelSize()
        assert strip.sentence.palette().windowText().color() == look.colour("dim")


# Round strip


def test_the_strip_names_lane_gamma_and_round(qtbot: QtBot, theme: Theme, whole: History) -> None:
    strip = RoundStrip(theme)
    show(qtbot, strip)
    strip.show_moment(whole.at(at_commit(whole)))
    assert strip.heading.said == ("Draft model tiny-llama · γ 4", f"round 1 of {len(whole.begins)}")
    assert "is rejected: u·q\u00a0=\u00a0" in strip.sentence.text()
    strip.show_moment(whole.at(4))
    assert strip.heading.said[1] == "before the first round"
    strip.show_moment(None)
    assert strip.heading.said == ("Round", "")
    assert strip._hint.text().startswith("No lane to step through yet")
    strip.show_moment(whole.at(0))
    assert strip.heading.said == ("Round", "")
    assert strip._hint.text() == "Nothing has happened yet at this moment: step on (F11)."


@pytest.mark.parametrize("width", [300, 420, 700])
def test_the_type_keeps_its_size_from_step_to_step(qtbot: QtBot, theme: Theme, whole: History, width: int) -> None:
    strip = RoundStrip(theme)
    show(qtbot, strip, width)
    sizes = set()
    for index in range(3, 60):
        strip.show_moment(whole.at(index))
        sizes.add(strip.chips._painter.line_height)
    assert len(sizes) == 1


def chip_centres(strip: RoundStrip) -> Iterator[tuple[Chip, QPoint]]:
    painter, layout = strip.chips._painter, strip.chips._layout
    for number, line in enumerate(layout.lines):
        for fragment, (left, right) in zip(line.fragments, painter.spans(line), strict=True):
            yield strip.chips._chips[fragment.cell], QPoint(round((left + right) / 2 + painter.unit),
                                                            round((number + 0.6) * painter.line_height))


def test_a_click_on_a_chip_selects_the_row_that_decided_it(qtbot: QtBot, theme: Theme, whole: History) -> None:
    strip = RoundStrip(theme)
    show(qtbot, strip, 500, 260)
    moment = whole.at(at_commit(whole))
    strip.show_moment(moment)
    QApplication.processEvents()
    selected: list[tuple[int, int]] = []
    wanted: list[Chip] = []
    strip.selected.connect(lambda round, index: selected.append((round, index)))
    strip.breakpoint_wanted.connect(wanted.append)
    for chip, centre in chip_centres(strip):
        qtbot.mouseClick(strip.chips, Qt.MouseButton.LeftButton, pos=centre)
        menu_at(strip.chips, centre)
        if chip.index >= 0:
            assert selected[-1] == (chip.round, chip.index)
            assert wanted[-1] is chip
        assert explain(chip)
    words = round_words(moment)
    assert words is not None
    own = [chip for chip in words.chips if chip.index >= 0]
    assert len(selected) == len(wanted) == len(own)
    rejected = next(chip for chip in own if chip.kind == "rejected")
    correction = next(chip for chip in own if chip.kind == "correction")
    assert correction.index == rejected.index
    assert correction.position == rejected.position


def test_the_selected_chip_is_framed(qtbot: QtBot, theme: Theme, whole: History) -> None:
    strip = RoundStrip(theme)
    show(qtbot, strip, 500, 260)
    strip.show_moment(whole.at(at_commit(whole)))
    before = strip.chips.grab().toImage()
    strip.select(1)
    assert strip.chips.grab().toImage() != before
    strip.select(None)
    assert strip.chips.grab().toImage() == before


def test_many_drafts_wrap_and_can_be_scrolled_to(qtbot: QtBot, theme: Theme) -> None:
    history = history_of(replace(LOOKUP, gamma=64, skill=1.6), limit=400)
    strip = RoundStrip(theme)
    show(qtbot, strip, 360, 160)
    strip.show_moment(history.at(at_commit(history, accepted=8)))
    QApplication.processEvents()
    assert len(strip.chips._layout.lines) > 3
    assert strip.chips.height() >= strip.chips.heightForWidth(strip.chips.width())
    right = max(right for line in strip.chips._layout.lines for _, right in strip.chips._painter.spans(line))
    assert right <= strip.chips.width()


def test_a_token_of_three_hundred_characters_stays_inside(qtbot: QtBot, theme: Theme, whole: History) -> None:
    long = history_of(DRAFT, records=[msgspec.structs.replace(r, text="wide" * 75)
                                      if isinstance(r, Drafted | Judged) and r.index == 1 else r
                                      for r in fake_run.lane_records(DRAFT, limit=90)])
    moment = long.at(at_commit(long))
    strip, verify = RoundStrip(theme), VerifyPanel(theme)
    for panel in (strip, verify):
        show(qtbot, panel)
        panel.show_moment(moment)
        QApplication.processEvents()
        panel.grab()
    right = max(right for line in strip.chips._layout.lines for _, right in strip.chips._painter.spans(line))
    assert right <= strip.chips.width()
    assert len(strip.sentence.text()) < 250
    assert len(verify.rows._rows) == 5


# Verify rows


def test_rows_are_chosen_by_click_and_key(qtbot: QtBot, theme: Theme, whole: History) -> None:
    panel = VerifyPanel(theme)
    show(qtbot, panel)
    panel.show_moment(whole.at(at_commit(whole)))
    selected: list[tuple[int, int]] = []
    wanted: list[VerifyRow] = []
    panel.selected.connect(lambda round, index: selected.append((round, index)))
    panel.breakpoint_wanted.connect(wanted.append)
    rows = panel.rows
    point = QPoint(40, round(1.5 * rows.row_height))
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=point)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up):
        qtbot.keyClick(rows, key)
    assert selected == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 4), (0, 3)]
    last = rows.row_at(QPointF(40, 3.5 * rows.row_height - rows.verticalScrollBar().value()))
    assert last is not None
    assert last.index == 3
    QApplication.sendEvent(rows.viewport(), QContextMenuEvent(
        QContextMenuEvent.Reason.Mouse, point, rows.viewport().mapToGlobal(point)))
    assert [type(row) for row in wanted] == [VerifyRow]
    assert panel.heading.said[0] == "Verify: one forward, five rows"


def test_the_row_at_work_is_in_sight(qtbot: QtBot, theme: Theme) -> None:
    history = history_of(replace(LOOKUP, gamma=64, skill=1.6), limit=400)
    panel = VerifyPanel(theme)
    show(qtbot, panel, 340, 220)
    first, last = history.begins[0], history.ends[0]
    for index in [*range(first + 1, last + 2), *range(last, first, -1)]:
        moment = history.at(index)
        panel.show_moment(moment)
        assert moment.round is not None
        at_work = {"draft": moment.round.k, "verify": 0}.get(moment.phase, len(moment.round.judged) - 1)
        top = at_work * panel.rows.row_height - panel.rows.verticalScrollBar().value()
        assert 0 <= top <= panel.rows.viewport().height() - panel.rows.row_height


def test_void_rows_look_unusable(qtbot: QtBot, theme: Theme, whole: History) -> None:
    """The brightest pixel of a void row's text is dimmer than that of a used one."""
    panel = VerifyPanel(theme)
    show(qtbot, panel, 420, 420)
    panel.show_moment(whole.at(at_commit(whole)))
    image = panel.rows.viewport().grab().toImage()

    def brightest(row: int) -> int:
        top = row * panel.rows.row_height
        return max(image.pixelColor(x, y).lightness() for x in range(20, 240, 1)
                   for y in range(top + 4, top + panel.rows.row_height - 4, 2))

    assert brightest(2) < brightest(0) - 40
    assert brightest(3) < brightest(1) - 40


# Cache


def test_cells_are_the_last_slots_and_older_ones_are_summed_up(qtbot: QtBot, theme: Theme) -> None:
    history = history_of(DRAFT, limit=3000)
    panel = CachePanel(theme)
    show(qtbot, panel, 340, 320)
    moment = history.at(at_commit(history, after=len(history) // 2))
    panel.show_moment(moment)
    panel.grab()
    for part in panel.grid.parts:
        total = sum(run.count for run in part.side.runs)
        assert part.hidden + len(part.cells) == total
        assert [cell.slot for cell in part.cells if cell.kind == "kept"][-1] == part.side.count("kept") - 1
        assert 10 < len(part.cells) < 60
        for before, after in pairwise(part.cells):
            assert after.box.top() > before.box.top() or after.box.left() >= before.box.right()
        assert all(panel.grid.rect().toRectF().contains(cell.box) for cell in part.cells)
        assert "older slot" in panel.grid.explain(part.more.center())
        assert "slot" in panel.grid.explain(part.cells[-1].box.center())
    target = panel.grid.parts[0]
    assert target.side.held == moment.length - 1


def test_no_cell_lies_outside_at_any_size(qtbot: QtBot, theme: Theme, light: Theme) -> None:
    history = history_of(replace(LOOKUP, gamma=64, skill=1.6), limit=400)
    panel = CachePanel(theme)
    show(qtbot, panel)
    panel.show_moment(history.at(at_commit(history, accepted=8)))
    for look in (theme, light):
        panel.set_theme(look)
        for width, height in ((240, 260), (360, 360), (900, 300)):
            panel.resize(width, height)
            QApplication.processEvents()
            for part in panel.grid.parts:
                assert all(cell.box.right() <= panel.grid.width() for cell in part.cells)


def test_places_skip_to_the_end_without_walking_there() -> None:
    whole = history_of(DRAFT)
    cells = CachePanel.read(CachePanel.__new__(CachePanel), whole.at(at_commit(whole)))
    assert cells is not None
    listed = list(places(cells.target, 0))
    assert [place for place, _, _ in listed] == list(range(len(listed)))
    assert list(places(cells.target, 5)) == listed[5:]
    assert shared(4, [9, 9]) == [2, 2]
    assert shared(7, [2, 9]) == [2, 5]
    assert shared(0, [3, 0]) == [1, 0]
    assert shared(9, [1, 2]) == [1, 2]


def test_the_cut_is_animated_on_one_calm_step_forward_only(qtbot: QtBot, theme: Theme, whole: History,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_panel, "HURRIED", 0.02)
    panel = CachePanel(theme)
    show(qtbot, panel)
    commit = at_commit(whole)
    panel.show_moment(whole.at(commit - 1))
    panel.show_moment(whole.at(commit))  # at once: too quickly to want it
    assert not panel.animating
    panel.show_moment(whole.at(commit - 1))
    time.sleep(0.03)
    panel.show_moment(whole.at(commit))
    assert panel.animating
    panel.show_moment(whole.at(commit + 1))  # nothing waits for it
    assert not panel.animating
    assert panel.grid._progress == 1.0
    time.sleep(0.03)
    panel.show_moment(whole.at(commit))  # backwards
    assert not panel.animating
    panel.show_moment(whole.at(commit - 1))
    time.sleep(0.03)
    panel.show_moment(whole.at(commit))
    qtbot.waitUntil(lambda: not panel.animating, timeout=1000)
    assert panel.grid._progress == 1.0


# State and watches


def test_the_state_can_be_copied(qtbot: QtBot, theme: Theme, whole: History) -> None:
    panel = StatePanel(theme, evaluate)
    show(qtbot, panel)
    panel.set_watches(["length"])
    moment = whole.at(at_commit(whole))
    panel.show_moment(moment)
    panel.facts.selectRow(0)
    qtbot.keyClick(panel.facts, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "round: 1, committed"
    panel.facts.clearSelection()
    qtbot.keyClick(panel.facts, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert "test 1: u = " in QGuiApplication.clipboard().text()
    assert panel.text().splitlines()[-1] == f"length = {moment.length}"


def test_watches_are_typed_shown_and_removed(qtbot: QtBot, theme: Theme, whole: History) -> None:
    panel = StatePanel(theme, evaluate)
    show(qtbot, panel)
    told_of: list[tuple[str, ...]] = []
    panel.watches_changed.connect(told_of.append)
    moment = whole.at(30)
    panel.show_moment(moment)
    for typed in (" length ", "wobble", "length", ""):
        qtbot.keyClicks(panel.watch.line, typed)
        qtbot.keyClick(panel.watch.line, Qt.Key.Key_Return)
    assert told_of == [("length",), ("length", "wobble")]
    fault = "⚠ There is no figure named wobble."
    assert panel.watch.table.rows() == [("length", str(moment.length)), ("wobble", fault)]
    panel.show_moment(whole.at(60))
    assert panel.watch.table.rows()[0] == ("length", str(whole.at(60).length))
    panel.watch.table.selectRow(0)
    qtbot.keyClick(panel.watch.table, Qt.Key.Key_Delete)
    assert told_of[-1] == panel.watches == ("wobble",)
    panel.show_moment(None)
    assert panel.watch.table.rows() == [("wobble", "")]


def test_long_facts_wrap_instead_of_being_cut(qtbot: QtBot, theme: Theme, whole: History) -> None:
    panel = StatePanel(theme, evaluate)
    show(qtbot, panel, 300, 500)
    panel.show_moment(whole.at(at_commit(whole)))
    QApplication.processEvents()
    metrics = panel.facts.fontMetrics()
    for row, (_, value) in enumerate(panel.facts.rows()):
        room = panel.facts.columnWidth(1) - 8
        lines = max(1, -(-metrics.horizontalAdvance(value) // room)) if " " in value else 1
        assert panel.facts.rowHeight(row) >= lines * metrics.height()


@pytest.mark.parametrize("height", [150, 220, 360])
def test_a_low_state_panel_scrolls_as_one(qtbot: QtBot, theme: Theme, whole: History, height: int) -> None:
    panel = StatePanel(theme, evaluate)
    show(qtbot, panel, 268, height)
    panel.set_watches(["length", "nonsense"])
    panel.show_moment(whole.at(at_commit(whole)))
    QApplication.processEvents()
    assert panel.height() == height
    facts, watch, contents = panel.facts, panel.watch, panel.facts.parentWidget()
    assert contents is not None
    assert facts.geometry().bottom() < watch.geometry().top()
    assert watch.geometry().bottom() < contents.height()
    low = height < 300
    assert (panel._room.verticalScrollBar().maximum() > 0) is low
    assert (facts.verticalScrollBar().maximum() == 0) is low
    assert watch.table.verticalScrollBar().maximum() == 0


def test_values_are_told_as_people_write_them() -> None:
    assert [told(v) for v in (None, True, False, 0.123456789, 12345, " a\n", (1, 2))] == [
        "unknown", "yes", "no", "0.123457", "12,345", "·a↵", "(1, 2)"]


# Scrubber


def test_the_scrubber_goes_where_it_is_told(qtbot: QtBot, theme: Theme, whole: History) -> None:
    scrubber = Scrubber(theme)
    show(qtbot, scrubber, 900, 34)
    place(scrubber, whole.at(100))
    moved: list[int] = []
    scrubber.moved.connect(moved.append)
    ends = [end + 1 for end in whole.ends]
    after = next(end for end in ends if end > 100)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_PageDown, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp,
                Qt.Key.Key_Home, Qt.Key.Key_Left, Qt.Key.Key_End, Qt.Key.Key_PageDown):
        qtbot.keyClick(scrubber, key)
    beyond = ends[ends.index(after) + 1]
    assert moved == [101, 100, after, beyond, after, 0, len(whole)]
    qtbot.keyClick(scrubber, Qt.Key.Key_PageUp)
    assert moved[-1] == ends[-1]
    middle = QPoint(round(scrubber.x_of(60)), 17)
    qtbot.mouseClick(scrubber, Qt.MouseButton.LeftButton, pos=middle)
    assert moved[-1] == 60
    for x, index in ((scrubber.x_of(90), 90), (5000.0, len(whole)), (-5000.0, 0)):
        drag = QMouseEvent(QEvent.Type.MouseMove, QPointF(x, 17), scrubber.mapToGlobal(QPointF(x, 17)),
                           Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(scrubber, drag)
        assert moved[-1] == index
    for angle, index in ((-120, 1), (-60, 1), (-60, 2), (240, 0)):
        wheel = QWheelEvent(QPointF(100, 17), scrubber.mapToGlobal(QPointF(100, 17)), QPoint(), QPoint(0, angle),
                            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase,
                            False)
        QApplication.sendEvent(scrubber, wheel)
        assert scrubber.index == index


def test_every_record_has_its_place(qtbot: QtBot, theme: Theme) -> None:
    scrubber = Scrubber(theme)
    show(qtbot, scrubber, 900, 34)
    scrubber.show_place(0, 200, "record 0 of 200")
    assert [scrubber.index_at(scrubber.x_of(i)) for i in range(201)] == list(range(201))
    scrubber.show_place(5, 3, "beyond")
    assert scrubber.index == 3
    scrubber.show_place(0, 0, "")
    scrubber.grab()
    assert scrubber.index_at(400) == 0


def test_a_hundred_thousand_records_are_drawn_at_once(qtbot: QtBot, theme: Theme) -> None:
    scrubber = Scrubber(theme)
    show(qtbot, scrubber, 1600, 34)
    ticks = list(range(0, 100_000, 3))
    spent = []
    for index in range(50_000, 50_040):
        begun = time.perf_counter()
        scrubber.show_place(index, 100_000, f"record {index:,} of 100,000", ticks, ticks[:50])
        scrubber.repaint()
        spent.append(time.perf_counter() - begun)
    assert sorted(spent)[20] < 0.006


def test_ticks_of_another_lane_replace_those_shown(qtbot: QtBot, theme: Theme) -> None:
    scrubber = Scrubber(theme)
    show(qtbot, scrubber, 900, 34)
    scrubber.show_place(1, 100, "record 1", [10, 20], [])
    first = scrubber.grab().toImage()
    scrubber.show_place(1, 100, "record 1", [50, 60], [])
    assert scrubber.grab().toImage() != first
    growing = [10, 20]
    scrubber.show_place(1, 100, "record 1", growing, [])
    assert scrubber.grab().toImage() == first
    growing.append(70)
    scrubber.show_place(1, 100, "record 1", growing, [])
    assert scrubber.grab().toImage() != first


def test_a_followed_run_is_said_to_be_live(qtbot: QtBot, theme: Theme, whole: History) -> None:
    scrubber = Scrubber(theme)
    show(qtbot, scrubber, 900, 34)
    place(scrubber, whole.at(len(whole)), live=True)
    assert scrubber.accessibleDescription().endswith("· live")


