"""The draft tree in the Debug perspective: there for lanes of trees, and one selection with the other panels."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.debug_view import IN_TREE
from app.setup import Setup
from app.window import Window
from engine.settings import DrafterSettings, Sampling
from tests.app.fake_workshop import FakeWorkshop

MakeWindow = Callable[..., Window]
TREE = DrafterSettings(kind="eagle", tree="sampled", tree_nodes=16, tree_top=3)


def test_the_tree_of_the_round_on_screen(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(limit=60))
    window.resize(1440, 860)
    window.form.show_setup(Setup(prompt="Hi", sampling=Sampling(temperature=0.8),
                                 drafters=(TREE, DrafterSettings(kind="eagle"))))
    window.run_or_continue()
    qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=20_000)
    window.show_perspective("debug")
    debug, debugger = window.debug, window.debugger
    lane = window.store.lane("1")
    assert lane is not None
    number = next(one.round for one in lane.rounds if one.accepted >= 2 and one.final == "correction")
    debugger.show_round(lane, number)
    debug.refresh()
    assert debug.tree.isVisible()
    assert debug.tree.model is not None
    assert debug.tree.model.round == number
    assert debug.tree.canvas.marked is not None  # whichever tells most
    assert debug.inspector.height() >= 380

    accepted = next(node for node in debug.tree.model.nodes if node.kind == "accepted" and node.depth == 1)
    debug.tree.canvas._choose(accepted)
    debug.refresh()
    found = debug.inspector.inspection
    assert found is not None
    assert (found.round, found.index, found.position) == (number, accepted.index, accepted.position)
    selection = window.store.selection
    assert selection is not None
    assert selection.position == accepted.position
    cell = lane.find(selection.position, selection.round, selection.index)
    assert cell is not None
    assert lane.cells[cell].id == accepted.token

    qtbot.keyClick(debug.tree.canvas, Qt.Key.Key_Left)  # to its parent
    debug.refresh()
    assert debug.inspector.inspection is not None
    assert debug.inspector.inspection.index == accepted.parent
    assert debug.inspector._may_branch is False
    assert debug.inspector._reason == IN_TREE

    debugger.choose("2")
    debug.refresh()
    assert not debug.tree.isVisible()
    assert debug.inspector._reason != IN_TREE


def test_where_there_is_no_room_the_inspector_stays_readable(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(limit=20))
    window.resize(1280, 720)
    window.form.show_setup(Setup(prompt="Hi", drafters=(TREE,)))
    window.run_or_continue()
    qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=20_000)
    window.show_perspective("debug")
    window.debug.refresh()
    assert window.debug.tree.isVisible()
    assert window.debug.inspector.height() >= 370
    assert window.debug._foot.isHidden()
    window.debug.turn_to("timeline")
    assert not window.debug.tree.isVisible()
    window.debug._tabs["page.timeline"].click()
    assert window.debug.tree.isVisible()


def test_a_greedy_tree_is_seen_whole_in_a_small_window(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(limit=20))
    window.resize(1280, 720)
    window.form.show_setup(Setup(prompt="Hi", sampling=Sampling(temperature=0.0), drafters=(TREE,)))
    window.run_or_continue()
    qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=20_000)
    window.show_perspective("debug")
    debug, lane = window.debug, window.store.lane("0")
    assert lane is not None
    for number in range(len(lane.history.ends)):
        window.debugger.show_round(lane, number)
        debug.refresh()
        if debug.tree.model is not None:
            assert debug.tree.canvas.verticalScrollBar().maximum() == 0
    assert debug.inspector.height() >= 265
