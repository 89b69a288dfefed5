"""Questions that the target asks itself (Magpie: Xu et al. 2024).

Given the opening of a user's turn and nothing else, a model that was tuned on conversations writes what the users in
them wrote. Templates run out of subjects; this doesn't.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.models import Model
from engine.training.answers import Task, answers
from engine.training.lines import append, whole

KIND = "asked"
LONGEST = 96
"""Tokens of a question: one that didn't end by then is left out."""
SHORTEST = 3
AT_ONCE = 512
"""Questions sampled before the good ones are looked out."""
TRIES = 8
"""Times as many samples as questions wanted: a model that mostly repeats itself, or never ends, gives fewer."""
MARK = "XQZ"
"""Stands for the user's words while looking for what is around them."""


def frame(target: Model) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The ids that the chat template puts before a user's message and behind it, the opening of the answer included.
    None where they can't be told apart, or where no end token closes the message: then no question would end."""
    whole = list(target.encode(MARK, chat=True))
    text = target.tokenizer.decode(whole)
    before, _, behind = text.partition(MARK)

    def ids(part: str) -> tuple[int, ...]:
        return tuple(target.tokenizer.encode(part, add_special_tokens=False))

    mark = whole[len(ids(before)) : len(whole) - len(ids(behind))]
    if ids(before) + tuple(mark) + ids(behind) != tuple(whole) or not behind or ids(behind)[0] not in target.eos:
        return None
    return ids(before), ids(behind)


def asked(target: Model, count: int, *, seed: int = 0, known: set[tuple[int, ...]] | None = None
          ) -> Iterator[tuple[int, ...]]:
    """Up to ``count`` prompts as ids, chat template included, none twice and none of ``known``; sampled at temperature
    1. Fewer where the target asks nothing new."""
    around = frame(target)
    if around is None:
        return
    before, behind = around
    special = set(target.tokenizer.all_special_ids)
    seen, found = set(known or ()), 0
    for tried in range(0, TRIES * count, AT_ONCE):
        opening = [Task(KIND, before, 1.0)] * AT_ONCE
        for one in answers(target, opening, max_new_tokens=LONGEST, seed=seed + tried):
            *words, last = one.tokens
            prompt = (*before, *words, *behind)
            if last in target.eos and len(words) >= SHORTEST and not special & set(words) and prompt not in seen:
                seen.add(prompt)
                found += 1
                yield prompt
                if found == count:
                    return


def keep(path: Path, target: Model, count: int, seed: int, progress: Callable[[int, int], None]
         ) -> list[tuple[int, ...]]:
    """``count`` such prompts out of a file of JSON lines, which gets those that it lacks."""
    kept = whole(path, tuple[int, ...])
    fresh = asked(target, count - len(kept), seed=seed + len(kept), known=set(kept))
    for prompt in append(path, fresh, lambda prompt: json.dumps(prompt, separators=(",", ":"))):
        kept.append(prompt)
        progress(len(kept), count)
    return kept[:count]
