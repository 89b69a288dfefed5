"""Do a target and a draft model fit together? They must mean the same by every token id."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import MismatchError
from engine.models.model import Model


@dataclass(frozen=True)
class Pair:
    """What is worth knowing of a pair that fits."""

    common: int
    """Ids below this exist in both tokenizers' vocabularies (gaps aside)."""
    context: int
    """Longest prompt + output both can handle, in tokens."""
    transfers: bool
    """They are on different devices, so drafts and distributions are copied from one to the other each round."""
    notes: tuple[str, ...]
    """The above, for a person, where it matters."""


def check_pair(target: Model, drafter: Model) -> Pair:
    """Raises :class:`MismatchError` naming the first ids whose tokens differ.

    Sizes of the embeddings may differ (they are padded differently in one family), and one tokenizer may have a few
    tokens more at its end: a drafter that can't propose some tokens is fine.
    """
    ours, theirs = target.table.names, drafter.table.names
    common = min(len(ours), len(theirs))
    differing = [token for token in range(common)
                 if ours[token] is not None and theirs[token] is not None and ours[token] != theirs[token]]
    if differing:
        named = ", ".join(f"{token} is {target.table.text(token)!r} and {drafter.table.text(token)!r}"
                          for token in differing[:3])
        raise MismatchError(
            f"{drafter.info.name} can't draft for {target.info.name}, because their tokenizers differ in "
            f"{len(differing)} of {common} tokens: {named}; choose a draft model of the same family.")
    a, b = target.info, drafter.info
    notes = []
    if b.context < a.context:
        notes.append(f"The drafter takes at most {b.context} tokens, the target {a.context}: beyond that no drafts.")
    if a.vocabulary != b.vocabulary:
        notes.append(f"The embeddings have {a.vocabulary} and {b.vocabulary} rows; only common ids are drafted.")
    transfers = a.device != b.device
    if transfers:
        notes.append(f"The target runs on {a.device} and the drafter on {b.device}: drafts are copied between them.")
    return Pair(common, min(a.context, b.context), transfers, tuple(notes))
