"""Writes traces in processes that are killed at random moments, and tells what each had reported as written.

    python -m tests.engine.trace_victims TRACE SEED FILE …

For each FILE a child writes the records of TRACE to it through the Writer; after each round that ``write`` returned
from, it reports the number of rounds. A JSON line a FILE: rounds reported, and whether the child was killed at all.
A process of its own without torch or threads, so that it may fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from engine.records import Committed, Record
from engine.trace import Writer, read


def write(records: list[Record], path: Path, report: int, chance: random.Random, pause: float) -> None:
    with Writer(path) as trace:
        os.write(report, b"ready\n")
        for record in records:
            trace.write(record)
            if isinstance(record, Committed):
                os.write(report, b"round\n")
                if pause:
                    time.sleep(chance.uniform(0, pause))  # as if a model were at work


def victim(records: list[Record], path: Path, chance: random.Random, pause: float, longest: float) -> tuple[int, bool]:
    """Rounds that a child had reported when it was killed, and whether it was (it may have been done)."""
    ears, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ears)
            write(records, path, mouth, chance, pause)
        finally:
            os._exit(0)
    os.close(mouth)
    with os.fdopen(ears, "rb") as reports:
        reports.readline()
        time.sleep(chance.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        return reports.read().count(b"round"), os.WIFSIGNALED(status)


def main() -> None:
    source, seed, *paths = sys.argv[1:]
    records, chance = list(read(source)), random.Random(int(seed))
    pauses = (0.002, 0.0)  # the second writes all the time, so that it is killed amid writing
    took = []
    for pause in pauses:
        began = time.perf_counter()
        write(records, Path(paths[0]), os.open(os.devnull, os.O_WRONLY), chance, pause)
        took.append(time.perf_counter() - began)
    for number, path in enumerate(paths):
        Path(path).unlink(missing_ok=True)
        which = number // 3 % 2
        rounds, killed = victim(records, Path(path), chance, pauses[which], took[which] * 1.1)
        print(json.dumps({"file": path, "rounds": rounds, "killed": killed}), flush=True)


if __name__ == "__main__":
    main()
