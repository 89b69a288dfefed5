"""llama.cpp's speculative dump (``LLAMA_SPEC_DUMP=FILE``): JSON lines, one a verification.

    {"step":1,"seq":3,"n_draft":3,"n_accepted":2,"pmin_drop":0,
     "pos":[{"i":0,"tok":292,"p":0.977,"logp":-0.022,"acc":true,"top":[{"tok":292,"p":0.977}]}, …]}

``p`` is the drafter's probability of its own token, so it is our q. The token behind the accepted ones (correction or
bonus) isn't in the file, nor are texts, times, the prompt, or anything of the target's distribution. ``seq`` is a slot
of the server: each is a lane. A step number that doesn't grow means that another process (or request) has begun to
append, which is a lane of its own. Steps that drafted nothing aren't dumped.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from engine.formats.errors import FormatError
from engine.formats.foreign import ForeignLane, Guess, check_length
from engine.formats.format import Format, Sample
from engine.formats.lines import lines
from engine.records import Record, Unknown

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Chance = Annotated[float, msgspec.Meta(ge=0, le=1)]

UNKNOWN: tuple[Unknown, ...] = ("target", "tokens", "prompt")
"""Of the tokens, the drafts' ids are known; those of corrections and bonuses aren't."""

SHOWN_CANDIDATES = 5


class Candidate(msgspec.Struct):
    tok: Whole
    p: Chance


class Position(msgspec.Struct):
    i: Whole
    tok: Whole
    acc: bool
    p: Chance | None = None
    top: list[Candidate] = []


class Step(msgspec.Struct):
    step: Whole
    seq: Whole
    n_draft: Whole
    n_accepted: Whole
    pos: list[Position]


_decoder = msgspec.json.Decoder(Step)


def tells(sample: Sample) -> bool:
    line = sample.first_line
    return line.startswith(b"{") and b'"n_draft"' in line and b'"pos"' in line


def read(path: Path) -> Iterator[Record]:
    run = uuid.uuid4().hex
    lanes: dict[int, ForeignLane] = {}
    newest: dict[int, int] = {}
    begun: dict[int, int] = {}
    for number, line in lines(path):
        step = _step(path, number, line)
        if step.step <= newest.get(step.seq, -1):
            yield lanes.pop(step.seq).finish("stopped", "The step numbers begin again here.")
        newest[step.seq] = step.step
        lane = lanes.get(step.seq)
        if lane is None:
            times = begun[step.seq] = begun.get(step.seq, 0) + 1
            lane = lanes[step.seq] = _lane(run, step.seq, times)
            yield from lane.begin()
        yield from lane.round([_guess(position) for position in step.pos], step.n_accepted)
    for lane in lanes.values():
        yield lane.finish("stopped", "The dump ends here; it doesn't say why.")


def _lane(run: str, seq: int, times: int) -> ForeignLane:
    again = f"#{times}" if times > 1 else ""
    return ForeignLane(run, f"{seq}{again}", title=f"llama.cpp, sequence {seq}{again}",
                       about="from a dump of llama.cpp", unknown=UNKNOWN)


def _step(path: Path, number: int, line: bytes) -> Step:
    place = f"Line {number} of {path}"
    try:
        step = _decoder.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FormatError(f"{place} isn't a step of llama.cpp's speculative dump ({error}); an object with step, seq, "
                          "n_draft, n_accepted and pos was expected.") from error
    if len(step.pos) != step.n_draft:
        raise FormatError(f"{place} says n_draft {step.n_draft}, but its pos lists {len(step.pos)} positions.")
    check_length(place, step.n_draft)
    for i, position in enumerate(step.pos):
        if position.i != i:
            raise FormatError(f"{place} numbers its position {i} as i {position.i}; they must count from 0.")
        if position.acc != (i < step.n_accepted):
            raise FormatError(f"{place} says n_accepted {step.n_accepted}, which acc of position {i} contradicts; the "
                              "accepted ones must come first.")
    if step.n_accepted > step.n_draft:
        raise FormatError(f"{place} accepts {step.n_accepted} of {step.n_draft} drafts, more than there are.")
    return step


def _guess(position: Position) -> Guess:
    others = [f"#{one.tok} {one.p:.3g}" for one in position.top[:SHOWN_CANDIDATES]]
    return Guess(position.tok, position.p, f"drafter's best: {', '.join(others)}" if len(others) > 1 else "")


FORMAT = Format(
    "llama-dump", "llama.cpp's speculative dump (LLAMA_SPEC_DUMP): drafts with q and verdicts, no texts or times",
    (".jsonl",), read=read, tells=tells)
