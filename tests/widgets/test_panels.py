"""Cards, ribbon, charts, legend, hover card: what they say, and that they say it in both themes and all sizes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.store import LaneSpec, Store
from app.theme import Theme
from engine.records import Committed, Judged, RunFinished, Totals, Verified
from tests.widgets.conftest import Fill
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, SKIP, WIDE
from widgets.acceptance_chart import AcceptanceChart
from widgets.empty_state import EmptyState
from widgets.hover_card import HoverCard, rows
from widgets.label_places import Line, place
from widgets.lane_card import LaneCard
from widgets.legend import Legend
from widgets.panel import Panel
from widgets.race_chart import MOST_POINTS, RaceChart, thinned
from widgets.round_ribbon import RoundRibbon, describe
from widgets.steps import sparsely, step_up, ticks


def show(qtbot: QtBot, widget: QWidget, width: int = 900, height: int = 220) -> None:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    for _ in range(3):
        QApplication.processEvents()
        if isinstance(widget, Panel):
            widget.refresh()


# Panel


def test_a_panel_works_only_when_seen_and_only_when_something_changed(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    class Counting(Panel, QWidget):
        synced = 0

        def sync(self) -> None:
            self.synced += 1

    store = fill(LOOKUP)
    widget = Counting()
    widget.init_panel(store, theme)
    qtbot.addWidget(widget)
    widget.refresh()
    assert widget.synced == 0
    widget.show()
    widget.refresh()
    widget.refresh()
    assert widget.synced == 1
    store.select("ngram", position=23)
    widget.refresh()
    widget.mark_dirty()
    widget.refresh()
    assert widget.synced == 3


def test_records_of_other_lanes_leave_a_lane_alone(qtbot: QtBot, theme: Theme, fill: Fill,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    store = fill(PLAIN, LOOKUP, SKIP, until=2.0)
    card = LaneCard(store, theme, "ngram")
    show(qtbot, card)
    synced: list[str] = []
    for part in (card, card.stream, card.ribbon):
        monkeypatch.setattr(part, "sync", partial(synced.append, type(part).__name__))
    others = fill(PLAIN, LOOKUP, SKIP, until=2.2).records()[len(store.records()):]
    store.extend(record for record in others if record.lane == "skip")
    card.refresh()
    assert synced == []
    store.extend(record for record in others if record.lane == "ngram")
    card.refresh()
    assert synced == ["LaneCard", "TokenStream", "RoundRibbon"]


def test_charts_take_a_breath_between_records(qtbot: QtBot, theme: Theme, fill: Fill,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("widgets.panel.time", SimpleNamespace(monotonic=lambda: now[0]))
    store = fill(PLAIN, LOOKUP, until=2.0)
    chart = RaceChart(store, theme)
    show(qtbot, chart)
    before = chart._lines["ngram"].getData()[0][-1]
    store.extend(fill(PLAIN, LOOKUP).records()[len(store.records()):])
    for _ in range(5):
        now[0] += chart.PAUSE / 6
        chart.refresh()
    assert chart._lines["ngram"].getData()[0][-1] == before
    now[0] += chart.PAUSE / 3
    chart.refresh()
    assert chart._lines["ngram"].getData()[0][-1] == store.lane("ngram").clock


# Lane card


def test_a_lane_card_shows_figures_with_their_formulas(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(PLAIN, LOOKUP)
    card = LaneCard(store, theme, "ngram")
    show(qtbot, card)
    totals = store.lane("ngram").totals
    assert card._speed.value == f"{totals.tokens_per_second:.1f}"
    assert card._speedup.value == f"{store.speedup('ngram'):.2f}×"
    assert card._acceptance.value == f"{totals.acceptance_rate:.2f}"
    assert card._mean.value == f"{totals.mean_committed_length:.2f}"
    for figure in card._figures:
        assert "=" in figure.toolTip()
    assert "accepted drafts ÷ tested drafts" in card._acceptance.toolTip()
    assert "draft utilisation" in card._acceptance.toolTip()
    assert card._body.currentWidget() is card.stream


def test_a_lane_card_waits_reads_and_fails_in_words(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = Store()
    store.begin("run-1", [LaneSpec("skip", "Layer skip", "half of the layers")])
    card = LaneCard(store, theme, "skip")
    show(qtbot, card)
    assert card._notice.text() == "Waits for its turn."
    assert card._speedup.value == "–"
    store.append(RunFinished(run="run-1", lane="skip", reason="error", message="Layer 31 is not there. Choose 0 to 29.",
                             text="", totals=Totals(), details="layers: 30"))
    card.refresh()
    assert card._failure.isVisible()
    card._failure.findChild(QPushButton).click()
    assert QGuiApplication.clipboard().text() == "Layer 31 is not there. Choose 0 to 29.\n\nlayers: 30"


def test_one_round_is_a_round(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    everything = fill(PLAIN).records()
    store = Store()
    store.begin("run-1", [LaneSpec("plain", "Plain decoding", plain=True)])
    card = LaneCard(store, theme, "plain")
    show(qtbot, card)
    for number, unit in ((1, "round"), (2, "rounds")):
        end = [i for i, record in enumerate(everything) if isinstance(record, Committed)][number - 1]
        store.extend(everything[len(store.records()) : end + 1])
        card.refresh()
        assert (card._rounds.value, card._rounds.unit) == (str(number), unit)
        assert card._rounds.accessibleName() == f"{number} {unit}"
        assert f"{number} {'token' if number == 1 else 'tokens'} committed" in card._rounds.toolTip()


def test_a_lane_that_fails_midway_keeps_its_tokens_in_view(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(PLAIN, LOOKUP, until=1.0)
    card = LaneCard(store, theme, "ngram")
    show(qtbot, card)
    assert not card._failure.isVisible()
    store.append(RunFinished(run="run-1", lane="ngram", reason="error", message="Out of memory.", text="",
                             totals=store.lane("ngram").totals))
    card.refresh()
    assert card._failure.isVisible()
    assert card._body.currentWidget() is card.stream


@pytest.mark.parametrize(("width", "height"), [(620, 100), (700, 130), (980, 150), (3000, 600)])
def test_a_lane_card_fits_where_it_must(qtbot: QtBot, theme: Theme, fill: Fill, width: int, height: int) -> None:
    card = LaneCard(fill(PLAIN, LOOKUP), theme, "ngram")
    show(qtbot, card, width, height)
    assert card.size().height() == height
    for part in (card._speed, card._speedup, card.ribbon):
        assert part.isVisible()
        assert card.rect().contains(part.geometry())
    assert card._acceptance.isVisible() == (width >= 700)


def test_a_lane_card_passes_on_what_is_under_the_mouse(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    card = LaneCard(fill(PLAIN, LOOKUP), theme, "ngram")
    show(qtbot, card)
    with qtbot.waitSignal(card.hovered) as told:
        card.stream.hovered.emit(None, QPoint(1, 2))
    assert told.args == ["ngram", None, QPoint(1, 2)]


# Ribbon


def test_the_ribbon_finds_and_selects_rounds(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(PLAIN, LOOKUP)
    ribbon = RoundRibbon(store, theme, "ngram")
    show(qtbot, ribbon, 900, 16)
    span = step_up(store.longest_clock * 1.02, 0.5)
    for summary in store.lane("ngram").rounds:
        middle = summary.start + summary.seconds.total / 2
        assert ribbon.round_at(middle / span * ribbon.width()) is summary
    assert ribbon.round_at(1) is None  # still prefilling
    chosen = store.lane("ngram").rounds[5]
    x = round((chosen.start + chosen.seconds.total / 2) / span * ribbon.width())
    qtbot.mouseClick(ribbon, Qt.MouseButton.LeftButton, pos=QPoint(x, 8))
    assert (store.selection.round, store.selection.position) == (5, None)
    ribbon.grab()
    assert f"{chosen.k} drafted, {chosen.tested} tested, {chosen.accepted} accepted" in describe(chosen)


@pytest.mark.parametrize("scale", ["clock", "tokens"])
@pytest.mark.parametrize(("limit", "width"), [(40, 1200), (300, 600), (30_000, 900)])
def test_the_ribbon_paints_few_and_many_rounds(qtbot: QtBot, theme: Theme, fill: Fill, scale: str, limit: int,
                                               width: int) -> None:
    store = fill(WIDE, limit=limit, detail=False)
    ribbon = RoundRibbon(store, theme, "wide")
    ribbon.set_scale(scale)
    show(qtbot, ribbon, width, 16)
    image = ribbon.grab().toImage()
    green = theme.colour("accepted").rgb()
    assert any(image.pixelColor(x, y).rgb() == green for x in range(image.width()) for y in range(image.height()))


def test_the_ribbon_refuses_another_scale(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    ribbon = RoundRibbon(fill(LOOKUP), theme, "ngram")
    qtbot.addWidget(ribbon)
    with pytest.raises(ValueError, match="clock or tokens"):
        ribbon.set_scale("metres")


# Charts


def test_the_race_chart_draws_each_lane_to_its_end(qtbot: QtBot, theme: Theme, light: Theme, fill: Fill) -> None:
    store = fill(PLAIN, LOOKUP, SKIP)
    chart = RaceChart(store, theme)
    show(qtbot, chart, 800, 260)
    for lane in store.lanes:
        x, y = chart._lines[lane.id].getData()
        assert (x[-1], y[-1]) == (lane.clock, lane.totals.committed)
        assert chart._labels[lane.id].isVisible()
    chart._hover(QPointF(1.0, 10.0))
    assert chart._figures.isVisible()
    assert "Prompt lookup" in chart._figures.toPlainText()
    chart._hover(None)
    assert not chart._figures.isVisible()
    chart.set_theme(light)
    chart.refresh()
    chart.grab()
    store.begin("run-2", [LaneSpec("ngram", "Prompt lookup")])
    chart.mark_dirty()
    chart.refresh()
    assert chart._pages.currentWidget() is chart._empty


def test_the_race_charts_ranges_grow_in_steps(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(LOOKUP, until=1.0)
    chart = RaceChart(store, theme)
    show(qtbot, chart, 800, 260)
    seen = {chart._ranges}
    everything = fill(LOOKUP).records()
    for record in everything[len(store.records()):]:
        store.append(record)
        chart.mark_dirty()
        chart.refresh()
        seen.add(chart._ranges)
    assert len(seen) < 14


def shown_boxes(chart: RaceChart) -> list[QRectF]:
    return [label.mapRectToScene(label.boundingRect()) for label in chart._labels.values() if label.isVisible()]


@pytest.mark.parametrize("width", [320, 640, 900])
@pytest.mark.parametrize("count", [2, 3])
def test_names_of_lanes_that_end_together_cover_no_marker_and_no_name(qtbot: QtBot, theme: Theme, fill: Fill,
                                                                      width: int, count: int) -> None:
    similar = [replace(SKIP, lane=f"skip{i}", title=f"Layer skip {i}", step=0.018 + 0.002 * i) for i in range(count)]
    chart = RaceChart(fill(*similar), theme)
    show(qtbot, chart, width, 260)
    chart.grab()
    boxes = shown_boxes(chart)
    assert len(boxes) >= 2
    for first, second in combinations(boxes, 2):
        assert not first.adjusted(1, 1, -1, -1).intersects(second)
    view = chart._plot.view
    for end in chart._ends.values():
        marker = view.mapViewToScene(QPointF(*(float(values[0]) for values in end.getData())))
        assert not any(box.contains(marker) for box in boxes)
    inside = view.sceneBoundingRect().adjusted(-1, -1, 1, 1)
    assert all(inside.contains(box) for box in boxes)


@pytest.mark.parametrize("height", [112, 260])
def test_the_names_of_many_lanes_stand_beside_the_lines(qtbot: QtBot, theme: Theme, fill: Fill, height: int) -> None:
    many = [replace(SKIP, lane=f"skip{i}", title=f"Layer skip {i}", step=0.018 + 0.002 * i) for i in range(6)]
    chart = RaceChart(fill(*many), theme)
    show(qtbot, chart, 590, height)
    chart.grab()
    assert shown_boxes(chart) == []
    names = chart._names
    assert [title for title, _ in names.shown] == [lane.title for lane in many]
    assert len(names.boxes()) == 6
    assert names.boxes()[-1].bottom() <= names.height() + 1
    assert names.x() >= chart._plot.mapTo(chart, QPoint(chart._plot.width(), 0)).x()
    names.setFixedHeight(40)
    assert 0 < len(names.boxes()) < 6
    names.grab()


def test_the_numbers_of_a_low_chart_neither_touch_nor_are_cut(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    label = QFontMetricsF(theme.font("axis")).height()
    for kind in (RaceChart, AcceptanceChart):
        for height in (112, 126, 300):
            chart = kind(fill(PLAIN, LOOKUP, SKIP, DRAFT), theme)
            show(qtbot, chart, 500, height)
            view = chart._plot.view
            _, pixel = view.viewPixelSize()
            places = [value / pixel for value, _ in chart._plot.plotItem.getAxis("left")._tickLevels[0]]
            assert len(places) >= 2
            assert all(upper - lower >= label for lower, upper in pairwise(places))
            assert places[-1] + label / 2 <= view.height() + 0.5


def straight(x: float, y: float) -> Line:
    """From the lower left corner of a box of 400 × 200 to a point in it; its name is 80 × 20."""
    return Line(np.array([0.0, x]), np.array([200.0, y]), 80, 20)


BOX = QRectF(0, 0, 400, 200)


def test_a_name_stands_right_of_its_marker_where_there_is_room() -> None:
    (found,) = place([straight(200, 100)], BOX, 5, [None])
    assert found is not None
    assert found.box == QRectF(207, 90, 80, 20)


def test_a_name_without_room_to_the_right_goes_elsewhere_within_bounds() -> None:
    (found,) = place([straight(390, 100)], BOX, 5, [None])
    assert found is not None
    assert BOX.contains(found.box)
    assert not found.box.intersects(QRectF(385, 95, 10, 10))


def test_a_name_avoids_the_lines_of_others() -> None:
    """The second line runs through the place right of the first one's marker."""
    first, second = straight(150, 100), Line(np.array([0.0, 400.0]), np.array([101.0, 99.0]), 80, 20)
    found = place([first, second], BOX, 5, [None, None])[0]
    assert found is not None
    assert not found.box.top() < 100 < found.box.bottom()


def test_a_name_stays_where_it_stands_unless_another_place_is_much_better() -> None:
    alone = straight(200, 100)
    (first,) = place([alone], BOX, 5, [(0, 1)])  # a third of its height higher than is best
    assert first is not None
    assert first.choice == (0, 1)
    (moved,) = place([alone], BOX, 5, [(0, 5)])
    assert moved is not None
    assert moved.choice == (0, 0)


def test_a_name_that_fits_nowhere_is_left_out() -> None:
    assert place([straight(50, 100)], QRectF(0, 0, 70, 200), 5, [None]) == [None]
    assert place([], BOX, 5, []) == []


def test_thinned_lines_keep_both_ends() -> None:
    x = np.arange(10_000.0)
    a, b = thinned(x, 2 * x)
    assert len(a) == MOST_POINTS
    assert (a[0], b[-1]) == (0.0, 2 * 9999.0)
    few, _ = thinned(x[:5], x[:5])
    assert few.base is None  # a copy: the buffer grows on


def test_acceptance_by_draft_position(qtbot: QtBot, theme: Theme, light: Theme, fill: Fill) -> None:
    store = fill(PLAIN, LOOKUP, DRAFT)
    chart = AcceptanceChart(store, theme)
    show(qtbot, chart, 500, 260)
    assert set(chart._bars) == {"ngram", "draft"}
    lane = store.lane("ngram")
    heights = chart._bars["ngram"].opts["height"]
    assert heights == pytest.approx(lane.accepted_at / lane.tested_at)  # all of them higher than a stub
    chart._hover(QPointF(1.1, 0.5))
    assert f"= {lane.accepted_at[0]} ÷ {lane.tested_at[0]}" in chart._figures.toPlainText()
    chart._hover(QPointF(99.0, 0.5))
    assert not chart._figures.isVisible()
    chart.set_theme(light)
    chart.refresh()
    chart.grab()


def test_a_draft_that_was_never_accepted_is_not_one_that_was_never_tested(qtbot: QtBot, theme: Theme,
                                                                        fill: Fill) -> None:
    """Position 1 always accepted, 2 never, 3 and more never tested although γ is 4."""
    store = Store()
    store.begin("run-1", [LaneSpec("draft", "Draft model")])
    for record in fill(DRAFT).records():
        if not isinstance(record, Judged):
            store.append(record)
        elif record.index < 2:
            store.append(msgspec.structs.replace(record, accepted=record.index == 0))
    lane = store.lane("draft")
    assert (lane.gamma, len(lane.tested_at)) == (4, 2)
    chart = AcceptanceChart(store, theme)
    show(qtbot, chart, 500, 260)
    bars = chart._bars["draft"].opts
    assert list(bars["x"]) == [1, 2]
    assert bars["height"][0] == 1
    _, pixel = chart._plot.view.viewPixelSize()
    assert 2 <= bars["height"][1] / pixel <= 3
    assert [text for _, text in chart._plot.plotItem.getAxis("bottom")._tickLevels[0]] == ["1", "2"]
    chart._hover(QPointF(2.0, 0.5))
    assert "0 % = 0 ÷" in chart._figures.toPlainText()
    chart.resize(500, 500)
    for _ in range(2):
        QApplication.processEvents()
        qtbot.wait(120)
        chart.refresh()
    assert 2 <= chart._bars["draft"].opts["height"][1] / chart._plot.view.viewPixelSize()[1] <= 3


@pytest.mark.parametrize("width", [220, 300, 420, 900])
@pytest.mark.parametrize("gamma", [4, 12, 40])
def test_numbers_of_positions_do_not_touch(qtbot: QtBot, theme: Theme, fill: Fill, gamma: int, width: int) -> None:
    chart = AcceptanceChart(fill(replace(WIDE, gamma=gamma, skill=3.0), limit=200), theme)
    show(qtbot, chart, width, 200)
    metrics = QFontMetricsF(theme.font("axis"))
    pixel, _ = chart._plot.view.viewPixelSize()
    shown = chart._plot.plotItem.getAxis("bottom")._tickLevels[0]
    edges = [(at / pixel - metrics.horizontalAdvance(text) / 2, at / pixel + metrics.horizontalAdvance(text) / 2)
             for at, text in shown]
    assert len(edges) >= min(gamma, 3)
    for (_, right), (left, _) in pairwise(edges):
        assert left - right >= 3


def test_acceptance_says_so_when_there_is_nothing(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(PLAIN)
    chart = AcceptanceChart(store, theme)
    show(qtbot, chart)
    assert chart._pages.currentWidget() is chart._empty
    assert "add a drafter lane" in chart._empty._hint.text()
    store.begin("run-2", [LaneSpec("plain", "Plain decoding", plain=True), LaneSpec("ngram", "Prompt lookup")])
    chart.mark_dirty()
    chart.refresh()
    assert "add a drafter lane" not in chart._empty._hint.text()  # one is there, and waits


# Hover card, legend, empty state


def test_the_hover_card_spells_out_the_judgement(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    lane = fill(DRAFT).lane("draft")
    told = {}
    for cell in lane.cells[1:]:
        told.setdefault(cell.kind, {row.name: row for row in rows(lane, cell)})
    assert "→ accept" in told["accepted"]["draw"].formula
    assert "→ reject" in told["rejected"]["draw"].formula
    assert "residual" in told["correction"]["draw"].formula
    assert "q" not in told["bonus"]
    assert "draw" not in told["void"]
    assert "ms in all" in told["bonus"]["round"].formula
    assert "the chance that a draft is accepted here" in told["rejected"]["overlap"].formula
    assert "temperature 1" not in "".join(row.formula for kind in told.values() for row in kind.values())


def test_the_hover_card_counts_rounds_and_drafts_from_1(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    lane = fill(DRAFT).lane("draft")
    first = {row.name: row for row in rows(lane, lane.cells[1])}["round"]
    assert first.value == "1"
    assert first.formula.startswith("draft 1 of 4")
    last = {row.name: row for row in rows(lane, lane.cells[-1])}["round"]
    assert last.value == str(lane.totals.rounds)
    assert describe(lane.rounds[0]).startswith("round 1:")


def test_a_draft_that_was_never_tested_shows_what_its_void_row_said(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(PLAIN, DRAFT)
    lane = store.lane("draft")
    forwards = {record.round: record for record in store.records("draft") if isinstance(record, Verified)}
    void = [cell for cell in lane.cells if cell.kind == "void"]
    assert void
    for cell in void:
        row = forwards[cell.round].rows[cell.index]
        told = {row.name: row for row in rows(lane, cell)}["p"]
        assert float(told.value) == pytest.approx(float(row.p[row.ids.tolist().index(cell.id)]), abs=1e-4)
        assert "a prefix that no longer exists" in told.formula


def test_a_never_tested_draft_of_a_run_without_detail_shows_no_p(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    lane = fill(DRAFT, detail=False).lane("draft")
    void = next(cell for cell in lane.cells if cell.kind == "void")
    assert {"p", "overlap"}.isdisjoint(row.name for row in rows(lane, void))


def test_a_draft_behind_the_outputs_end_is_not_said_to_follow_a_rejection(qtbot: QtBot, theme: Theme,
                                                                        fill: Fill) -> None:
    """All tested drafts of the round were accepted: the output ended there."""
    records = list(fill(DRAFT).records("draft"))
    end = next(i for i, record in enumerate(records) if isinstance(record, Committed) and record.accepted >= 2)
    assert isinstance(records[end], Committed)
    records[end] = msgspec.structs.replace(
        records[end], tokens=records[end].tokens[:1], texts=records[end].texts[:1], accepted=1, tested=1, final="none")
    judged = [i for i, record in enumerate(records[:end]) if isinstance(record, Judged)
              and record.round == records[end].round and record.index >= 1]
    store = Store()
    store.begin("run-1", [LaneSpec("draft", "Draft model")])
    store.extend(record for i, record in enumerate(records[: end + 1]) if i not in judged)
    lane = store.lane("draft")
    assert lane.cells[-1].kind == "void"
    row = {row.name: row for row in rows(lane, lane.cells[-1])}["p"]
    assert "the output ended before its test" in row.formula


def test_the_hover_card_of_a_greedy_run_names_the_targets_choice(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    lane = fill(LOOKUP, temperature=0.0).lane("ngram")
    rejected = next(cell for cell in lane.cells if cell.kind == "rejected")
    told = {row.name: row for row in rows(lane, rejected)}
    assert lane.token_text(rejected.best) in told["greedy"].formula


def test_the_hover_card_of_a_greedy_run_does_not_call_the_overlap_a_chance(qtbot: QtBot, theme: Theme,
                                                                           fill: Fill) -> None:
    lane = fill(DRAFT, temperature=0.0).lane("draft")
    for kind in ("accepted", "rejected", "void", "correction"):
        told = {row.name: row for row in rows(lane, next(cell for cell in lane.cells if cell.kind == kind))}
        assert "chance" not in told["overlap"].formula
        for name in ("p", "q", "overlap"):
            assert "at temperature 1" in told[name].formula


def test_the_hover_card_stays_inside_the_window(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(DRAFT)
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(700, 500)
    window.show()
    card = HoverCard(store, theme, window)
    cell = store.lane("draft").cells[5]
    for corner in (QPoint(0, 0), QPoint(699, 0), QPoint(0, 499), QPoint(699, 499)):
        card.show_cell("draft", cell, window.mapToGlobal(corner))
        assert card.isVisible()
        assert window.rect().contains(card.geometry())
    window.grab()
    card.show_cell("draft", None, QPoint())
    assert not card.isVisible()


def test_the_legend_shows_every_mark(qtbot: QtBot, theme: Theme, light: Theme) -> None:
    legend = Legend(Store(), theme)
    show(qtbot, legend, 900, 40)
    assert set(legend.boxes()) >= {"accepted", "rejected", "correction", "bonus"}
    legend.set_theme(light)
    legend.grab()


def test_an_empty_state_says_what_to_do(qtbot: QtBot, theme: Theme) -> None:
    empty = EmptyState(theme, "No lanes yet", "Add a way to draft.", "lanes", "Add a lane")
    show(qtbot, empty)
    with qtbot.waitSignal(empty.acted):
        qtbot.mouseClick(empty._button, Qt.MouseButton.LeftButton)
    empty.set_text("No lanes")
    assert not empty._button.isVisible()


# Steps


def test_steps_and_ticks() -> None:
    assert [step_up(v) for v in (0.2, 1.0, 1.01, 4.9, 10.0, 81, 8001)] == [1, 1, 1.2, 5, 10, 100, 10_000]
    assert ticks(5.0, 5) == [0, 1, 2, 3, 4, 5]
    assert ticks(250, 4) == [0, 100, 200]
    assert [sparsely(room) for room in (0.3, 1.0, 1.1, 3, 7, 60)] == [1, 1, 2, 5, 10, 100]
    assert ticks(0.5, 5) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
