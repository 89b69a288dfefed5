"""EAGLE: one light layer continues the target's features (Li et al., EAGLE 2024, EAGLE-2 2024, EAGLE-3 2025).

The target's features of all committed tokens but the newest are known when a round begins. The layer takes in, for each
position that is new, the feature and the token behind it; its last output guesses what follows the newest token. From
there on it takes its own outputs for features. Whatever it cached from those is forgotten at the round's end, since by
then the target has computed the true ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from engine.attention import attend
from engine.drafters.base import BY_HAND, Draft, RoundDraws
from engine.drafters.eagle_checkpoint import Eagle, examine, read
from engine.drafters.reduced import ReducedVocabulary
from engine.drafters.shelf import Shelf
from engine.drafters.tree import Node, propose_tree
from engine.errors import NumericsError
from engine.features import Features
from engine.models import Model
from engine.runner import Runner, as_ids
from engine.sampling import Seen, Warper

if TYPE_CHECKING:
    from engine.settings import DrafterSettings, RunSettings

CHUNK = 512
"""Positions taken in at once."""

shelf = Shelf("eagle", read, examine)


def make(settings: RunSettings, target: Model, runner: Runner, models: Mapping[str, Model]) -> EagleDrafter:
    return EagleDrafter(shelf.get(settings.drafter, target), runner, settings)


class EagleDrafter:
    def __init__(self, eagle: Eagle, target: Runner, settings: RunSettings) -> None:
        self.about = eagle.about
        self.head, self.embed = eagle.head, eagle.embed
        self.settings: DrafterSettings = settings.drafter
        self.features: Features = target.tap(eagle.depths)
        self.device, self.dtype = target.device, target.dtype
        self.warper = Warper(settings.sampling)
        self.words = ReducedVocabulary(eagle.head.ids, target.vocabulary, self.warper, settings.drafter.stop_below)
        self.seen = Seen(target.vocabulary, target.device) if self.warper.penalises else None
        self._noted = 0
        self._true = 0
        """Positions whose features were the target's."""
        self._used = 0
        """Positions in the layer's cache, those of this round's drafts included."""
        shape = eagle.head.shape.config
        empty = torch.zeros(1, shape.num_key_value_heads, 0, shape.head_dim, dtype=self.dtype, device=self.device)
        self._keys, self._values = empty, empty.clone()

    def prefill(self, tokens: Sequence[int]) -> None:
        self._take_in(tokens)

    @torch.inference_mode()
    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        if count < 1 or len(tokens) < 2:  # behind a single token there is no feature yet
            return
        hidden = self._take_in(tokens)
        if self.seen:
            self.seen.add(list(tokens[self._noted :]))
            self._noted = len(tokens)
        logits = self._logits(hidden)
        if self.settings.tree:
            yield from self._tree(hidden, logits, len(tokens) - 1, count, draws)
            return
        drafts: list[torch.Tensor] = []
        for index in range(count):
            u = None if self.warper.greedy else draws.draft(index)
            guess = self.words.guess(logits[0], self.seen.rows(drafts)[-1] if self.seen else None, u)
            other = draws.instead(index)
            token = guess.token if other is None else torch.tensor(other, device=self.device)
            yield Draft(token, guess.q, None if other is not None else u, "" if other is None else BY_HAND)
            if not guess.going or index == count - 1:
                return
            drafts.append(token)
            hidden = self._step(hidden, as_ids([token], self.device), torch.tensor([self._used], device=self.device))
            logits = self._logits(hidden)

    def relive(self, tokens: Sequence[int], rounds: Sequence[int]) -> None:
        """Come to the state behind a run's rounds, which began at these committed lengths, with the run's own forwards;
        the target's features of ``tokens`` are there."""
        for start in rounds:
            self._take_in(tokens[:start])

    def cut(self, length: int) -> None:
        self._used = min(self._used, self._true)

    @property
    def slots(self) -> int:
        return self._used

    @torch.inference_mode()
    def _take_in(self, tokens: Sequence[int]) -> torch.Tensor:
        """Positions 0 … len(tokens) − 2, as far as they are new, with the target's features. Returns the layer's output
        at the last one, (1, 1, H)."""
        self._used = self._true
        hidden = torch.empty(1, 0, 0)
        end = max(0, len(tokens) - 1)
        first = max(0, min(self._true, end - 1))  # at least one, for its output
        self._used = self._true = first
        for begin in range(first, end, CHUNK):
            until = min(begin + CHUNK, end)
            features = self.features.rows(begin, until)
            states = self.head.fuse(features[None])
            if not torch.isfinite(states[0, -1]).all():
                whose = "What EAGLE makes of the" if torch.isfinite(features[-1]).all() else "The"
                raise NumericsError(f"{whose} target's features at position {until - 1} holds NaN or infinities, so "
                                    "EAGLE can't go on from them; try float32, or check the weights.")
            hidden = self._step(states, as_ids(tokens[begin + 1 : until + 1], self.device),
                                torch.arange(begin, until, device=self.device))[:, -1:]
            self._true = until
        return hidden

    def _step(self, hidden: torch.Tensor, tokens: torch.Tensor, positions: torch.Tensor,
              mask: torch.Tensor | None = None) -> torch.Tensor:
        """Append W positions, ``hidden`` (1, W, H) and ``tokens`` (W,). ``mask`` (W, used + W) bool: what each may see;
        None: all before and itself."""
        first, width = self._used, hidden.shape[1]
        self._reserve(first + width)
        end = first + width

        def kept(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            self._keys[:, :, first:end] = k
            self._values[:, :, first:end] = v
            out, _ = attend(self.head, q, self._keys[:, :, :end], self._values[:, :, :end],
                            None if mask is None else mask[None, None])
            return out.transpose(1, 2)

        out: torch.Tensor = self.head(hidden, self.embed(tokens)[None], positions[None], kept)
        self._used = end
        return out

    def _reserve(self, slots: int) -> None:
        room = self._keys.shape[2]
        if slots > room:
            extra = max(256, 2 * room, slots) - room
            self._keys, self._values = (torch.nn.functional.pad(one, (0, 0, 0, extra))
                                        for one in (self._keys, self._values))

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """(1, W, H) → (W, draft vocabulary)"""
        out: torch.Tensor = self.head.logits(hidden)[0]
        return out

    def _tree(self, hidden: torch.Tensor, logits: torch.Tensor, base: int, count: int, draws: RoundDraws
              ) -> Iterator[Draft]:
        """``base``: position of the newest token, where the layer's own outputs begin."""
        true, slots, states = self._used, dict[int, int](), dict[int, torch.Tensor]()

        def follow(nodes: Sequence[Node]) -> torch.Tensor:
            inputs = torch.cat([hidden if n.parent is None else states[id(n.parent)] for n in nodes], 1)
            mask = torch.zeros(len(nodes), self._used + len(nodes), dtype=torch.bool, device=self.device)
            mask[:, :true] = True
            for row, node in enumerate(nodes):
                slots[id(node)] = self._used + row
                mask[row, [slots[id(one)] for one in node.path]] = True
            out = self._step(inputs, as_ids([n.token for n in nodes], self.device),
                             torch.tensor([base + n.depth for n in nodes], device=self.device), mask)
            for row, node in enumerate(nodes):
                states[id(node)] = out[:, row : row + 1]
            return self.words.distribution(self._logits(out), self._seen_rows(nodes))

        first = self.words.distribution(logits, self._seen_rows([None]))[0]
        yield from propose_tree(first, follow, self.settings, count, draws, greedy=self.warper.greedy)

    def _seen_rows(self, nodes: Sequence[Node | None]) -> torch.Tensor | None:
        """(n, V): the committed tokens and each node's path."""
        if not self.seen:
            return None
        rows = self.seen.mask.expand(len(nodes), -1).clone()
        for row, node in enumerate(nodes):
            for one in node.path if node else ():
                rows[row, one.token] = True
        return rows
