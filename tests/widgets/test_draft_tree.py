"""The draft tree: every node once, with its figures and what became of it; a click or a key selects its position."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from app.theme import Theme
from engine.debugger.history import History
from engine.debugger.inspection import inspect
from engine.debugger.tree_nodes import draft_tree, drafts_trees, usual_rows, why_no_tree
from tests.widgets import fake_run, fake_trees
from tests.widgets.conftest import Fill
from tests.widgets.gallery_trees import LARGE, TREE, moment
from widgets import lane_figures
from widgets.draft_tree import HINT, DraftTreePanel
from widgets.draft_tree_words import explain, figures, spoken
from widgets.lane_card import LaneCard


def made(qtbot: QtBot, theme: Theme, **options: object) -> DraftTreePanel:
    panel = DraftTreePanel(theme)
    qtbot.addWidget(panel)
    panel.resize(800, 320)
    panel.show_moment(moment(**options))  # type: ignore[arg-type]
    panel.show()
    return panel


def test_every_moment_of_a_lane() -> None:
    history = History("tree")
    for record in fake_trees.lane_records(limit=40):
        history.append(record)
    for index in range(len(history) + 1):
        now = history.at(index)
        tree = draft_tree(now)
        assert drafts_trees(now) == (now.started is not None)
        if now.round is None or not now.round.is_tree:
            assert tree is None
            continue
        assert tree is not None
        for node in tree.nodes:
            found = inspect(now, node.place)
            assert found is not None
            if node.index < now.round.k:
                assert (node.kind, node.position) == (now.round.fate(node.index), found.position)
                judged = now.round.judged_at(node.index)
                assert (node.p, node.u) == ((judged.p, judged.draw) if judged is not None else (None, None))
            else:
                assert now.round.committed is not None
                assert node.token == now.round.committed.tokens[-1]
                assert found.final == node.kind
            assert explain(tree, node)
            assert spoken(node)
        assert [node.test for node in tree.nodes if node.test is not None] == list(range(1, len(now.round.judged) + 1))


def test_words_and_figures() -> None:
    shown = moment(accepted=3)
    tree = draft_tree(shown)
    assert tree is not None
    tested = next(node for node in tree.nodes if node.test is not None and node.kind == "accepted")
    assert tree.size == "16 drafted, 4 deep"
    assert tree.remark.startswith("16 drafted, 4 deep, ")
    assert [part[0] for part in figures(tested).split("  ")] == ["p", "q", "u"]
    words = explain(tree, tested)
    assert "test 1 of the round: u·q(y)" in words or f"test {tested.test} of the round" in words
    assert "renormalised" in words
    assert "among what its earlier siblings left" in words
    void = next(node for node in tree.nodes if node.kind == "void" and node.depth)
    assert "Never tested" in explain(tree, void)
    assert "Π q along the way" in explain(tree, void)
    assert figures(void).startswith("q ")
    final = tree.nodes[-1]
    assert final.kind == "correction"
    assert "the residual that the rejected siblings left" in explain(tree, final)
    greedy = draft_tree(moment(replace(TREE, sampled=False, skill=1.3), accepted=4, temperature=0.0))
    assert greedy is not None
    assert greedy.one_hot
    assert "taken without a draw" in explain(greedy, greedy.nodes[0])
    assert "argmax" in explain(greedy, greedy.nodes[0])
    assert "most probable" in explain(greedy, greedy.nodes[-1])


def test_a_click_selects(qtbot: QtBot, theme: Theme) -> None:
    panel = made(qtbot, theme, accepted=3)
    told: list[tuple[int, int]] = []
    panel.selected.connect(lambda round, place: told.append((round, place)))
    assert panel.model is not None
    canvas = panel.canvas
    for node in panel.model.nodes:
        canvas.reveal(node.index)
        at = canvas._painter.pill(canvas.box(node.index), canvas._grid.roomy, node).center().toPoint()
        qtbot.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert told[-1] == (panel.model.round, node.place)
        assert canvas.marked is node
    qtbot.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert len(told) == len(panel.model.nodes)


def test_keys_reach_every_node(qtbot: QtBot, theme: Theme) -> None:
    panel = made(qtbot, theme, growth=LARGE, accepted=4)
    canvas, tree = panel.canvas, panel.model
    assert tree is not None
    assert len(tree.nodes) == 65
    qtbot.keyClick(canvas, Qt.Key.Key_Home)
    assert canvas.marked is tree.nodes[0]
    reached, waiting = {0}, [0]
    while waiting:
        start = waiting.pop()
        for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
            canvas._choose(tree.nodes[start])
            qtbot.keyClick(canvas, key)
            marked = canvas.marked
            assert marked is not None
            box = canvas.box(marked.index)
            assert canvas.viewport().rect().adjusted(-1, -1, 1, 1).contains(box.toAlignedRect().center())
            if marked.index not in reached:
                reached.add(marked.index)
                waiting.append(marked.index)
    assert reached == set(range(65))
    qtbot.keyClick(canvas, Qt.Key.Key_End)
    assert canvas.marked is tree.nodes[-1]
    assert "level" in canvas.accessibleDescription()


def test_what_is_selected_elsewhere_is_framed(qtbot: QtBot, theme: Theme) -> None:
    panel = made(qtbot, theme, growth=LARGE, accepted=4)
    panel.select(33)
    assert panel.canvas.marked is not None
    assert panel.canvas.marked.index == 33
    qtbot.keyClick(panel.canvas, Qt.Key.Key_End)
    last = panel.canvas.marked
    panel.select(last.place)  # the view's answer: the correction keeps the frame that its rejected draft could have
    assert panel.canvas.marked is last
    panel.select(None)
    assert panel.canvas.marked is None


@pytest.mark.parametrize("size", [(800, 320), (330, 140)])
def test_it_is_painted_in_any_room_and_clothes(qtbot: QtBot, theme: Theme, light: Theme, size: tuple[int, int]) -> None:
    panel = made(qtbot, theme, growth=LARGE, accepted=4)
    panel.resize(*size)
    pictures = []
    for clothes in (theme, light):
        panel.set_theme(clothes)
        panel.select(20)
        picture = QImage(panel.size(), QImage.Format.Format_ARGB32)
        panel.render(picture)
        pictures.append(picture)
    assert pictures[0] != pictures[1]
    panel.show_moment(None)
    assert panel.model is None


def test_what_is_scrolled_to_keeps_its_ancestors_in_sight(qtbot: QtBot, theme: Theme) -> None:
    panel = made(qtbot, theme, growth=LARGE, accepted=4)
    panel.resize(800, 140)
    canvas, tree = panel.canvas, panel.model
    assert tree is not None
    assert canvas.verticalScrollBar().maximum() > 0
    for node in tree.nodes:
        canvas.reveal(node.index)
        seen = {other.index: canvas.box(other.index) for other in tree.nodes}
        at = node.index
        while at >= 0:
            assert -0.1 <= seen[at].top() <= canvas.viewport().height() - seen[at].height() + 0.1  # and none in part
            at = tree.nodes[at].parent
        shown = [(box.left(), round(box.top())) for box in seen.values() if box.top() > -1]
        assert len(shown) == len(set(shown))  # nothing lies on them


def test_a_round_without_a_tree_says_so(qtbot: QtBot, theme: Theme) -> None:
    panel = made(qtbot, theme, accepted=3)
    history = History("tree")
    for record in fake_trees.lane_records(limit=40):
        history.append(record)
    told = set()
    for index in range(len(history) + 1):
        now = history.at(index)
        panel.show_moment(now)
        if panel.model is None:
            told.add(panel._hint.text())
            assert usual_rows(now) == (0 if now.started is None else 1 if now.round is not None else 14)
        else:
            assert usual_rows(now) == 14
            assert panel.canvas._layout.rows <= 14
    end = history.at(len(history))
    assert end.round is not None
    assert end.round.k == 0  # one token was left
    assert panel.heading.said == (f"Draft tree of round {end.round.round + 1}", "none")
    assert told == {HINT, "Nothing was drafted in this round: its one token is the target’s own."}
    history.records[0] = msgspec.structs.replace(history.records[0], settings=msgspec.structs.replace(
        history.records[0].settings, max_new_tokens=40))  # type: ignore[attr-defined]  # a RunStarted
    panel.show_moment(history.at(len(history)))
    assert "one token was left to write" in why_no_tree(history.at(len(history)))


def test_the_card_tells_trees_from_chains(qtbot: QtBot, theme: Theme, fill: Fill) -> None:
    store = fill(fake_run.PLAIN, fake_run.EAGLE)
    from app.store import LaneSpec

    store.add_lane(LaneSpec("tree", "EAGLE tree"))
    store.extend(fake_trees.lane_records(finish=False))
    tree, chain = store.lane("tree"), store.lane("eagle")
    assert "every sibling's test counts" in lane_figures.acceptance(tree).tooltip
    assert "every sibling" not in lane_figures.acceptance(chain).tooltip
    assert "Comparable between chains and trees" in lane_figures.tokens_a_round(tree).tooltip
    (told,) = lane_figures.status(store, tree)
    assert told.startswith("tree: ")
    assert told.endswith(" deep")
    assert lane_figures.exactness(store, tree)[0] == "not bit-exact"
    assert "ancestors not gathered" in lane_figures.exactness(store, tree)[1]
    assert lane_figures.exactness(store, chain)[0] == ""
    card = LaneCard(store, theme, "tree")
    qtbot.addWidget(card)
    card.resize(1100, 70)
    card.show()
    card.refresh()
    assert card._verdict.isVisible()
    card._verdict.repaint()
    card.grab()
    assert "ancestors not gathered" in card._verdict.toolTip()
