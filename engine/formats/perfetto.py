"""Chrome's trace JSON (Trace Event Format), which ui.perfetto.dev and chrome://tracing open.

Each lane is a process on its own clock from 0, each phase a track (thread). Complete events (``X``), times in
microseconds. The draft track holds one slice a round with one slice a token inside; an arrow (``s`` to ``f``) leads
from each token to the verification that tested it. Two counters (``C``): α so far, and committed tokens. What isn't
known is left out of ``args``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine import __version__
from engine.debugger.slices import SliceKind, slices
from engine.formats.errors import FormatError
from engine.formats.format import Format
from engine.formats.lanes import Lane, Lanes, Round
from engine.records import UNKNOWN_TOKEN, Drafted, Prefilled, Record, RunFinished, RunStarted

Event = dict[str, Any]

TRACKS = ("prefill", "draft", "verify", "judge", "record", "commit", "plain step")
"""In this order on screen. Ids of threads must differ between processes too: a viewer may know them by id alone."""
IDS = 10
"""Of each lane: its process and up to nine threads."""


def write(paths: Sequence[Path], records: Iterable[Record]) -> None:
    """Raises :class:`FormatError` for a lane whose times aren't known: there is nothing to draw it along."""
    about = {"made by": f"SpecScope {__version__}", "clock": "each lane's own, from 0: lanes share one device in turn"}
    with paths[0].open("wb") as file:
        file.write(b'{"traceEvents":[')  # first: parsers of streams expect it there
        separator = b"\n"
        for event in events(records):
            file.write(separator + msgspec.json.encode(event))
            separator = b",\n"
        file.write(b'\n],"displayTimeUnit":"ms","otherData":' + msgspec.json.encode(about) + b"}\n")


def events(records: Iterable[Record]) -> Iterator[Event]:
    lanes, drawings = Lanes(), dict[str, Drawing]()
    for record in records:
        lane = lanes.of(record)
        drawing = drawings.get(lane.id)
        if drawing is None:
            drawing = drawings[lane.id] = Drawing(lane)
        begin = lane.totals.total_seconds
        done = lanes.take(record)
        if isinstance(record, RunStarted):
            yield from drawing.names()
        elif isinstance(record, Prefilled):
            yield from drawing.slice("prefill", "prefill", begin, lane.totals.total_seconds - begin,
                                     {"tokens": record.tokens})
        elif isinstance(record, RunFinished):
            yield drawing.end(record)
        elif done is not None:
            yield from drawing.round(done)


class Drawing:
    """One lane's events."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.pid = (lane.number + 1) * IDS
        self._named: set[str] = set()
        self._arrows = 0

    def names(self) -> Iterator[Event]:
        started = self.lane.started
        if started is not None and not self.lane.knows("seconds"):
            raise FormatError(f"{self.lane.title} (lane {self.lane.id}) came from a format without times, so it can't "
                              "be drawn along time; convert it to csv or parquet instead.")
        yield self._meta("process_name", name=self.lane.title)
        yield self._meta("process_sort_index", sort_index=self.pid)
        if started is not None and started.about:
            yield self._meta("process_labels", labels=started.about)

    def round(self, done: Round) -> Iterator[Event]:
        c, facts = done.committed, done.facts
        parts = list(slices([*facts.drafted, c]))
        plain = c.final == "plain"
        kinds: dict[SliceKind, float] = {part.kind: part.start for part in parts if part.kind != "draft"}
        verify_from = done.begin + kinds["verify"]
        if c.drafted or not done.lane.plain:
            yield from self.slice("draft", f"draft {c.drafted}", done.begin, c.seconds.draft,
                                  {"round": c.round, "k": c.drafted})
        tracks: dict[SliceKind, tuple[str, str]] = {
            "verify": ("plain step", "step") if plain else ("verify", f"verify {c.drafted} + 1"),
            "judge": ("judge", f"{c.accepted} of {c.tested} accepted"), "record": ("record", "record"),
            "commit": ("commit", f"commit {len(c.tokens)}")}
        arguments = {"verify": _verify_args(done), "judge": _judge_args(done), "commit": _commit_args(done)}
        tokens = {draft.index: draft for draft in facts.drafted}
        for part in parts:
            begin = done.begin + part.start
            if part.kind == "draft":
                draft = tokens[part.index]
                yield from self.slice("draft", _name(draft), begin, part.seconds, _draft_args(done, draft))
                if not plain:
                    yield from self._arrow(begin, part.seconds, verify_from, c.seconds.verify)
            elif part.kind in tracks and not (plain and part.kind == "judge" and not part.seconds):
                track, name = tracks[part.kind]
                yield from self.slice(track, name, begin, part.seconds,
                                      {"round": c.round, **arguments.get(part.kind, {})})
        yield from self._counters(done)

    def slice(self, track: str, name: str, begin: float, seconds: float, args: Event) -> Iterator[Event]:
        if track not in self._named:
            self._named.add(track)
            yield self._meta("thread_name", tid=self._tid(track), name=track)
            yield self._meta("thread_sort_index", tid=self._tid(track), sort_index=self._tid(track))
        start = _ns(begin)
        yield {"ph": "X", "name": name, "cat": track, "pid": self.pid, "tid": self._tid(track), "ts": _us(start),
               "dur": _us(_ns(begin + seconds) - start), "args": args}

    def end(self, record: RunFinished) -> Event:
        return {"ph": "i", "s": "p", "name": f"finished: {record.reason}", "cat": "run", "pid": self.pid,
                "tid": self.pid, "ts": _us(_ns(self.lane.totals.total_seconds)),
                "args": {"message": record.message} if record.message else {}}

    def _arrow(self, begin: float, seconds: float, verify: float, verify_seconds: float) -> Iterator[Event]:
        """From the middle of the token's slice into the verification's: well inside, so that both ends bind to the
        slices that enclose them."""
        self._arrows += 1
        common = {"name": "drafted for", "cat": "flow", "id": (self.pid << 32) + self._arrows, "pid": self.pid}
        start, end = _ns(begin), _ns(begin + seconds)
        into, until = _ns(verify), _ns(verify + verify_seconds)
        yield {"ph": "s", **common, "tid": self._tid("draft"), "ts": _us((start + end) // 2)}
        yield {"ph": "f", "bp": "e", **common, "tid": self._tid("verify"),
               "ts": _us(into + min(1000, (until - into) // 2))}

    def _counters(self, done: Round) -> Iterator[Event]:
        common = {"ph": "C", "cat": "acceptance", "pid": self.pid, "tid": self.pid,
                  "ts": _us(_ns(done.totals.total_seconds))}
        rate = done.totals.acceptance_rate
        if rate is not None:
            yield {**common, "name": "acceptance rate", "args": {"α so far": rate}}
        yield {**common, "name": "committed", "args": {"tokens": done.totals.committed}}

    def _meta(self, what: str, *, tid: int | None = None, **args: object) -> Event:
        return {"ph": "M", "name": what, "pid": self.pid, "tid": self.pid if tid is None else tid, "ts": 0,
                "args": args}

    def _tid(self, track: str) -> int:
        return self.pid + 1 + TRACKS.index(track)


def _ns(seconds: float) -> int:
    """Whole nanoseconds: of times that grow, rounding keeps the order, so slices that touch don't overlap."""
    return round(seconds * 1e9)


def _us(ns: int) -> float:
    """Microseconds that still are the same nanoseconds after a viewer has multiplied by 1000 and cut the rest off:
    one nanosecond of overlap, and it drops a slice."""
    us = ns / 1000
    return us if int(us * 1000) == ns else math.nextafter(us, math.inf)


def _name(draft: Drafted) -> str:
    return draft.text if draft.text.strip() else repr(draft.text) if draft.text else f"#{draft.token}"


def _known(**args: object) -> Event:
    """Without what isn't known."""
    return {name: value for name, value in args.items()
            if value is not None and value != "" and not (isinstance(value, float) and math.isnan(value))}


def _draft_args(done: Round, draft: Drafted) -> Event:
    return _known(round=draft.round, index=draft.index, position=draft.position, token=_id(draft.token),
                  text=draft.text, q=draft.q, draw=draft.draw, source=draft.source, fate=done.facts.fate(draft.index),
                  parent=draft.parent)


def _verify_args(done: Round) -> Event:
    verified = done.facts.verified
    if verified is None:
        return {"k": done.committed.drafted}
    overlaps = [row.overlap for row in verified.rows if row.overlap is not None and not math.isnan(row.overlap)]
    return _known(k=verified.k, width=verified.width, overlap=overlaps or None)


def _judge_args(done: Round) -> Event:
    tests = [_known(index=j.index, position=j.position, token=_id(j.token), text=j.text, accepted=j.accepted, p=j.p,
                    q=j.q, draw=j.draw) for j in done.facts.judged]
    return {"accepted": done.committed.accepted, "tested": done.committed.tested, "tests": tests}


def _commit_args(done: Round) -> Event:
    c = done.committed
    return _known(tokens=[_id(token) for token in c.tokens], text="".join(c.texts), accepted=c.accepted, final=c.final,
                  final_draw=c.final_draw, residual_mass=c.residual_mass)


def _id(token: int) -> int | None:
    return None if token == UNKNOWN_TOKEN else token


FORMAT = Format(
    "perfetto", "Chrome's trace JSON for ui.perfetto.dev and chrome://tracing: phases on a time axis",
    (".perfetto.json", ".trace.json", ".json"), write=write)
