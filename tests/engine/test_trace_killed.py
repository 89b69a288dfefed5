"""``kill -9`` while a recording is written: the file opens, and what was reported as committed is in it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.records import Committed, Record, Verified
from engine.trace import read
from tests.engine.support import PROMPT, WARM, run, settings, target
from tests.engine.traces import SUFFIXES, opened, write

KILLS = 50
ROOT = Path(__file__).resolve().parents[2]


def test_fifty_kills_lose_at_most_the_round_in_flight(tmp_path: Path) -> None:
    """Real records of a tiny model through the real Writer, in processes that need no model."""
    records = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM, tokens=160)).records
    source = write(tmp_path / "source.spectrace", records)
    whole = sum(isinstance(r, Committed) for r in records)
    paths = [tmp_path / f"{number}{SUFFIXES[number % 3]}" for number in range(KILLS)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.trace_victims", str(source), "5", *map(str, paths)], capture_output=True,
        text=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ends) == KILLS
    expected = list(read(source))
    for end in ends:
        found, error = opened(end["file"])
        assert error is None or "cut off" in str(error)
        rounds = sum(isinstance(r, Committed) for r in found)
        assert rounds >= end["rounds"], end  # none of those reported is missing
        assert [told(r) for r in found] == [told(r) for r in expected[: len(found)]]
    amid = sum(end["killed"] and 0 < end["rounds"] < whole for end in ends)
    print(f"{amid} of {KILLS} were killed between the first and the last of {whole} rounds")
    assert amid > KILLS / 2


def told(record: Record) -> object:
    """As much of a record as can be compared."""
    return (record.round, record.digests) if isinstance(record, Verified) else record


@pytest.mark.model
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_killed_record_command_leaves_what_it_showed(tmp_path: Path, suffix: str) -> None:
    """The text that ``record`` has printed is in the file."""
    path = tmp_path / f"run{suffix}"
    with subprocess.Popen(
            [sys.executable, "main.py", "record", "--drafter", "ngram", "--max-new-tokens", "400", "--ignore-eos",
             "--prompt", "Tell a story about a clockmaker.", "--out", str(path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        shown = process.stdout.read(20)  # some rounds have been committed by now
        time.sleep(random.Random(suffix).uniform(0, 2))
        process.send_signal(signal.SIGKILL)
        shown += process.stdout.read()
        assert process.wait() == -signal.SIGKILL
    records, error = opened(path)
    assert error is None or "cut off" in str(error)
    text = "".join(piece for r in records if isinstance(r, Committed) for piece in r.texts).encode()
    assert len(shown) >= 20
    assert text.startswith(shown)
