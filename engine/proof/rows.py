"""Row invariance, and verify rows against single steps: a row of logits must not depend on which round computed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from engine.invariance import exactness
from engine.proof.report import Cancelled, Check
from engine.proof.subjects import Subject
from engine.proof.trial import Found, Spoil, label, lane, start_up, tolerance, tried, watched
from engine.rollback import FIRST_BUCKET
from engine.runner import Runner
from engine.settings import DrafterSettings
from engine.tree import ROOT, Tree

BLOCK = 32
"""Rows at which the CPU kernel begins another block: where invariance has ended before."""


def invariance(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None) -> Iterator[Check]:
    """Widths, row positions, cache fills, sizes of the cache, and ways to get there. What the start-up check promised
    of a few must hold at all of them."""
    context, dear = subject.target.info.context, quick and not subject.small
    fills = [f for f in ((60, FIRST_BUCKET - 2) if dear else (3, 160, FIRST_BUCKET - 2) if quick else
                         (1, 3, 47, 160, FIRST_BUCKET - 2, 300, 700)) if f + 2 * BLOCK + 4 < context]
    method = subject.methods[-1]
    top = subject.width
    beyond = () if dear else (BLOCK, BLOCK + 1, BLOCK + 2) if quick else range(top, 2 * BLOCK + 3)
    widths = sorted({*range(1, top + 1), *beyond})
    verdict = exactness(subject.target.hf, top)

    def free() -> Found:
        return _widths(subject, method, spoil, 1, widths, fills, verdict.width_limit, cancelled)

    def padded() -> Found:
        return _widths(subject, method, spoil, top, range(1, top + 1), fills, top, cancelled)

    yield tried("row invariance", f"{subject.name}, widths", "rows are bit-identical to single steps in every width, "
                "row, cache fill and cache size, as far as the start-up check says", "rows",
                f"up to width {verdict.width_limit} at least", free)
    if not verdict.invariant and not dear and exactness(subject.target.hf, top, pad_to=top).invariant:
        yield tried("row invariance", f"{subject.name}, widths, padded", "rows of forwards padded to one width are "
                    "bit-identical", "rows", f"up to width {top}", padded)
    yield tried("row invariance", f"{subject.name}, branches", "going back and on another way equals never having gone "
                "there", "rows", "the same bits", lambda: _branches(subject, method, spoil, fills, cancelled))


def _widths(subject: Subject, method: DrafterSettings, spoil: Spoil | None, pad_to: int, widths: Sequence[int],
            fills: Sequence[int], promised: int, cancelled: Cancelled) -> Found:
    """Where rows depend on the size of the cache, it has one size."""
    count, limit, worst = 0, max(widths), 0.0
    first, one_size = "", exactness(subject.target.hf, promised, pad_to=pad_to).one_size
    for fill in fills:
        tokens = subject.stretched(fill + max(widths))
        runner = lane(subject, method, 1, spoil).target
        reference = Runner(subject.target.hf, pad_to=pad_to)
        runner.pad_to = pad_to
        for one in (runner, reference):
            if one_size:
                one.cache.reserve(fill + max(widths) + pad_to)
            one.prefill(tokens[:fill])
        steps = torch.cat([reference.forward([token]) for token in tokens[fill:]])
        for grown in (False,) if one_size else (False, True):
            if grown:
                runner.cache.reserve(4 * runner.cache.capacity)
            for width in widths:
                if cancelled():
                    raise InterruptedError
                runner.cut(fill)
                found = runner.forward(tokens[fill : fill + width])
                count += width
                if not torch.equal(found, steps[:width]):
                    off = (found.double() - steps[:width].double()).abs()
                    worst = max(worst, float(off.max()))
                    if width <= limit:
                        limit = width - 1
                        row = int(off.amax(-1).argmax())
                        first = f"width {width}, row {row}, behind {fill} tokens in {runner.cache.capacity} slots"
    said = f"to width {limit}" + (f", logits off by up to {worst:.2g} beyond" if worst else "")
    return Found(limit >= promised, said, count, [first] if first else [])


def _branches(subject: Subject, method: DrafterSettings, spoil: Spoil | None, fills: Sequence[int],
              cancelled: Cancelled) -> Found:
    """The forwards that are compared are the same ones on both ways, so their rows must be the same bits on any
    device. The detours stay within one size of the cache."""
    count = 0
    for fill in fills:
        if cancelled():
            raise InterruptedError
        tokens = subject.stretched(fill + 12)
        elsewhere = [int(token) for token in reversed(tokens)]
        straight, detour = Runner(subject.target.hf), lane(subject, method, 1, spoil).target
        for one in (straight, detour):
            one.cache.reserve(fill + 40)
            one.prefill(tokens[:fill])
            rows = [one.forward([token]) for token in tokens[fill : fill + 4]]
            if one is detour:
                one.forward(elsewhere[:7])
                one.cut(fill + 4)
                one.forward(elsewhere[:3])
                one.cut(fill + 2)  # further back than the detour began, and the same steps again
                rows[2:] = [one.forward([token]) for token in tokens[fill + 2 : fill + 4]]
            rows.append(one.forward(tokens[fill + 4 : fill + 12]))
            if one is straight:
                expected = torch.cat(rows)
        off = (torch.cat(rows).double() - expected.double()).abs().amax(-1)
        count += len(off)
        if off.any():
            return Found(False, f"logits off by up to {float(off.max()):.2g}", count,
                         [f"behind {fill} tokens, row {int(off.argmax())} of {len(off)}"])
    return Found(True, "the same bits", count)


def verify_rows(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None) -> Iterator[Check]:
    """Every row that a lane was judged by, against single steps of a fresh runner over the committed tokens. The prompt
    is so long that the cache grows on the way."""
    tokens = (16 if quick else 200) if subject.small else (16 if quick else 64)
    prompt = subject.stretched(FIRST_BUCKET - tokens // 3)
    for method in subject.methods[1:]:
        verdict = start_up(subject, method)

        def trial(method: DrafterSettings = method) -> Found:
            return _against_steps(subject, method, tokens, prompt, spoil, cancelled)

        yield tried("verify rows", f"{subject.name}, {label(method)}", "the rows of every round's verification equal "
                    "single steps over the same tokens", "rows", _bound(verdict.invariant), trial)


def _bound(invariant: bool) -> str:
    return "the same bits" if invariant else "within the tolerance that rounding explains"


def _against_steps(subject: Subject, method: DrafterSettings, tokens: int, prompt: Sequence[int], spoil: Spoil | None,
                   cancelled: Cancelled) -> Found:
    rig = lane(subject, method, tokens, spoil, prompt=prompt)
    forward = rig.target.forward
    kept: list[tuple[list[int], list[int], Tree, torch.Tensor]] = []

    def keeping(tokens: Sequence[int | torch.Tensor], *, rows: int = 0, tree: Tree | None = None) -> torch.Tensor:
        logits = forward(tokens, rows=rows, tree=tree)
        kept.append((rig.seq.tokens[:-1], [int(token) for token in tokens], tree or Tree.chain(len(tokens) - 1),
                     logits))
        return logits

    rig.target.forward = keeping  # type: ignore[method-assign]
    verdict, dtype = start_up(subject, method), subject.target.hf.dtype
    fresh = Runner(subject.target.hf, slots=rig.target.cache.capacity)
    fresh.prefill(prompt[:-1])
    worst, allowed, count, faults = 0.0, 0.0, 0, list[str]()
    for _ in watched(rig, cancelled):
        if len(faults) > 3:
            break
        while kept:
            before, tokens_in, tree, logits = kept.pop(0)
            for token in before[fresh.length :]:
                fresh.forward([token])
            steps = _stepped(fresh, tokens_in, tree)
            fresh.cut(len(before))
            off = (logits.double() - steps.double()).abs().amax(-1)
            bound = tolerance(verdict, dtype, float(steps.abs().max()))
            worst, allowed, count = max(worst, float(off.max())), max(allowed, bound), count + len(off)
            faults += [f"behind {len(before)} tokens, row {row} of {len(off)}: off by {float(off[row]):.3g}"
                       for row in torch.nonzero(~(off <= bound)).flatten().tolist()]
    return Found(count > 0 and not faults, f"off by up to {worst:.2g}" + (f" of {allowed:.2g}" if allowed else ""),
                 count, faults[:3])


def _stepped(runner: Runner, tokens: Sequence[int], tree: Tree) -> torch.Tensor:
    """(n + 1, V): the rows of the newest token and the drafts of a tree, each path token by token."""
    before, rows = runner.length, [runner.forward([tokens[0]])]
    at = ROOT
    for node in range(len(tree)):
        if tree.parents[node] == at:
            rows.append(runner.forward([tokens[node + 1]]))
        else:
            runner.cut(before + 1)
            rows.append([runner.forward([tokens[above + 1]]) for above in tree.path(node)][-1])
        at = node
    return torch.cat(rows)
