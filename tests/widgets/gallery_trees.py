"""Draft trees, to be looked at: ``python -m tests.widgets.gallery_trees FOLDER [NAME …]``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.store import LaneSpec, Store
from app.theme import Theme
from engine.debugger.history import History, Moment
from engine.records import Committed, Judged
from tests.widgets import fake_run, fake_trees
from tests.widgets.fake_trees import Growth
from tests.widgets.gallery import column, main, scene
from widgets.draft_tree import DraftTreePanel
from widgets.lane_card import LaneCard
from widgets.round_strip import RoundStrip
from widgets.token_stream import TokenStream

TREE = Growth()
LARGE = Growth(depth=6, top=6, nodes=64, skill=1.1)


def moment(growth: Growth = TREE, *, accepted: int = 2, open: int = 0, **options: object) -> Moment:
    """The end of the first round that accepted so many; ``open``: instead behind so many of its tests."""
    history = History(growth.lane)
    for record in fake_trees.lane_records(growth, **options):  # type: ignore[arg-type]
        history.append(record)
        if isinstance(record, Committed) and record.accepted == accepted and record.round > 2:
            break
    if not open:
        return history.at(len(history))
    judged = [place for place, record in enumerate(history.records)
              if isinstance(record, Judged) and record.round == len(history.ends) - 1]
    return history.at(judged[open - 1] + 1)


def panel(theme: Theme, shown: Moment, place: int | None = None) -> QWidget:
    made = DraftTreePanel(theme)
    made.show_moment(shown)
    made.select(place)
    return column(theme, made, margin=8)


@scene(800, 300)
def tree_sampled(theme: Theme) -> QWidget:
    return panel(theme, moment(accepted=3), 4)


@scene(800, 560)
def tree_roomy(theme: Theme) -> QWidget:
    shown = moment(accepted=2)
    return panel(theme, shown, shown.round.ended_at)


@scene(800, 300)
def tree_top(theme: Theme) -> QWidget:
    return panel(theme, moment(replace(TREE, sampled=False, skill=1.3), accepted=4, temperature=0.0))


@scene(800, 300)
def tree_under_way(theme: Theme) -> QWidget:
    shown = moment(accepted=3, open=2)
    return panel(theme, shown, shown.round.next_test)


@scene(900, 420)
def tree_large(theme: Theme) -> QWidget:
    return panel(theme, moment(LARGE, accepted=4), 30)


@scene(600, 200)
def tree_small(theme: Theme) -> QWidget:
    return panel(theme, moment(LARGE, accepted=4), 3)


@scene(1000, 420)
def tree_world(theme: Theme) -> QWidget:
    return panel(theme, moment(replace(TREE, lane="world"), accepted=2, text=fake_run.WORLD))


@scene(1700, 800)
def tree_hall(theme: Theme) -> QWidget:
    return panel(Theme.load(theme.name, 2.0), moment(accepted=3))


@scene(330, 260)
def tree_strip(theme: Theme) -> QWidget:
    strip = RoundStrip(theme)
    strip.show_moment(moment(accepted=3))
    return column(theme, strip, margin=8)


@scene(1000, 420)
def tree_stream(theme: Theme) -> QWidget:
    store = Store()
    store.begin("run-1", [LaneSpec("tree", "EAGLE tree")])
    store.extend(fake_trees.lane_records(finish=False))
    return column(theme, TokenStream(store, theme, "tree"))


@scene(1180, 400)
def tree_cards(theme: Theme) -> QWidget:
    store = Store()
    store.begin("run-1", [LaneSpec("plain", "Plain decoding", plain=True), LaneSpec("tree", "EAGLE tree")])
    store.extend(fake_run.lane_records(fake_run.PLAIN, finish=False))
    store.extend(fake_trees.lane_records(finish=False))
    return column(theme, *(LaneCard(store, theme, lane.id) for lane in store.lanes))


if __name__ == "__main__":
    from tests.widgets.gallery import SCENES

    main(Path(sys.argv[1]), sys.argv[2:] or [name for name in SCENES if name.startswith("tree")])
