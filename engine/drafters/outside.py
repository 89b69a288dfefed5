"""A drafter of another package, watched: what it hands over is looked at, and its faults end the lane in words that
name it. Ours are not watched: the checks cost a round some time."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from engine.drafters.base import Draft, RoundDraws
from engine.drafters.model import ModelDrafter
from engine.errors import DraftError, ModelError, SpecScopeError

PARTS = ("prefill", "propose", "cut")

ROUNDED = 1e-3
"""q may sum to 1 but for that: it need not be float64."""


def watched(kind: str, made: Any, vocabulary: int) -> Any:
    """``made``: what the method's make() returned; ``vocabulary``: the target's. Raises :class:`ModelError` when it is
    no drafter."""
    missing = [f"{name}()" for name in PARTS if not callable(getattr(made, name, None))]
    missing += [name for name in ("slots", "about") if not hasattr(made, name)]
    if missing:
        raise ModelError(f"The drafter {kind} can't be used: what its make() returned, a {type(made).__name__}, has "
                         f"no {' and no '.join(missing)}; docs/drafters.md tells what a drafter has.")
    return made if isinstance(made, ModelDrafter) else Watched(kind, made, vocabulary)


@contextmanager
def blaming(kind: str, part: str) -> Iterator[None]:
    """Whatever the package's code raises becomes a :class:`DraftError` that says so."""
    try:
        yield
    except SpecScopeError:
        raise
    except Exception as error:
        raise DraftError(f"The drafter {kind} failed in {part}(): {type(error).__name__}: {error}. Update the package "
                         "that brings it, or choose another drafter.", details=traceback.format_exc()) from error


class Watched:
    def __init__(self, kind: str, drafter: Any, vocabulary: int) -> None:
        self.kind = kind
        self.drafter = drafter
        self.vocabulary = vocabulary
        self.about = str(drafter.about)

    def prefill(self, tokens: Sequence[int]) -> None:
        with blaming(self.kind, "prefill"):
            self.drafter.prefill(tuple(tokens))

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        """Never asks for more than ``count``. Raises :class:`DraftError` at a draft that can't be judged."""
        with blaming(self.kind, "propose"):
            proposal = iter(self.drafter.propose(tuple(tokens), count, draws))
        first: Draft | None = None
        for _ in range(count):
            with blaming(self.kind, "propose"):
                draft = next(proposal, None)
            if draft is None:
                return
            wrong = self._wrong(draft, first)
            if wrong:
                raise DraftError(f"The drafter {self.kind} proposed what can't be judged: {wrong}; docs/drafters.md "
                                 "tells what a draft is.")
            first = first or draft
            yield draft

    def cut(self, length: int) -> None:
        with blaming(self.kind, "cut"):
            self.drafter.cut(length)

    @property
    def slots(self) -> int:
        with blaming(self.kind, "slots"):
            return int(self.drafter.slots)

    def _wrong(self, draft: object, first: Draft | None) -> str:
        """What is wrong with a draft, in words; ``first``: the round's first one."""
        if not isinstance(draft, Draft):
            return f"{draft!r} is no Draft"
        token, q = draft.token, draft.q
        if isinstance(token, torch.Tensor) and (token.dtype != torch.int64 or token.ndim):
            return f"its token is a tensor of {token.dtype} with {token.ndim} dimensions, not one int64"
        if not isinstance(token, torch.Tensor) and type(token) is not int:
            return f"its token is {token!r}, neither an int nor a tensor"
        if not 0 <= int(token) < self.vocabulary:
            return f"its token is {int(token)}, but the target has {self.vocabulary}"
        if draft.parent is not None:
            return "it is part of a tree"
        if first and (first.q is None) != (q is None):
            return "some drafts of a round have a q and others have none"
        return "" if q is None else self._wrong_q(q, int(token))

    def _wrong_q(self, q: object, token: int) -> str:
        if not isinstance(q, torch.Tensor) or q.shape != (self.vocabulary,) or not q.is_floating_point():
            return f"its q is no tensor of {self.vocabulary} probabilities"
        if not bool((q >= 0).all()) or not abs(float(q.sum(dtype=torch.float64)) - 1) <= ROUNDED:
            return "its q is no distribution: it holds numbers below 0 or NaN, or doesn't sum to 1"
        return "" if q[token] > 0 else f"its q gives token {token} no chance, so it can't be what was drawn"
