"""Scenes of the branch panel, the transport bar and the what-if dialog; run the gallery through this module:

    QT_QPA_PLATFORM=offscreen python -m tests.widgets.gallery_branch FOLDER [NAME …]
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.theme import Theme
from app.what_if_dialog import WhatIfDialog
from engine.settings import DrafterSettings, RunSettings, Sampling
from tests.widgets import fake_run
from tests.widgets.fake_branch import BRANCH, branched, store_of
from tests.widgets.fake_run import SKIP
from tests.widgets.gallery import column, main, scene
from widgets.branch_panel import BranchPanel
from widgets.transport import NAMES, Transport


def transport(theme: Theme, off: tuple[str, ...] = (), names: tuple[str, ...] = NAMES) -> QWidget:
    page = QWidget()
    bar = Transport(theme, {name: QAction(name.replace("_", " "), page) for name in names})
    for name in off:
        bar.buttons[name].defaultAction().setEnabled(False)
    layout = QVBoxLayout(page)
    layout.addWidget(bar)
    return page


@scene(620, 60)
def transport_whole(theme: Theme) -> QWidget:
    return transport(theme, ("to_start", "breakpoint_back", "round_back", "record_back", "play_back", "pause"))


@scene(620, 60)
def transport_playing(theme: Theme) -> QWidget:
    page = transport(theme, ("play", "to_end"))
    bar = page.findChild(Transport)
    bar.show_speed(0.25)
    return page


@scene(900, 100)
def transport_hall(theme: Theme) -> QWidget:
    return transport(Theme.load(theme.name, 1.5),
                     names=("round_back", "record_back", "pause", "play", "record", "round"))


REWRITTEN = fake_run.CODE[250:].replace("amount", "total").replace("price", "net")


def branch(theme: Theme, *, size: int = 12, cut: int | None = None, text: str | None = REWRITTEN,
           original: str = fake_run.CODE, **options: object) -> BranchPanel:
    ours = list(fake_run.lane_records(SKIP, original))
    theirs = branched(ours, SKIP, size, text, **options)
    store = store_of(ours, theirs[:cut])
    panel = BranchPanel(theme)
    panel.show_branch(store.lane("skip"), store.lane(BRANCH))
    return panel


@scene(760, 330)
def branch_ended(theme: Theme) -> QWidget:
    panel = branch(theme)
    panel.select(BRANCH, 81)
    return column(theme, panel)


@scene(760, 330)
def branch_forced(theme: Theme) -> QWidget:
    return column(theme, branch(theme, cut=260, change="draft 2 rejected by force", lossless=False))


@scene(760, 330)
def branch_equal(theme: Theme) -> QWidget:
    return column(theme, branch(theme, size=20, cut=180, text=None, change=""))


@scene(760, 330)
def branch_world(theme: Theme) -> QWidget:
    text = fake_run.WORLD[30:] + "\u202eabc\x07" + "x" * 60
    return column(theme, branch(theme, size=3, original=fake_run.WORLD, text=text,
                                change="temperature 0.3, top-p 0.9, repetition penalty 1.15, longest match 6, γ 7"))


@scene(330, 210)
def branch_small(theme: Theme) -> QWidget:
    return column(theme, branch(theme, lossless=False), margin=4)


@scene(760, 220)
def branch_none(theme: Theme) -> QWidget:
    return column(theme, BranchPanel(theme))


@scene(1500, 700)
def branch_hall(theme: Theme) -> QWidget:
    return column(theme, branch(Theme.load(theme.name, 1.5)))


SETTINGS = RunSettings(sampling=Sampling(temperature=0.8, top_p=0.95), max_new_tokens=128,
                       drafter=DrafterSettings(kind="ngram", gamma=4, max_n=3))
DRAFTERS = ("none", "ngram", "layer-skip", "model:tiny-llama")


def what_if(theme: Theme) -> WhatIfDialog:
    return WhatIfDialog(theme, SETTINGS, 6, DRAFTERS, before=45)


@scene(460, 330)
def what_if_first(theme: Theme) -> QWidget:
    return what_if(theme)


@scene(460, 330)
def what_if_changed(theme: Theme) -> QWidget:
    one = what_if(theme)
    one.drafter.setCurrentIndex(3)
    for field, text in ((one.sampling.gamma, "7"), (one.sampling.temperature, "0"), (one.sampling.top_p, "off")):
        field.edit.setText(text)
        field.edit.textEdited.emit(text)
    return one


@scene(460, 400)
def what_if_wrong(theme: Theme) -> QWidget:
    one = what_if(theme)
    for field, text in ((one.sampling.gamma, "70"), (one.sampling.top_p, "1.5"), (one.sampling.length, "40")):
        field.edit.setText(text)
        field.edit.textEdited.emit(text)
    return one


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
