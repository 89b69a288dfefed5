"""``record``: one lane into a trace file, each round flushed as it ends."""

from __future__ import annotations

import argparse
import json
import sys

from app.commands.decoding import Lane, prepare
from engine.errors import SpecScopeError
from engine.records import Committed
from engine.trace import Writer, check_writable


def run(args: argparse.Namespace) -> int:
    check_writable(args.out)
    job = prepare(args, [args.drafter])
    lane = Lane()
    with Writer(args.out) as trace:
        for record in job.race():
            trace.write(record)
            lane.take(record)
            if isinstance(record, Committed) and not args.json:
                sys.stdout.write("".join(record.texts))
                sys.stdout.flush()
    if lane.finished and lane.finished.reason == "error":
        raise SpecScopeError(lane.finished.message, details=lane.finished.details)
    if args.json:
        print(json.dumps(lane.figures()))
    else:
        totals = lane.totals
        rate = f"{totals.tokens_per_second:.1f} tokens/s" if totals.tokens_per_second else "no tokens"
        print(f"\n\n{totals.committed} tokens in {totals.rounds} rounds, {rate}, written to {args.out}")
    return 0
