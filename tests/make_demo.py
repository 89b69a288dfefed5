"""Records the race that ships in assets/demo: plain decoding and two drafters on the first example of the form.

    python -m tests.make_demo [OUT]

Run it on a machine that does nothing else: the window plays the recording at the pace measured here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from app.assets import DEMO
from app.examples import load_examples
from app.setup import Setup
from engine import models, trace
from engine.race import LanePlan, race
from engine.records import RunFinished

EXAMPLE = "code_edit"
TOKENS = 160


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else DEMO / "race.spectrace.gz"
    out.parent.mkdir(parents=True, exist_ok=True)
    prompt = next(example.prompt for example in load_examples() if example.id == EXAMPLE)
    lanes = Setup(prompt=prompt, max_new_tokens=TOKENS).lanes()
    plans = [LanePlan(lane.lane, lane.settings) for lane in lanes]
    target = models.load("builtin")
    ids = target.encode(prompt, chat=True)
    for _ in race(target, ids, plans, run="warm-up"):
        pass
    with trace.Writer(out) as writer:
        for record in race(target, ids, plans, run="demo"):
            writer.write(record)
            if isinstance(record, RunFinished):
                rate = record.totals.tokens_per_second or 0
                print(f"lane {record.lane}: {record.totals.committed} tokens, {rate:.1f} a second, {record.reason}")
    print(f"{out}: {out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
