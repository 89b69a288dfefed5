"""A what-if change in words, for a lane's title and its record of where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from engine.debugger.token_words import quoted
from engine.debugger.what_if import AnyChange, Forced, OtherDraw, OtherSettings, OtherToken
from engine.settings import LookupText, RunSettings

_NAMES = {
    "temperature": "temperature", "top_k": "top-k", "top_p": "top-p", "min_p": "min-p",
    "repetition_penalty": "repetition penalty", "gamma": "γ", "min_n": "shortest match", "max_n": "longest match",
    "match": "match", "texts": "texts to copy from", "skip": "layers left out", "seed": "seed",
    "max_new_tokens": "at most so many tokens", "stop": "stop texts", "ignore_eos": "end tokens ignored",
    "exact": "padded to one width", "detail": "rows recorded",
}


def in_words(change: AnyChange, before: RunSettings, texts: Mapping[int, str]) -> str:
    """"" for no change. ``before``: the settings of the lane that is branched off; ``texts``: its tokens' own."""
    match change:
        case OtherDraw(purpose="draft"):
            return f"draft {change.index + 1} drawn by {_number(change.value)}"
        case OtherDraw(purpose="accept"):
            return f"draft {change.index + 1} tested by u = {_number(change.value)}"
        case OtherDraw():
            return f"the last token drawn by {_number(change.value)}"
        case Forced():
            return f"draft {change.index + 1} {'accepted' if change.accept else 'rejected'} by force"
        case OtherToken():
            known = quoted(texts[change.token]) if change.token in texts else f"#{change.token}"
            return f"draft {change.index + 1} is {known}"
        case OtherSettings():
            return ", ".join(_differences(before, change.settings))
        case _:
            return ""


def _differences(a: RunSettings, b: RunSettings) -> Iterator[str]:
    if a.drafter.spell() != b.drafter.spell():
        yield b.drafter.label.lower() if b.drafter.kind != "model" else b.drafter.label
    for ours, theirs in ((a.drafter, b.drafter), (a.sampling, b.sampling), (a, b)):
        for name in ours.__struct_fields__:
            old, new = getattr(ours, name), getattr(theirs, name)
            if name in _NAMES and old != new:
                yield f"{_NAMES[name]} {_value(name, new)}"


def _value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " ".join(_one(one) for one in value) or "none"
    if value is None:
        return "as the method likes it"
    return _number(value) if isinstance(value, float) else str(value)


def _one(value: object) -> str:
    if isinstance(value, LookupText):
        return PurePath(value.path).name
    return repr(value) if isinstance(value, str) else str(value)


def _number(value: float) -> str:
    return f"{value:.4g}"
