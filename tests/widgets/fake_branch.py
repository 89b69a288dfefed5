"""TEST DATA: a made-up branch of a made-up lane, from fake_run.py. No model ran; no figure here was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from app.store import LaneSpec, Store
from engine.records import (
    Committed,
    Drafted,
    Judged,
    Origin,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    Verified,
    Vocabulary,
)
from tests.widgets import fake_run

BRANCH = "skip-b1"


def branched(original: Sequence[Record], method: fake_run.Method, round: int, text: str | None = None, *,
             change: str = "draft 2 tested by u = 0.3", lossless: bool = True, **options: object) -> list[Record]:
    """A branch that shares the rounds before ``round`` and then writes ``text`` (None: what the original wrote),
    with the same ids for the same texts."""
    first = next(i for i, r in enumerate(original) if getattr(r, "round", -1) == round)
    records: list[Record] = []
    ids: dict[str, int] = {}
    for record in original[:first]:
        if isinstance(record, RunStarted):
            origin = Origin(lane=record.lane, round=round, change=change, lossless=lossless)
            record = msgspec.structs.replace(record, branch=origin,
                                             title=f"{record.title} from round {round + 1}: {change}")
        if isinstance(record, Vocabulary):
            ids |= {piece: token for token, piece in record.texts.items()}
        records.append(msgspec.structs.replace(record, lane=BRANCH))
    done = sum(len(r.tokens) for r in records if isinstance(r, Committed))
    known: dict[int, str] = {}
    if text is None:
        text = "".join(piece for r in original if isinstance(r, Committed) for piece in r.texts)
        text = text[len("".join(piece for r in records if isinstance(r, Committed) for piece in r.texts)):]
    for record in fake_run.lane_records(replace(method, lane=BRANCH), text, detail=False, **options):
        if isinstance(record, Vocabulary):
            known = record.texts
            new = {piece: 5000 + i for i, piece in enumerate(known.values()) if piece not in ids}
            ids |= new
            records.append(msgspec.structs.replace(record, texts={token: piece for piece, token in new.items()}))
        elif isinstance(record, Drafted | Judged):
            records.append(msgspec.structs.replace(
                record, round=record.round + round, position=record.position + done, token=ids[record.text]))
        elif isinstance(record, Committed):
            records.append(msgspec.structs.replace(
                record, round=record.round + round, position=record.position + done,
                tokens=tuple(ids[known[token]] for token in record.tokens)))
        elif isinstance(record, Verified):
            records.append(msgspec.structs.replace(record, round=record.round + round))
        elif isinstance(record, RunFinished):
            records.append(record)
        else:
            assert isinstance(record, RunStarted | Prefilled)
    return records


def store_of(original: Sequence[Record], branch: Sequence[Record]) -> Store:
    store = Store()
    started = [next(r for r in records if isinstance(r, RunStarted)) for records in (original, branch) if records]
    store.begin("run-1", [LaneSpec(r.lane, r.title, r.about) for r in started])
    store.extend((*original, *branch))
    return store
