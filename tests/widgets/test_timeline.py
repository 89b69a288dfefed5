"""The timeline: what its slices are made of, how it zooms, what it says, and that it stays quick."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QWheelEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.lane_state import LaneState
from app.store import LaneSpec, Store
from app.theme import Theme
from engine.debugger.conditions import RoundReached, SlowRound
from engine.debugger.slices import slices
from engine.records import Committed, Drafted, Judged, Record, RunStarted, Verified
from tests.widgets.conftest import Fill
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, SKIP, lane_records
from widgets.timeline import NO_LANE, NO_TIMES, NOTHING_YET, Timeline
from widgets.timeline_axis import LEAST, Axis, duration, milliseconds, ruler
from widgets.timeline_paint import Blocks, Tone, paint_columns, paint_profile
from widgets.timeline_tracks import STEPS, Track

EIGHT = replace(DRAFT, gamma=8)


class Recorded:
    """As much of a lane as the timeline reads, without all that a store keeps."""

    def __init__(self, records: Sequence[Record], plain: bool = False) -> None:
        self.records, self.plain, self.revision = records, plain, len(records)
        self.started = next(record for record in records if isinstance(record, RunStarted))
        self.cells: list[object] = []
        self.finished = None

    def find(self, *place: object) -> None:
        return None


def show(qtbot: QtBot, theme: Theme, store: Store, lane: str, index: int | None = None,
         size: tuple[int, int] = (1240, 150)) -> tuple[Timeline, LaneState]:
    panel = Timeline(store, theme)
    qtbot.addWidget(panel)
    panel.resize(*size)
    panel.show()
    QApplication.processEvents()
    state = store.lane(lane)
    assert state is not None
    panel.show_lane(state, store.plain, state.history.at(len(state.records) if index is None else index))
    return panel, state


def after(lane: LaneState, kind: type[Record], round: int, nth: int = 0) -> int:
    """The moment right after the ``nth`` record of that kind in a round."""
    begin, end = lane.history.begins[round], lane.history.ends[round] + 1
    return [begin + i + 1 for i, r in enumerate(lane.records[begin:end]) if isinstance(r, kind)][nth]


def middle(panel: Timeline, round: int, row: str) -> QPoint:
    canvas = panel.canvas
    step = row if row in STEPS else "verify"
    starts, ends = canvas.track.steps(round, round + 1, step)  # type: ignore[arg-type]
    box = canvas.picture.row(QRectF(canvas.rect()), canvas.rows, row)  # type: ignore[arg-type]
    return QPointF(canvas.x_of(float(starts[0] + ends[0]) / 2), box.center().y()).toPoint()


def painted(panel: Timeline) -> QImage:
    return panel.grab().toImage()


# What slices are made of


@pytest.mark.parametrize("portion", [1, 7, 10_000])
def test_tracks_hold_what_slices_tell_however_records_come(portion: int) -> None:
    records = list(lane_records(DRAFT, limit=120, detail=False))
    track = Track()
    for end in range(portion, len(records) + portion, portion):
        track.catch_up(records[:end])
    assert not track.catch_up(records)
    told = list(slices(records))
    assert track.prefill == told[0].seconds
    for step in STEPS[1:]:
        starts, ends = track.steps(0, len(track), step)
        mine = [piece for piece in told if piece.kind == step]
        assert starts == pytest.approx([piece.start for piece in mine], abs=1e-9)
        assert ends == pytest.approx([piece.start + piece.seconds for piece in mine], abs=1e-9)
    starts, ends = track.drafts(0, len(track))
    mine = [piece for piece in told if piece.kind == "draft"]
    assert starts == pytest.approx([piece.start for piece in mine], abs=1e-9)
    assert ends == pytest.approx([piece.start + piece.seconds for piece in mine], abs=1e-9)
    for round in range(len(track)):
        count = track.first_draft(round + 1) - track.first_draft(round)
        assert count == sum(piece.round == round for piece in mine)
    assert track.end == pytest.approx(told[-1].start + told[-1].seconds)


def test_drafts_that_claim_more_time_than_their_phase_stay_within_it() -> None:
    records = [msgspec.structs.replace(r, seconds=1.0) if isinstance(r, Drafted) else r
               for r in lane_records(DRAFT, limit=30, detail=False)]
    track = Track()
    track.catch_up(records)
    for round in range(len(track)):
        _, ends = track.drafts(round, round + 1)
        phase = track.steps(round, round + 1, "draft")[1][0]
        assert all(end <= phase + 1e-9 for end in ends)


def test_shares_add_up_to_the_seconds_of_the_run() -> None:
    records = list(lane_records(DRAFT, limit=300, detail=False))
    track = Track()
    assert all(not share.any() for share in track.shares(np.linspace(0, 1, 5)).values())
    track.catch_up(records)
    edges = np.linspace(0.0, track.end * 1.1, 101)
    shares = track.shares(edges)
    spent = [record.seconds for record in records if isinstance(record, Committed)]
    for step in STEPS:
        assert (shares[step] * np.diff(edges)).sum() == pytest.approx(sum(getattr(s, step) for s in spent))
    total = sum(shares.values())
    inside = (edges[:-1] >= track.prefill) & (edges[1:] <= track.end)
    assert total[inside] == pytest.approx(1.0)
    assert total[edges[1:] <= track.prefill] == pytest.approx(0.0)


def test_the_cursor_moves_on_with_every_step_and_stays_in_its_round(fill: Fill) -> None:
    lane = fill(DRAFT, limit=60).lane("draft")
    assert lane is not None
    track = Track()
    track.catch_up(lane.records)
    clocks = []
    for index in range(len(lane.records) + 1):
        moment = lane.history.at(index)
        clocks.append(track.reached(moment))
        if moment.round is not None:
            start, end = track.span(moment.round.round)
            assert start - 1e-9 <= clocks[-1] <= end + 1e-9
    assert clocks[0] == 0
    assert all(a <= b + 1e-9 for a, b in pairwise(clocks))
    assert clocks[-1] == pytest.approx(track.end)
    assert track.reached(None) == track.end


# Axis and figures


def test_zooming_keeps_what_is_under_the_pointer_and_stops_at_microseconds() -> None:
    axis = Axis()
    axis.grow(400.0)
    assert axis.fitted
    for _ in range(200):
        share = (123.456 - axis.start) / axis.span
        axis.zoom(123.456, 0.8)
        assert (123.456 - axis.start) / axis.span == pytest.approx(share, abs=1e-4)
    assert axis.span == pytest.approx(LEAST)
    axis.pan(1e9)
    assert axis.end == pytest.approx(400.0)
    axis.zoom(0.0, 1e12)
    assert axis.fitted
    axis.grow(500.0)
    assert axis.end == 500.0  # who saw all still does
    axis.show(10.0, 5.0)
    axis.grow(600.0)
    assert (axis.start, axis.span) == (10.0, 5.0)


@pytest.mark.parametrize(("start", "span", "some", "base"), [
    (0.0, 600.0, "100 s", ""), (0.0, 0.5, "100 ms", ""), (43.1, 0.9, "43.2 s", ""), (43.12, 0.05, "43.13 s", ""),
    (43.1201, 0.002, "+1.0 ms", "43.12 s"), (43.123456, 2e-5, "+70 µs", "43.1234 s"), (0.0, 2e-6, "1.0 µs", ""),
])
def test_the_ruler_speaks_in_units_that_suit_the_zoom(start: float, span: float, some: str, base: str) -> None:
    axis = Axis()
    axis.grow(600.0)
    axis.show(start, span)
    marks = ruler(axis, 8)
    labels = [tick.label for tick in marks.ticks]
    assert marks.base == base
    assert some in labels
    assert len(set(labels)) == len(labels) >= 3
    assert all(start - 1e-12 <= tick.time <= start + span + 1e-12 for tick in marks.ticks)


def test_durations_have_the_digits_one_can_use() -> None:
    assert [duration(s) for s in (2.5, 0.0581, 0.0006, 3.4e-6, 0)] == ["2.50 s", "58.1 ms", "0.60 ms", "3.4 µs", "0 ms"]
    assert [milliseconds(s) for s in (0.0518, 0.0006, 4e-5, 0)] == ["51.8", "0.60", "0.04", "0"]


# What it says


def test_the_header_tells_the_round_as_far_as_it_has_happened(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    panel, lane = show(qtbot, theme, fill(PLAIN, SKIP, limit=60), "skip")
    ended = lane.history.at(after(lane, Committed, 6))
    panel.show_lane(lane, None, ended)
    seconds = ended.round.committed.seconds  # type: ignore[union-attr]
    said = panel._title._remark._whole
    assert said.startswith(f"round 7: {1e3 * seconds.total:.1f} ms · draft 54.0 · verify ")
    assert said.endswith("· judge 1.2 · record 0.60 · commit 0.20")
    panel.show_lane(lane, None, lane.history.at(after(lane, Drafted, 6, 1)))
    assert panel._title._remark._whole.startswith("round 7, under way: draft 3")
    assert "verify" not in panel._title._remark._whole
    panel.choose(9)
    assert panel._title._remark._whole.startswith("round 10, recorded, not reached yet: ")
    panel.choose(None)
    panel.show_lane(lane, None, lane.history.at(1))
    assert panel._title._remark._whole == f"{len(lane.rounds)} rounds recorded"


def test_empty_states_say_what_to_do(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(DRAFT, limit=20)
    panel, lane = show(qtbot, theme, store, "draft")
    assert panel.canvas.message is None
    panel.show_lane(None, None, None)
    assert panel.canvas.message == NO_LANE
    young = fill(DRAFT, until=0.1).lane("draft")
    assert young is not None
    panel.show_lane(young, None, young.history.at(1))
    assert panel.canvas.message == NOTHING_YET
    assert lane.started is not None
    lane.started = msgspec.structs.replace(lane.started, unknown=("seconds",))
    panel.show_lane(lane, None, lane.history.at(30))
    assert panel.canvas.message == NO_TIMES
    assert panel._title._remark._whole == ""
    assert not painted(panel).isNull()
    assert panel.canvas.hit(QPointF(400, 40)) is None


def test_hovering_tells_what_a_slice_is_and_escapes_tokens(qtbot: QtBot, theme: Theme) -> None:
    store = Store()
    store.begin("run-1", [LaneSpec("draft", "Draft")])
    store.extend(msgspec.structs.replace(r, text="<b>&") if isinstance(r, Drafted) else r
                 for r in lane_records(DRAFT, limit=40))
    for cell in store.lane("draft").cells:  # type: ignore[union-attr]
        if cell.index >= 0:
            cell.label = "<b>&"
    panel, lane = show(qtbot, theme, store, "draft")
    canvas = panel.canvas
    canvas.axis.show(canvas.track.span(3)[0], 0.1)
    starts, ends = canvas.track.drafts(3, 4)
    box = canvas.picture.row(QRectF(canvas.rect()), canvas.rows, "draft")
    told = canvas.explain(QPointF(canvas.x_of((starts[1] + ends[1]) / 2), box.center().y()))
    assert "round 4 · draft 2" in told
    assert "&lt;b&gt;&amp;" in told
    assert f"draft step {duration(ends[1] - starts[1])}" in told
    told = canvas.explain(QPointF(middle(panel, 3, "verify")))
    assert "<b>round 4 · verify</b>" in told
    assert "one forward of the target" in told
    total = lane.rounds[3].seconds.total
    assert f"= {milliseconds(total)} ms" in told
    canvas.fit()
    assert "before the first round" in canvas.explain(QPointF(canvas.x_of(0.05), box.center().y()))
    assert canvas.explain(QPointF(2, 2)) == ""


def test_hovering_over_plain_steps_and_crowds(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    panel, _ = show(qtbot, theme, fill(PLAIN, LOOKUP, limit=3000, detail=False), "ngram")
    canvas = panel.canvas
    canvas.axis.show(canvas.track.span(3)[0], 0.3)
    row = canvas.picture.row(QRectF(canvas.rect()), canvas.rows, "plain")
    assert "plain step" in canvas.explain(QPointF(600, row.center().y()))
    canvas.axis.full = canvas.axis.own = 100_000.0
    canvas.fit()
    told = canvas.explain(QPointF(canvas.plot().left() + 0.4, canvas.plot().top() + 20))
    assert "in this pixel" in told
    assert "verify " in told


# Pointer and keys


def test_a_click_selects_a_drag_pans_a_double_click_fits(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    panel, _ = show(qtbot, theme, fill(PLAIN, SKIP, limit=300), "skip", 400)
    canvas = panel.canvas
    assert not canvas.axis.fitted
    canvas.axis.show(canvas.track.span(20)[0] - 0.05, 0.6)
    with qtbot.waitSignal(panel.selected) as caught:
        qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(panel, 21, "verify"))
    assert caught.args == [21, -1]
    starts, ends = canvas.track.drafts(21, 22)
    at = QPoint(round(canvas.x_of((starts[2] + ends[2]) / 2)), middle(panel, 21, "draft").y())
    with qtbot.waitSignal(panel.selected) as caught:
        qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    assert caught.args == [21, 2]
    start, span = canvas.axis.start, canvas.axis.span
    with qtbot.assertNotEmitted(panel.selected):
        qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(600, 40))
        qtbot.mouseMove(canvas, QPoint(500, 40))
        QApplication.processEvents()
        qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(500, 40))
    assert canvas.axis.start == pytest.approx(start + 100 / canvas.plot().width() * span, rel=1e-3)
    qtbot.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(500, 40))
    assert canvas.axis.fitted


def test_wheel_and_keys(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    panel, _ = show(qtbot, theme, fill(SKIP, limit=300), "skip", 400)
    canvas, axis = panel.canvas, panel.canvas.axis
    under = canvas.time_at(700)
    span = axis.span
    QApplication.sendEvent(canvas, QWheelEvent(
        QPointF(700, 40), canvas.mapToGlobal(QPointF(700, 40)), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False))
    assert axis.span < span
    assert canvas.time_at(700) == pytest.approx(under)
    span = axis.span
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    assert axis.span < span
    qtbot.keyClick(canvas, Qt.Key.Key_Minus)
    assert axis.span == pytest.approx(span)
    start = axis.start
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert axis.start == pytest.approx(start + 0.1 * span)
    qtbot.keyClick(canvas, Qt.Key.Key_Left)
    qtbot.keyClick(canvas, Qt.Key.Key_Home)
    assert axis.start == 0
    qtbot.keyClick(canvas, Qt.Key.Key_End)
    assert axis.end == pytest.approx(axis.full)
    qtbot.keyClick(canvas, Qt.Key.Key_0)
    assert axis.fitted
    panel._zoom_in()
    assert not axis.fitted
    panel._zoom_out()
    assert axis.fitted


def test_the_cursors_round_comes_into_sight_and_only_then(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(PLAIN, SKIP, limit=600)
    panel, lane = show(qtbot, theme, store, "skip", 50)
    axis = panel.canvas.axis
    span = axis.span
    place = after(lane, Verified, 100)
    panel.show_lane(lane, store.plain, lane.history.at(place))
    start, end = panel.canvas.track.span(100)
    assert axis.start <= start < end <= axis.end
    assert axis.span == span
    axis.show(0.0, span)  # the person looks elsewhere
    panel.show_lane(lane, store.plain, lane.history.at(place))
    assert axis.start == 0


def test_fit_shows_the_lane_and_zooming_out_the_longer_plain_run(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    panel, _ = show(qtbot, theme, fill(PLAIN, SKIP, limit=300), "skip")
    canvas, axis = panel.canvas, panel.canvas.axis
    assert canvas.plain is not None
    assert canvas.plain.end > 1.05 * canvas.track.end
    canvas.fit()
    assert (axis.start, axis.end) == (0.0, pytest.approx(canvas.track.end))
    assert axis.fitted
    for _ in range(20):
        panel._zoom_out()
    assert axis.end == pytest.approx(canvas.plain.end)
    axis.grow(2 * axis.full, axis.own)
    assert axis.end == axis.full  # who saw all still does
    canvas.fit()
    axis.grow(axis.full, 1.5 * axis.own)
    assert axis.end == axis.own < axis.full


def test_a_growing_run_is_shown_whole_at_first_and_then_followed(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    whole = fill(SKIP, limit=400).lane("skip")
    assert whole is not None
    store = Store()
    store.begin("run-1", [])
    store.extend(whole.records[: whole.history.ends[3] + 1])
    panel, lane = show(qtbot, theme, store, "skip")
    axis = panel.canvas.axis
    assert axis.fitted
    for round in range(4, 60):
        store.extend(whole.records[whole.history.begins[round]: whole.history.ends[round] + 1])
        panel.show_lane(lane, None, lane.history.at(len(lane.records)))
        assert axis.start <= panel.canvas.reached <= axis.end
        assert axis.fitted == (round < 28)
    panel.canvas.fit()
    panel.show_lane(lane, None, lane.history.at(len(lane.records) - 1))
    assert axis.fitted  # the person wants all of it


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_right_click_offers_where_to_stop(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    panel, lane = show(qtbot, theme, fill(SKIP, limit=60), "skip")
    menu = panel.menu(6)
    assert menu is not None
    texts = [action.text() for action in menu.actions()]
    assert "Break when round 7" in texts
    with qtbot.waitSignal(panel.breakpoint_wanted) as caught:
        menu.actions()[0].trigger()
    assert caught.args == [RoundReached(number=7)]
    with qtbot.waitSignal(panel.breakpoint_wanted) as caught:
        menu.actions()[1].trigger()
    slow = caught.args[0]
    assert isinstance(slow, SlowRound)
    assert slow.milliseconds <= 1e3 * lane.rounds[6].seconds.total
    assert panel.menu(10_000) is None
    panel.canvas.fit()
    with qtbot.waitSignal(panel.canvas.pointed) as caught:
        qtbot.mousePress(panel.canvas, Qt.MouseButton.RightButton, pos=middle(panel, 3, "verify"))
    assert caught.args[0] == 3
    popup = QApplication.activePopupWidget()
    assert popup is not None
    popup.close()


# Painting


def test_a_profile_is_as_high_as_the_share_and_pale_after_the_cursor(qapp: QApplication) -> None:
    image = QImage(100, 40, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    tone = Tone(QColor("#ff0000"), QColor("#ffffff"), QColor("#00ff00"), QColor("#0000ff"))
    painter = QPainter(image)
    paint_profile(painter, QRectF(0, 0, 100, 40), np.repeat([0.25, 0.0, 1.0, 0.001], 25), tone, 50.0, 1.0)
    painter.end()
    heights = [sum(image.pixelColor(x, y).alpha() > 127 for y in range(40)) for x in (10, 30, 60, 90)]
    assert heights == [10, 0, 40, 1]  # what is there at all can be seen
    assert image.pixelColor(10, 39).red() == 255
    assert image.pixelColor(60, 39).blue() == 255


def test_columns_cover_as_much_as_blocks_would(qapp: QApplication) -> None:
    image = QImage(100, 8, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    tone = Tone(QColor("#ff0000"), QColor("#ffffff"), QColor("#00ff00"), QColor("#0000ff"))
    lefts, rights = np.array([10.0, 20.5, 60.0]), np.array([11.0, 22.5, 60.01])
    painter = QPainter(image)
    paint_columns(painter, QRectF(0, 0, 100, 8), Blocks(lefts, rights, np.array([0, 0, 2]), 50.0), tone, 1.0, 1.0)
    painter.end()
    alpha = [image.pixelColor(x, 4).alpha() for x in (9, 10, 11, 20, 21, 22, 23, 60)]
    assert alpha == [0, 255, 0, 127, 255, 127, 0, 255]
    assert image.pixelColor(60, 4).green() == 255
    assert image.pixelColor(60, 0).alpha() == 0  # not there yet: half as high


def test_what_has_not_happened_is_hollow(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    panel, lane = show(qtbot, theme, fill(SKIP, limit=80), "skip")
    panel.canvas.axis.show(*panel.canvas.track.span(8))
    panel.canvas.zoom(6.0)
    panel.show_lane(lane, None, lane.history.at(after(lane, Committed, 12)))
    at = panel.canvas.mapTo(panel, middle(panel, 10, "verify"))
    done = painted(panel).pixelColor(at)
    panel.show_lane(lane, None, lane.history.at(after(lane, Drafted, 10)))
    later = painted(panel).pixelColor(at)
    assert done.blue() - done.red() > 40
    assert abs(later.blue() - later.red()) < 30


def test_a_round_in_flight_is_shown_as_it_comes(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    whole = fill(SKIP, limit=60).lane("skip")
    assert whole is not None
    store = Store()
    store.begin("run-1", [])
    panel: Timeline | None = None
    for index, record in enumerate(whole.records[: after(whole, Committed, 2)]):
        store.append(record)
        if panel is None:
            panel, _ = show(qtbot, theme, store, "skip")
        lane = store.lane("skip")
        assert lane is not None
        panel.show_lane(lane, None, lane.history.at(index + 1))
        if isinstance(record, Verified) and record.round == 1:
            assert len(panel.canvas.track) == 1
            assert panel.canvas.framed_span() is not None
            assert panel.canvas.axis.full >= lane.clock - 1e-9
            assert "verify" in panel._title._remark._whole
            assert not painted(panel).isNull()
    assert panel is not None
    assert len(panel.canvas.track) == 3


@pytest.fixture(scope="module")
def long() -> Recorded:
    """10 000 rounds of γ 8: the same 200 again and again."""
    records = list(lane_records(EIGHT, limit=620, detail=False))
    ends = [i for i, record in enumerate(records) if isinstance(record, Committed)][:200]
    first = next(i for i, record in enumerate(records) if isinstance(record, Drafted))
    return Recorded([*records[:first], *(records[first:ends[-1] + 1] * 50)])


def test_ten_thousand_rounds_are_painted_within_a_frame(qtbot: QtBot, theme: Theme, long: Recorded) -> None:
    panel = Timeline(Store(), theme)
    qtbot.addWidget(panel)
    panel.resize(1240, 150)
    panel.show()
    QApplication.processEvents()
    panel.show_lane(long, None, None)  # type: ignore[arg-type]  # as much of a lane as it takes
    canvas = panel.canvas
    assert len(canvas.track) == 10_000
    assert canvas.track.first_draft(10_000) > 70_000
    image = QImage(canvas.size() * 2, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(2)
    for span in (canvas.axis.full, 100.0, 24.0, 6.0, 1.0, 1e-3, 1e-5):
        canvas.axis.show(300.0 if span < canvas.axis.full else 0.0, span)
        took = []
        for _ in range(7):
            start = time.thread_time()
            canvas.render(image)
            took.append(time.thread_time() - start)
        assert min(took) < 0.006, span  # of this thread, however busy the machine is; 1 to 3 as a rule
    start = time.thread_time()
    for _ in range(100):
        panel.show_lane(long, None, None)  # type: ignore[arg-type]
    assert time.thread_time() - start < 0.05


def test_it_looks_right_in_both_themes_and_small(qtbot: QtBot, theme: Theme, light: Theme, fill: Fill) -> None:
    store = fill(PLAIN, SKIP, limit=100)
    panel, lane = show(qtbot, theme, store, "skip", 120)
    dark = painted(panel).pixelColor(200, 60)
    panel.set_theme(light)
    assert painted(panel).pixelColor(200, 60) != dark
    panel.resize(300, 120)
    assert not painted(panel).isNull()
    panel.show_lane(store.plain, store.plain, store.plain.history.at(40))  # type: ignore[union-attr]
    assert panel.canvas.rows == ["verify", "judge", "commit"]
    panel.show_lane(lane, store.plain, lane.history.at(40))
    assert panel.canvas.rows == ["draft", "verify", "judge", "commit", "plain"]
    for kind, nth in ((Judged, 0), (Verified, 0), (Drafted, 2)):
        panel.show_lane(lane, store.plain, lane.history.at(after(lane, kind, 7, nth)))
        panel.choose(7, 1)
        panel.canvas.axis.show(panel.canvas.track.span(7)[0], 0.03)
        assert not painted(panel).isNull()


def test_its_colours_survive_another_parent(qtbot: QtBot, theme: Theme, light: Theme, fill: Fill) -> None:
    panel, _ = show(qtbot, theme, fill(SKIP, limit=40), "skip", 60)
    panel.set_theme(light)
    page = QWidget()
    qtbot.addWidget(page)
    layout = QVBoxLayout(page)
    layout.addWidget(panel)
    page.setStyleSheet("QWidget#nothing { color: red; }")
    page.show()
    label = panel._title._remark
    qtbot.waitUntil(lambda: label.palette().windowText().color() == light.colour("dim"))
    assert label.font().pixelSize() == light.font("small").pixelSize()
