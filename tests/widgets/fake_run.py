"""TEST DATA: made-up record streams with the structure of real ones. No model ran; no figure here was measured.

The texts are real texts, split into word-like tokens; a "drafter" proposes the right next tokens most of the time.
Everything is a function of the seed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.records import (
    Committed,
    Contrast,
    Drafted,
    Exactness,
    FinalKind,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    TargetInfo,
    Timings,
    Totals,
    Verified,
    Vocabulary,
)
from engine.settings import DrafterSettings, RunSettings, Sampling

PROMPT = "Rename the variable total to amount in this code and return all of it unchanged otherwise.\n"

CODE = '''def invoice(items, rate):
    """Sum of all items, with tax."""
    amount = 0
    for item in items:
        price = item['price'] * item['count']
        if item.get('discount') and price != 0:
            price -= price * item['discount']
        amount += price

    return round(amount * (1 + rate), 2)


def report(customers, rate=0.19):
    lines = []
    for customer in sorted(customers, key=lambda c: c['name']):
        amount = invoice(customer['items'], rate)
        lines.append(f"{customer['name']:<24}{amount:>12.2f} EUR")
    return "\\n".join(lines)
'''

PROSE = ("The museum opened its doors in 1911, and the first visitors came by boat. \"We had expected a hundred,\" the "
         "director wrote that evening, \"and counted four thousand.\" What they saw was one long room with a skylight, "
         "forty paintings, and a clock that had stopped. In the second year a tram line was built, and the room was "
         "divided into three.\n\nToday the clock still stands at ten past four.\n")

WORLD = ("Languages:\n\n- 中文：推测解码每轮提交多个标记，输出分布保持不变。\n- 日本語：速くて正確です。\n"
         "- العربية: هذا أسرع ولا يغيّر الناتج.\n- עברית: מהיר ומדויק.\n"
         "- Emoji: \U0001f469\u200d\U0001f680 🎉 ✅ 🇨🇭, accents: naïve café e\u0301\n- Tabs:\ta\tb\n")

_TOKEN = re.compile(r"\n+ *| {2,}(?= )| ?[A-Za-z]{1,7}| ?\d{1,3}|[\u3040-\u9fff]{1,2}| ?[\u0590-\u06ff]{1,4}|\t"
                    r"| ?[^\s]")


@dataclass(frozen=True)
class Method:
    """How a made-up drafter behaves."""

    lane: str
    title: str
    about: str
    kind: str
    gamma: int
    skill: float
    """Chance that a draft is the right token, at the first position; a little less at each later one."""
    step: float
    """Seconds a draft step takes."""


PLAIN = Method("plain", "Plain decoding", "one token a forward", "none", 0, 0.0, 0.0)
LOOKUP = Method("ngram", "Prompt lookup", "copies what followed the same words before", "ngram", 4, 0.86, 0.00004)
SKIP = Method("skip", "Layer skip", "the target itself, half of its layers left out", "layer-skip", 3, 0.62, 0.018)
DRAFT = Method("draft", "Draft model tiny-llama", "a smaller model writes ahead", "model", 4, 0.72, 0.004)
DISTILLED = Method("distilled", "Distilled draft", "a few layers, distilled from the target, write ahead", "draft", 4,
                   0.66, 0.004)
EAGLE = Method("eagle", "EAGLE", "one light layer continues the target's own features", "eagle", 4, 0.74, 0.003)
MEDUSA = Method("medusa", "Medusa", "extra heads on the target's last feature guess several tokens at once", "medusa",
                4, 0.55, 0.001)
FIVE = (PLAIN, DISTILLED, EAGLE, MEDUSA, LOOKUP, SKIP)
WIDE = Method("wide", "Prompt lookup, γ 10", "copies what followed the same words before", "ngram", 10, 0.93, 0.00004)


def split(text: str) -> list[str]:
    tokens = _TOKEN.findall(text)
    return tokens if "".join(tokens) == text else list(text)


def lane_records(method: Method, text: str = CODE, *, run: str = "run-1", seed: int = 7, limit: int | None = None,
                 temperature: float = 0.8, finish: bool = True, detail: bool = True,
                 forward: float = 0.051) -> Iterator[Record]:
    """One lane's records from start to end. ``limit`` repeats or cuts the text to so many tokens."""
    chance = random.Random(f"{seed}{method.lane}")
    pieces = split(text)
    if limit is not None:
        pieces = (pieces * (limit // len(pieces) + 1))[:limit]
    ids = {piece: 100 + i for i, piece in enumerate(dict.fromkeys(pieces))}
    words = [piece for piece in ids if piece.strip()]
    common = {"run": run, "lane": method.lane}
    greedy = temperature == 0
    prompt = tuple(range(1, 23))
    yield RunStarted(
        **common, title=method.title, about=method.about, gamma=method.gamma,
        settings=RunSettings(sampling=Sampling(temperature=temperature), drafter=DrafterSettings(
            kind=method.kind, gamma=method.gamma, model="tiny-llama" if method.kind == "model" else "")),
        target=TargetInfo(name="test data, no model", parameters=0, layers=0, vocabulary=50_000, context=8192,
                          dtype="bfloat16", device="cpu", fingerprint="0" * 16),
        exactness=Exactness(invariant=True, padded=False, width_checked=11, width_limit=11, row_difference=0.0,
                            sentence="test data"),
        prompt=prompt, prompt_text=PROMPT, machine="none", version="0", started="2025-01-01T00:00:00")
    yield Vocabulary(**common, texts={token: piece for piece, token in ids.items()})
    totals = Totals()
    prefilled = Prefilled(**common, tokens=len(prompt) - 1, target_seconds=0.18,
                          drafter_seconds=0.02 if method.kind == "model" else 0.0)
    totals = totals.plus(prefilled)
    yield prefilled
    done = round_number = 0
    caches = method.kind in ("model", "layer-skip")
    held = len(prompt) - 1 if caches else 0
    """The drafter's slots."""
    while done < len(pieces):
        k = min(method.gamma, len(pieces) - done - 1)
        right = [chance.random() < method.skill - 0.03 * i for i in range(k)]
        drafts = [pieces[done + i] if ok else chance.choice(words) for i, ok in enumerate(right)]
        position = len(prompt) + done
        qs = [1.0 if method.kind == "ngram" else chance.uniform(0.3, 0.95) for _ in drafts]
        for i, piece in enumerate(drafts):
            yield Drafted(**common, round=round_number, index=i, position=position + i, token=ids[piece], text=piece,
                          q=qs[i], draw=None if method.kind == "ngram" or greedy else chance.random(),
                          seconds=method.step * chance.uniform(0.9, 1.2),
                          source="3-gram at 17" if method.kind == "ngram" else "")
        truth = pieces[done : done + k + 1]
        rows = tuple(_row(chance, ids, truth[i], drafts[i] if i < k else None, qs[i] if i < k else None)
                     for i in range(k + 1)) if detail else ()
        verify = forward * (1 + 0.004 * k) * chance.uniform(0.97, 1.06)
        numbers = tuple(chance.getrandbits(64) for _ in range(k + 1))
        gaps = tuple(chance.uniform(0.1, 6.0) for _ in range(k + 1))
        yield Verified(**common, round=round_number, k=k, width=k + 1, seconds=verify, rows=rows, gaps=gaps,
                       digests=numbers)
        accepted = 0
        tested = 0
        for i, piece in enumerate(drafts):
            ok = piece == truth[i]
            p = chance.uniform(0.4, 0.98) if ok else chance.uniform(0.0, 0.12)
            tested += 1
            yield Judged(**common, round=round_number, index=i, position=position + i, token=ids[piece], text=piece,
                         accepted=ok, p=p, q=qs[i], best=ids[truth[i]],
                         draw=None if greedy else chance.uniform(0, min(1.0, p / qs[i])) if ok
                         else chance.uniform(min(1.0, p / qs[i]), 1.0))
            if not ok:
                break
            accepted += 1
        final: FinalKind = "plain" if k == 0 else "correction" if accepted < k else "bonus"
        committed = truth[: accepted + 1]
        seconds = Timings(draft=method.step * k, verify=verify, judge=0.0004 * k, record=0.0006, commit=0.0002)
        if caches and k:  # the last draft's own keys and values are computed only if needed
            held = min(position + len(committed) - 1, position + k - 1)
        record = Committed(
            **common, round=round_number, position=position, tokens=tuple(ids[t] for t in committed),
            texts=tuple(committed), accepted=accepted, tested=tested, drafted=k, final=final,
            final_draw=None if greedy else chance.random(),
            residual_mass=None if greedy or final != "correction" else chance.uniform(0.1, 0.9), residual_empty=False,
            gaps=gaps[: len(committed)], digests=numbers[: len(committed)], seconds=seconds,
            target_slots=position + len(committed) - 1, drafter_slots=held)
        totals = totals.plus(record)
        yield record
        done += len(committed)
        round_number += 1
    if finish:
        yield RunFinished(**common, reason="length", message="", text="".join(pieces), totals=totals)


class Records(Protocol):
    """Another way to make up a lane."""

    def records(self, text: str, **options: object) -> Iterator[Record]: ...


def race(methods: Sequence[Method | Records] = (PLAIN, LOOKUP, SKIP), text: str = CODE, *, until: float | None = None,
         **options: object) -> list[Record]:
    """Several lanes' records in the order of their own clocks, as a race delivers them; cut at ``until`` seconds."""
    timed: list[tuple[float, int, Record]] = []
    for method in methods:
        clock = 0.0
        made = lane_records(method, text, **options) if isinstance(method, Method) else (  # type: ignore[arg-type]
            method.records(text, **options))
        for record in made:
            if isinstance(record, Prefilled):
                clock += record.target_seconds + record.drafter_seconds
            elif isinstance(record, Drafted | Verified):
                clock += record.seconds
            timed.append((clock, len(timed), record))
    timed.sort(key=lambda item: item[:2])
    return [record for clock, _, record in timed if until is None or clock <= until]


def _row(chance: random.Random, ids: dict[str, int], truth: str, draft: str | None, q: float | None) -> Contrast:
    others = chance.sample(list(ids), min(6, len(ids)))
    words = list(dict.fromkeys([truth, *([draft] if draft else []), *others]))
    weights = np.array([8.0, *(chance.uniform(0.05, 1.5) for _ in words[1:])])
    p = (0.98 * weights / weights.sum()).astype(np.float32)
    order = np.argsort(-p, kind="stable")
    tokens = np.array([ids[word] for word in words], dtype=np.int32)[order]
    if draft is None:
        qs = np.zeros(0, dtype=np.float32)
    else:
        guess = np.full(len(words), 0.02 / len(words), dtype=np.float32)
        guess[words.index(draft)] = q or 0.5
        qs = guess[order]
    overlap = float(np.minimum(p[order], qs).sum()) if draft is not None else float("nan")
    return Contrast(ids=tokens, p=p[order], q=qs, p_rest=0.02, q_rest=0.02, p_entropy=chance.uniform(0.2, 2.5),
                    q_entropy=chance.uniform(0.2, 2.5), overlap=overlap)
