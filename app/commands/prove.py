"""``prove``: is it lossless? A table of checks, and exit status 0 if all passed, 1 if one failed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from app.commands.decoding import TerminalProgress
from engine import models
from engine.models import Model
from engine.proof import kills, rule_checks, rules, suite
from engine.proof.report import Check
from engine.race import machine
from engine.settings import DrafterSettings

DTYPES = ("float32", "bfloat16")
"""A target's proof runs in both: float32 is held against transformers, bfloat16 bit for bit against plain decoding."""


class Report:
    """Prints checks as they come, and counts."""

    def __init__(self, *, as_json: bool) -> None:
        self.checks: list[Check] = []
        self.as_json = as_json
        self._group = ""

    def take(self, check: Check) -> None:
        self.checks.append(check)
        if not self.as_json:
            if check.group != self._group:
                self._group = check.group
                print(f"\n{check.group}")
            print(line(check), flush=True)

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]

    def sentence(self) -> str:
        wrong = [check for check in self.checks if check.group == "wrong rules"]
        caught = f", {sum(c.passed for c in wrong)} of {len(wrong)} wrong rules caught" if wrong else ""
        seconds = sum(check.seconds for check in self.checks)
        return (f"{len(self.checks) - len(self.failed)} of {len(self.checks)} checks passed{caught}; "
                f"{seconds:.0f} s on {machine()}")


def line(check: Check) -> str:
    """One check; what a failed one found stands below."""
    mark = "✓" if check.passed else "✗"
    text = (f"  {mark} {check.name:<46} {check.samples:>7} {check.unit:<15} {check.statistic} "
            f"({check.threshold}) {check.seconds:.1f} s")
    return text if check.passed else "\n".join((text, f"      {check.claim}: not so", *(
        f"      {detail}" for detail in check.details)))


def run(args: argparse.Namespace) -> int:
    report = Report(as_json=args.json)
    if args.rule:
        for check in rule_checks.checks(rules.load(args.rule), args.rule, quick=args.quick):
            report.take(check)
    else:
        _prove(args, report)
    if args.json:
        print(json.dumps({"machine": machine(), "passed": not report.failed,
                          "checks": msgspec.to_builtins(report.checks)}))
    else:
        print(f"\n{report.sentence()}")
        for check in report.failed:
            print(f"FAILED {check.group}: {check.name}")
    return 1 if report.failed else 0


def _prove(args: argparse.Namespace, report: Report) -> None:
    asked = [DrafterSettings.parse(spelled, args.gamma) for spelled in args.drafter or ()]
    with TerminalProgress() as progress:
        targets = list(_targets(args, progress))
        names = dict.fromkeys(d.model for d in asked if d.kind == "model")
        drafted = [{name: models.load(name, progress=progress, **_options(args, target.info.dtype)) for name in names}
                   for target in targets]
    for check in suite.of_the_engine(quick=args.quick):
        report.take(check)
    for target, loaded in zip(targets, drafted, strict=True):
        for check in suite.of_a_target(target, quick=args.quick, drafters=tuple(asked), models=loaded):
            report.take(check)
    found = []
    for catch in kills.catches(quick=args.quick):
        found.append(catch)
        report.take(catch.check)
    if not args.quick and not args.json:
        print(f"\n{kills.matrix(found)}")


def _options(args: argparse.Namespace, dtype: str) -> dict[str, Any]:
    return {"dtype": dtype, "device": args.device, "trust_remote_code": args.trust_remote_code}


def _targets(args: argparse.Namespace, progress: TerminalProgress) -> Iterator[Model]:
    for dtype in DTYPES if args.dtype == "auto" else (args.dtype,):
        yield models.load(args.target, revision=args.revision, progress=progress, **_options(args, dtype))
