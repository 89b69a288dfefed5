"""What ``record`` and ``compare`` share: models loaded, prompt encoded, progress on the terminal, figures as JSON."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.options import prompt_text, run_settings
from engine import models
from engine.drafters import fetch
from engine.errors import SpecScopeError
from engine.models import Model, Progress
from engine.race import LanePlan, race
from engine.records import Committed, Record, RunFinished, RunStarted, Totals
from engine.settings import RunSettings

PROMPT_FRAME = 64
"""Tokens that a chat template may add, for reckoning with a prompt before there is a tokenizer (at 3 characters a
token)."""


@dataclass(frozen=True)
class Job:
    """All that a race needs."""

    target: Model
    drafters: Mapping[str, Model]
    prompt: Sequence[int]
    settings: Sequence[RunSettings]
    text: str
    """The prompt as it was given."""

    def race(self) -> Iterator[Record]:
        plans = [LanePlan(str(index), settings) for index, settings in enumerate(self.settings)]
        return race(self.target, self.prompt, plans, run=uuid.uuid4().hex, models=self.drafters)


@dataclass
class Lane:
    """One lane's outcome."""

    started: RunStarted | None = None
    finished: RunFinished | None = None
    totals: Totals = field(default_factory=Totals)
    tokens: list[int] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    digests: list[int] = field(default_factory=list)

    def take(self, record: Record) -> None:
        self.totals = self.totals.plus(record)
        if isinstance(record, RunStarted):
            self.started = record
        elif isinstance(record, Committed):
            self.tokens += record.tokens
            self.gaps += record.gaps
            self.digests += record.digests
        elif isinstance(record, RunFinished):
            self.finished = record

    def figures(self) -> dict[str, Any]:
        """The contract's JSON object."""
        t = self.totals
        return {
            "tokens": self.tokens, "text": self.finished.text if self.finished else "",
            "stop_reason": self.finished.reason if self.finished else None,
            "rounds": t.rounds, "committed": t.committed, "drafted": t.drafted, "tested": t.tested,
            "accepted": t.accepted, "acceptance_rate": t.acceptance_rate, "draft_utilisation": t.draft_utilisation,
            "mean_committed_length": t.mean_committed_length,
            "seconds": {"prefill": t.prefill, "draft": t.draft, "verify": t.verify, "other": t.other,
                        "total": t.total_seconds},
            "tokens_per_second": t.tokens_per_second,
        }


def prepare(args: argparse.Namespace, drafters: Sequence[str]) -> Job:
    """Check every setting, then load what they name. Raises a SpecScopeError that says what is wrong."""
    settings = [run_settings(args, spelled) for spelled in drafters]
    text = prompt_text(args)
    if not text:
        raise SpecScopeError("The prompt is empty, but decoding needs something to begin from; write something.")
    names = list(dict.fromkeys(s.drafter.model for s in settings if s.drafter.kind == "model"))
    options: dict[str, Any] = {"dtype": args.dtype, "device": args.device, "trust_remote_code": args.trust_remote_code}
    plan = models.estimate(args.target, [s.drafter for s in settings], prompt_tokens=len(text) // 3 + PROMPT_FRAME,
                           max_new_tokens=args.max_new_tokens, revision=args.revision, **options)
    plan.check()
    if sys.stderr.isatty():  # elsewhere standard error is for faults alone
        print(plan.sentence(), file=sys.stderr)
    with TerminalProgress() as progress:
        target = models.load(args.target, revision=args.revision, progress=progress, **options)
        drafted = {name: models.load(name, progress=progress, **options) for name in names}
        for one in settings:
            fetch(one.drafter, target, progress=progress)
    chat = args.chat if args.chat is not None else bool(getattr(target.tokenizer, "chat_template", None))
    return Job(target, drafted, target.encode(text, chat=chat), settings, text)


class TerminalProgress:
    """One line on a terminal's standard error, rewritten; nothing where it is no terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        if self._on:
            self._write(f"{progress.stage} {_share(progress)}")

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._on:
            self._write("")

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width) + ("" if line else "\r"))
        sys.stderr.flush()
        self._width = len(line)


def _share(progress: Progress) -> str:
    if progress.unit == "bytes":
        done = f"{progress.done / 1e6:.0f}"
        return f"{done} of {progress.total / 1e6:.0f} MB" if progress.total else f"{done} MB"
    return f"{progress.done} of {progress.total}" if progress.total else ""
