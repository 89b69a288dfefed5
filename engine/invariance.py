"""Does a position's logits depend on which round computed them? Measured at start-up, per model, device and dtype.

Single steps after a prefill are the reference. Every width up to the one a run needs is then computed from the same
prefix, and all rows must agree bit for bit. Where they don't, the largest difference bounds what may count as a
near-tie. Whether rows also depend on the size of the cache is a question of its own (on some CPUs they do, once most of
its slots are in use): there all caches of a run get one size from the start instead of growing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import torch

from engine.records import Exactness
from engine.rollback import FIRST_BUCKET
from engine.runner import Runner, text_config

SHORT = 3
"""Tokens before the rows that are compared first. Over few slots different sums often agree by chance, so rows are
compared again where a cache of the first and of the second size is nearly full."""

SMALL, MANY = 20_000_000, 48
"""In half precision models of fewer parameters are tried on so many texts: sums of few terms agree by chance more
often, and looking longer costs next to nothing."""
FEW, TEXTS = 8, 2
"""Rows compared on two sizes of the cache, behind so many texts."""


@torch.inference_mode()
def measure(model: Any, width: int, *, pad_to: int = 1, cancelled: Callable[[], bool] = lambda: False) -> Exactness:
    """Compare rows of widths 1 … ``width`` of ``model``, behind a short and two longer prefixes: a sample, though one
    that has found every kernel that isn't invariant so far. Costs about 6 × width forwards."""
    context = getattr(text_config(model), "max_position_embeddings", None) or 2 * FIRST_BUCKET
    width = max(1, min(width, context - 1))
    nearly_full = (slots - max(width, pad_to) for slots in (FIRST_BUCKET, 2 * FIRST_BUCKET))
    prefixes = sorted({max(1, min(prefix, context - width)) for prefix in (SHORT, *nearly_full)})
    found: list[tuple[int, float]] = []
    small = small_in_half(model)
    tries = [(prefix, text) for text in range(MANY if small else 1) for prefix in (prefixes[-2:] if text else prefixes)]
    long = []
    for prefix, text in tries:
        widths = range(2, width + 1) if text == 0 else sorted({w for w in (2, width // 2, width) if 2 <= w <= width})
        found.append(_compare(model, prefix, width, widths, pad_to, text, cancelled))
        if prefix > SHORT:
            long.append(found[-1][0])
            if long[-1] == 1:  # no width but single steps: nothing is left to find out
                break
    limits, worst = [limit for limit, _ in found], max(worst for _, worst in found)
    by_chance = bool(long) and min(long) < width == max(long)  # all rows agree behind one text, not behind another
    limit = 1 if by_chance else min(limits)
    return Exactness(invariant=limit >= width, padded=pad_to > 1, width_checked=width, width_limit=limit,
                     row_difference=worst, sentence=_sentence(limit, width, pad_to, worst),
                     one_size=_resized(model, context, pad_to))


def small_in_half(model: Any) -> bool:
    """Must it be tried on many texts (:data:`SMALL`)?"""
    return bool(model.dtype != torch.float32 and sum(p.numel() for p in model.parameters()) < SMALL)


def tokens_for(runner: Runner, count: int, text: int = 0) -> list[int]:
    """No pattern in them: behind a text that repeats itself other sums agree more often."""
    chance = random.Random(text)
    return [chance.randrange(runner.vocabulary) for _ in range(count)]


def _compare(model: Any, prefix: int, width: int, widths: Iterable[int], pad_to: int, text: int,
             cancelled: Callable[[], bool]) -> tuple[int, float]:
    """The widest forward up to which all rows equal single steps, and the largest difference of a logit beyond."""
    runner = Runner(model, pad_to=pad_to)
    runner.cache.reserve(prefix + max(width, pad_to) + pad_to)
    tokens = tokens_for(runner, prefix + width, text)
    runner.prefill(tokens[:prefix])
    steps = torch.cat([runner.forward([token]) for token in tokens[prefix:]])
    limit, worst = width, 0.0
    for w in widths:
        if cancelled():
            break
        runner.cut(prefix)
        rows = runner.forward(tokens[prefix : prefix + w])
        if not torch.equal(rows, steps[:w]):
            limit = min(limit, w - 1)
            worst = max(worst, float((rows.double() - steps[:w].double()).abs().max()))
    return limit, worst


def _resized(model: Any, context: int, pad_to: int) -> bool:
    """Do the rows of one forward, over nearly all slots of the first size, change on a cache of the next size? The same
    answer for every ``width`` of :func:`measure`: all lanes of a run must agree on it."""
    width = max(1, min(FEW, context - 1))
    fill = max(1, min(FIRST_BUCKET - max(width, pad_to), context - width))
    for text in range(TEXTS):
        found = []
        for slots in (FIRST_BUCKET, 2 * FIRST_BUCKET):
            runner = Runner(model, pad_to=pad_to, slots=slots)
            tokens = tokens_for(runner, fill + width, text)
            runner.prefill(tokens[:fill])
            found.append(runner.forward(tokens[fill:]))
        if not torch.equal(*found):
            return True
    return False


def _sentence(limit: int, width: int, pad_to: int, worst: float) -> str:
    how = f", every forward padded to width {pad_to}" if pad_to > 1 else ""
    if width == 1:
        return f"bit-exact here (plain decoding only{how})"
    if limit >= width:
        return f"bit-exact here (widths 1 to {width} compared{how})"
    if limit >= 2:
        return f"bit-exact only up to width {limit} here: γ above {limit - 1} may part from plain decoding at near-ties"
    return (f"not bit-exact here: logits differ by up to {worst:.2g} between widths, so lanes may part at near-ties "
            "(--exact pads them to one width)")


_measured: WeakKeyDictionary[Any, dict[tuple[int, int], Exactness]] = WeakKeyDictionary()


def exactness(model: Any, width: int, *, pad_to: int = 1, cancelled: Callable[[], bool] = lambda: False) -> Exactness:
    """:func:`measure`, once a model, width and padding in this process; what was measured for a wider forward answers
    for narrower ones too."""
    known = _measured.setdefault(model, {})
    wider = [one for (_, padding), one in known.items() if padding == pad_to and one.width_checked >= width]
    if wider:
        return _narrowed(wider[0], width, pad_to)
    result = measure(model, width, pad_to=pad_to, cancelled=cancelled)
    if not cancelled():
        known[width, pad_to] = result
    return result


def _narrowed(found: Exactness, width: int, pad_to: int) -> Exactness:
    limit = min(found.width_limit, width)
    return msgspec.structs.replace(
        found, width_checked=width, width_limit=limit, invariant=limit >= width,
        sentence=_sentence(limit, width, pad_to, found.row_difference))
