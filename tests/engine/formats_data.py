"""TEST DATA: small files as other programs write them, made up here; no model ran."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.store import Store
from engine.errors import SpecScopeError
from engine.formats import save
from engine.records import Record
from tests.widgets import fake_run

METHODS = (fake_run.PLAIN, fake_run.LOOKUP, fake_run.SKIP, fake_run.DRAFT)


def records(limit: int = 40, *, temperature: float = 0.8) -> list[Record]:
    return fake_run.race(METHODS, limit=limit, temperature=temperature)


def trace(folder: Path, name: str = "run.spectrace", limit: int = 40) -> Path:
    return save(folder / name, records(limit))[0]


def llama_line(step: int, seq: int, tokens: Sequence[int], accepted: int, **changed: Any) -> dict[str, Any]:
    return {"step": step, "seq": seq, "n_draft": len(tokens), "n_accepted": accepted, "pmin_drop": 0, "pos": [
        {"i": i, "tok": token, "p": 0.75, "logp": -0.287682, "acc": i < accepted,
         "top": [{"tok": token, "p": 0.75}, {"tok": token + 1, "p": 0.125}]}
        for i, token in enumerate(tokens)], **changed}


LLAMA = [llama_line(1, 0, [10, 11, 12], 2), llama_line(2, 3, [20, 21], 0), llama_line(3, 0, [13, 14], 2),
         llama_line(4, 0, [15], 0)]


def json_lines(path: Path, values: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def vllm_response(accepted: Sequence[int] = (2, 0, 3), drafted: Sequence[int] = (3, 3, 3),
                  **more: Any) -> dict[str, Any]:
    histogram = [list(accepted).count(i) for i in range(4)]
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "some/model",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "…"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9},
            "metrics": {"speculative_decoding": {
                "mean_acceptance_length": 2.67, "draft_acceptance_rate": 0.56, "acceptance_histogram": histogram,
                "num_spec_steps": len(accepted), "num_accepted_draft_tokens": sum(accepted),
                "num_draft_tokens": sum(drafted), "num_spec_tokens": 3, "per_step_accepted": list(accepted),
                "per_step_drafted": list(drafted)}}, **more}


def stored(found: Iterable[Record]) -> Store:
    """What the window holds after these records; each lane's history agrees with it."""
    store, kept = Store(), list(found)
    store.begin(kept[0].run, [])
    for record in kept:
        assert store.append(record)
    for lane in store.lanes:
        now = lane.moment(None)
        assert (now.totals, now.index) == (lane.totals, len(lane.records))
        for index in range(len(lane.records) + 1):
            lane.history.at(index)
    return store


def mutations(data: bytes, count: int, seed: int = 1) -> Iterator[bytes]:
    """Cut off, bits flipped, pieces doubled, dropped or put elsewhere, numbers and names replaced."""
    chance = random.Random(seed)
    words = [b"-1", b"1e999", b"NaN", b"null", b'"x"', b"[[[[", b"{}", b"99999999999999999999", b"\xff\xfe", b"\0",
             b"true", b"", b"\n", b"1.5"]
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(len(changed) or 1)
            match chance.randrange(5):
                case 0:
                    del changed[place:]
                case 1:
                    for _ in range(chance.choice((1, 8, 64))):
                        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
                case 2:
                    piece = changed[place:place + chance.randrange(1, 200)]
                    at = chance.randrange(len(changed))
                    changed[at:at] = piece
                case 3:
                    del changed[place:place + chance.randrange(1, 200)]
                case _:
                    changed[place:place + chance.randrange(4)] = chance.choice(words)
            if not changed:
                break
        yield bytes(changed)


def read_or_refuse(found: Callable[[], Iterator[Record]], name: str) -> int:
    """Reads until the end or one of our errors, which is one plain sentence that names the file. How many records came
    before."""
    count = 0
    try:
        for _ in found():
            count += 1
    except SpecScopeError as error:
        sentence = str(error)
        assert name in sentence
        assert "\n" not in sentence
        assert sentence.rstrip().endswith((".", ".)"))
        assert len(sentence) < 1500
    except Exception as error:
        pytest.fail(f"{type(error).__name__}: {error}")
    return count
