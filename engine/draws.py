"""Every random choice is one draw: a uniform number that is a pure function of where it is used.

    u = draw(seed, round_start, position, purpose, sibling)

It comes from numpy's Philox, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
SC 2011): the seed is the key and the place is the counter, so a draw can be made again, in any order, on any machine.

``round_start`` (how many tokens were committed when the round began) is part of the place. Without it, a position whose
draft was discarded would be judged again by the very number that discarded it, and that number is no longer uniform
given what has happened.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    DRAFT = 0
    """Chooses a draft token from q."""
    ACCEPT = 1
    """Tests a draft token: accept when u·q(y) < p(y)."""
    FINAL = 2
    """Chooses the round's last token: a correction from the residual, or a bonus or plain token from p."""


def draw(seed: int, round_start: int, position: int, purpose: Purpose, sibling: int = 0) -> float:
    """One uniform number in [0, 1), a multiple of 2⁻⁵³.

    ``position`` is the index, in prompt + output, of the token that is chosen or tested. ``sibling`` tells apart the
    children of one node of a draft tree.
    """
    bits = np.random.Philox(key=seed, counter=[0, round_start, position, (sibling << 8) | int(purpose)])
    return float(int(bits.random_raw()) >> 11) * 2.0**-53
