"""The loop. One generator decodes plainly and speculatively alike and yields each event as a record.

    while not ended:
        drafts   ← drafter(tokens)                    k of them, a chain or a tree, no deeper than γ
        logits   ← target([newest token, drafts])     one forward, k + 1 rows
        accepted ← judge(logits, drafts)              the longest prefix (in a tree the path) that passes
        commit accepted drafts and one more token; cut both caches back

With no drafter k is 0, and each round commits the one token drawn from p: plain decoding. Stepping is not calling
``next``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from engine.checks import cache_checks
from engine.drafters.base import Draft, Drafter, RoundDraws
from engine.length import Fixed, Length
from engine.records import Record, Timings
from engine.rounds import Judge
from engine.runner import Runner
from engine.scribe import Scribe
from engine.settings import RunSettings
from engine.transcript import Transcript
from engine.tree import Tree


def never() -> bool:
    return False


def decode(target: Runner, drafter: Drafter, seq: Transcript, judge: Judge, log: Scribe, settings: RunSettings,
           gamma: int, by_record: Callable[[], bool] = never,
           draws_of: Callable[[int, int], RoundDraws] = RoundDraws, length: Length | None = None) -> Iterator[Record]:
    """Decode until ``seq`` ends. ``by_record()``: is a person stepping token by token? Then each draft is read back
    as it is made, at the price of a synchronisation. ``draws_of(seed, start)``: the draws of one round. ``length``: how
    many drafts a round asks for, at most ``gamma``; always that many without it."""
    prompt = seq.tokens[:-1]  # the newest token's keys and values are always computed by the next round
    check = cache_checks(target, drafter)
    watch = target.stopwatch()
    begin = watch.mark()
    target.prefill(prompt)
    filled = watch.mark()
    drafter.prefill(prompt)
    done = watch.mark()
    judge.commit(seq.tokens)
    target.wait()
    yield log.prefilled(len(prompt), watch.between(begin, filled), watch.between(filled, done))
    yield from rounds(target, drafter, seq, judge, log, settings, gamma, check, by_record, draws_of, length)


def rounds(target: Runner, drafter: Drafter, seq: Transcript, judge: Judge, log: Scribe, settings: RunSettings,
           gamma: int, check: Callable[[Sequence[int]], None], by_record: Callable[[], bool] = never,
           draws_of: Callable[[int, int], RoundDraws] = RoundDraws, length: Length | None = None) -> Iterator[Record]:
    """From any state between two rounds on: behind the prefill, or as a branch restored it (replay.py)."""
    length = length or Fixed()
    while not seq.ended:
        start, watch = len(seq), target.stopwatch()
        draws = draws_of(settings.seed, start)

        # Draft
        drafts: list[Draft] = []
        spans: list[tuple[int, int]] = []
        shown = 0
        proposal = drafter.propose(seq.tokens, seq.room(length.next(gamma)), draws)
        for index in count():
            begin, draft = watch.mark(), next(proposal, None)
            spans.append((begin, watch.mark()))
            if draft is None:
                break
            drafts.append(draft)
            if by_record():
                token, q = judge.read(draft)
                target.wait()
                depth = Tree.of([d.parent for d in drafts]).depths[index]
                yield from log.drafted(index, start + depth, draft, token, q, watch.between(*spans[-1]))
                shown += 1
        tree = Tree.of([d.parent for d in drafts])

        # Verify: one forward over the newest token and the drafts
        begin = watch.mark()
        logits = target.forward([seq.tokens[-1], *(d.token for d in drafts)], tree=tree)
        verified = watch.mark()

        # Judge
        facts = judge(logits, drafts, tree, draws, watch)
        for i in range(shown, len(drafts)):
            yield from log.drafted(i, start + tree.depths[i], drafts[i], facts.drafts[i], facts.q[i],
                                   watch.between(*spans[i]))
        yield from log.verified(facts, target.width(len(drafts) + 1), watch.between(begin, verified))

        # Commit, unless an accepted token ends the run before the last
        began = time.perf_counter()
        added = seq.commit(facts.tokens)
        tokens = facts.tokens[: len(added)]
        judge.commit(tokens)
        target.keep([start + i for i in facts.path[: len(tokens) - 1]], start)
        drafter.cut(len(seq) - 1)
        check(seq.tokens)
        tested = facts.tested_for(len(tokens))
        length.learn(min(len(facts.path), len(tokens)), len(tested), len(drafts))
        seconds = Timings(sum(watch.between(*s) for s in spans), watch.between(begin, verified), facts.judge_seconds,
                          facts.record_seconds, time.perf_counter() - began)
        yield from log.judged(facts, start, tested)
        yield from log.committed(facts, start, added, tokens, len(tested), seconds, target.length, drafter.slots)

    yield log.finished(seq.ended, seq.text)
