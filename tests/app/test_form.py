"""The form and the settings say the same, both ways; what can't be used is said at its field."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from app.examples import load_examples
from app.form import Form
from app.form_options import read_layers, show_layers
from app.form_sampling import read_stops, show_stops
from app.setup import Setup
from app.theme import Theme
from engine.errors import SettingsError
from engine.settings import DrafterSettings, Sampling
from tests.app.test_settings import FULL


@pytest.fixture
def form(qtbot: QtBot) -> Form:
    form = Form(Theme.load("dark"))
    qtbot.addWidget(form)
    form.show()
    return form


def type_into(qtbot: QtBot, field: object, text: str) -> None:
    edit = field.edit  # type: ignore[attr-defined]
    edit.selectAll()
    qtbot.keyClicks(edit, text)


@pytest.mark.parametrize("setup", [
    Setup(prompt="Hi"), FULL,
    msgspec.structs.replace(FULL, target="/models/llama", revision="", device="cpu", drafters=()),
    msgspec.structs.replace(FULL, target="builtin", revision="", gamma=None, sampling=Sampling(), stop=())])
def test_round_trip(form: Form, setup: Setup) -> None:
    form.show_setup(setup)
    assert form.setup == setup
    assert form.problem == ""
    form.show_setup(Setup(prompt="other"))
    form.show_setup(setup)
    assert form.setup == setup


def test_lanes_become_settings() -> None:
    drafters = (DrafterSettings(kind="ngram"), DrafterSettings(kind="layer-skip", gamma=2))
    setup = Setup(gamma=4, drafters=drafters, seed=5)
    lanes = setup.lanes()
    assert [lane.lane for lane in lanes] == ["0", "1", "2"]
    assert [lane.settings.drafter.kind for lane in lanes] == ["none", "ngram", "layer-skip"]
    assert [lane.settings.drafter.gamma for lane in lanes] == [None, 4, 2]
    assert {lane.settings.seed for lane in lanes} == {5}


@pytest.mark.parametrize(("name", "text", "said"), [
    ("temperature", "hot", "temperature is 'hot'"), ("temperature", "-1", "temperature is -1"),
    ("top_k", "1.5", "top-k is '1.5'"), ("top_p", "0", "top-p is 0"), ("min_p", "2", "min-p is 2"),
    ("penalty", "0", "repetition penalty is 0"), ("seed", "-1", "seed is -1"), ("seed", "9" * 30, "seed is"),
    ("length", "x", "tokens is 'x'"), ("length", "-5", "tokens is -5"), ("gamma", "65", "γ is 65"),
    ("temperature", "nan", "temperature is 'nan'")])
def test_what_cannot_be_used_is_said_at_its_field(qtbot: QtBot, form: Form, name: str, text: str, said: str) -> None:
    form.show_setup(Setup(prompt="Hi"))
    field = getattr(form.sampling, name)
    type_into(qtbot, field, text)
    assert said in field.problem
    assert field.property("fault") is True
    assert said in field.toolTip()
    assert said in field.problem_label.text()
    assert not field.problem_label.isHidden()
    assert form.problem == field.problem
    assert form.setup.lanes()  # with the last good value
    field.edit.selectAll()
    qtbot.keyClick(field.edit, Qt.Key.Key_Delete)
    qtbot.keyClicks(field.edit, "1")
    assert form.problem == ""
    assert field.problem_label.isHidden()


def test_each_bad_field_has_its_own_sentence_in_sight(qtbot: QtBot, form: Form) -> None:
    form.show_setup(Setup(prompt="Hi"))
    form.resize(290, 400)
    sampling = form.sampling
    for field, text in ((sampling.gamma, "99"), (sampling.top_p, "7")):
        field.setFocus()
        type_into(qtbot, field, text)
        label = field.problem_label
        qtbot.waitUntil(lambda label=label: not label.visibleRegion().isEmpty()
                        and label.visibleRegion().boundingRect().height() == label.height())
        assert 0 < label.mapTo(form, QPoint(0, 0)).y() - field.mapTo(form, QPoint(0, field.height())).y() < 10
    assert sampling.gamma.problem_label.text().startswith("γ is 99")
    assert sampling.top_p.problem_label.text().startswith("top-p is 7")


def test_a_bad_field_of_a_lane_speaks_even_when_closed(qtbot: QtBot, form: Form) -> None:
    form.show_setup(Setup(prompt="Hi"))
    row = form.lanes.rows[0]
    row.open_options(True)
    type_into(qtbot, row.options["gamma"], "99")
    assert row.options["gamma"].problem_label.text().startswith("γ is 99")
    assert row._problem_label.isHidden()
    row.open_options(False)
    assert row._problem_label.text().startswith("γ is 99")
    assert not row._problem_label.isHidden()


def test_words_and_arrow_keys(qtbot: QtBot, form: Form) -> None:
    sampling = form.sampling
    type_into(qtbot, sampling.top_p, "0.9")
    assert sampling.top_p.value == 0.9
    type_into(qtbot, sampling.top_p, "off")
    assert sampling.top_p.value == 1.0
    type_into(qtbot, sampling.temperature, "0,7")
    assert sampling.temperature.value == 0.7
    qtbot.keyClick(sampling.temperature.edit, Qt.Key.Key_Up)
    assert sampling.temperature.value == 0.8
    for _ in range(20):
        qtbot.keyClick(sampling.temperature.edit, Qt.Key.Key_Down)
    assert sampling.temperature.value == 0
    type_into(qtbot, sampling.gamma, "auto")
    qtbot.keyClick(sampling.gamma.edit, Qt.Key.Key_Down)
    assert form.setup.gamma is None


def test_add_remove_reorder(qtbot: QtBot, form: Form) -> None:
    form.show_setup(Setup(prompt="Hi"))
    changes: list[None] = []
    form.changed.connect(lambda: changes.append(None))
    row = form.lanes.add("model")
    assert "No draft model" in form.problem
    row.options["model"].text = "a/b"
    assert form.problem == ""
    assert [d.kind for d in form.setup.drafters] == ["ngram", "layer-skip", "model"]
    row.setFocus()
    qtbot.keyClick(row, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    qtbot.keyClick(row, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    qtbot.keyClick(row, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert [d.kind for d in form.setup.drafters] == ["model", "ngram", "layer-skip"]
    row.removed.emit()
    assert [d.kind for d in form.setup.drafters] == ["ngram", "layer-skip"]
    assert changes


def test_a_click_opens_the_options(qtbot: QtBot, form: Form) -> None:
    form.show_setup(Setup(prompt="Hi"))
    row = form.lanes.rows[0]
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    assert row.opened
    type_into(qtbot, row.options["max_n"], "40")
    assert "min_n..max_n" in row.problem
    assert "min_n..max_n" in form.problem
    type_into(qtbot, row.options["max_n"], "6")
    assert form.setup.drafters[0].max_n == 6


def test_examples_fill_the_prompt(qtbot: QtBot, form: Form) -> None:
    assert [example.id for example in load_examples()] == ["chat", "code_edit", "quotes", "code", "story"]
    qtbot.mouseClick(form.prompt.chips[1], Qt.MouseButton.LeftButton)
    assert form.setup.prompt == load_examples()[1].prompt
    assert [chip.isChecked() for chip in form.prompt.chips] == [False, True, False, False, False]
    form.prompt.edit.setPlainText("something else")
    assert not any(chip.isChecked() for chip in form.prompt.chips)


def test_an_empty_prompt_is_said_when_it_matters(form: Form) -> None:
    form.show_setup(Setup(prompt="  "))
    assert "empty" in form.problem
    assert form.prompt.problem_label.isHidden()
    form.complain()
    assert not form.prompt.problem_label.isHidden()


def test_missing_examples_are_no_reason_to_fail(tmp_path: object) -> None:
    assert load_examples(tmp_path) == []  # type: ignore[arg-type]


def test_layers_and_stops() -> None:
    assert read_layers("3, 1 5-7") == (1, 3, 5, 6, 7)
    assert read_layers("auto") == read_layers("") == ()
    assert show_layers((1, 2)) == "1,2"
    for bad in ("x", "1-", "0-99999999999"):
        with pytest.raises(SettingsError):
            read_layers(bad)
    stops = ("END", "\n\n", "a b")
    assert read_stops(show_stops(stops)) == stops
