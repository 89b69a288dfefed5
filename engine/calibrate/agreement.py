"""How often a drafter's next token is the target's, on text the target wrote: two forwards a set, no decoding.

In greedy decoding a drafter only ever goes on from tokens that are the target's own, up to the first that isn't, and
behind that nothing counts. So whether it agrees at each place of the target's text decides every round that could be
decoded there, and the walk over those yeses and noes is the decoding, but for its cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from engine.calibrate.texts import Text

TOGETHER = 6
"""Texts of about one length that share a forward: three to five times as quick as one by one on two CPU cores."""


@torch.inference_mode()
def winners(model: Any, texts: Sequence[Text]) -> list[torch.Tensor]:
    """A text's (answer,) argmax tokens, in the place of each token of the answer."""
    found: dict[int, torch.Tensor] = {}
    order = sorted(range(len(texts)), key=lambda number: _length(texts[number]))
    device = model.get_input_embeddings().weight.device
    for at in range(0, len(order), TOGETHER):
        group = order[at : at + TOGETHER]
        width = _length(texts[group[-1]])
        ids = [[*texts[i].prompt, *texts[i].answer[:-1], *[0] * (width - _length(texts[i]))] for i in group]
        out = model.base_model(input_ids=torch.tensor(ids, device=device), use_cache=False)
        for row, number in enumerate(group):
            end = _length(texts[number])
            places = out.last_hidden_state[row, end - len(texts[number].answer) : end]
            found[number] = model.get_output_embeddings()(places).argmax(-1)
    return [found[number] for number in range(len(texts))]


def _length(text: Text) -> int:
    """Tokens that are read: all but the last of the answer."""
    return len(text.prompt) + len(text.answer) - 1


def agreements(model: Any, texts: Sequence[Text], target: Sequence[torch.Tensor]) -> list[list[bool]]:
    """Is ``model``'s winner the target's, at each place of each answer?"""
    return [(ours == theirs).tolist() for ours, theirs in zip(winners(model, texts), target, strict=True)]


def acceptance_rate(agreed: Sequence[Sequence[bool]], gamma: int) -> float:
    """α of greedy decoding with γ drafts a round: accepted / tested."""
    accepted = tested = 0
    for places in agreed:
        for run, asked in _rounds(places, gamma):
            accepted += run
            tested += min(run + 1, asked)
    return accepted / tested if tested else 0.0


def committed_length(agreed: Sequence[Sequence[bool]], gamma: int) -> float:
    """E[m] of greedy decoding with γ drafts a round: tokens / rounds."""
    rounds = sum(len(list(_rounds(places, gamma))) for places in agreed)
    return sum(map(len, agreed)) / rounds if rounds else 0.0


def _rounds(places: Sequence[bool], gamma: int) -> list[tuple[int, int]]:
    """Accepted and drafted of each round; a round ends with a token of the target's, and the text with a round."""
    found, at = [], 0
    while at < len(places):
        asked = min(gamma, len(places) - at - 1)
        run = next((i for i in range(asked) if not places[at + i]), asked)
        found.append((run, asked))
        at += run + 1
    return found
