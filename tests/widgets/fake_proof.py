"""Made-up experiments and checks, with no engine behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from engine.proof.report import Check, Sampled
from engine.proof.verdict import by_chance
from engine.records import Committed, Contrast, Exactness, Record, RunFinished, RunStarted, Verified
from tests.widgets import fake_run
from widgets.variation_chart import Point

MANY = (0.31, 0.17, 0.12, 0.08, 0.05, 0.04, 0.03, 0.02, 0.18)
NAMES = ("The", "·A", "Once", "↵↵", "In", "“", "On", "Beacon", "all others")


def watch(p: Sequence[float], truth: Sequence[float], *, samples: int, every: int = 50,
          seed: int = 3) -> Iterator[Sampled]:
    """Outcomes drawn from ``truth`` where the target gives ``p``."""
    chance = np.random.default_rng(seed)
    counts = np.zeros(len(p), dtype=np.int64)
    labels = ("B", "A") if len(p) == 2 else NAMES[: len(p)]
    for done in range(every, samples + 1, every):
        counts += chance.multinomial(every, truth)
        yield Sampled(labels=labels, expected=tuple(p), counts=tuple(counts.tolist()), samples=done,
                      total_variation=float(0.5 * np.abs(counts / done - np.array(p)).sum()))


def points(events: Sequence[Sampled], p: Sequence[float]) -> list[Point]:
    return [Point(e.samples, e.total_variation, by_chance(np.array(p), e.samples)) for e in events]


def check(group: str, name: str, *, passed: bool = True, claim: str = "What holds if it passed, in one sentence.",
          **fields: object) -> Check:
    return Check(**{  # type: ignore[arg-type]
        "group": group, "name": name, "claim": claim, "samples": 12_000, "unit": "sequences",
        "statistic": "largest difference 2.2e-16", "threshold": "at most 1e-12", "passed": passed, "seconds": 1.24,
        **fields})


CHECKS = (
    check("enumeration", "draft model, γ 2", claim="The distribution of the whole committed sequence is the target’s "
                                                   "chain, by enumeration of every draw."),
    check("enumeration", "prompt lookup, γ 3", claim="The same with deterministic drafts."),
    check("statistics", "layer skip, T 0.7", samples=100_000, unit="samples", statistic="p-value 0.31",
          threshold="at least 1e-06", claim="The first token comes up as often as transformers’ own processors say."),
    check("row invariance", "widths 1 to 11", passed=False, samples=2310, unit="rows", statistic="row 4 of width 7 "
          "differs by 0.125", threshold="bit-identical", claim="A position’s logits don’t depend on which forward "
          "computed them.", details=("seed 1234", "cache fill 31", "first difference: width 7, row 4")),
    check("wrong rules", "redraw from p", samples=1, unit="rule", statistic="caught by enumeration", threshold="caught",
          claim="Redrawing from p after a rejection is caught."),
)


def parting(moved: float, temperature: float = 0.0) -> list[Record]:
    """Two lanes of which the second writes another token at place 11; rows were measured to move a logit by
    ``moved``."""
    found: list[Record] = []
    for record in fake_run.race((fake_run.PLAIN, fake_run.LOOKUP), limit=60, temperature=temperature, forward=0.01):
        if isinstance(record, RunStarted):
            exactness = Exactness(invariant=not moved, padded=False, width_checked=11, width_limit=11,
                                  row_difference=moved, sentence="test data")
            record = msgspec.structs.replace(record, exactness=exactness)
        elif isinstance(record, Committed) and record.lane == "ngram":
            record = _changed(record, 22 + 11)
        found.append(record)
    return found


def _changed(record: Committed, position: int) -> Committed:
    place = position - record.position
    if not 0 <= place < len(record.tokens):
        return record
    tokens, texts = list(record.tokens), list(record.texts)
    tokens[place], texts[place] = 103, " other"
    return msgspec.structs.replace(record, tokens=tuple(tokens), texts=tuple(texts))


def same(lane: str, digest: int | None = None, *, texts: Sequence[str] = ("a", "b", "c"), finish: bool = True,
         temperature: float = 0.0) -> list[Record]:
    """A lane that commits one token a round, with rows whose digests follow from the place (or are ``digest``)."""
    found: list[Record] = []
    opening = next(iter(fake_run.lane_records(fake_run.PLAIN, temperature=temperature)))
    found.append(msgspec.structs.replace(opening, lane=lane))
    common = {"run": "run-1", "lane": lane}
    template = next(r for r in fake_run.lane_records(fake_run.PLAIN, temperature=temperature)
                    if isinstance(r, Committed))
    row = Contrast(ids=np.array([1, 2, 3], dtype=np.int32), p=np.array([0.5, 0.25, 0.0], dtype=np.float32),
                   q=np.zeros(0, dtype=np.float32), p_rest=0.25, q_rest=0.0, p_entropy=1.0, q_entropy=0.0, overlap=None)
    for place, text in enumerate(texts):
        bits = place if digest is None else digest
        found.append(Verified(**common, round=place, k=0, width=1, seconds=0.01, rows=(row,), gaps=(0.7,),
                              digests=(bits,)))
        found.append(msgspec.structs.replace(template, lane=lane, round=place, position=22 + place,
                                             tokens=(ord(text[0]),), texts=(text,), gaps=(0.7,), digests=(bits,)))
    if finish:
        last = [r for r in fake_run.lane_records(fake_run.PLAIN, limit=2) if isinstance(r, RunFinished)][-1]
        found.append(msgspec.structs.replace(last, lane=lane))
    return found
