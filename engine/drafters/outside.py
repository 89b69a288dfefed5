"""A drafter of another package, watched: what it hands over is looked at, and its faults end the lane in words that
name it. Ours are not watched: the checks cost a round some time."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, cast

import torch

from engine.drafters.base import Draft, RoundDraws
from engine.drafters.model import ModelDrafter
from engine.errors import DraftError, ModelError, SpecScopeError
from engine.printable import printable, told

PARTS = ("prefill", "propose", "cut")

ROUNDED = 1e-3
"""q may sum to 1 but for that: it need not be float64."""

LONGEST = 300
"""Characters of a package's text that are shown."""


def watched(kind: str, made: Any, vocabulary: int) -> Any:
    """``made``: what the method's make() returned; ``vocabulary``: the target's. Raises :class:`ModelError` when it is
    no drafter."""
    with blaming(kind, "make"):
        missing = [f"{name}()" for name in PARTS if not callable(getattr(made, name, None))]
    for name in ("slots", "about"):
        with blaming(kind, name):
            missing += [] if hasattr(made, name) else [name]
    if missing:
        raise ModelError(f"The drafter {kind} can't be used: what its make() returned, a {type(made).__name__}, has "
                         f"no {' and no '.join(missing)}; docs/drafters.md tells what a drafter has.")
    return made if isinstance(made, ModelDrafter) else Watched(kind, made, vocabulary)


@contextmanager
def blaming(kind: str, part: str) -> Iterator[None]:
    """Whatever the package's code raises becomes a :class:`DraftError` that says so; also what would end the program,
    or the race's own generators. Only the person's Ctrl+C passes."""
    where = part if part in ("slots", "about") else f"{part}()"
    try:
        yield
    except SpecScopeError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise DraftError(f"The drafter {kind} failed in {where}: {told(error)}. Update the package that brings it, or "
                         "choose another drafter.", details=traceback.format_exc()) from error


def _shown(value: object) -> str:
    """Some value of the package's, in a message."""
    try:
        said = repr(value)
    except Exception:
        said = f"of the type {type(value).__name__}"
    return printable(" ".join(said[:10 * LONGEST].split()), LONGEST)


def _has_values(tensor: torch.Tensor) -> bool:
    """Neither a sparse one nor one that is only a shape."""
    return tensor.layout is torch.strided and not tensor.is_meta


def _copy(draft: Any) -> Any:
    """A draft that stays as it was checked: the package's tensors may be written again. Its texts are cut, and its draw
    is a float, as a record's is, if it is a number at all."""
    if not isinstance(draft, Draft):
        return draft
    token, q, source, draw = draft.token, draft.q, draft.source, cast(Any, draft.draw)
    return Draft(
        token=token.clone() if isinstance(token, torch.Tensor) else token,
        q=q.detach().clone() if isinstance(q, torch.Tensor) else q,
        draw=draw if isinstance(draw, bool) or not isinstance(draw, Real) else float(draw),
        source=printable(source, LONGEST) if isinstance(source, str) else source, parent=draft.parent)


class Watched:
    def __init__(self, kind: str, drafter: Any, vocabulary: int) -> None:
        self.kind = kind
        self.drafter = drafter
        self.vocabulary = vocabulary
        self._tokens = 0
        """That it knows, without the newest one."""
        with blaming(kind, "about"):
            about = drafter.about
            if not isinstance(about, str):
                raise ModelError(f"The drafter {kind} can't be used: its about is {_shown(about)}, not a line of text; "
                                 "docs/drafters.md tells what a drafter has.")
            self.about = printable(about, LONGEST)

    def prefill(self, tokens: Sequence[int]) -> None:
        self._tokens = len(tokens)
        with blaming(self.kind, "prefill"):
            self.drafter.prefill(tuple(tokens))

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        """Never asks for more than ``count``. Raises :class:`DraftError` at a draft that can't be judged."""
        with blaming(self.kind, "propose"):
            self._tokens = len(tokens)
            proposal = iter(self.drafter.propose(tuple(tokens), count, draws))
        first: Draft | None = None
        for _ in range(count):
            with blaming(self.kind, "propose"):
                draft = next(proposal, None)
                if draft is None:
                    return
                ours = _copy(draft)
                wrong = self._wrong(ours, first)
            if wrong:
                raise DraftError(f"The drafter {self.kind} proposed what can't be judged: {wrong}; docs/drafters.md "
                                 "tells what a draft is.")
            first = first or ours
            yield ours

    def cut(self, length: int) -> None:
        self._tokens = length
        with blaming(self.kind, "cut"):
            self.drafter.cut(length)

    @property
    def slots(self) -> int:
        with blaming(self.kind, "slots"):
            slots = int(operator.index(self.drafter.slots))  # True is one too
        if not 0 <= slots <= self._tokens + 1:  # the newest one's too: a trace holds no more
            raise DraftError(f"The drafter {self.kind} says that it uses {_shown(slots)} slots, but there are "
                             f"{self._tokens + 1} tokens; docs/drafters.md tells what slots are.")
        return slots

    def _wrong(self, draft: Any, first: Draft | None) -> str:
        """What is wrong with a draft, in words; ``first``: the round's first one."""
        if not isinstance(draft, Draft):
            return f"{_shown(draft)} is no Draft"
        token, q, source = draft.token, draft.q, cast(object, draft.source)
        if isinstance(token, torch.Tensor) and (token.dtype != torch.int64 or token.ndim or not _has_values(token)):
            return f"its token is a tensor of {token.dtype} with {token.ndim} dimensions, not one int64 with a value"
        if not isinstance(token, torch.Tensor) and type(token) is not int:
            return f"its token is {_shown(token)}, neither an int nor a tensor"
        if not 0 <= int(token) < self.vocabulary:
            return f"its token is {_shown(int(token))}, but the target has {self.vocabulary}"
        if draft.parent is not None:
            return "it is part of a tree"
        if draft.draw is not None and not (isinstance(draft.draw, float) and 0 <= draft.draw < 1):
            return f"its draw is {_shown(draft.draw)}, not a number from 0 to below 1"
        if not isinstance(source, str):
            return f"its source is {_shown(source)}, not a text"
        if first and (first.q is None) != (q is None):
            return "some drafts of a round have a q and others have none"
        return "" if q is None else self._wrong_q(q, int(token))

    def _wrong_q(self, q: object, token: int) -> str:
        if (not isinstance(q, torch.Tensor) or q.shape != (self.vocabulary,) or not q.is_floating_point()
                or not _has_values(q)):
            return f"its q is no tensor of {self.vocabulary} probabilities"
        if not bool((q >= 0).all()) or not abs(float(q.sum(dtype=torch.float64)) - 1) <= ROUNDED:
            return "its q is no distribution: it holds numbers below 0 or NaN, or doesn't sum to 1"
        return "" if q[token] > 0 else f"its q gives token {token} no chance, so it can't be what was drawn"
