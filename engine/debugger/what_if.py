"""What might have been: one change to one round of a recorded run, from which a branch runs on."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.settings import RunSettings


class Change(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Made in round ``round`` of the original; everything before it is the original's."""

    round: int


class NoChange(Change, frozen=True, kw_only=True, tag=True):
    """The branch repeats the original: the test of the whole idea."""


class OtherDraw(Change, frozen=True, kw_only=True, tag=True):
    """Another number in [0, 1) in the place of one draw."""

    purpose: Literal["draft", "accept", "final"]
    index: int
    """Draft position in the round. For ``final``: how many drafts are accepted before it."""
    value: float


class Forced(Change, frozen=True, kw_only=True, tag=True):
    """Draft ``index`` is accepted or rejected whatever its draw says: no longer lossless."""

    index: int
    accept: bool


class OtherToken(Change, frozen=True, kw_only=True, tag=True):
    """Another token is drafted at ``index``; later drafts of the round follow from it."""

    index: int
    token: int


class OtherSettings(Change, frozen=True, kw_only=True, tag=True):
    """γ, temperature, top-p, the drafter …: from this round on."""

    settings: RunSettings


AnyChange = NoChange | OtherDraw | Forced | OtherToken | OtherSettings


def lossless(change: Change) -> bool:
    """Is the branch still a run that the target could have made by itself?"""
    return not isinstance(change, Forced)
