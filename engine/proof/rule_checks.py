"""A person's own rule, tried: where it bends the distribution, and by how much.

A rule is a black box. It is tried on small tables through the whole loop, and on rows of other shapes alone, where it
is asked at so many draws that an odd interval wider than :data:`MESH` is seen. What it does elsewhere isn't known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import torch

from engine.proof import enumeration, examples, firsttoken, statistics, tables
from engine.proof.intervals import intervals
from engine.proof.report import Cancelled, Check, never, timed
from engine.proof.rig import Rig
from engine.proof.rules import Rule, ask, judged_by
from engine.verify import residual

SAMPLES = {True: 4_000, False: 40_000}
"""By ``quick``."""

MESH = {True: 1 / 256, False: 1 / 2048}

TOLERANCE = 1e-9
"""A sum over a vocabulary of thousand."""

ROUNDING = 1e-6
"""Bends below this may come from computing in float32."""


def checks(rule: Rule, name: str, *, quick: bool, cancelled: Cancelled = never) -> Iterator[Check]:
    """``rule`` in the place of the judgement in the enumerated worlds, then asked about rows of other shapes, then
    sampled on two worked examples.

    Raises :class:`engine.errors.RuleError` for an error inside it. Ends early when cancelled.
    """
    try:
        for case in tables.cases(quick=quick):
            if 1 <= case.gamma <= (2 if quick else 4):
                yield enumerated(case, rule, name, cancelled)
        for shape, (p, q) in shapes().items():
            yield asked(shape, p, q, rule, name, MESH[quick], cancelled)
        for title, rows in (("p = (0.4, 0.6), q = (0.8, 0.2)", examples.two_tokens()),
                            ("p = (0.3, 0.7), q = (0.6, 0.4)", examples.quiz())):
            yield sampled(title, rows, rule, name, SAMPLES[quick], cancelled)
    except InterruptedError:
        return


def summary(name: str, found: Sequence[Check]) -> str:
    """One sentence for all of them."""
    bent = [check for check in found if not check.passed]
    if not bent:
        return (f"{name} bent nothing in {len(found)} checks: it is lossless as far as it was tried. A rule is a black "
                "box, so rows of other shapes, and odd behaviour on draws between those tried, are not excluded.")
    worst = max(bent, key=lambda check: check.name.startswith("p ="))
    return f"{name} bends the output's distribution in {len(bent)} of {len(found)} checks, such as “{worst.name}”."


def enumerated(case: tables.Case, rule: Rule, name: str, cancelled: Cancelled = never) -> Check:
    judge = judged_by(rule, name)

    def spoil(rig: Rig) -> None:
        rig.judge.sampled = judge

    found = enumeration.check(case, spoil, cancelled, coarse=True)
    if found.passed:  # then its boundaries are where they should be, and looking closely is cheap
        found = enumeration.check(case, spoil, cancelled)
    return msgspec.structs.replace(found, group="rule")


def shapes() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Pairs of p and q (V,), float64, unlike those of the tables."""
    generator = torch.Generator().manual_seed(0)

    def row(size: int, sharp: float) -> torch.Tensor:
        return torch.softmax(sharp * torch.randn(size, generator=generator, dtype=torch.float64), -1)

    peaked = torch.tensor([0.97, 0.02, 0.005, 0.004, 0.001], dtype=torch.float64)
    seldom = torch.tensor([0.5, 0.4999, 9e-5, 9e-6, 1e-6], dtype=torch.float64)
    zipf = 1 / torch.arange(1, 1001, dtype=torch.float64) ** 1.1
    near = row(8, 1.0)
    return {
        "peaked rows": (peaked, peaked.flip(0)),
        "rare tokens": (seldom, seldom.roll(2)),
        "both peaked, q more": (torch.tensor([0.93, 0.04, 0.02, 0.01], dtype=torch.float64),
                                torch.tensor([0.99, 0.004, 0.004, 0.002], dtype=torch.float64)),
        "nearly equal rows": (near, near * (1 + 1e-7 * torch.randn(8, generator=generator, dtype=torch.float64))),
        "1,000 tokens": (zipf / zipf.sum(), (zipf / zipf.sum() + row(1000, 2.0)) / 2),
        "one-hot q": (peaked.roll(2), torch.eye(5, dtype=torch.float64)[1]),
        "one-hot q, 1,000 tokens": (zipf / zipf.sum(), torch.eye(1000, dtype=torch.float64)[700]),
        "disjoint but for one": (torch.tensor([0.5, 0.5, 0, 0, 0], dtype=torch.float64),
                                 torch.tensor([0, 0.1, 0.4, 0.3, 0.2], dtype=torch.float64)),
    }


def asked(title: str, p: torch.Tensor, q: torch.Tensor, rule: Rule, name: str, mesh: float,
          cancelled: Cancelled = never) -> Check:
    """The first token's distribution by the rule's own shares: Σ over drafts y of q(y)·(a(y) at y, and 1 − a(y) spread
    like the residual it gives), where a(y) is the part of [0, 1) on which it accepts."""
    q = q / q.sum()
    found, calls = torch.zeros_like(p), 0
    points = len(p) if len(p) > 100 else 1
    step = mesh * min(points, 16)  # of a large vocabulary each token is asked more coarsely: it weighs less
    with timed() as clock:
        for token in torch.nonzero(q).flatten().tolist():
            if cancelled():
                raise InterruptedError

            def decides(u: float, token: int = token) -> tuple[bool, tuple[float, ...] | None]:
                nonlocal calls
                calls += 1
                accepted, left = ask(rule, name, p, q, token, u)
                return accepted, None if accepted or left is None else tuple(left.tolist())

            suspects = [float(p[token] / q[token]), *(i * step for i in range(1, int(1 / step)))]
            for low, high, at in intervals(decides, suspects):
                accepted, left = decides(at)
                if accepted:
                    found[token] += q[token] * (high - low)
                else:
                    weights = residual(p, q) if left is None else torch.tensor(left, dtype=p.dtype)
                    weights = weights if weights.sum() > 0 else p
                    found += q[token] * (high - low) * weights / weights.sum()
    off = (found - p / p.sum()).abs()
    distance, worst = float(off.sum()) / 2, int(off.argmax())
    size = ", small enough to be float32 rounding" if TOLERANCE < distance < ROUNDING else ""
    return Check(group="rule", name=title, claim="the first token has the target's probability", samples=calls,
                 unit="questions", statistic=f"total variation {distance:.2g}{size}",
                 threshold=f"at most {TOLERANCE:g}", passed=distance <= TOLERANCE, seconds=clock.seconds,
                 details=(f"token {worst} of {len(p)}: {float(found[worst]):.9g}, target {float(p[worst]):.9g}",
                          f"asked at draws no farther apart than {step:.4g}"))


def sampled(title: str, rows: examples.Rows, rule: Rule, name: str, samples: int, cancelled: Cancelled) -> Check:
    with timed() as clock:
        watched = firsttoken.watch(rows.p, rows.q, judged_by(rule, name), samples=samples, seed=0, labels=rows.labels,
                                   every=samples // 20)
        for seen in watched:
            last = seen
            if cancelled():
                raise InterruptedError
        counts, expected = torch.tensor(last.counts), torch.tensor(last.expected)
        distance = statistics.total_variation(counts, expected)
        test = statistics.g_test(counts, expected)
    shares = [f"{label} came up {count / samples:.4f} of the time, target {p:g}"
              for label, count, p in zip(last.labels, last.counts, last.expected, strict=True)]
    return Check(group="rule", name=title, claim="the first token has the target's probability", samples=samples,
                 unit="samples", statistic=f"total variation {distance}, p-value {test.p_value:.2g}",
                 threshold="p-value above 1e-6", passed=test.p_value > 1e-6, seconds=clock.seconds,
                 details=(*shares, "95 % interval in brackets; seeds 0, 1, …"))
