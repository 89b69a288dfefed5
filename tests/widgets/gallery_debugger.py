"""Scenes of the debugger's panels, for tests/widgets/gallery.py.

    QT_QPA_PLATFORM=offscreen python -m tests.widgets.gallery_debugger FOLDER [NAME …]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
from PySide6.QtWidgets import QGridLayout, QWidget

from app.theme import ASSETS, Theme
from engine.debugger.history import History, Moment
from engine.errors import SpecScopeError
from engine.records import Committed, Judged, Record, RunStarted, Vocabulary
from engine.trace import read
from tests.widgets import fake_run, gallery
from tests.widgets.fake_lane import PROMPT, split
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN
from tests.widgets.gallery import column, scene
from widgets.cache_panel import CachePanel
from widgets.round_strip import RoundStrip
from widgets.scrubber import Scrubber
from widgets.state_panel import StatePanel
from widgets.verify_panel import VerifyPanel

WATCHES = ("overlap", "p / q", "accepted < k", "wobble")


def evaluate(expression: str, moment: Moment) -> object:
    """TEST DATA: stands in for the evaluator."""
    if expression == "wobble":
        raise SpecScopeError("There is no figure named wobble; known are k, accepted, overlap, p, q and draw.")
    return {"overlap": 0.4812, "p / q": 0.40, "accepted < k": True}.get(expression, moment.length)


def history_of(method: fake_run.Method, text: str = fake_run.CODE, limit: int | None = 90,
               records: Iterable[Record] | None = None) -> History:
    history = History(method.lane)
    for record in records if records is not None else fake_run.lane_records(method, text, limit=limit):
        if isinstance(record, RunStarted):
            target = msgspec.structs.replace(record.target, name="SmolLM2-135M-Instruct", slot_bytes=23_040)
            record = msgspec.structs.replace(record, target=target)
            texts = dict(zip(record.prompt, split(PROMPT), strict=False))
            history.append(Vocabulary(run=record.run, lane=record.lane, texts=texts))
        history.append(record)
    return history


def at_commit(history: History, final: str = "correction", accepted: int = 1, after: int = 0) -> int:
    """The moment just after such a round's end."""
    ends = [(end, history.records[end]) for end in history.ends if end >= after]
    return next(end + 1 for end, r in ends
                if isinstance(r, Committed) and r.final == final and r.accepted >= accepted)


def panels(theme: Theme, moment: Moment | None, selected: int | None = None) -> QWidget:
    """The four beside each other, and the scrubber beneath."""
    page = QWidget()
    grid = QGridLayout(page)
    grid.setContentsMargins(14, 14, 14, 14)
    grid.setSpacing(12)
    strip, verify, cache = RoundStrip(theme), VerifyPanel(theme), CachePanel(theme)
    state = StatePanel(theme, evaluate)
    state.set_watches(WATCHES)
    for panel in (strip, verify, cache, state):
        panel.show_moment(moment)
    strip.select(selected)
    verify.select(selected)
    scrubber = Scrubber(theme)
    if moment is not None:
        place(scrubber, moment)
    grid.addWidget(strip, 0, 0)
    grid.addWidget(verify, 0, 1)
    grid.addWidget(cache, 1, 0)
    grid.addWidget(state, 1, 1)
    grid.addWidget(scrubber, 2, 0, 1, 2)
    return page


def place(scrubber: Scrubber, moment: Moment, **options: object) -> None:
    history = moment.history
    ticks = [i for i, r in enumerate(history.records) if isinstance(r, Judged) and not r.accepted]
    number = moment.round.round + 1 if moment.round is not None else 0
    scrubber.show_place(moment.index, len(history), f"record {moment.index:,} of {len(history):,} · round {number:,} · "
                        f"{moment.phase}", ticks, ticks[3:5], rounds=history.ends, **options)


@scene(760, 640)
def debug_commit(theme: Theme) -> QWidget:
    history = history_of(DRAFT)
    return panels(theme, history.at(at_commit(history)), 1)


@scene(760, 640)
def debug_judge(theme: Theme) -> QWidget:
    history = history_of(DRAFT)
    return panels(theme, history.at(at_commit(history) - 1), 1)


@scene(760, 640)
def debug_draft(theme: Theme) -> QWidget:
    history = history_of(DRAFT)
    return panels(theme, history.at(history.begins[5] + 2))


@scene(760, 640)
def debug_bonus(theme: Theme) -> QWidget:
    history = history_of(DRAFT)
    return panels(theme, history.at(at_commit(history, "bonus")), 4)


@scene(1400, 900)
def debug_hall(theme: Theme) -> QWidget:
    """As shown to a lecture hall, deep in a long run."""
    history = history_of(DRAFT, limit=3000)
    return panels(Theme.load(theme.name, 1.5), history.at(at_commit(history, after=len(history) // 2)), 1)


@scene(560, 520)
def debug_small(theme: Theme) -> QWidget:
    history = history_of(DRAFT, limit=3000)
    return panels(theme, history.at(at_commit(history, after=len(history) // 2)), 1)


@scene(760, 640)
def debug_world(theme: Theme) -> QWidget:
    history = history_of(DRAFT, fake_run.WORLD, None)
    return panels(theme, history.at(at_commit(history, accepted=2)), 2)


@scene(760, 640)
def debug_right_to_left(theme: Theme) -> QWidget:
    history = history_of(DRAFT, fake_run.WORLD, None)
    return panels(theme, history.at(history.ends[15] + 1), 0)


@scene(760, 640)
def debug_wide(theme: Theme) -> QWidget:
    """Sixty-four drafts a round, and token texts that are very long."""
    method = replace(LOOKUP, gamma=64, skill=1.6)
    history = history_of(method, fake_run.PROSE.replace("divided", "x" * 90), limit=400)
    return panels(theme, history.at(at_commit(history, accepted=8)), 9)


@scene(760, 640)
def debug_plain(theme: Theme) -> QWidget:
    history = history_of(PLAIN)
    return panels(theme, history.at(at_commit(history, "plain", 0, 30)))


@scene(760, 640)
def debug_empty(theme: Theme) -> QWidget:
    return panels(theme, None)


@scene(760, 640)
def debug_unknown(theme: Theme) -> QWidget:
    """Imported from a format that tells little."""
    records = [msgspec.structs.replace(r, unknown=("slots", "draws", "settings", "target", "seconds"))
               if isinstance(r, RunStarted) else r for r in fake_run.lane_records(DRAFT, limit=90)]
    history = history_of(DRAFT, records=records)
    return panels(theme, history.at(at_commit(history)), 1)


@scene(760, 640)
def debug_real(theme: Theme) -> QWidget:
    """The shipped recording."""
    lanes: dict[str, History] = {}
    for record in read(ASSETS / "demo" / "code-edit.spectrace.gz"):
        lanes.setdefault(record.lane, History(record.lane)).append(record)
    history = lanes["2"]
    return panels(theme, history.at(at_commit(history, after=len(history) // 2)), 1)


@scene(1200, 200)
def scrubbers(theme: Theme) -> QWidget:
    short, long = history_of(DRAFT), history_of(DRAFT, limit=20_000)
    made = [Scrubber(theme) for _ in range(4)]
    place(made[0], short.at(at_commit(short)))
    place(made[1], long.at(len(long) // 3))
    place(made[2], long.at(len(long)), live=True)
    return column(theme, *made)


if __name__ == "__main__":
    every = [name for name in gallery.SCENES if name.startswith(("debug_", "scrub"))]
    gallery.main(Path(sys.argv[1]), sys.argv[2:] or every)
