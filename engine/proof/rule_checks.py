"""A person's own rule, tried: exactly where it bends the distribution, and by how much."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import torch

from engine.proof import enumeration, examples, firsttoken, statistics, tables
from engine.proof.report import Cancelled, Check, never, timed
from engine.proof.rig import Rig
from engine.proof.rules import Rule, judged_by

SAMPLES = {True: 4_000, False: 40_000}
"""By ``quick``."""


def checks(rule: Rule, name: str, *, quick: bool, cancelled: Cancelled = never) -> Iterator[Check]:
    """``rule`` in the place of the judgement, in the enumerated worlds, then sampled on two worked examples.

    Raises :class:`engine.errors.RuleError` for an error inside it. Ends early when cancelled.
    """
    try:
        for case in tables.cases(quick=quick):
            if 1 <= case.gamma <= (2 if quick else 4):
                yield enumerated(case, rule, name, cancelled)
        for title, rows in (("p = (0.4, 0.6), q = (0.8, 0.2)", examples.two_tokens()),
                             ("p = (0.3, 0.7), q = (0.6, 0.4)", examples.quiz())):
            yield sampled(title, rows, rule, name, SAMPLES[quick], cancelled)
    except InterruptedError:
        return


def enumerated(case: tables.Case, rule: Rule, name: str, cancelled: Cancelled = never) -> Check:
    judge = judged_by(rule, name)

    def spoil(rig: Rig) -> None:
        rig.judge.sampled = judge

    found = enumeration.check(case, spoil, cancelled, coarse=True)
    if found.passed:  # then its boundaries are where they should be, and looking closely is cheap
        found = enumeration.check(case, spoil, cancelled)
    return msgspec.structs.replace(found, group="rule")


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
