"""The rounds table: its figures, its order, its filter, its keys, and that it stays quick."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtWidgets import QApplication, QLayout
from pytestqt.qtbot import QtBot

from app.lane_state import LaneState
from app.store import LaneSpec, Store
from app.theme import Theme
from engine.debugger.conditions import FewerAccepted, LowOverlap, LowRatio, LowResidual, RoundReached
from engine.debugger.history import History
from engine.debugger.round_filter import round_filter
from engine.debugger.round_rows import RoundRow, round_row
from engine.errors import SpecScopeError
from engine.records import Committed, Drafted, Judged, RunStarted, Verified
from tests.widgets.conftest import Fill
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, lane_records
from widgets.rounds_menu import offers
from widgets.rounds_table import NO_LANE, NO_MATCH, NOTHING_YET, RoundsTable, by_text
from widgets.rounds_table_columns import COLUMNS
from widgets.rounds_table_model import RoundsModel
from widgets.rounds_table_order import Order, Wanted

AT = {column.name: place for place, column in enumerate(COLUMNS)}


def show(qtbot: QtBot, theme: Theme, store: Store, lane: str, index: int | None = None,
         **options: object) -> tuple[RoundsTable, LaneState]:
    table = RoundsTable(store, theme, **options)  # type: ignore[arg-type]
    qtbot.addWidget(table)
    table.resize(1240, 400)
    table.show()
    QApplication.processEvents()
    state = store.lane(lane)
    assert state is not None
    table.show_lane(state, state.history.at(len(state.records) if index is None else index))
    QApplication.processEvents()
    return table, state


def listed(table: RoundsTable) -> list[int]:
    return list(table.model.order.rounds)


def column(table: RoundsTable, name: str) -> list[str]:
    model = table.model
    return [str(model.index(line, AT[name]).data()) for line in range(model.rowCount())]


def remark(table: RoundsTable) -> str:
    return table._title._remark._whole


def history_of(records: list[object]) -> History:
    history = History("draft")
    for record in records:
        history.append(record)  # type: ignore[arg-type]
    return history


# Figures


def test_a_row_is_what_the_records_say() -> None:
    records = list(lane_records(DRAFT, limit=60))
    history = history_of(records)
    tested = accepted = 0
    for number in range(len(history.ends)):
        row = round_row(history, number)
        mine = [r for r in records if getattr(r, "round", None) == number]
        done = next(r for r in mine if isinstance(r, Committed))
        judged = [r for r in mine if isinstance(r, Judged)]
        tested, accepted = tested + len(judged), accepted + sum(j.accepted for j in judged)
        assert (row.round, row.position) == (number, done.position)
        assert row.k == len([r for r in mine if isinstance(r, Drafted)])
        assert (row.tested, row.accepted, row.rejected) == (
            len(judged), done.accepted, sum(not j.accepted for j in judged))
        assert row.void == row.k - row.tested
        assert row.committed == len(done.tokens)
        assert row.committed_text == "".join(done.texts)
        assert row.alpha == (accepted / tested if tested else None)
        assert row.seconds == done.seconds
        if judged:
            last = judged[-1]
            verified = next(r for r in mine if isinstance(r, Verified))
            assert row.overlap == verified.rows[last.index].overlap
            assert row.ratio == pytest.approx(last.p / last.q)  # type: ignore[operator]
            assert row.draw == last.draw
        assert row.residual_mass == done.residual_mass
    with pytest.raises(IndexError, match="hasn't ended"):
        round_row(history, len(history.ends))


def test_what_a_recording_does_not_hold_is_shown_as_unknown() -> None:
    records = list(lane_records(DRAFT, limit=20, detail=False))
    assert isinstance(records[0], RunStarted)
    records[0] = msgspec.structs.replace(records[0], unknown=("seconds", "texts"))
    records = [msgspec.structs.replace(r, p=None, draw=None) if isinstance(r, Judged) else r for r in records]
    model = RoundsModel()
    model.show(history_of(records))
    shown = model.shown(0)
    for name in ("committed text", "drafted text", "overlap", "p/q", "draw", "total ms", "draft ms", "commit ms"):
        assert shown[AT[name]] == "–", name
        assert model.table([0])[1][AT[name]] == ""
    assert shown[AT["k"]] == "4"
    assert "not known" in str(model.data(model.index(0, AT["p/q"]), Qt.ItemDataRole.ToolTipRole))


def test_nan_overlap_and_zero_q_are_unknown() -> None:
    records = list(lane_records(DRAFT, limit=20))
    records = [msgspec.structs.replace(r, rows=tuple(msgspec.structs.replace(row, overlap=float("nan"))
                                                     for row in r.rows)) if isinstance(r, Verified)
               else msgspec.structs.replace(r, q=0.0) if isinstance(r, Judged) else r for r in records]
    row = round_row(history_of(records), 0)
    assert row.overlap is None
    assert row.ratio is None


def test_every_column_has_a_formula_and_tells_it(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, _ = show(qtbot, theme, fill(DRAFT, limit=20), "draft")
    for place, shown in enumerate(COLUMNS):
        tip = str(table.model.headerData(place, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole))
        assert len(shown.formula) > 8
        assert shown.name in tip
    assert "accepted drafts / tested drafts" in COLUMNS[AT["α so far"]].formula


def test_tokens_are_readable_and_harmless(qtbot: QtBot, theme: Theme) -> None:
    store = Store()
    store.begin("run-1", [LaneSpec("draft", "Draft")])
    texts = ["<b>x</b>", " a", "\n\t", "中文", "\x07" * 5000]
    records = [msgspec.structs.replace(r, text=texts[r.index % 5]) if isinstance(r, Drafted) else r
               for r in lane_records(replace(DRAFT, gamma=5), limit=40)]
    store.extend(records)
    table, _ = show(qtbot, theme, store, "draft")
    assert column(table, "drafted text")[0].startswith("<b>x</b> ·a ↵⇥ 中文 ⟨07⟩")
    tip = str(table.model.data(table.model.index(0, AT["drafted text"]), Qt.ItemDataRole.ToolTipRole))
    assert "&lt;b&gt;x" in tip
    assert len(tip) < 3000
    assert not table.grab().isNull()


# Order


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("name", [shown.name for shown in COLUMNS])
def test_sorting_by_any_column_puts_the_unknown_last(name: str, falling: bool) -> None:
    model = RoundsModel()
    model.show(history_of(list(lane_records(replace(DRAFT, skill=0.5), limit=80))))
    model.sort(AT[name], Qt.SortOrder.DescendingOrder if falling else Qt.SortOrder.AscendingOrder)
    values = [COLUMNS[AT[name]].of(model.row(round)) for round in model.order.rounds]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=falling)  # type: ignore[type-var]
    assert values[len(known):] == [None] * (len(values) - len(known))
    assert sorted(model.order.rounds) == list(range(model.count))


@pytest.mark.parametrize("wanted", [None, lambda row: row.accepted > 1])
@pytest.mark.parametrize(("name", "falling"), [("round", False), ("round", True), ("overlap", True), ("final", True),
                                               ("residual", False)])
def test_rounds_that_come_later_are_put_where_sorting_would(name: str, falling: bool, wanted: Wanted | None) -> None:
    history = history_of(list(lane_records(DRAFT, limit=80)))
    rows: Callable[[int], RoundRow] = lambda round: round_row(history, round)  # noqa: E731
    one, other = Order(rows), Order(rows)
    for order in (one, other):
        order.column, order.falling, order.wanted = AT[name], falling, wanted
    one.rebuild(len(history.ends))
    other.rebuild(3)
    for round in range(3, len(history.ends)):
        place = other.place(round)
        if place is not None:
            other.insert(place, round)
    assert one.rounds == other.rounds
    assert [one.find(round) for round in one.rounds] == list(range(len(one.rounds)))


def test_a_header_sorts_rising_then_falling_then_as_they_came(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, lane = show(qtbot, theme, fill(DRAFT, limit=120), "draft")
    natural = list(range(len(lane.rounds)))
    header = table.view.horizontalHeader()
    at = AT["p/q"]
    click = QPoint(header.sectionViewportPosition(at) + 20, header.height() // 2)
    table.view.selectRow(4)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=click)
    rising = listed(table)
    assert rising != natural
    assert table.model.headerData(at, Qt.Orientation.Horizontal) == "▴ p/q"
    assert listed(table)[table.view.currentIndex().row()] == 4  # the keys are still on that round
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=click)
    assert listed(table) != rising
    assert table.model.headerData(at, Qt.Orientation.Horizontal) == "▾ p/q"
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=click)
    assert listed(table) == natural
    table.view.sort_next(AT["round"])
    assert listed(table) == natural[::-1]
    table.view.sort_next(AT["round"])
    assert listed(table) == natural


def test_rounds_are_listed_as_they_end(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    whole = fill(DRAFT, limit=200).lane("draft")
    assert whole is not None
    store = Store()
    store.begin("run-1", [LaneSpec("draft", "Draft")])
    store.append(whole.records[0])
    table, lane = show(qtbot, theme, store, "draft")
    assert table._pages.currentWidget() is table._empty
    table.view.sort_next(AT["overlap"])
    for record in whole.records[1:]:
        store.append(record)
        table.show_lane(lane, store.moment("draft"))
        assert table.model.rowCount() == len(lane.rounds)
    overlaps = [table.model.row(round).overlap for round in listed(table)]
    known = [value for value in overlaps if value is not None]
    assert known == sorted(known)
    assert remark(table) == f"{len(lane.rounds)} rounds"


# The cursor


def test_rounds_after_the_cursor_are_pale_and_counted(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, lane = show(qtbot, theme, fill(DRAFT, limit=400), "draft")
    count = len(lane.rounds)
    assert remark(table) == f"{count} rounds"
    place = lane.history.ends[41] + 1
    table.show_lane(lane, lane.history.at(place))
    assert remark(table) == f"42 of {count} rounds · as of round 42"
    assert (table.model.happened, table.model.current) == (42, 41)
    rect = table.view.visualRect(table.model.index(41, 0))
    assert table.view.viewport().rect().contains(rect)  # it came into sight
    table.show_lane(lane, lane.history.at(lane.history.begins[90] + 1))
    assert (table.model.happened, table.model.current) == (90, 90)
    assert remark(table) == f"90 of {count} rounds · as of round 91"
    rect = table.view.visualRect(table.model.index(90, 0))
    assert table.view.viewport().rect().contains(rect)
    table.show_lane(lane, lane.history.at(place))
    assert table.model.happened == 42


def test_empty_states(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(DRAFT, limit=30)
    table, lane = show(qtbot, theme, store, "draft")
    assert table._pages.currentWidget() is table.view
    for state, words in ((None, NO_LANE), (fill(DRAFT, until=0.1).lane("draft"), NOTHING_YET)):
        table.show_lane(state, state.history.at(9) if state is not None else None)
        assert table._pages.currentWidget() is table._empty
        assert table._empty._headline.text() == words[0]
        assert not table._copy.isEnabled()
    table.show_lane(lane, lane.history.at(50))
    table.field.setText("zebra")
    table.apply_filter()
    assert table._empty._headline.text() == NO_MATCH[0]
    table.field.clear()
    table.apply_filter()
    assert table._pages.currentWidget() is table.view


# Filter


def test_text_filters_and_says_how_many_match(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, lane = show(qtbot, theme, fill(DRAFT, limit=300), "draft")
    table.field.setText("PRICE")
    qtbot.waitUntil(lambda: table.model.order.wanted is not None)  # by itself, after a pause
    wanted = by_text("price")
    assert listed(table) == [r for r in range(len(lane.rounds)) if wanted(table.model.row(r))]
    assert 0 < len(listed(table)) < len(lane.rounds)
    assert remark(table) == f"{len(listed(table))} of {len(lane.rounds)} rounds match"
    qtbot.keyClick(table.field, Qt.Key.Key_Return)
    table.field.clear()
    qtbot.keyClick(table.field, Qt.Key.Key_Return)
    assert len(listed(table)) == len(lane.rounds)


def picky(text: str) -> Wanted:
    if text.startswith("?"):
        raise SpecScopeError(f"“{text}” can't be read.")

    def wanted(row: RoundRow) -> bool:
        if row.overlap is None:
            raise SpecScopeError("overlap is unknown in some rounds.")
        return row.overlap < float(text)

    return wanted


def test_a_filter_that_cannot_be_read_says_so_and_filters_nothing(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, lane = show(qtbot, theme, fill(DRAFT, limit=200), "draft", filter_with=picky, hint="e.g. 0.3")
    assert table.field.placeholderText() == "e.g. 0.3"
    table.field.setText("0.2")
    table.apply_filter()
    assert 0 < len(listed(table)) < len(lane.rounds)
    table.field.setText("?")
    table.apply_filter()
    assert table._note.accessibleName() == "“?” can't be read."
    assert not table._note.isHidden()
    assert table.field.property("fault") is True
    assert listed(table) == list(range(len(lane.rounds)))
    assert remark(table) == f"{len(lane.rounds)} rounds"
    table.field.setText("0.2")
    table.apply_filter()
    assert table.field.property("fault") is False
    untested = [r for r in range(len(lane.rounds)) if table.model.row(r).overlap is None]
    assert table._note.isHidden() is not bool(untested)
    table.field.clear()
    table.apply_filter()
    assert table._note.isHidden()


def test_a_name_that_is_not_there_is_told_on_one_line(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(DRAFT, limit=100)
    table, lane = show(qtbot, theme, store, "draft", filter_with=lambda text: round_filter(text, lambda: lane.history))
    table.field.setText("acepted < 2 and wobble > 3")
    table.apply_filter()
    table.grab()
    assert table._note.height() < 2 * table._note.fontMetrics().height()
    told = table._note.toolTip()
    assert "did you mean accepted" in told.splitlines()[0]
    assert "overlap_min" not in told.splitlines()[0]
    assert "overlap_min" in told
    assert len(listed(table)) == len(lane.rounds)
    table.field.setText("price")
    table.apply_filter()
    assert table._note.isHidden()
    assert 0 < len(listed(table)) < len(lane.rounds)


@pytest.mark.parametrize("place", [0, 40, 90, -1])
def test_a_low_table_shows_whole_rows_from_the_top(qtbot: QtBot, theme: Theme, fill: Fill, place: int) -> None:
    store = fill(DRAFT, limit=400)
    table, lane = show(qtbot, theme, store, "draft", 1)
    table._column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # as in a pane that a person drags
    table.setMinimumSize(0, 0)
    table.resize(760, 124)
    QApplication.processEvents()
    assert table.height() == 124
    place = place % len(lane.rounds)
    table.show_lane(lane, lane.history.at(lane.history.ends[place]))
    QApplication.processEvents()
    view = table.view
    room = view.viewport().rect()
    assert room.height() // view.rowHeight(0) >= 2
    top = view.visualRect(table.model.index(view.indexAt(QPoint(5, 0)).row(), 0)).top()
    assert top == 0 or place == len(lane.rounds) - 1  # at the very end, the last row stands at the foot
    assert room.contains(view.visualRect(table.model.index(place, 0)))
    table.resize(760, 400)
    QApplication.processEvents()
    assert table.field.geometry().top() > table._title.geometry().top()


def test_another_lane_gets_a_filter_of_its_own(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(DRAFT, LOOKUP, limit=100)
    made: list[str] = []

    def make(text: str) -> Wanted:
        made.append(text)
        return lambda row: row.accepted == 0

    table, _ = show(qtbot, theme, store, "draft", filter_with=make)
    table.field.setText("accepted == 0")
    table.apply_filter()
    other = store.lane("ngram")
    assert other is not None
    table.show_lane(other, other.history.at(len(other.records)))
    assert made == ["accepted == 0"] * 2
    assert listed(table) == [summary.round for summary in other.rounds if summary.accepted == 0]


# Keys, clipboard, menu


def test_enter_and_a_click_select_a_round(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, _ = show(qtbot, theme, fill(DRAFT, limit=200), "draft", 30)
    view = table.view
    view.sort_next(AT["overlap"])
    view.setCurrentIndex(table.model.index(2, 3))
    with qtbot.assertNotEmitted(table.selected):
        qtbot.keyClick(view, Qt.Key.Key_Down)
    with qtbot.waitSignal(table.selected) as caught:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert caught.args == [listed(table)[3]]
    at = view.visualRect(table.model.index(1, 0)).center()
    with qtbot.waitSignal(table.selected) as caught:
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert caught.args == [listed(table)[1]]
    with qtbot.assertNotEmitted(table.selected):  # more rows to copy, nowhere to go
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier,
                         view.visualRect(table.model.index(3, 0)).center())
    assert view.lines() == [1, 3]


def test_copying_rows_and_all(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, lane = show(qtbot, theme, fill(DRAFT, limit=100), "draft")
    clipboard = QApplication.clipboard()
    table.copy_rows()
    assert clipboard.text() == ""
    select = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    for line in (5, 2):
        table.view.selectionModel().select(table.model.index(line, 0), select)
    qtbot.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = [line.split("\t") for line in clipboard.text().split("\n")]
    assert lines[0] == [shown.name for shown in COLUMNS]
    assert [line[0] for line in lines[1:]] == ["3", "6"]
    assert {len(line) for line in lines} == {len(COLUMNS)}
    assert float(lines[1][AT["total ms"]]) == 1e3 * lane.rounds[2].seconds.total
    table.view.sort_next(AT["overlap"])
    table._copy.click()
    rows = list(csv.reader(io.StringIO(clipboard.text())))
    assert [int(row[0]) - 1 for row in rows[1:]] == listed(table)


def test_a_right_click_offers_where_to_stop(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    table, lane = show(qtbot, theme, fill(DRAFT, limit=200), "draft")
    rejected = next(s.round for s in lane.rounds if s.final == "correction" and s.tested > 1)
    menu = table.menu(table.model.index(rejected, 0))
    texts = [action.text() for action in menu.actions()]
    assert texts[0] == f"Break when round {rejected + 1}"
    assert "Copy all as CSV" in texts
    with qtbot.waitSignal(table.breakpoint_wanted) as caught:
        menu.actions()[0].trigger()
    assert caught.args == [RoundReached(number=rejected + 1)]


def test_what_is_offered_holds_for_that_round() -> None:
    history = history_of(list(lane_records(replace(DRAFT, skill=0.4), limit=200)))
    met: set[type] = set()
    for number in range(len(history.ends)):
        row = round_row(history, number)
        for offer in offers(row):
            met.add(type(offer))
            match offer:
                case FewerAccepted():
                    assert row.accepted < offer.count
                case LowOverlap():
                    assert row.overlap is not None
                    assert row.overlap < offer.below <= 1.12 * row.overlap + 1e-9
                case LowRatio():
                    assert row.ratio is not None
                    assert row.ratio < offer.below
                case LowResidual():
                    assert row.residual_mass is not None
                    assert row.residual_mass < offer.below
    assert {FewerAccepted, LowOverlap, LowRatio, LowResidual} <= met


# Looks and speed


def test_both_themes_and_all_sizes(qtbot: QtBot, theme: Theme, light: Theme, fill: Fill) -> None:
    store = fill(PLAIN, DRAFT, limit=60)
    table, _ = show(qtbot, theme, store, "draft", 200)
    dark = table.grab().toImage().pixelColor(5, 200)
    table.set_theme(light)
    assert table.grab().toImage().pixelColor(5, 200) != dark
    for width in (320, 400, 1240, 2800):
        table.resize(width, 300)
        QApplication.processEvents()
        assert not table.grab().isNull()
    assert sum(table.view.columnWidth(c) for c in range(len(COLUMNS))) <= table.view.viewport().width()
    plain = store.plain
    assert plain is not None
    table.show_lane(plain, plain.history.at(40))
    assert column(table, "p/q")[0] == "–"
    assert column(table, "α so far")[0] == "–"
    table.view.setColumnWidth(AT["final"], 300)  # by hand: then it stays
    table.resize(1000, 300)
    QApplication.processEvents()
    assert table.view.columnWidth(AT["final"]) == 300


def test_ten_thousand_rounds(qtbot: QtBot, theme: Theme) -> None:
    records = list(lane_records(DRAFT, limit=620, detail=False))
    ends = [i for i, record in enumerate(records) if isinstance(record, Committed)][:200]
    first = next(i for i, record in enumerate(records) if isinstance(record, Drafted))
    store = Store()
    store.begin("run-1", [LaneSpec("draft", "Draft")])
    store.extend(records[:2])
    table, lane = show(qtbot, theme, store, "draft")
    for record in [*records[2:first], *(records[first:ends[-1] + 1] * 50)]:
        lane.history.append(record)
    lane.revision += 1

    def seconds(action: Callable[[], object]) -> float:
        """Of this thread, however busy the machine is."""
        start = time.thread_time()
        action()
        return time.thread_time() - start

    moment = lane.history.at(len(lane.history))
    assert seconds(lambda: table.show_lane(lane, moment)) < 0.15
    assert table.model.rowCount() == 10_000
    QApplication.processEvents()
    view, bar = table.view, table.view.verticalScrollBar()
    scrolled = []
    for place in np.linspace(0, bar.maximum(), 12):
        bar.setValue(int(place))
        scrolled.append(seconds(lambda: view.viewport().grab()))
    assert min(scrolled) < 0.02
    assert seconds(lambda: view.sort_next(AT["draw"])) < 1.5  # 0.2 as a rule; once all figures are known, 0.02
    places = np.linspace(1000, len(lane.history), 100).astype(int)
    assert seconds(lambda: [table.show_lane(lane, lane.history.at(int(i))) for i in places]) < 0.5
