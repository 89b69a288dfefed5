"""An original and its branch side by side: the first difference in their outputs, and what the change cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

from engine.debugger.token_words import quoted
from engine.records import Committed, Drafted, Judged, Origin, Record, RunFinished, RunStarted, Vocabulary


@dataclass(frozen=True, slots=True)
class Pair:
    """One place of both outputs."""

    index: int
    original: int | None
    """A token; None where the output has ended, or is not yet there."""
    branch: int | None
    shared: bool
    """Before the first difference. Behind it equal tokens are no more than that: their prefixes differ."""


def aligned(original: Sequence[int], branch: Sequence[int]) -> tuple[Pair, ...]:
    """Two outputs (token ids) place by place: the part they share, then each as it runs on."""
    shared = agreement(original, branch)
    return tuple(Pair(i, a, b, i < shared) for i, (a, b) in enumerate(zip_longest(original, branch)))


def agreement(original: Sequence[int], branch: Sequence[int]) -> int:
    """How many leading tokens are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(original, branch, strict=False)))


@dataclass(frozen=True, slots=True)
class Spent:
    """What one lane spent from the branch point on, up to a number of tokens."""

    rounds: int
    drafted: int

    @property
    def forwards(self) -> int:
        """Of the target: one a round."""
        return self.rounds


@dataclass(frozen=True, slots=True)
class Cost:
    """A branch against its original."""

    start: int
    """Output tokens before the branch point."""
    index: int | None
    """Of the first output token that differs; None while none does. Where one output is longer and nothing else
    differs, its first token more counts once both have ended."""
    position: int | None
    """The same in prompt + output."""
    tokens: int
    """Both have this many from the branch point on: over these they are compared."""
    original: Spent
    """To have that many; a round that ends beyond counts whole."""
    branch: Spent
    sentence: str

    @property
    def extra(self) -> float | None:
        """Target forwards a token that the branch took more (less: negative)."""
        return (self.branch.forwards - self.original.forwards) / self.tokens if self.tokens else None


def cost(original: Sequence[Record], branch: Sequence[Record]) -> Cost:
    """Compare the records of a branch, which has begun, with those of the lane it comes from."""
    started = next(record for record in branch if isinstance(record, RunStarted))
    assert started.branch is not None, "a branch tells its origin"
    ours, theirs = _ids(original), _ids(branch)
    start = sum(len(r.tokens) for r in _rounds(branch) if r.round < started.branch.round)
    tokens = max(0, min(len(ours), len(theirs)) - start)
    a, b = (_spent(records, started.branch.round, tokens) for records in (original, branch))
    index: int | None = agreement(ours, theirs)
    if index == min(len(ours), len(theirs)) and (len(ours) == len(theirs) or not (_over(original) and _over(branch))):
        index = None
    over = index is None and _over(original) and _over(branch)
    same = sameness(original, branch, started.branch) if over else ""
    texts = {i: text for r in (*original, *branch) if isinstance(r, Vocabulary) for i, text in r.texts.items()}
    return Cost(start, index, None if index is None else len(started.prompt) + index, tokens, a, b,
                f"{_parting(index, ours, theirs, texts, same)} {_price(tokens, a.forwards, b.forwards)}".strip())


def _rounds(records: Sequence[Record]) -> Iterator[Committed]:
    return (record for record in records if isinstance(record, Committed))


def _ids(records: Sequence[Record]) -> list[int]:
    return [token for record in _rounds(records) for token in record.tokens]


def _over(records: Sequence[Record]) -> bool:
    return any(isinstance(record, RunFinished) and record.reason != "error" for record in records)


def _spent(records: Sequence[Record], round: int, tokens: int) -> Spent:
    rounds = drafted = done = 0
    for record in _rounds(records):
        if record.round >= round and done < tokens:
            rounds, drafted, done = rounds + 1, drafted + record.drafted, done + len(record.tokens)
    return Spent(rounds, drafted)


def sameness(original: Sequence[Record], branch: Sequence[Record], origin: Origin) -> str:
    """Of two whole lanes with the same output. Where nothing was changed: were logits and draws the same too?"""
    plain = "The outputs are the same."
    if origin.change:
        return plain
    ours, theirs = ([digest for r in _rounds(side) for digest in r.digests] for side in (original, branch))
    if not ours or len(ours) != len(theirs) or len(ours) != len(_ids(original)):
        return plain
    first = agreement(ours, theirs)
    if first < len(ours):
        return f"The outputs are the same, but logits differ from token {first + 1} on: rows aren’t bit-exact here."
    drawn, redrawn = _draws(original), _draws(branch)
    if drawn != redrawn:
        return "The outputs are the same, and so are all logits digests, but not all draws."
    what = "logits digests and draws" if any(draw is not None for draw in drawn) else "logits digests"
    return f"The outputs are the same, bit for bit: all {what} are the same."


def _draws(records: Sequence[Record]) -> list[float | None]:
    return [r.final_draw if isinstance(r, Committed) else r.draw for r in records
            if isinstance(r, (Drafted, Judged, Committed))]


def _parting(index: int | None, ours: Sequence[int], theirs: Sequence[int], texts: dict[int, str], same: str = ""
             ) -> str:
    """``same``: what to say of two outputs that have ended without a difference."""
    if index is None:
        return same or "The outputs are the same so far." if ours or theirs else ""
    a, b = (quoted(texts.get(side[index], f"#{side[index]}")) if index < len(side) else "the end"
            for side in (ours, theirs))
    return f"They part at token {index + 1}: {a} there, {b} here."


def _price(tokens: int, original: int, branch: int) -> str:
    if not tokens:
        return ""
    over = f"For the {tokens:,} tokens" if tokens > 1 else "For the one token"
    took = f"{over} from the branch on the original took {original:,} forwards of the target, the branch"
    if branch == original:
        return f"{took} as many."
    more = (branch - original) / tokens
    return f"{took} {branch:,}: {abs(more):.3g} a token {'more' if more > 0 else 'saved'}."
