"""``compare``: lanes against plain decoding, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from app.commands.decoding import Job, Lane, prepare
from engine.divergence import Divergence, first_divergence
from engine.race import machine
from engine.trace import Writer, check_writable


def run(args: argparse.Namespace) -> int:
    spelled = ["none", *(d for d in args.drafter if d != "none")]
    if args.out:
        check_writable(args.out)
    job = prepare(args, spelled)
    lanes = decode_all(job, args.out)
    greedy = job.settings[0].sampling.greedy
    rows = [{"drafter": name, "settings": msgspec.to_builtins(lane.started.settings if lane.started else settings),
             **lane.figures(), **against_plain(lane, lanes[0], greedy=greedy)}
            for name, settings, lane in zip(spelled, job.settings, lanes, strict=True)]
    if args.json:
        print(json.dumps({"machine": machine(), "target": job.target.info.name, "dtype": job.target.info.dtype,
                          "device": job.target.info.device, "exactness": exactness(lanes), "prompt": job.text,
                          "prompt_tokens": len(job.prompt), "lanes": rows}))
    else:
        print(f"{job.target.info.name}, {job.target.info.dtype}, {job.target.info.device}: {exactness(lanes)}")
        print(f"{machine()}; {described(job)}\n")
        print(table(rows))
    for row in rows:
        if row["error"]:
            print(f"{row['drafter']}: {row['error']}", file=sys.stderr)
    return 2 if any(row["error"] for row in rows) else 0


def described(job: Job) -> str:
    """Prompt and sampling, so that a table can be made again."""
    s, words = job.settings[0], " ".join(job.text.split())
    shown = words if len(words) <= 48 else f"{words[:47]}…"
    how = "greedy" if s.sampling.greedy else f"temperature {s.sampling.temperature:g}, seed {s.seed}"
    return f"{len(job.prompt)} prompt tokens (“{shown}”), at most {s.max_new_tokens} new ones, {how}"


def decode_all(job: Job, out: str | None = None) -> list[Lane]:
    """Run the race to its end; into a trace too if ``out`` names one."""
    lanes = [Lane() for _ in job.settings]
    with Writer(out) if out else nullcontext() as trace:
        for record in job.race():
            lanes[int(record.lane)].take(record)
            if trace:
                trace.write(record)
    return lanes


def exactness(lanes: Sequence[Lane]) -> str:
    return next((lane.started.exactness.sentence for lane in lanes if lane.started), "")


def against_plain(lane: Lane, plain: Lane, *, greedy: bool) -> dict[str, Any]:
    """Speed-up by decode seconds a token, prefill aside; when greedy, whether the ids are the same."""
    ours, theirs = _pace(lane), _pace(plain)
    failed = lane.finished is not None and lane.finished.reason == "error"
    return {
        "speedup": theirs / ours if ours and theirs else None,
        "identical_to_plain": lane.tokens == plain.tokens if greedy and not failed else None,
        "identical_logits": lane.digests == plain.digests if greedy and not failed else None,
        "first_divergence": as_json(divergence(lane, plain)) if greedy and not failed else None,
        "error": lane.finished.message if failed and lane.finished else None,
    }


def divergence(lane: Lane, plain: Lane) -> Divergence | None:
    moved = plain.started.exactness.row_difference if plain.started else 0.0
    return first_divergence(lane.tokens, plain.tokens, plain.gaps, moved, ended=True)


def as_json(found: Divergence | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"index": found.index, "token": found.token, "plain_token": found.plain_token, "logit_gap": found.gap,
            "near_tie": found.near_tie}


def _pace(lane: Lane) -> float | None:
    return lane.totals.decode_seconds / lane.totals.committed if lane.totals.committed else None


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The lanes' figures in columns."""
    head = ["drafter", "tokens/s", "speed-up", "E[m]", "α", "utilisation", "rounds", "tokens", "same as plain"]
    body = [[row["drafter"], _f(row["tokens_per_second"], 1), _f(row["speedup"], 2, "×"),
             _f(row["mean_committed_length"], 2), _f(row["acceptance_rate"], 2), _f(row["draft_utilisation"], 2),
             str(row["rounds"]), str(row["committed"]), _same(row)] for row in rows]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(w) if i in (0, len(head) - 1) else cell.rjust(w)
                       for i, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip()
             for line in [head, *body]]
    return "\n".join([lines[0], "─" * max(map(len, lines)), *lines[1:]])


def _f(value: float | None, digits: int, unit: str = "") -> str:
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def _same(row: dict[str, Any]) -> str:
    if row["error"]:
        return "failed"
    if row["identical_to_plain"] is None:
        return "sampled"
    if row["identical_to_plain"]:
        return "yes, bit for bit" if row["identical_logits"] else "yes"
    d = row["first_divergence"]
    return Divergence(d["index"], d["token"], d["plain_token"], d["logit_gap"], d["near_tie"]).sentence
