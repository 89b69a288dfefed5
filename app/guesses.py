"""How each method guesses, in the few words that a low card has room for; its whole sentence stands in the tooltip."""

from __future__ import annotations

from engine import methods
from engine.errors import ModelError

_BRIEF = {
    "none": "one token a forward", "ngram": "copies earlier text", "layer-skip": "the target, layers left out",
    "model": "a smaller model writes ahead", "draft": "a small imitation of the target",
    "eagle": "continues the target's features", "medusa": "extra heads guess several at once",
}


def guesses(kind: str) -> tuple[str, ...]:
    """From more words to fewer. A recording may hold a method that isn't installed here: nothing is known of it."""
    try:
        found = methods.method(kind).guess
    except ModelError:
        return ()
    return (found, _BRIEF[kind]) if kind in _BRIEF else (found,)
