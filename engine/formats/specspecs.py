"""The layout of the PyPI package ``specspecs``: a folder of Parquet parts, ``sequences-*`` and ``drafts-*``.

A sequence is one of our lanes, a draft row one of our rounds. What is peculiar to it: from step 1 on, a row's first
draft token repeats what the step before emitted (it is always accepted), and ``k`` and ``acceptance_length`` count it.
It is stripped here on reading and put there on writing. Times are of the moment a row was logged, no durations.

``emitted_token`` must be there, but our last round may end on an accepted draft, with nothing behind it. That draft is
then written as the emitted token, and what was drafted behind it is left out: all tokens stay, one acceptance less.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.formats.arrow_rows import Kind, RowWriter, rows
from engine.formats.errors import FormatError
from engine.formats.foreign import ForeignLane, Guess, check_length
from engine.formats.format import Format, Sample
from engine.formats.lanes import Lane, Lanes, Round
from engine.records import UNKNOWN_TOKEN, Record, RunStarted, Unknown

UNKNOWN: tuple[Unknown, ...] = ("target", "q")

SEQUENCES: dict[str, Kind] = {
    "run_id": "text", "sequence_id": "text", "t": "time", "prompt_token_ids": "int64s", "prompt_len": "int32"}
DRAFTS: dict[str, Kind] = {
    "run_id": "text", "sequence_id": "text", "step": "int32", "t": "time", "draft_tokens": "int64s",
    "acceptances": "bools", "k": "int16", "acceptance_length": "int16", "emitted_token": "int32"}
LARGEST_TOKEN = 2**31 - 1


@dataclass(frozen=True)
class Step:
    """One draft row."""

    place: str
    step: int
    tokens: list[int]
    accepted: int
    emitted: int


def tells(sample: Sample) -> bool:
    return all(_parts(_folder(sample.path), prefix) for prefix in ("sequences", "drafts"))


def _folder(path: Path) -> Path:
    """A person may name the folder or one of its parts."""
    return path if path.is_dir() else path.parent if path.name.startswith(("sequences-", "drafts-")) else path


def _parts(folder: Path, prefix: str) -> list[Path]:
    return sorted(folder.glob(f"{prefix}-*.parquet")) if folder.is_dir() else []


# Reading


def read(path: Path) -> Iterator[Record]:
    folder = _folder(path)
    sequences = [row for part in _wanted(folder, "sequences") for row in rows(part, SEQUENCES)]
    steps: defaultdict[str, list[Step]] = defaultdict(list)
    for part in _wanted(folder, "drafts"):
        for place, row in rows(part, DRAFTS):
            steps[row["sequence_id"]].append(_step(place, row))
    runs = {row["run_id"] for _, row in sequences}
    run = runs.pop() if len(runs) == 1 else "several runs"
    seen: set[str] = set()
    for place, row in sorted(sequences, key=lambda one: one[1]["t"] or datetime.datetime.min):
        name = row["sequence_id"]
        if name in seen:
            raise FormatError(f"{place} names sequence {name} a second time; each must have an id of its own.")
        seen.add(name)
        yield from _lane(run, place, row, sorted(steps.pop(name, []), key=lambda step: step.step))
    if steps:
        name, orphans = next(iter(steps.items()))
        raise FormatError(f"{orphans[0].place} belongs to sequence {name}, which no sequences-*.parquet names.")


def _wanted(folder: Path, prefix: str) -> list[Path]:
    parts = _parts(folder, prefix)
    if not parts:
        raise FormatError(f"{folder} isn't a folder of specspecs: it holds no {prefix}-*.parquet.")
    return parts


def _step(place: str, row: dict[str, Any]) -> Step:
    tokens, accepted, verdicts = row["draft_tokens"], row["acceptance_length"], row["acceptances"]
    check_length(place, len(tokens) - (row["step"] > 0))
    if len(verdicts) != len(tokens):
        raise FormatError(f"{place} has {len(tokens)} draft_tokens, but {len(verdicts)} acceptances.")
    if not 0 <= accepted <= len(tokens) or verdicts != [i < accepted for i in range(len(tokens))]:
        raise FormatError(f"{place} has acceptance_length {accepted}, which its acceptances contradict; the accepted "
                          "ones must come first.")
    if row["emitted_token"] < 0 or row["step"] < 0 or any(token < 0 for token in tokens):
        raise FormatError(f"{place} has a negative number; step and token ids count from 0.")
    return Step(place, row["step"], tokens, accepted, row["emitted_token"])


def _lane(run: str, place: str, row: dict[str, Any], steps: list[Step]) -> Iterator[Record]:
    if any(token < 0 for token in row["prompt_token_ids"]):
        raise FormatError(f"{place} has a negative id in prompt_token_ids.")
    name = row["sequence_id"].removesuffix(f"-{run}")
    lane = ForeignLane(
        run, name, title=f"specspecs, sequence {name}", about="from a folder of specspecs", unknown=UNKNOWN,
        prompt=row["prompt_token_ids"], started=row["t"].isoformat(timespec="seconds") if row["t"] else "")
    yield from lane.begin()
    emitted = UNKNOWN_TOKEN
    for number, step in enumerate(steps):
        if step.step != number:
            raise FormatError(f"{step.place} is step {step.step} of sequence {name}, but step {number} was expected "
                              "there.")
        tokens, accepted = step.tokens, step.accepted
        if number:
            if not accepted or tokens[0] != emitted:
                raise FormatError(f"{step.place} must begin its draft_tokens with {emitted}, accepted: what step "
                                  f"{number - 1} emitted is repeated there.")
            tokens, accepted = tokens[1:], accepted - 1
        yield from lane.round([Guess(token) for token in tokens], accepted, step.emitted)
        emitted = step.emitted
    yield lane.finish("stopped", "The rows end here; they don't say why.")


# Writing


def write(paths: Sequence[Path], records: Iterable[Record]) -> None:
    folder = paths[0]
    folder.mkdir()
    lanes = Lanes()
    with (closing(RowWriter(folder / "sequences-specscope-00000.parquet", SEQUENCES)) as of_sequences,
          closing(RowWriter(folder / "drafts-specscope-00000.parquet", DRAFTS)) as of_drafts):
        steps: defaultdict[str, int] = defaultdict(int)
        for record in records:
            done = lanes.take(record)
            if isinstance(record, RunStarted):
                of_sequences.add(_sequence(lanes.of(record), record))
            elif done is not None and done.committed.tokens:
                of_drafts.add(_draft(done, steps[record.lane]))
                steps[record.lane] += 1


def _sequence_id(record: Record) -> str:
    """Unique beside other runs' parts; begins with the lane, of which the reader shows eight characters."""
    return f"{record.lane}-{record.run}"


def _sequence(lane: Lane, record: RunStarted) -> dict[str, Any]:
    if not lane.knows("tokens"):
        raise FormatError(f"{lane.title} (lane {lane.id}) came from a format without all token ids, and specspecs "
                          "needs them; convert it to csv or parquet instead.")
    known = lane.knows("prompt")
    return {"run_id": record.run, "sequence_id": _sequence_id(record), "t": _moment(lane, 0.0),
            "prompt_token_ids": list(record.prompt), "prompt_len": len(record.prompt) if known else None}


def _draft(done: Round, step: int) -> dict[str, Any]:
    c = done.committed
    told, accepted, emitted = done.facts.drafted, c.accepted, c.tokens[-1]
    if done.facts.is_tree:  # the format knows chains: the path, and the draft whose rejection ended it
        rejected = done.facts.rejected_at
        told = tuple(told[i] for i in (*c.path, *((rejected,) if rejected is not None else ())))
    drafts = [draft.token for draft in told]
    if c.final == "none":
        drafts, accepted = list(c.tokens[:-1]), len(c.tokens) - 1
    if step:
        assert done.before is not None
        drafts, accepted = [done.before, *drafts], accepted + 1
    if not all(0 <= token <= LARGEST_TOKEN for token in (*drafts, emitted)):
        raise FormatError(f"Round {c.round} of lane {c.lane} has a token id that specspecs can't hold; ids go from 0 "
                          f"to {LARGEST_TOKEN} there.")
    return {"run_id": c.run, "sequence_id": _sequence_id(c), "step": step, "draft_tokens": drafts,
            "t": _moment(done.lane, done.totals.total_seconds), "k": len(drafts),
            "acceptances": [i < accepted for i in range(len(drafts))], "acceptance_length": accepted,
            "emitted_token": emitted}


def _moment(lane: Lane, seconds: float) -> datetime.datetime | None:
    """Wall time at which a row would have been logged; None where it isn't known."""
    if lane.started is None or (seconds and not lane.knows("seconds")):
        return None
    try:
        started = datetime.datetime.fromisoformat(lane.started.started).replace(tzinfo=None)
        return started + datetime.timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return None


FORMAT = Format(
    "specspecs", "the Parquet folder of the package specspecs: tokens and verdicts, no probabilities or durations",
    (".specspecs",), read=read, write=write, tells=tells, folder=True)
