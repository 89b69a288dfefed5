"""Debug mode: with ``SPECSCOPE_CHECK=1`` the contents of both caches are asserted at the end of every round.

A cache of the right length may still hold the wrong tokens, and nothing raises an error then: outputs only get a little
worse, or drafts are rejected a little more often. So each runner keeps the ids it put into its slots, as cheap evidence
beside the cache, and they are held against the committed tokens. This reads tokens back from the device, so it costs
time; without the flag it costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from engine.drafters.base import Drafter
from engine.errors import CacheError
from engine.rollback import Slots
from engine.runner import Runner

FLAG = "SPECSCOPE_CHECK"


def wanted() -> bool:
    return os.environ.get(FLAG, "") not in ("", "0")


def cache_checks(target: Runner, drafter: Drafter) -> Callable[[Sequence[int]], None]:
    """What one run calls with its committed tokens at the end of each round. The flag is read here, once."""
    return watch(target, drafter) if wanted() else lambda tokens: None


def watch(target: Runner, drafter: Drafter) -> Callable[[Sequence[int]], None]:
    """The same, whatever the flag says. Called before anything is cached. A drafter that has a ``runner`` (see
    :class:`engine.drafters.model.ModelDrafter`) is checked too."""
    runner: Any = getattr(drafter, "runner", None)
    helper = runner if isinstance(runner, Runner) else None
    for one in (target, helper):
        if one:
            one.remember()

    def check(tokens: Sequence[int]) -> None:
        check_slots("target", target, tokens[:-1])
        if helper:
            check_slots("drafter", helper, tokens[: min(helper.length, len(tokens) - 1)])

    return check


def check_slots(name: str, runner: Runner, tokens: Sequence[int]) -> None:
    """The slots must hold exactly ``tokens``, of which ids that the model doesn't have are read as its last one.
    Raises :class:`CacheError` naming the first slot that differs."""
    held = runner.ids
    if held is None:
        raise CacheError(f"The {name}'s cache can't be checked: its ids were not kept from the start.")
    expected = [min(token, runner.vocabulary - 1) for token in tokens]
    if held != expected:
        slot = next(i for i in range(max(len(held), len(expected))) if held[i : i + 1] != expected[i : i + 1])
        raise CacheError(f"Slot {slot} of the {name}'s cache holds {_id(held[slot : slot + 1])} where "
                         f"{_id(expected[slot : slot + 1])} belongs: it was not filled or cut back as it should be.")
    if len(held) != runner.length:
        raise CacheError(f"The {name}'s cache says it holds {runner.length} tokens where {len(held)} belong.")
    cache = getattr(runner, "cache", None)
    if isinstance(cache, Slots):
        cache.check()


def _id(slot: Sequence[int]) -> str:
    return f"id {slot[0]}" if slot else "nothing"
