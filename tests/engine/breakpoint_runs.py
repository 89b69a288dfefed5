"""TEST DATA: hand-made rounds, and the records at which a condition stops in them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from engine.debugger.breakpoints import Breakpoint
from engine.debugger.condition import Condition
from engine.debugger.history import History
from engine.debugger.scene import Around
from engine.debugger.watcher import Trail
from engine.records import Committed, Contrast, Drafted, Judged, Record, RunStarted, Timings, Verified, Vocabulary
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT

COMMON = {"run": "r", "lane": "made"}
PROMPT = 3
EOS = 9
WORDS = {1: " tea", 2: " green", 3: " black", 4: "\n", 5: "steam", EOS: "<|end|>"}


class Tested(msgspec.Struct):
    """One draft, and how it is tested."""

    token: int = 1
    p: float = 0.8
    q: float = 0.9
    u: float = 0.1
    overlap: float = 0.9
    accepted: bool = True


def run(*rounds: Sequence[Tested], k: int | None = None, seconds: Sequence[float] = (), residual: float = 0.4,
        final: int = 3) -> History:
    """Hand-made rounds: tests in order; a rejected one ends its round. Round i takes ``seconds[i]``, else 50 ms."""
    history = History("made")
    first = next(iter(fake_run.lane_records(DRAFT)))
    assert isinstance(first, RunStarted)
    records: list[Record] = [
        msgspec.structs.replace(first, lane="made", run="r", prompt=(7,) * PROMPT, eos=(EOS,)),
        Vocabulary(**COMMON, texts=WORDS)]
    position = PROMPT
    for number, tests in enumerate(rounds):
        drafts = max(len(tests), k or 0)
        drafted = [tests[i] if i < len(tests) else Tested(token=2) for i in range(drafts)]
        records += [Drafted(**COMMON, round=number, index=i, position=position + i, token=test.token,
                            text=WORDS[test.token], q=test.q, draw=0.5, seconds=0.001)
                    for i, test in enumerate(drafted)]
        rows = tuple(Contrast(ids=np.array([test.token], np.int32), p=np.array([test.p], np.float32),
                              q=np.array([test.q], np.float32), p_rest=0.1, q_rest=0.1, p_entropy=1.0, q_entropy=1.0,
                              overlap=test.overlap) for test in drafted)
        records.append(Verified(**COMMON, round=number, k=drafts, width=drafts + 1, seconds=0.04, rows=rows, gaps=(),
                                digests=()))
        records += [Judged(**COMMON, round=number, index=i, position=position + i, token=test.token,
                           text=WORDS[test.token], accepted=test.accepted, p=test.p, q=test.q, draw=test.u, best=1)
                    for i, test in enumerate(tests)]
        accepted = sum(test.accepted for test in tests)
        ids = [*(test.token for test in tests[:accepted]), final]
        correction = accepted < len(tests)
        spent = seconds[number] if number < len(seconds) else 0.05
        records.append(Committed(
            **COMMON, round=number, position=position, tokens=tuple(ids), texts=tuple(WORDS[i] for i in ids),
            accepted=accepted, tested=len(tests), drafted=drafts,
            final="correction" if correction else "bonus" if drafts else "plain", final_draw=0.5,
            residual_mass=residual if correction else None, residual_empty=False, gaps=(), digests=(),
            seconds=Timings(draft=0.0, verify=spent, judge=0.0, record=0.0, commit=0.0), target_slots=position,
            drafter_slots=position))
        position += len(ids)
    for record in records:
        history.append(record)
    return history


NO = Tested(p=0.1, u=0.9, accepted=False)
OK = Tested()


def fired(condition: Condition, history: History, around: Around | None = None) -> list[Record]:
    """The records at which it stops."""
    trail = Trail(history, [Breakpoint(id="b", condition=condition)], around or Around())  # type: ignore[arg-type]
    stops, moment = [], 0
    while (stop := trail.after(moment)) is not None:
        moment = stop[0]
        stops.append(history.records[moment - 1])
    return stops


GOOD = run([OK, OK], [OK, OK])
BAD = run([OK, NO], [NO], k=3)
