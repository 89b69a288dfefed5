"""Near-tie or fault: by the gap in the plain run and the measured difference of rows."""

from __future__ import annotations

from engine.divergence import first_divergence


def test_a_gap_within_twice_the_row_difference_is_a_near_tie() -> None:
    for moved, near in ((0.1, True), (0.0999, False), (0.0, False)):
        found = first_divergence([1, 2, 9], [1, 2, 3], [5.0, 5.0, 0.2], moved, ended=False)
        assert found is not None
        assert (found.index, found.token, found.plain_token, found.gap, found.near_tie) == (2, 9, 3, 0.2, near)
        assert found.sentence == f"parts from plain at token 2, gap 0.2: {'near-tie' if near else 'fault'}"


def test_an_unfinished_lane_has_not_parted_by_being_shorter() -> None:
    assert first_divergence([1, 2], [1, 2, 3], [1.0] * 3, 0.1, ended=False) is None
    shorter = first_divergence([1, 2], [1, 2, 3], [1.0] * 3, 0.1, ended=True)
    assert shorter is not None
    assert (shorter.index, shorter.token, shorter.plain_token, shorter.near_tie) == (2, None, 3, False)


def test_what_agreed_need_not_be_compared_again() -> None:
    assert first_divergence([7, 2], [1, 2], [1.0, 1.0], 0.0, ended=True, start=1) is None
    assert first_divergence([], [], [], 0.0, ended=True) is None
