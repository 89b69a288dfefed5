"""Does a position's logits depend on which round computed them? Measured at start-up, per model, device and dtype.

Single steps after a short prefill are the reference. Every width up to the one a run needs is then computed from the
same prefix, as is a step on a cache of the next size; all rows must agree bit for bit. Where they don't, the largest
difference bounds what may count as a near-tie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch

from engine.records import Exactness
from engine.rollback import bucket
from engine.runner import Runner, text_config

PREFIXES = (3, 160)
"""Tokens in the cache before the rows that are compared: over few slots different sums often agree by chance."""


@torch.inference_mode()
def measure(model: Any, width: int, *, pad_to: int = 1, cancelled: Callable[[], bool] = lambda: False) -> Exactness:
    """Compare rows of widths 1 … ``width`` of ``model``, behind a short and a longer prefix: a sample, though one that
    has found every kernel that isn't invariant so far. Costs about 4 × width forwards."""
    context = getattr(text_config(model), "max_position_embeddings", None) or width + max(PREFIXES)
    width = max(1, min(width, context - 1))
    prefixes = sorted({max(1, min(prefix, context - width)) for prefix in PREFIXES})
    found = [_compare(model, prefix, width, pad_to, cancelled) for prefix in prefixes]
    limit, worst = min(limit for limit, _ in found), max(worst for _, worst in found)
    return Exactness(invariant=limit >= width, padded=pad_to > 1, width_checked=width, width_limit=limit,
                     row_difference=worst, sentence=_sentence(limit, width, pad_to, worst))


def _compare(model: Any, prefix: int, width: int, pad_to: int, cancelled: Callable[[], bool]) -> tuple[int, float]:
    """The widest forward up to which all rows equal single steps, and the largest difference of a logit beyond."""
    runner = Runner(model, pad_to=pad_to)
    tokens = [(7919 * i + 13) % runner.vocabulary for i in range(prefix + width)]
    runner.prefill(tokens[:prefix])
    steps = torch.cat([runner.forward([token]) for token in tokens[prefix:]])
    limit, worst = width, 0.0
    for w in range(2, width + 1):
        if cancelled():
            break
        runner.cut(prefix)
        rows = runner.forward(tokens[prefix : prefix + w])
        if not torch.equal(rows, steps[:w]):
            limit = min(limit, w - 1)
            worst = max(worst, float((rows.double() - steps[:w].double()).abs().max()))

    runner.cut(prefix)
    runner.cache.reserve(2 * bucket(prefix + width))
    if not torch.equal(runner.forward([tokens[prefix]])[0], steps[0]):
        limit = 0
    return limit, worst


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
    """:func:`measure`, once a model, width and padding in this process."""
    known, key = _measured.setdefault(model, {}), (width, pad_to)
    if key not in known:
        result = measure(model, width, pad_to=pad_to, cancelled=cancelled)
        if cancelled():
            return result
        known[key] = result
    return known[key]
