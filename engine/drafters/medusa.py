"""Medusa: extra heads on the target's last feature guess several tokens at once (Cai et al. 2024).

The newest committed token has no feature yet, so all heads guess from the feature before it and that token's embedding:
head 1 what follows the newest token, and so on. Each head's distribution is that position's own, whatever was drafted
before: q of a draft is the very row it was drawn from, and the judgement stays exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from engine.drafters import checkpoint
from engine.drafters.base import BY_HAND, Draft, RoundDraws
from engine.drafters.medusa_heads import MedusaHeads, MedusaShape
from engine.drafters.reduced import ReducedVocabulary
from engine.drafters.shelf import Shelf
from engine.drafters.tree import Node, propose_tree
from engine.features import NORMED, Features
from engine.models import Model
from engine.runner import Runner, as_ids, text_config
from engine.sampling import Seen, Warper

if TYPE_CHECKING:
    from engine.settings import RunSettings


@dataclass(frozen=True)
class Medusa:
    """Weights and what goes with them; shared by runs."""

    heads: MedusaHeads
    output: torch.Tensor
    """(draft vocabulary, H): rows of the target's output head."""
    embed: Callable[[torch.Tensor], torch.Tensor]
    """Ids (W,) → (W, H), the target's own."""
    about: str


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> MedusaDrafter:
    return MedusaDrafter(shelf.get(settings.drafter, target), runner, settings)


def read(found: checkpoint.Checkpoint, target: Model) -> Medusa:
    """Raises :class:`ModelError` or :class:`MismatchError` when the checkpoint can't be read or doesn't fit."""
    found.check("medusa", target)
    found.ids(target.info.vocabulary)  # raises where they are no map
    shape = MedusaShape(text_config(target.hf).hidden_size, found.whole("heads"), found.whole("blocks"),
                        found.whole("draft_vocabulary"), newest=found.flag("newest"))
    if shape.heads * shape.blocks > len(found.tensors):
        raise found.damaged(f"it announces {shape.heads} heads of {shape.blocks} blocks, but holds fewer weights")
    heads = MedusaHeads(shape)
    weights = {n: t for n, t in found.tensors.items() if n != "t2d"}
    checkpoint.fill(heads, weights, found.name)
    shared = target.hf.get_output_embeddings().weight.detach()
    heads = heads.to(shared.device, shared.dtype).eval().requires_grad_(False)
    return Medusa(heads, shared[heads.ids], target.hf.get_input_embeddings(),
                  f"{shape.heads} heads on the target's last feature guess {shape.heads} tokens at once")


shelf = Shelf("medusa", read)


class MedusaDrafter:
    slots = 0

    def __init__(self, medusa: Medusa, target: Runner, settings: RunSettings) -> None:
        self.about = medusa.about
        self.medusa = medusa
        self.settings = settings.drafter
        self.features: Features = target.tap((NORMED,))
        self.device = target.device
        self.warper = Warper(settings.sampling)
        self.words = ReducedVocabulary(medusa.heads.ids, target.vocabulary, self.warper, settings.drafter.stop_below)
        self.seen = Seen(target.vocabulary, target.device) if self.warper.penalises else None
        self._noted = 0

    def prefill(self, tokens: Sequence[int]) -> None:
        """The target's features are all it needs."""

    @torch.inference_mode()
    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        count = min(count, self.medusa.heads.shape.heads)
        if count < 1 or len(tokens) < 2:  # behind a single token there is no feature yet
            return
        feature = self.features.rows(len(tokens) - 2, len(tokens) - 1)
        newest = self.medusa.embed(as_ids(tokens[-1:], self.device))
        logits = torch.nn.functional.linear(self.medusa.heads(feature, newest)[:count, 0], self.medusa.output)
        if self.seen:
            self.seen.add(list(tokens[self._noted :]))
            self._noted = len(tokens)
        if self.settings.tree:
            yield from self._tree(logits, count, draws)
            return
        drafts: list[torch.Tensor] = []
        for index in range(count):
            u = None if self.warper.greedy else draws.draft(index)
            guess = self.words.guess(logits[index], self.seen.rows(drafts)[-1] if self.seen else None, u)
            other = draws.instead(index)
            token = guess.token if other is None else torch.tensor(other, device=self.device)
            drafts.append(token)
            yield Draft(token, guess.q, None if other is not None else u, f"head {index + 1}" if other is None
                        else BY_HAND)
            if not guess.going:
                return

    def cut(self, length: int) -> None:
        """It caches nothing."""

    def _tree(self, logits: torch.Tensor, count: int, draws: RoundDraws) -> Iterator[Draft]:
        def follow(nodes: Sequence[Node]) -> torch.Tensor:
            return torch.cat([self._row(logits[node.depth + 1], node) for node in nodes])

        yield from propose_tree(self._row(logits[0], None)[0], follow, self.settings, count, draws,
                                greedy=self.warper.greedy)

    def _row(self, logits: torch.Tensor, node: Node | None) -> torch.Tensor:
        """(1, V): a position's own distribution; what was drafted on the way matters only to a repetition penalty."""
        seen = None
        if self.seen:
            seen = self.seen.mask[None].clone()
            for one in node.path if node else ():
                seen[0, one.token] = True
        return self.words.distribution(logits[None], seen)
