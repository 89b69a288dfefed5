"""``train``: make a drafter for a target out of the target's own answers."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from app.commands.decoding import TerminalProgress
from engine import models
from engine.drafters.checkpoint import trained
from engine.errors import SettingsError
from engine.models import Progress
from engine.models.builtin import cache_root
from engine.models.progress import Reporter
from engine.training.package import figure
from engine.training.recipe import METHODS
from engine.training.train import Options, Point, measure, train


class Estimate:
    """Progress on a terminal, with the time that the stage will still take at its pace so far."""

    def __init__(self, show: TerminalProgress) -> None:
        self._show = show
        self._stage, self._begin, self._first = "", 0.0, 0

    def __call__(self, progress: Progress) -> None:
        if progress.stage != self._stage:
            self._stage, self._begin, self._first = progress.stage, time.monotonic(), progress.done
        left = ""
        done = progress.done - self._first
        if progress.total and done > 0:
            seconds = (time.monotonic() - self._begin) / done * (progress.total - progress.done)
            left = f", {_span(seconds)} left"
        self._show(Progress(f"{progress.stage}{left}:", progress.done, progress.total, progress.unit))


def run(args: argparse.Namespace) -> int:
    if args.method not in METHODS:
        raise SettingsError(f"{args.method!r} can't be trained; there are {', '.join(METHODS)}.")
    for name, least in (("prompts", 0), ("asked", 0), ("steps", 1), ("answer_tokens", 1)):
        if getattr(args, name) is not None and getattr(args, name) < least:
            raise SettingsError(f"{name.replace('_', '-')} is {getattr(args, name)}, but it must be {least} or more.")
    options: dict[str, Any] = {"dtype": args.dtype, "device": args.device, "trust_remote_code": args.trust_remote_code}
    if args.rate is not None and not 0 < args.rate <= 1:
        raise SettingsError(f"rate is {args.rate:g}, but it must be over 0, and 1 at most.")
    with TerminalProgress() as shown:
        estimate = Estimate(shown)
        target = models.load(args.target, revision=args.revision, progress=shown, **options)
        print_ = target.info.fingerprint
        plan = Options(
            method=args.method, out=Path(args.out) if args.out else trained(args.method, target.info.fingerprint),
            work=Path(args.work) if args.work else cache_root() / "training" / print_,
            prompts=args.prompts, asked=args.asked, start=args.start, steps=args.steps,
            rate=args.rate, max_new_tokens=args.answer_tokens)
        report = Reporter(estimate)
        curve: list[Point] = []

        def point(one: Point) -> None:
            curve.append(one)
            if not args.json:
                print(f"step {one.step:>6}  loss {one.loss:.3f}  agreement at T 0: "
                      f"{' '.join(f'{a:.2f}' for a in one.greedy)}   at T 1: "
                      f"{' '.join(f'{a:.2f}' for a in one.sampled)}", flush=True)

        try:
            train(target, plan, report, point)
        except KeyboardInterrupt:
            print(f"\nStopped; the same command goes on from what is in {plan.work}.", file=sys.stderr)
            raise
        found = measure(target, plan, report) if args.measure else None
    if args.json:
        print(json.dumps({"method": plan.method, "path": str(plan.out), "held_out": found,
                          "curve": [{"step": p.step, "loss": p.loss, "greedy": p.greedy, "sampled": p.sampled}
                                    for p in curve]}))
        return 0
    if found:
        print(f"\nHeld-out chat prompts, γ = {found['gamma']}, {found['dtype']}, {found['machine']}\n")
        for one in found["figures"]:
            places = " ".join(map(figure, one["alpha_by_position"]))
            print(f"T = {one['temperature']:g}: α {figure(one['alpha'])} (by position {places}), a draft costs "
                  f"{figure(one['cost_ratio'])} of a plain round, predicted {figure(one['predicted'])}×, measured "
                  f"{figure(one['measured'])}×")
    print(f"\nThe drafter is in {plan.out}; --drafter {_spelled(plan, target.info.fingerprint)} uses it.")
    return 0


def _spelled(plan: Options, fingerprint: str) -> str:
    """Lanes for this target find a drafter in its usual place by themselves."""
    return plan.method if plan.out == trained(plan.method, fingerprint) else f"{plan.method}:{plan.out}"


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
