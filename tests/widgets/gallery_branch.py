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
from tests.widgets.gallery import main, scene
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
