"""What the target itself writes: the text on which sets of layers are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.models import Model
from engine.training.answers import Task, answers
from engine.training.prompts import kinds, prompts

LONGEST_PROMPT = 256
"""In tokens: a long one makes every forward dear and says little more."""


@dataclass(frozen=True)
class Text:
    """A prompt's ids and the target's greedy answer."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


def written_prompts(target: Model, count: int, *, skip: int = 0) -> list[tuple[int, ...]]:
    """``count`` of the prompts that drafters are trained on, of all kinds in turn, as ids, behind the first ``skip``;
    never those that anything is judged on (training/prompts.py)."""
    chat = bool(getattr(target.tokenizer, "chat_template", None))
    longest = min(LONGEST_PROMPT, target.info.context // 2)
    per_kind = 2 + 2 * (count + skip) // len(kinds())
    encoded = (tuple(target.encode(one.text, chat=chat)) for one in prompts("train", per_kind))
    short = [ids for ids in encoded if len(ids) <= longest]
    return short[skip : skip + count]


def own_texts(target: Model, count: int, tokens: int, *, stop: Callable[[], bool] = lambda: False) -> list[Text]:
    """The target's answers of up to ``tokens`` to ``count`` prompts."""
    tasks = [Task("", prompt, 0.0) for prompt in written_prompts(target, count)]
    found = answers(target, tasks, max_new_tokens=tokens, rows=count, stop=stop)
    return [Text(one.prompt, one.tokens) for one in found]
