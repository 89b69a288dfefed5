"""A branch beside its original: the comparison grows as told by the whole records, and the panel shows it."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import msgspec
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.lane_at import LaneAt
from app.store import LaneSpec, Store
from app.theme import Theme
from engine.debugger.alignment import cost
from engine.records import Committed, Record, RunFinished, RunStarted
from tests.widgets import fake_run
from tests.widgets.fake_branch import BRANCH, branched, store_of
from tests.widgets.fake_run import LOOKUP, SKIP
from widgets.branch_columns import Columns
from widgets.branch_comparison import Comparison
from widgets.branch_panel import HINT, LOST, NOT_LOSSLESS, RESTORING, BranchPanel
from widgets.branch_rows import explain

OTHER = fake_run.CODE[250:].replace("amount", "total")


def original(text: str = fake_run.CODE, **options: object) -> list[Record]:
    return list(fake_run.lane_records(SKIP, text, **options))  # type: ignore[arg-type]


def shown(qtbot: QtBot, theme: Theme) -> BranchPanel:
    """No fixture: pytest would hold on to it while the test looks whether it is gone."""
    made = BranchPanel(theme)
    qtbot.addWidget(made)
    made.resize(700, 330)
    made.show()
    return made


def show(panel: BranchPanel, ours: Sequence[Record], theirs: Sequence[Record]) -> Store:
    store = store_of(ours, theirs)
    panel.show_branch(store.lane("skip"), store.lane(BRANCH))
    QApplication.processEvents()
    return store


# The comparison


@pytest.mark.parametrize("text", [OTHER, None, "", fake_run.CODE[:40]])
@pytest.mark.parametrize("round", [0, 5])
def test_it_says_what_the_whole_records_say(text: str | None, round: int) -> None:
    """Record by record, with both lanes growing in turns."""
    ours = original()
    theirs = branched(ours, SKIP, round, text)
    store = Store()
    store.begin("run-1", [LaneSpec("skip", ""), LaneSpec(BRANCH, "")])
    comparison, chance = Comparison(), random.Random(3)
    left, seen = [list(ours), list(theirs)], {"skip": list[Record](), BRANCH: list[Record]()}
    while any(left):
        record = chance.choice([side for side in left if side]).pop(0)
        store.append(record)
        seen[record.lane].append(record)
        comparison.show(store.lane("skip"), store.lane(BRANCH))
        if any(isinstance(r, RunStarted) for r in seen[BRANCH]):
            assert comparison.cost == cost(seen["skip"], seen[BRANCH])
    assert not comparison.show(store.lane("skip"), store.lane(BRANCH))


def test_it_follows_a_rewind() -> None:
    ours = original()
    theirs = branched(ours, SKIP, 6, OTHER)
    store = store_of(ours, theirs)
    skip, branch = store.lane("skip"), store.lane(BRANCH)
    comparison, chance = Comparison(), random.Random(5)
    for _ in range(60):
        a, b = (chance.randrange(4, len(lane.records) + 1) for lane in (skip, branch))
        comparison.show(LaneAt(skip, skip.history.at(a)), LaneAt(branch, branch.history.at(b)))
        assert comparison.cost == cost(ours[:a], theirs[:b])
        assert comparison.shared <= min(len(side) for side in comparison.sides)
    comparison.show(skip, branch)
    assert comparison.cost == cost(ours, theirs)


def test_another_branch_starts_anew() -> None:
    ours = original()
    first, second = branched(ours, SKIP, 6, OTHER), branched(ours, SKIP, 2, "x = 1\n")
    comparison = Comparison()
    for theirs in (first, second, first):
        store = store_of(ours, theirs)
        assert comparison.show(store.lane("skip"), store.lane(BRANCH))
        assert comparison.cost == cost(ours, theirs)


# The columns


def test_columns_grown_bit_by_bit_stand_as_those_laid_out_at_once() -> None:
    chance = random.Random(1)
    grown, sides = Columns(), [list[float](), list[float]()]
    grown.room = 200.0
    for _ in range(300):
        number = chance.randrange(2)
        first = chance.randrange(len(sides[number]) + 1) if chance.random() < 0.2 else len(sides[number])
        more = [chance.uniform(5, 90) for _ in range(chance.randrange(5))]
        sides[number] = sides[number][:first] + more
        grown.cut(number, first)
        grown.extend(number, more)
        grown.wrap(first)
        whole = Columns()
        whole.room = 200.0
        for side, widths in enumerate(sides):
            whole.extend(side, widths)
        whole.wrap(0)
        assert [grown.of_line(i) for i in range(grown.lines)] == [whole.of_line(i) for i in range(whole.lines)]
        assert [grown.span(i) for i in range(len(grown))] == [whole.span(i) for i in range(len(whole))]
        assert all(grown.span(i)[1] <= 200.02 for i in range(len(grown)))


def test_a_column_is_found_where_it_stands() -> None:
    columns = Columns()
    columns.room = 100.0
    columns.extend(0, [40.0, 30.0, 50.0, 400.0])
    columns.extend(1, [20.0, 45.0])
    columns.wrap(0)
    for column in range(len(columns)):
        left, right = columns.span(column)
        assert columns.column_at(columns.line_of(column), (left + right) / 2) == column
    assert columns.column_at(0, -1.0) is None
    assert columns.column_at(0, 99.0) is None
    assert columns.column_at(columns.lines, 1.0) is None


# The panel


def test_without_a_branch_it_says_what_to_do(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    assert panel.hint.isVisible()
    assert panel.hint.text() == HINT
    assert not panel.close_button.isVisible()


def test_a_branch_that_is_being_restored(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    store = Store()
    store.begin("run-1", [LaneSpec("skip", "Layer skip"), LaneSpec(BRANCH, "Layer skip from round 7")])
    store.extend(original())
    panel.show_branch(store.lane("skip"), store.lane(BRANCH))
    assert panel.hint.text() == RESTORING
    assert panel.heading.said[0] == "Layer skip from round 7"
    assert panel.close_button.isVisible()


def test_a_branch_whose_original_is_gone(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    store = store_of(original(), branched(original(), SKIP, 4, OTHER))
    panel.show_branch(None, store.lane(BRANCH))
    assert panel.hint.text() == LOST
    panel.show_branch(store.lane("skip"), store.lane(BRANCH))
    assert not panel.hint.isVisible()
    panel.show_branch(None, None)
    assert panel.hint.text() == HINT


def test_it_says_what_was_changed_and_what_it_cost(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original()
    theirs = branched(ours, SKIP, 12, OTHER)
    show(panel, ours, theirs)
    assert panel.heading.said == ("Draft 2 tested by u = 0.3", "from round 13 on")
    assert panel.names[0].said == "original: Layer skip · ended: length reached"
    assert panel.names[1].said == "branch: ended: length reached"
    told = cost(ours, theirs)
    assert f"{panel.parting.accessibleName()} {panel.price.accessibleName()}" == told.sentence
    assert panel.price.accessibleName().startswith("For the ")
    values = [figure.value for figure in panel.figures]
    assert values[:2] == [str(told.tokens), f"{told.original.forwards} → {told.branch.forwards}"]
    assert all("=" in panel.figures[i].toolTip() for i in (0, 1, 3))
    assert not panel.badge.isVisible()


def test_a_forced_verdict_is_said_to_be_no_longer_lossless(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original()
    show(panel, ours, branched(ours, SKIP, 12, OTHER, lossless=False))
    assert panel.badge.isVisible()
    assert panel.badge.text() == NOT_LOSSLESS


def test_while_equal_the_newest_token_is_in_view_and_then_the_difference(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original(limit=900)
    theirs = branched(ours, SKIP, 60, None)
    store = show(panel, ours, theirs[: len(theirs) // 2])
    rows = panel.rows
    bar = rows.verticalScrollBar()
    assert panel.parting.accessibleName() == "The outputs are the same so far."
    assert not panel.jump.isVisible()
    assert in_view(panel, 1, len(panel._comparison.branch) - 1)
    lane = store.lane(BRANCH)
    odd = next(r for r in theirs[len(theirs) // 2:] if isinstance(r, Committed))
    for record in theirs[len(theirs) // 2:]:
        if record is odd:
            record = msgspec.structs.replace(odd, tokens=(77, *odd.tokens[1:]))
            for cell in lane.cells[lane.settled:][:1]:
                cell.id = 77
        store.append(record)
        panel.show_branch(store.lane("skip"), lane)
    assert panel.rows.difference is not None
    assert in_view(panel, 1, panel.rows.difference)
    assert panel.jump.isVisible()
    rows.verticalScrollBar().triggerAction(bar.SliderAction.SliderToMinimum)
    assert not in_view(panel, 1, panel.rows.difference)
    QTest.mouseClick(panel.jump, Qt.MouseButton.LeftButton)
    assert in_view(panel, 1, panel.rows.difference)


def in_view(panel: BranchPanel, side: int, index: int) -> bool:
    return QRect(panel.rows.viewport().rect()).contains(panel.rows.box(side, index).center().toPoint())


def test_who_has_scrolled_stays_there(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original(limit=900)
    theirs = branched(ours, SKIP, 60, OTHER)
    store = show(panel, ours, theirs[:-200])
    bar = panel.rows.verticalScrollBar()
    bar.triggerAction(bar.SliderAction.SliderToMinimum)
    for record in theirs[-200:]:
        store.append(record)
        panel.show_branch(store.lane("skip"), store.lane(BRANCH))
    assert bar.value() == 0


def test_a_click_selects_a_token(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original()
    store = show(panel, ours, branched(ours, SKIP, 12, OTHER))
    index = panel.rows.difference
    assert index is not None
    for side, lane in enumerate(("skip", BRANCH)):
        with qtbot.waitSignal(panel.selected) as got:
            QTest.mouseClick(panel.rows.viewport(), Qt.MouseButton.LeftButton,
                             pos=panel.rows.box(side, index).center().toPoint())
        state = store.lane(lane)
        assert got.args == [lane, state.cells[state.committed[index]].position]


def test_arrow_keys_go_from_token_to_token(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original()
    show(panel, ours, branched(ours, SKIP, 12, OTHER))
    got: list[tuple[str, int]] = []
    panel.selected.connect(lambda lane, position: got.append((lane, position)))
    start = len(next(r for r in ours if isinstance(r, RunStarted)).prompt) + (panel.rows.difference or 0)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Left, Qt.Key.Key_Down):
        QTest.keyClick(panel.rows, key)
    assert got == [(BRANCH, start), (BRANCH, start + 1), ("skip", start + 1), ("skip", start), (BRANCH, start)]
    for _ in range(40):
        QTest.keyClick(panel.rows, Qt.Key.Key_Down)
    lane, position = got[-1]
    assert position > start
    assert in_view(panel, int(lane == BRANCH), position - start + (panel.rows.difference or 0))


def test_the_cross_asks_to_close_the_branch(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original()
    show(panel, ours, branched(ours, SKIP, 12, OTHER))
    with qtbot.waitSignal(panel.close_wanted) as got:
        QTest.mouseClick(panel.close_button, Qt.MouseButton.LeftButton)
    assert got.args == [BRANCH]


def test_a_failed_branch_says_why(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original()
    theirs = branched(ours, SKIP, 12, OTHER)[:-1]
    totals = next(r for r in ours if isinstance(r, RunFinished)).totals
    show(panel, ours, [*theirs, RunFinished(run="run-1", lane=BRANCH, reason="error", text="", totals=totals,
                                            message="The device ran out of memory.")])
    assert panel.price.accessibleName() == "The device ran out of memory."
    assert panel.names[1].said == "branch: failed"


@pytest.mark.qt_log_ignore("This plugin does not support (raise|propagateSizeHints)", extend=True)
def test_a_place_is_told_in_full(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original(fake_run.WORLD)
    theirs = branched(ours, SKIP, 3, "x" * 70 + "\u202e\x07")
    show(panel, ours, theirs)
    index = panel.rows.difference
    assert index is not None
    told = explain(panel._comparison, index)
    assert told.startswith(f"token {index + 1}\noriginal: “")
    assert "before the first difference" in explain(panel._comparison, 0)
    assert "branch: ended before" in explain(panel._comparison, len(panel._comparison) - 1)
    at = panel.rows.box(1, index).center().toPoint()
    event = QHelpEvent(QHelpEvent.Type.ToolTip, at, panel.rows.viewport().mapToGlobal(at))
    QApplication.sendEvent(panel.rows.viewport(), event)
    assert QToolTip.text() == told
    QToolTip.hideText()
    assert panel.rows.place_at(QPointF(1, 1)) is None
    assert panel.rows.place_at(QPointF(60, 5000)) is None


@pytest.mark.parametrize("size", [(300, 180), (420, 260), (1600, 900)])
def test_nothing_stands_out_of_the_card(qtbot: QtBot, theme: Theme, light: Theme, size: tuple[int, int]) -> None:
    panel = shown(qtbot, theme)
    ours = original(fake_run.WORLD)
    show(panel, ours, branched(ours, LOOKUP, 3, fake_run.PROSE, lossless=False))
    for dress in (theme, light):
        panel.set_theme(dress)
        panel.resize(max(size[0], panel.minimumSizeHint().width()), max(size[1], panel.minimumSizeHint().height()))
        QApplication.processEvents()
        parts = [panel.heading, panel.badge, panel.close_button, panel.rows, panel.parting, panel.price, *panel.names,
                 *(figure for figure in panel.figures if figure.isVisible())]
        for widget in parts:
            box = QRect(widget.mapTo(panel, QPoint(0, 0)), widget.size())
            assert panel.rect().contains(box), (type(widget).__name__, box)
        assert panel.badge.width() >= panel.badge.sizeHint().width()
        assert all(figure.width() >= figure.sizeHint().width() for figure in panel.figures if figure.isVisible())
        assert panel.rows.viewport().height() >= 2 * panel.rows.row_height
        panel.grab()


def test_a_selection_from_elsewhere_is_outlined(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original()
    show(panel, ours, branched(ours, SKIP, 12, OTHER))
    got: list[object] = []
    panel.selected.connect(lambda *said: got.append(said))
    panel.select(BRANCH, 40)
    assert panel.rows._chosen == (1, 18)
    panel.select("skip", 10)  # of the prompt
    assert panel.rows._chosen is None
    panel.select("other", 40)
    assert panel.rows._chosen is None
    assert got == []


def test_it_is_quick_at_ten_thousand_tokens(qtbot: QtBot, theme: Theme) -> None:
    panel = shown(qtbot, theme)
    ours = original(limit=10_000, detail=False)
    theirs = branched(ours, SKIP, 12, fake_run.PROSE, limit=10_000)
    store = show(panel, ours, theirs[:-300])
    rounds, idle = [], []
    for record in theirs[-300:]:
        store.append(record)
        if isinstance(record, Committed):
            rounds.append(timed(panel, store))
            idle.append(timed(panel, store))
    assert sorted(rounds)[len(rounds) // 2] < 0.004
    assert sorted(idle)[len(idle) // 2] < 0.0002


def timed(panel: BranchPanel, store: Store) -> float:
    start = time.thread_time()
    panel.show_branch(store.lane("skip"), store.lane(BRANCH))
    return time.thread_time() - start
