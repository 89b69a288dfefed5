"""Trees of any shape are laid out without two nodes in one place, without crossings, and in the order of the tests."""

from __future__ import annotations

import random

from widgets.tree_layout import ROOT, Place, fit, lay_out, neighbour

SMALL = (ROOT, ROOT, 0, 0, 1, 2)


def test_a_small_tree() -> None:
    layout = lay_out(SMALL)
    assert layout.places == (Place(0, 0), Place(0, 2), Place(1, 0), Place(1, 1), Place(1, 2), Place(2, 0))
    assert layout.lasts == (1, 2, 0, 1, 2, 0)
    assert (layout.columns, layout.rows) == (3, 3)
    assert layout.at(1, 1) == 3
    assert layout.at(2, 1) is None


def test_nothing_a_chain_and_a_fan() -> None:
    assert (lay_out(()).columns, lay_out(()).rows) == (0, 1)
    chain = lay_out(range(-1, 63))
    assert (chain.columns, chain.rows) == (64, 1)
    fan = lay_out([ROOT] * 64)
    assert (fan.columns, fan.rows) == (1, 64)


def test_any_tree() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        parents = [chance.randint(-1, node - 1) for node in range(chance.randint(1, 64))]
        layout = lay_out(parents)
        assert len(set(layout.places)) == len(parents)
        assert layout.rows == len([node for node in range(len(parents)) if node not in parents])
        for node, parent in enumerate(parents):
            column, row = layout.places[node]
            above = layout.places[parent] if parent != ROOT else Place(-1, 0)
            assert column == above.column + 1
            assert row >= above.row
            before = [other for other in range(node) if parents[other] == parent]
            assert (row == above.row) is (not before)
            assert all(row > layout.places[other].row for other in range(len(parents))
                       if before and _on(parents, other, before[-1]))


def _on(parents: list[int], node: int, ancestor: int) -> bool:
    while node != ROOT:
        if node == ancestor:
            return True
        node = parents[node]
    return False


def test_rooms() -> None:
    sizes = {"root": 60.0, "least_column": 90.0, "most_column": 200.0, "compact": 20.0, "roomy": 36.0}
    layout = lay_out(SMALL)
    wide = fit(layout, 900, 300, **sizes)
    assert wide.roomy
    assert wide.column == 200
    assert wide.shown * wide.row <= 300
    low = fit(layout, 300, 70, **sizes)
    assert not low.roomy
    assert low.row == 70 / 3  # all the height there is
    assert fit(layout, 300, 40, **sizes).row == 20
    cut = fit(layout, 300, 55, **sizes)
    assert (cut.shown, cut.row) == (2, 27)  # no row is seen in part
    assert low.column == 90
    assert low.width == 60 + 3 * 90  # more than there is: it is scrolled
    assert fit(lay_out([ROOT] * 64), 300, 200, **sizes).shown == 10


def test_arrow_keys() -> None:
    layout = lay_out(SMALL)
    keys = {key: [neighbour(layout, SMALL, node, key) for node in range(6)] for key in ("left", "right", "up", "down")}
    assert keys["left"] == [None, None, 0, 0, 1, 2]
    assert keys["right"] == [2, 4, 5, None, None, None]
    assert keys["up"] == [None, 0, None, 2, 3, None]
    assert keys["down"] == [1, None, 3, 4, None, None]
