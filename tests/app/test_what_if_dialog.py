"""The dialog of other settings: what is changed is said and told, what can't be used is explained."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QWidget
from pytestqt.qtbot import QtBot

from app.form_fields import Field
from app.theme import Theme
from app.what_if_dialog import WhatIfDialog, as_drafter
from engine.debugger.what_if import OtherSettings
from engine.settings import DrafterSettings, RunSettings, Sampling

OWN = RunSettings(sampling=Sampling(temperature=0.8, top_p=0.95), seed=11, stop=("\n\n",), exact=True,
                  drafter=DrafterSettings(kind="ngram", gamma=4, max_n=3), max_new_tokens=128)
DRAFTERS = ("none", "ngram", "layer-skip", "model:tiny-llama")


@pytest.fixture(scope="module")
def theme(qapp: QApplication, _fonts: None) -> Theme:
    return Theme.load("dark")


def dialog(qtbot: QtBot, theme: Theme, settings: RunSettings = OWN, drafters: tuple[str, ...] = DRAFTERS,
           **options: Any) -> WhatIfDialog:
    made = WhatIfDialog(theme, settings, 6, drafters, **options)
    qtbot.addWidget(made)
    made.open()
    return made


def ok(made: WhatIfDialog) -> QWidget:
    return made.buttons.button(QDialogButtonBox.StandardButton.Ok)


def write(field: Field[Any], text: str) -> None:
    field.edit.selectAll()
    QTest.keyClicks(field.edit, text)


def choose(made: WhatIfDialog, spelt: str) -> None:
    made.drafter.setCurrentIndex(made.drafter.findData(spelt))


def test_it_starts_from_the_lanes_own_settings(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme)
    assert made.change == OtherSettings(round=6, settings=OWN)
    assert made.preview.text().startswith("Nothing is changed")
    assert ok(made).isEnabled()  # that a branch repeats its original is worth seeing
    assert not made.isModal() or made.windowModality() == Qt.WindowModality.WindowModal


@pytest.mark.parametrize(("name", "text", "words", "expected"), [
    ("gamma", "7", "γ 7", {"drafter": {"gamma": 7}}),
    ("gamma", "auto", "γ as the method likes it", {"drafter": {"gamma": None}}),
    ("temperature", "0", "temperature 0", {"sampling": {"temperature": 0.0}}),
    ("top_k", "40", "top-k 40", {"sampling": {"top_k": 40}}),
    ("top_p", "0.5", "top-p 0.5", {"sampling": {"top_p": 0.5}}),
    ("min_p", "0.1", "min-p 0.1", {"sampling": {"min_p": 0.1}}),
    ("penalty", "1.2", "repetition penalty 1.2", {"sampling": {"repetition_penalty": 1.2}}),
    ("length", "300", "at most so many tokens 300", {"max_new_tokens": 300}),
])
def test_each_change_is_said_and_told(qtbot: QtBot, theme: Theme, name: str, text: str, words: str,
                                      expected: dict[str, Any]) -> None:
    made = dialog(qtbot, theme)
    got: list[OtherSettings] = []
    made.chosen.connect(got.append)
    write(getattr(made.sampling, name), text)
    assert made.preview.text() == f"From round 7 on: {words}."
    QTest.mouseClick(ok(made), Qt.MouseButton.LeftButton)
    (one,) = got
    assert one.round == 6
    for field in OWN.__struct_fields__:
        told, own = getattr(one.settings, field), getattr(OWN, field)
        if isinstance(expected.get(field), dict):
            for part in own.__struct_fields__:
                assert getattr(told, part) == expected[field].get(part, getattr(own, part))
        else:
            assert told == expected.get(field, own)


@pytest.mark.parametrize(("spelt", "kind", "model", "words"), [
    ("none", "none", "", "plain decoding"), ("layer-skip", "layer-skip", "", "layer skip"),
    ("model:tiny-llama", "model", "tiny-llama", "Draft model tiny-llama")])
def test_another_drafter(qtbot: QtBot, theme: Theme, spelt: str, kind: str, model: str, words: str) -> None:
    made = dialog(qtbot, theme)
    choose(made, spelt)
    assert made.preview.text() == f"From round 7 on: {words}."
    settings = made.settings
    assert settings is not None
    assert (settings.drafter.kind, settings.drafter.model) == (kind, model)
    assert made.sampling.gamma.isEnabled() == (kind != "none")
    choose(made, "ngram")
    assert made.settings == OWN


def test_the_lanes_own_drafter_is_offered_though_it_is_not_at_hand(qtbot: QtBot, theme: Theme) -> None:
    own = RunSettings(drafter=DrafterSettings(kind="model", model="somewhere/small"))
    made = dialog(qtbot, theme, own, ("none", "ngram"))
    assert made.drafter.currentData() == "model:somewhere/small"
    assert made.settings == own


@pytest.mark.parametrize(("name", "text"), [
    ("gamma", "70"), ("gamma", "x"), ("temperature", "-1"), ("top_k", "1.5"), ("top_p", "2"), ("min_p", "nan"),
    ("penalty", "0"), ("length", "-3")])
def test_what_cannot_be_used_is_explained(qtbot: QtBot, theme: Theme, name: str, text: str) -> None:
    made = dialog(qtbot, theme)
    field = getattr(made.sampling, name)
    write(field, text)
    assert not ok(made).isEnabled()
    assert field.problem_label.isVisible()
    assert " must be " in field.problem_label.text()
    assert made.change is None
    assert not made.preview.isVisible()
    got: list[object] = []
    made.chosen.connect(got.append)
    made.accept()
    assert got == []
    assert made.isVisible()
    write(field, "1")
    assert not field.problem_label.isVisible()


def test_a_gamma_that_no_one_needs_is_no_obstacle(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme)
    write(made.sampling.gamma, "700")
    assert not ok(made).isEnabled()
    choose(made, "none")
    assert ok(made).isEnabled()
    assert not made.sampling.gamma.problem_label.isVisible()
    choose(made, "layer-skip")
    assert not ok(made).isEnabled()
    assert made.sampling.gamma.problem_label.isVisible()


def test_fewer_tokens_than_there_are_leave_nothing_to_do(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme, before=45)
    write(made.sampling.length, "45")
    assert not ok(made).isEnabled()
    assert made.too_short.text().startswith("45 tokens are written before round 7")
    write(made.sampling.length, "46")
    assert ok(made).isEnabled()
    assert not made.too_short.isVisible()


def test_cancel_tells_nothing(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme)
    got: list[object] = []
    made.chosen.connect(got.append)
    write(made.sampling.gamma, "7")
    QTest.mouseClick(made.buttons.button(QDialogButtonBox.StandardButton.Cancel), Qt.MouseButton.LeftButton)
    assert got == []
    assert not made.isVisible()


def test_it_is_as_tall_as_what_it_says(qtbot: QtBot, theme: Theme) -> None:
    made = dialog(qtbot, theme)
    qtbot.wait(5)
    before = made.height()
    for field, text in ((made.sampling.gamma, "70"), (made.sampling.top_p, "7"), (made.sampling.min_p, "7")):
        write(field, text)
    qtbot.wait(5)
    assert made.height() > before
    bottom = made.buttons.geometry().bottom()
    assert bottom < made.height()


def test_nothing_of_it_is_left(theme: Theme, qapp: QApplication) -> None:
    made = WhatIfDialog(theme, OWN, 6, DRAFTERS)
    made.open()
    made.reject()
    ref = weakref.ref(made)
    made.deleteLater()
    del made
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QCoreApplication.processEvents()
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("kind", ["none", "ngram", "layer-skip", "medusa"])
def test_another_drafter_gets_only_what_it_knows(qtbot: QtBot, theme: Theme, kind: str) -> None:
    own = msgspec.structs.replace(OWN, drafter=DrafterSettings(
        kind="eagle", gamma=4, stop_below=0.2, tree="sampled", tree_nodes=24, gather=True))
    made = dialog(qtbot, theme, own, ("none", "ngram", "layer-skip", "medusa"))
    assert made.settings == own
    choose(made, kind)
    drafter = made.change.settings.drafter
    assert (drafter.kind, drafter.gamma, drafter.tree, drafter.gather) == (kind, 4, "", False)
    assert drafter.stop_below == (0.2 if kind in ("layer-skip", "medusa") else 0.0)
    adaptive = DrafterSettings(kind="eagle", adaptive=True)
    assert as_drafter(adaptive, DrafterSettings(kind=kind)).adaptive is (kind in ("layer-skip", "medusa"))
