"""Every way to draft can be a lane of the form, with all that can be set of it; what is said comes back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.form import Form
from app.form_options import described, note, rows_of
from app.settings import Settings
from app.setup import FIVE, Setup, five
from app.theme import Theme
from engine import methods
from engine.lookup_texts import LARGEST, named
from engine.settings import DrafterSettings, LookupText
from tests.app.test_form import type_into

TEXTS = (LookupText(path="/texts/notes.md", digest="0" * 64),)
LANES = (
    DrafterSettings(kind="ngram", gamma=12, min_n=2, max_n=9, match="latest", texts=TEXTS),
    DrafterSettings(kind="layer-skip", gamma=2, skip=(3, 4), stop_below=0.25, adaptive=True),
    DrafterSettings(kind="model", model="owner/small", stop_below=0.5),
    DrafterSettings(kind="draft", model="/checkpoints/draft", adaptive=True),
    DrafterSettings(kind="eagle", tree="sampled", tree_top=3, tree_nodes=24, gather=True, stop_below=0.1),
    DrafterSettings(kind="eagle", tree="top", tree_nodes=64),
    DrafterSettings(kind="medusa", gamma=5, adaptive=True),
)


class Outside:
    """An entry point of another package."""

    value = "somewhere:Thing"

    def __init__(self, made: object) -> None:
        self.made = made

    def load(self) -> object:
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


@pytest.fixture
def form(qtbot: QtBot) -> Form:
    form = Form(Theme.load("dark"))
    qtbot.addWidget(form)
    form.show()
    return form


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def make() -> None:
        """Never called here."""

    points = {"copycat": Outside(SimpleNamespace(make=make, label="Copycat", guess="says it again", draws=True)),
              "broken": Outside(ImportError("no such thing"))}
    monkeypatch.setattr(methods, "_points", lambda: points)
    methods._outside.cache_clear()
    yield
    methods._outside.cache_clear()


@pytest.mark.parametrize("drafter", LANES, ids=lambda d: f"{d.kind}{d.tree}")
def test_a_lane_says_what_it_was_told(form: Form, drafter: DrafterSettings) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=(drafter,)))
    assert form.setup.drafters == (drafter,)
    assert form.problem == ""
    form.lanes.rows[0].open_options(True)
    assert form.setup.drafters == (drafter,)


def test_all_of_it_is_remembered(form: Form, tmp_path: Path) -> None:
    setup = Setup(prompt="Hi", drafters=LANES)
    settings = Settings(tmp_path)
    settings.put_setup(setup)
    settings.save()
    found = Settings(tmp_path).setup()
    assert found == setup
    form.show_setup(found)
    assert form.setup == setup


def test_the_menu_offers_every_way_and_how_it_guesses(form: Form, outside: None) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=()))
    form.lanes.menu.aboutToShow.emit()
    offered = {action.text(): action for action in form.lanes.menu.actions()}
    assert len(offered) == len(methods.kinds()) - 1
    assert "EAGLE: one light layer continues the target's own features" in offered
    assert "Copycat: says it again" in offered
    assert not offered["broken: can't be used"].isEnabled()
    assert "can't be loaded" in offered["broken: can't be used"].toolTip()
    for action in offered.values():
        action.trigger()
    kinds = [row.kind for row in form.lanes.rows]
    assert kinds == ["ngram", "layer-skip", "model", "draft", "eagle", "medusa", "copycat"]
    assert "No draft model" in form.problem
    assert [row.opened for row in form.lanes.rows] == [kind == "model" for kind in kinds]


def test_another_packages_method(qtbot: QtBot, form: Form, outside: None) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=(DrafterSettings(kind="copycat"),)))
    row = form.lanes.rows[0]
    row.open_options(True)
    type_into(qtbot, row.options["stop_below"], "0.5")
    assert form.setup.drafters == (DrafterSettings(kind="copycat", stop_below=0.5),)
    form.show_setup(Setup(prompt="Hi", drafters=(DrafterSettings(kind="broken"),)))
    assert "can't be loaded" in form.problem


def test_every_option_is_a_setting_and_carries_its_meaning(qtbot: QtBot) -> None:
    known = {field.name for field in msgspec.structs.fields(DrafterSettings)}
    for kind in methods.kinds():
        for row in rows_of(described(kind)[0]):
            for option in row:
                assert option.setting in known
                control = option.make(getattr(DrafterSettings(), option.setting))
                qtbot.addWidget(control)
                tip = control.toolTip() or control.edit.toolTip()
                assert len(tip) > 40, option.setting


def test_what_the_methods_can_do_decides_what_is_offered(form: Form) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=tuple(DrafterSettings(kind=kind) for kind in FIVE)))
    offered = {row.kind: row.options for row in form.lanes.rows}
    for method in map(methods.method, FIVE):
        assert ("tree" in offered[method.kind]) is method.trees
        assert ("stop_below" in offered[method.kind]) is ("adaptive" in offered[method.kind]) is method.draws
        assert ("model" in offered[method.kind]) is bool(method.model)


def test_a_tree_has_its_own_options_and_no_adapted_length(qtbot: QtBot, form: Form) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=(DrafterSettings(kind="eagle", adaptive=True),)))
    row = form.lanes.rows[0]
    row.open_options(True)
    options = row.options
    assert options["tree_nodes"].isHidden()
    assert options["gather"].isHidden()
    options["tree"].set_value("top")
    assert not options["tree_nodes"].isHidden()
    assert options["adaptive"].isHidden()
    assert form.setup.drafters == (DrafterSettings(kind="eagle", tree="top"),)
    type_into(qtbot, options["tree_nodes"], "65")
    assert options["tree_nodes"].problem_label.text().startswith("nodes is 65")
    assert form.problem.startswith("nodes is 65")
    options["tree"].set_value("")  # what isn't offered can't be wrong
    assert form.problem == ""
    assert options["tree_nodes"].problem_label.isHidden()
    assert form.setup.drafters[0].adaptive


@pytest.mark.parametrize(("setting", "text", "said"), [
    ("stop_below", "1", "stop below is 1"), ("stop_below", "x", "stop below is 'x'"), ("tree_top", "17", "children is"),
    ("tree_nodes", "0", "nodes is 0"), ("gamma", "65", "γ is 65")])
def test_what_cannot_be_used_is_said_at_its_field(qtbot: QtBot, form: Form, setting: str, text: str, said: str
                                                  ) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=(DrafterSettings(kind="eagle", tree="top"),)))
    row = form.lanes.rows[0]
    row.open_options(True)
    type_into(qtbot, row.options[setting], text)
    assert said in row.options[setting].problem_label.text()
    assert not row.options[setting].problem_label.isHidden()
    assert said in form.problem
    form.complain()
    assert row.options[setting].edit.hasFocus() or form.focusWidget() is row.options[setting].edit


def test_texts_to_copy_from(form: Form, tmp_path: Path) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=(DrafterSettings(kind="ngram"),)))
    texts = form.lanes.rows[0].options["texts"]
    notes, broken = tmp_path / "notes.md", tmp_path / "picture.png"
    notes.write_text("to copy from", encoding="utf-8")
    broken.write_bytes(b"\x89PNG\xff\xfe")
    texts.add([str(notes), str(broken)])
    assert form.setup.drafters[0].texts == (named(str(notes)),)
    assert "picture.png" in texts.problem_label.text()
    assert form.problem == ""  # what was refused isn't held
    notes.write_text("another content", encoding="utf-8")
    texts.add([str(notes)])
    assert form.setup.drafters[0].texts == (named(str(notes)),)
    assert texts.problem_label.isHidden()
    long = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file in long:
        file.write_bytes(b"x" * LARGEST)
    texts.add([str(file) for file in long])
    assert [Path(text.path).name for text in form.setup.drafters[0].texts] == ["notes.md", "a.txt"]
    assert "With the lookup text" in texts.problem_label.text()
    texts.remove(named(str(long[0])))
    assert texts.problem_label.isHidden()
    texts.menu.aboutToShow.emit()
    assert [action.text() for action in texts.menu.actions()] == ["Add text files…", "", "Remove notes.md"]
    texts.menu.actions()[-1].trigger()
    assert form.setup.drafters[0].texts == ()


def test_the_row_notes_what_differs() -> None:
    assert [note(drafter) for drafter in LANES] == [
        "n 2–9 · latest · 1 text · γ 12", "2 left out · γ ≤ 2 · ≥ 0.25", "small · ≥ 0.5", "draft · γ adaptive",
        "sampled 3 × 24, gathered · ≥ 0.1", "top 4 × 64", "γ ≤ 5"]


def test_keys_reach_every_option(qtbot: QtBot, form: Form) -> None:
    form.show_setup(Setup(prompt="Hi", drafters=(DrafterSettings(kind="eagle", tree="top"),)))
    row = form.lanes.rows[0]
    row.open_options(True)
    form.activateWindow()
    qtbot.waitUntil(lambda: form.isActiveWindow() and row.isVisible())
    row.setFocus()
    wanted = ["model", "gamma", "stop_below", "tree", "tree_top", "tree_nodes", "gather"]
    reached = []
    for _ in range(12):
        qtbot.keyClick(form.focusWidget(), Qt.Key.Key_Tab)
        reached += [name for name in wanted if row.options[name].focusWidget() is form.focusWidget()
                    or row.options[name].focusProxy() is form.focusWidget() or row.options[name] is form.focusWidget()]
    assert list(dict.fromkeys(reached)) == wanted


def test_one_lane_of_each_family() -> None:
    setup = five(Setup(target="owner/name", revision="v1", prompt="Hi", gamma=3, seed=9))
    assert (setup.target, setup.revision, setup.prompt, setup.gamma, setup.seed) == ("builtin", "", "Hi", 3, 9)
    assert [lane.settings.drafter.kind for lane in setup.lanes()] == ["none", *FIVE]
    assert all(methods.known(kind) for kind in FIVE)
