"""Opens trace files as the window does, under a limit of memory, and tells how each ended, a JSON line a file.

    python -m tests.engine.trace_trial MEGABYTES FILE …

A process of its own, so that the limit holds for nothing else.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from app.lane_at import LaneAt
from app.store import LaneSpec, Store
from engine.records import Record, RunStarted
from engine.trace import TraceError, header, read


def trial(path: Path) -> dict[str, Any]:
    began = time.process_time()
    records: list[Record] = []
    error: str | None = None
    try:
        try:
            header(path)
        except TraceError as refused:
            error = str(refused)
        try:
            for record in read(path):
                records.append(record)  # noqa: PERF402
            error = None
        except TraceError as refused:
            error = str(refused)
        seconds = time.process_time() - began
        show(records)
    except BaseException as other:
        return {"file": path.name, "failure": f"{type(other).__name__}: {str(other)[:500]}", "records": len(records)}
    return {"file": path.name, "failure": "", "error": error, "records": len(records), "seconds": seconds,
            "all": time.process_time() - began}


def show(records: list[Record]) -> None:
    """Everything that a panel may ask of what was read, at moments all over it."""
    store = Store()
    store.begin(records[0].run if records else "", [
        LaneSpec(r.lane, r.title, plain=r.settings.drafter.kind == "none") for r in records
        if isinstance(r, RunStarted)])
    store.extend(records)
    assert len(store.records()) == len(records)
    for lane in store.lanes:
        history = lane.history
        step = max(1, len(history) // 40)
        for index in [*range(0, len(history), step), len(history)]:
            moment = history.at(index)
            assert len(moment.tokens) == moment.length
            if moment.round is not None:
                for place in range(moment.round.k + 2):
                    moment.round.row(place), moment.round.row_use(place), moment.round.fate(place)
            seen = LaneAt(lane, moment)
            seen.cells, seen.committed, seen.output, seen.tested_at, seen.accepted_at, seen.rounds  # noqa: B018
        assert len(lane.committed) == lane.totals.committed
        lane.output, lane.round_table, lane.find(lane.prompt_length)
        store.speedup(lane.id), store.divergence(lane.id)


def main() -> None:
    megabytes, *paths = sys.argv[1:]
    size = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
    limit = size + int(megabytes) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for path in paths:
        print(json.dumps(trial(Path(path))), flush=True)


if __name__ == "__main__":
    main()
