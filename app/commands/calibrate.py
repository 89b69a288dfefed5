"""``calibrate``: which layers layer skip should leave out of a target, as a table, and kept for later runs."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from app.commands.decoding import TerminalProgress
from engine import models
from engine.calibrate import store
from engine.calibrate.run import Report, calibrate, verdict
from engine.calibrate.search import Tried
from engine.drafters.layer_skip import spelled

SHOWN = 12
"""Sets in the table, the default one aside."""


def run(args: argparse.Namespace) -> int:
    options: dict[str, Any] = {"dtype": args.dtype, "device": args.device, "trust_remote_code": args.trust_remote_code}
    try:
        with TerminalProgress() as progress:
            target = models.load(args.target, revision=args.revision, progress=progress, **options)
            report = calibrate(target, minutes=args.minutes, progress=progress)
    except KeyboardInterrupt:
        print("\nInterrupted: nothing was kept.", file=sys.stderr)
        raise
    if args.json:
        print(json.dumps(_figures(report, target)))
    else:
        c, info = report.costs, target.info
        print(f"{info.name}, {info.dtype}, {info.device}; {report.calibration.machine}")
        print(f"A forward takes {1000 * c.widths[0]:.1f} ms, one of {len(c.widths)} tokens "
              f"{1000 * c.widths[-1]:.1f} ms, a layer of it {1000 * c.layer:.2f} ms\n")
        print(table(report))
        print(f"\n{verdict(report)}\nKept in {store.place(info)}")
    return 0


def table(report: Report) -> str:
    """The sets in columns, the best first."""
    head = ["layers left out", "α", "cost", "γ", "predicted", "measured"]
    shown = [*report.tried[:SHOWN], *[one for one in report.tried[SHOWN:] if one.skip == report.default.skip]]
    body = [[spelled(one.skip) + (" (default)" if one.skip == report.default.skip else ""), f"{one.alpha:.2f}",
             f"{one.step_cost:.2f}", str(one.gamma), f"{one.predicted:.2f}×", _speed(one)] for one in shown]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = ["  ".join(cell.rjust(w) if i else cell.ljust(w)
                       for i, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip()
             for line in [head, *body]]
    rest = len(report.tried) - len(shown)
    more = [f"and {rest} sets more, predicted below"] if rest else []
    return "\n".join([lines[0], "─" * max(map(len, lines)), *lines[1:], *more])


def _speed(one: Tried) -> str:
    return "–" if one.measured is None else f"{one.measured:.2f}×"


def _figures(report: Report, target: models.Model) -> dict[str, Any]:
    return {"target": target.info.name, "dtype": target.info.dtype, "device": target.info.device,
            "machine": report.calibration.machine, "path": str(store.place(target.info)), "pays": report.pays,
            "verdict": verdict(report), "seconds": report.seconds, "costs": asdict(report.costs),
            "best": asdict(report.best), "default": asdict(report.default),
            "tried": [asdict(one) for one in report.tried]}
