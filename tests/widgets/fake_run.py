"""TEST DATA: made-up record streams with the structure of real ones. No model ran; no figure here was measured.

The texts are real texts; a "drafter" proposes the right next tokens most of the time. Everything is a function of the
seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.records import Drafted, Exactness, FinalKind, Prefilled, Record, Verified
from engine.settings import DrafterSettings
from tests.widgets.fake_lane import PROMPT_TOKENS, Lane

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


def lane_records(method: Method, text: str = CODE, *, run: str = "run-1", seed: int = 7, limit: int | None = None,
                 temperature: float = 0.8, finish: bool = True, detail: bool = True,
                 forward: float = 0.051) -> Iterator[Record]:
    """One lane's records from start to end. ``limit`` repeats or cuts the text to so many tokens."""
    lane = Lane(method.lane, text, run=run, seed=seed, limit=limit, temperature=temperature)
    return lane.records(
        method.title, method.about,
        DrafterSettings(kind=method.kind, gamma=method.gamma, model="tiny-llama" if method.kind == "model" else ""),
        Exactness(invariant=True, padded=False, width_checked=11, width_limit=11, row_difference=0.0,
                  sentence="test data"),
        0.02 if method.kind == "model" else 0.0, _rounds(method, lane, detail, forward), finish)


def _rounds(method: Method, lane: Lane, detail: bool, forward: float) -> Iterator[Record]:
    chance, pieces, ids, common = lane.chance, lane.pieces, lane.ids, lane.common
    words = [piece for piece in ids if piece.strip()]
    done = number = 0
    caches = method.kind in ("model", "layer-skip")
    held = len(PROMPT_TOKENS) - 1 if caches else 0
    """The drafter's slots."""
    while done < len(pieces):
        k = min(method.gamma, len(pieces) - done - 1)
        right = [chance.random() < method.skill - 0.03 * i for i in range(k)]
        drafts = [pieces[done + i] if ok else chance.choice(words) for i, ok in enumerate(right)]
        position = len(PROMPT_TOKENS) + done
        qs = [1.0 if method.kind == "ngram" else chance.uniform(0.3, 0.95) for _ in drafts]
        for i, piece in enumerate(drafts):
            yield Drafted(**common, round=number, index=i, position=position + i, token=ids[piece], text=piece,
                          q=qs[i], draw=None if method.kind == "ngram" or lane.greedy else chance.random(),
                          seconds=method.step * chance.uniform(0.9, 1.2),
                          source="3-gram at 17" if method.kind == "ngram" else "")
        truth = pieces[done : done + k + 1]
        rows = tuple(lane.row(truth[i], drafts[i] if i < k else None, qs[i] if i < k else None)
                     for i in range(k + 1)) if detail else ()
        verify = forward * (1 + 0.004 * k) * chance.uniform(0.97, 1.06)
        digests = tuple(chance.getrandbits(64) for _ in range(k + 1))
        gaps = tuple(chance.uniform(0.1, 6.0) for _ in range(k + 1))
        yield Verified(**common, round=number, k=k, width=k + 1, seconds=verify, rows=rows, gaps=gaps, digests=digests)
        accepted = tested = 0
        for i, piece in enumerate(drafts):
            ok = piece == truth[i]
            p = chance.uniform(0.4, 0.98) if ok else chance.uniform(0.0, 0.12)
            tested += 1
            yield lane.judged(number, i, position + i, piece, truth[i], ok, p, qs[i])
            if not ok:
                break
            accepted += 1
        final: FinalKind = "plain" if k == 0 else "correction" if accepted < k else "bonus"
        count = accepted + 1
        if caches and k:  # the last draft's own keys and values are computed only if needed
            held = min(position + count - 1, position + k - 1)
        yield lane.committed(number, position, truth[:count], final, gaps[:count], digests[:count], tested=tested,
                             drafted=k, draft=method.step * k, verify=verify, judge=0.0004 * k, drafter_slots=held)
        done += count
        number += 1


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
