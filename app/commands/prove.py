"""``prove``: is it lossless? A table of checks, and exit status 0 if all passed, 1 if one failed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import msgspec

from app.commands.decoding import TerminalProgress
from engine import models
from engine.drafters import fetch
from engine.errors import SpecScopeError
from engine.models import Model
from engine.proof import kills, rule_checks, rules, suite
from engine.proof.report import Check
from engine.race import machine
from engine.settings import DrafterSettings

PARTS: tuple[tuple[str, suite.Part], ...] = (("float32", "against transformers"), ("bfloat16", "bit for bit"))
"""In the quick form; in the full one each dtype gets all of it."""


class Report:
    """Prints checks as they come, and counts."""

    def __init__(self, *, as_json: bool) -> None:
        self.checks: list[Check] = []
        self.as_json = as_json
        self.begun = time.perf_counter()
        self._group = ""

    def about(self, title: str) -> None:
        """What the checks to come are about."""
        self._group = ""
        if not self.as_json:
            print(f"\n{title[0].upper()}{title[1:]}")

    def take(self, check: Check) -> None:
        self.checks.append(check)
        if not self.as_json:
            if check.group != self._group:
                self._group = check.group
                print(f"  {check.group}")
            print(line(check), flush=True)

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]

    def sentence(self) -> str:
        wrong = [check for check in self.checks if check.group == "wrong rules"]
        caught = f", {sum(c.passed for c in wrong)} of {len(wrong)} wrong rules caught" if wrong else ""
        seconds = time.perf_counter() - self.begun
        return (f"{len(self.checks) - len(self.failed)} of {len(self.checks)} checks passed{caught}; "
                f"{seconds:.0f} s on {machine()}")


def line(check: Check) -> str:
    """One check; what a failed one found stands below."""
    mark = "✓" if check.passed else "✗"
    text = (f"    {mark} {check.name}: {check.statistic}; {check.threshold}; {check.samples:,} {check.unit}, "
            f"{check.seconds:.1f} s")
    return text if check.passed else "\n".join((text, f"        not so: {check.claim}", *(
        f"        {detail}" for detail in check.details)))


def run(args: argparse.Namespace) -> int:
    report = Report(as_json=args.json)
    try:
        if args.rule:
            _try_rule(args, report)
        else:
            _prove(args, report)
    except KeyboardInterrupt:
        print(f"\nInterrupted: {report.sentence()}", file=sys.stderr)
        raise
    if args.json:
        print(json.dumps({"machine": machine(), "passed": not report.failed,
                          "checks": msgspec.to_builtins(report.checks)}))
    else:
        print(f"\n{rule_checks.summary(args.rule, report.checks)}" if args.rule else "")
        print(report.sentence())
        for check in report.failed:
            print(f"FAILED {check.group}: {check.name}")
    return 1 if report.failed else 0


def _try_rule(args: argparse.Namespace, report: Report) -> None:
    given = [name for name, value in (("--target", args.target != "builtin"), ("--drafter", args.drafter),
                                      ("--gamma", args.gamma is not None), ("--revision", args.revision)) if value]
    if given:
        raise SpecScopeError(f"--rule is tried on tables of its own, so {' and '.join(given)} would change nothing; "
                             "leave it out.")
    report.about(f"{args.rule} in the place of the judgement")
    with redirect_stdout(sys.stderr):  # what a rule prints must not get into a table or JSON
        rule = rules.load(args.rule)
    checks = rule_checks.checks(rule, args.rule, quick=args.quick)
    while True:
        with redirect_stdout(sys.stderr):
            check = next(checks, None)
        if check is None:
            return
        report.take(check)


def _prove(args: argparse.Namespace, report: Report) -> None:
    asked = [DrafterSettings.parse(spelled, args.gamma) for spelled in args.drafter or ()]
    with TerminalProgress() as progress:
        targets = list(_targets(args, progress))
        names = dict.fromkeys(d.model for d in asked if d.kind == "model")
        drafted = [{name: models.load(name, progress=progress, **_options(args, target.info.dtype)) for name in names}
                   for target, _ in targets]
        for drafter in asked:
            fetch(drafter, targets[0][0], progress=progress)
    report.about("the engine, on tables and tiny models")
    for check in suite.of_the_engine(quick=args.quick):
        report.take(check)
    for (target, part), loaded in zip(targets, drafted, strict=True):
        report.about(f"{target.info.name}, {target.info.dtype}, {target.info.device}")
        for check in suite.of_a_target(target, quick=args.quick, drafters=tuple(asked), models=loaded, part=part):
            report.take(check)
    report.about("wrong rules, each of which must be caught")
    found = []
    for catch in suite.of_wrong_rules(quick=args.quick):
        found.append(catch)
        report.take(catch.check)
    if not args.quick and not args.json:
        print(f"\n{kills.matrix(found)}")


def _options(args: argparse.Namespace, dtype: str) -> dict[str, Any]:
    return {"dtype": dtype, "device": args.device, "trust_remote_code": args.trust_remote_code}


def _targets(args: argparse.Namespace, progress: TerminalProgress) -> Iterator[tuple[Model, suite.Part]]:
    parts: tuple[tuple[str, suite.Part], ...] = PARTS if args.dtype == "auto" else ((args.dtype, "all"),)
    for dtype, part in parts:
        yield (models.load(args.target, revision=args.revision, progress=progress, **_options(args, dtype)),
               part if args.quick else "all")
