"""Medusa's network: extra heads on the target's last feature (Cai et al., "Medusa", 2024, section 2.1).

    f    what the target's output head reads at the last position whose feature is known; it has seen x_t
    f'   = f + U · norm(embedding of x_t+1)                   x_t+1: the newest committed token
    f_i  = f' + SiLU(W f' + b), several times over            head i = 1, 2, …
    q_i  = softmax(target's output head · f_i)                a guess for x_t+1+i

U is not in the paper, whose heads know only f: when a round begins x_t+1 has been drawn, so head 1 needn't guess it
before it guesses what follows (Hydra's first head is told it too: Ankner et al. 2024). ``newest`` False leaves it out.

All heads guess from the same f', so q_i knows nothing of the drafts before: it is that position's own distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

EPS = 1e-5


@dataclass(frozen=True)
class MedusaShape:
    hidden: int
    heads: int
    blocks: int
    """Residual blocks a head."""
    draft_vocabulary: int
    newest: bool
    """The heads see the newest committed token."""


class ResidualBlock(nn.Module):
    """Starts as the identity."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden, hidden)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + nn.functional.silu(self.linear(x))


class MedusaHeads(nn.Module):
    """Without the output head, which is the draft vocabulary's rows of the target's."""

    d2t: torch.Tensor

    def __init__(self, shape: MedusaShape) -> None:
        super().__init__()
        self.shape = shape
        if shape.newest:
            self.newest = nn.Linear(shape.hidden, shape.hidden, bias=False)
            nn.init.zeros_(self.newest.weight)
        self.heads = nn.ModuleList(nn.Sequential(*(ResidualBlock(shape.hidden) for _ in range(shape.blocks)))
                                   for _ in range(shape.heads))
        self.register_buffer("d2t", torch.zeros(shape.draft_vocabulary, dtype=torch.int64))

    @property
    def ids(self) -> torch.Tensor:
        """(draft vocabulary,) int64: the target's id of each draft id."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def begin(self, feature: torch.Tensor, newest: torch.Tensor) -> torch.Tensor:
        """(…, H) → (…, H): what all heads read. ``newest``: the embedding of the token behind the feature's."""
        if not self.shape.newest:
            return feature
        told: torch.Tensor = self.newest(nn.functional.rms_norm(newest, (self.shape.hidden,), eps=EPS))
        return feature + told

    def forward(self, feature: torch.Tensor, newest: torch.Tensor) -> torch.Tensor:
        """(…, H) → (heads, …, H): what the output head reads."""
        begun = self.begin(feature, newest)
        return torch.stack([head(begun) for head in self.heads])
