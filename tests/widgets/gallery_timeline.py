"""Scenes of the timeline and the rounds table; run the gallery through this module:

    QT_QPA_PLATFORM=offscreen python -m tests.widgets.gallery_timeline FOLDER [NAME …]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
from PySide6.QtWidgets import QWidget

from app.store import Store
from app.theme import Theme
from engine.errors import SpecScopeError
from engine.records import Drafted, Judged
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, SKIP
from tests.widgets.gallery import column, main, scene, store_of
from widgets.rounds_table import RoundsTable
from widgets.rounds_table_order import Wanted
from widgets.timeline import Timeline

EIGHT = replace(DRAFT, gamma=8)


def timeline(theme: Theme, store: Store, lane: str, share: float = 1.0, kind: type | None = None,
             margin: int = 10) -> tuple[QWidget, Timeline]:
    """As of a moment: that share of the lane's records, up to the next of a kind."""
    state = store.lane(lane)
    assert state is not None
    panel = Timeline(store, theme)
    place = int(share * len(state.records))
    while kind is not None and not isinstance(state.records[place - 1], kind):
        place += 1
    panel.show_lane(state, store.plain, state.history.at(place))
    return column(theme, panel, margin=margin), panel


@scene(1260, 170)
def timeline_first(theme: Theme) -> QWidget:
    page, panel = timeline(theme, store_of(PLAIN, replace(DRAFT, gamma=3), limit=40), "draft", 0.5, Judged)
    panel.canvas.resize(1220, 110)
    return page


@scene(1260, 170)
def timeline_drafting(theme: Theme) -> QWidget:
    return timeline(theme, store_of(PLAIN, SKIP, limit=400), "skip", 0.5, Drafted)[0]


@scene(1260, 170)
def timeline_whole(theme: Theme) -> QWidget:
    page, panel = timeline(theme, store_of(PLAIN, DRAFT, limit=400), "draft", 0.6, Judged)
    panel.canvas.fit()
    return page


@scene(1260, 190)
def timeline_long(theme: Theme) -> QWidget:
    page, panel = timeline(theme, store_of(PLAIN, EIGHT, limit=20_000, detail=False), "draft", 0.6, Judged)
    panel.canvas.fit()
    return page


@scene(1260, 170)
def timeline_sixty(theme: Theme) -> QWidget:
    page, panel = timeline(theme, store_of(PLAIN, EIGHT, limit=900, detail=False), "draft", 0.6, Judged)
    panel.canvas.axis.show(panel.canvas.reached - 4, 6)
    return page


@scene(1260, 200)
def timeline_close(theme: Theme) -> QWidget:
    page, panel = timeline(theme, store_of(PLAIN, DRAFT, limit=200), "draft", 0.5, Judged)
    axis = panel.canvas.axis
    axis.show(panel.canvas.reached - 0.06, 0.07)
    return page


@scene(1260, 170)
def timeline_micro(theme: Theme) -> QWidget:
    page, panel = timeline(theme, store_of(PLAIN, LOOKUP, limit=900), "ngram", 0.7, Judged)
    panel.canvas.axis.show(panel.canvas.reached - 0.0008, 0.002)
    return page


@scene(1260, 170)
def timeline_plain(theme: Theme) -> QWidget:
    return timeline(theme, store_of(PLAIN, limit=60), "plain", 0.5)[0]


@scene(520, 170)
def timeline_narrow(theme: Theme) -> QWidget:
    return timeline(theme, store_of(PLAIN, DRAFT, limit=100), "draft", 0.5, Judged)[0]


@scene(1900, 300)
def timeline_hall(theme: Theme) -> QWidget:
    return timeline(Theme.load(theme.name, 1.75), store_of(PLAIN, DRAFT, limit=100), "draft", 0.5, Judged)[0]


@scene(1260, 400)
def timeline_empty(theme: Theme) -> QWidget:
    none, waiting, untimed = (Timeline(Store(), theme) for _ in range(3))
    store = store_of(DRAFT, limit=3)
    lane = store.lane("draft")
    waiting.show_lane(lane, None, lane.history.at(2))
    lane.started = msgspec.structs.replace(lane.started, unknown=("seconds",))
    untimed.show_lane(lane, None, lane.history.at(20))
    return column(theme, none, waiting, untimed)


def table(theme: Theme, store: Store, lane: str, share: float = 1.0, **options: object) -> tuple[QWidget, RoundsTable]:
    state = store.lane(lane)
    assert state is not None
    panel = RoundsTable(store, theme, **options)
    panel.show_lane(state, state.history.at(int(share * len(state.records))))
    return column(theme, panel, margin=10), panel


@scene(1260, 420)
def rounds_whole(theme: Theme) -> QWidget:
    page, panel = table(theme, store_of(DRAFT, limit=300), "draft", 0.12)
    panel.view.selectRow(4)
    return page


@scene(2000, 420)
def rounds_wide(theme: Theme) -> QWidget:
    return table(theme, store_of(DRAFT, text=fake_run.WORLD), "draft")[0]


@scene(420, 420)
def rounds_narrow(theme: Theme) -> QWidget:
    return table(theme, store_of(LOOKUP, limit=300), "ngram", 0.2)[0]


@scene(1260, 420)
def rounds_sorted(theme: Theme) -> QWidget:
    page, panel = table(theme, store_of(DRAFT, limit=300), "draft", 0.5)
    panel.view.sort_next(11)
    panel.field.setText("price")
    panel.apply_filter()
    return page


def refuse(text: str) -> Wanted:
    raise SpecScopeError(f"“{text}” can't be read: “=” compares nothing; write == to ask whether two things are equal.")


@scene(1260, 420)
def rounds_fault(theme: Theme) -> QWidget:
    page, panel = table(theme, store_of(DRAFT, limit=60), "draft", filter_with=refuse)
    panel.field.setText("accepted = 2")
    panel.apply_filter()
    return page


@scene(1260, 700)
def rounds_empty(theme: Theme) -> QWidget:
    store = store_of(DRAFT, limit=60)
    lane = store.lane("draft")
    none, waiting, nothing = (RoundsTable(store, theme) for _ in range(3))
    waiting.show_lane(store_of(DRAFT, until=0.2).lane("draft"), None)
    nothing.show_lane(lane, lane.history.at(40))
    nothing.field.setText("zebra")
    nothing.apply_filter()
    return column(theme, none, waiting, nothing)


@scene(1920, 700)
def rounds_hall(theme: Theme) -> QWidget:
    return table(Theme.load(theme.name, 1.75), store_of(DRAFT, limit=300), "draft", 0.2)[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
