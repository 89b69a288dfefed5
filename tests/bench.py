"""Measured figures, printed: ``make bench``. Every ratio is of two sides that alternated in this one run.

    speed       plain decoding and prompt lookup, by kind of prompt; and transformers' own generate(), plain and with
                prompt_lookup_num_tokens=10, on the same prompts
    recording   a round with and without records of p and q
    lookup      what prompt lookup's index costs with 100 000 tokens of context
    exact       what padding every forward to one width costs in float32, where rows need it to be bit-exact
    trees       a tree verified as it lies, with its ancestors gathered, and chains as deep and as wide
    drafters    the five ways to draft on held-out prompts: α by position, costs, speed-ups by kind of task
    stepping    going back and forth over 10 000 rounds in the window
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from engine import models
from engine.drafters.base import RoundDraws
from engine.drafters.ngram import PromptLookup
from engine.models import Model
from engine.race import LanePlan, machine, race
from engine.records import Committed, Prefilled, Totals
from engine.settings import DrafterSettings, RunSettings
from tests.engine.support import lanes
from tests.engine.test_suffix_automaton import LONG
from tests.prompts import PROMPTS, Prompt

PLAIN, NGRAM = DrafterSettings(), DrafterSettings(kind="ngram")


def speed(prompts: Sequence[Prompt], tokens: int, repeats: int) -> None:
    """Seconds for all tokens of a kind's prompts, each side summed; ours are races, so lanes alternate by round."""
    target = models.load("builtin", dtype="bfloat16", device="cpu")
    theirs = AutoModelForCausalLM.from_pretrained(models.fetch().path, dtype=torch.bfloat16).eval()
    spent: dict[tuple[str, str], float] = defaultdict(float)
    committed: dict[tuple[str, str], int] = defaultdict(int)
    totals: dict[tuple[str, str], list[Totals]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    agreed: dict[str, int] = defaultdict(int)
    for _ in range(repeats):
        for prompt in prompts:
            ids = target.encode(prompt.text, chat=True)
            runs = lanes(target, ids, [RunSettings(drafter=d, max_new_tokens=tokens) for d in (PLAIN, NGRAM)])
            for name, run in zip(("plain", "ngram"), runs, strict=True):
                t = run.finished.totals
                spent[prompt.kind, name] += t.decode_seconds
                spent[prompt.kind, f"{name}, whole"] += t.total_seconds
                committed[prompt.kind, name] += t.committed
                totals[prompt.kind, name].append(t)
            pace = [r.finished.totals.decode_seconds / r.finished.totals.committed for r in runs]
            ratios[prompt.kind].append(pace[0] / pace[1])
            for name, extra in (("generate", {}), ("generate, lookup", {"prompt_lookup_num_tokens": 10})):
                seconds, new = timed_generate(theirs, ids, tokens, extra)
                spent[prompt.kind, name] += seconds
                committed[prompt.kind, name] += len(new)
                if extra and new == runs[1].tokens:
                    spent[prompt.kind, "same, theirs"] += seconds
                    spent[prompt.kind, "same, ours"] += runs[1].finished.totals.total_seconds
                    agreed[prompt.kind] += 1
    print(f"\nspeed: SmolLM2-135M-Instruct, bfloat16, greedy, {tokens} tokens at most, {repeats} times\n")
    print("| prompts | plain | prompt lookup | speed-up | each prompt | E[m] | α | generate() with lookup "
          "against plain generate() | whole runs: ours against generate() with lookup, where its text is the same |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |")
    for kind in dict.fromkeys(p.kind for p in prompts):
        def pace(name: str, kind: str = kind) -> float:
            return spent[kind, name] / committed[kind, name.removesuffix(", whole")]

        def same(kind: str) -> str:
            if not agreed[kind]:
                return "–"
            return (f"{spent[kind, 'same, theirs'] / spent[kind, 'same, ours']:.2f}× "
                    f"({agreed[kind]} of {len(ratios[kind])} runs)")

        fast = totals[kind, "ngram"]
        print(f"| {kind} | {1 / pace('plain'):.1f} tok/s | {1 / pace('ngram'):.1f} tok/s "
              f"| **{pace('plain') / pace('ngram'):.2f}×** | {' '.join(f'{r:.1f}' for r in ratios[kind])} "
              f"| {sum(t.committed for t in fast) / sum(t.rounds for t in fast):.2f} "
              f"| {sum(t.accepted for t in fast) / max(1, sum(t.tested for t in fast)):.2f} "
              f"| {pace('generate') / pace('generate, lookup'):.2f}× "
              f"| {same(kind)} |")
    all_ours = sum(v for (_, name), v in spent.items() if name == "plain, whole")
    all_theirs = sum(v for (_, name), v in spent.items() if name == "generate")
    print(f"\nplain decoding, whole runs: generate() takes {all_theirs / all_ours:.2f} of our time")


def timed_generate(model: Any, ids: Sequence[int], tokens: int, extra: dict[str, Any]) -> tuple[float, list[int]]:
    """Seconds and new tokens of one greedy generate(), prefill included."""
    batch = torch.tensor([ids])
    begin = time.perf_counter()
    with torch.inference_mode():
        out = model.generate(batch, attention_mask=torch.ones_like(batch), do_sample=False, max_new_tokens=tokens,
                             pad_token_id=0, **extra)
    return time.perf_counter() - begin, out[0, len(ids):].tolist()


def alternate(one: Callable[[], float], other: Callable[[], float], times: int) -> tuple[list[float], list[float]]:
    """Each side's results, taken in turns, the first one changing."""
    results: tuple[list[float], list[float]] = ([], [])
    for index in range(times):
        for side in ((0, 1) if index % 2 == 0 else (1, 0)):
            results[side].append((one, other)[side]())
    return results


def recording(repeats: int) -> None:
    """Wall seconds a round, making all records included, with detail and without: plain decoding, and prompt lookup on
    text to copy. Both sides decode the same tokens and alternate by round."""
    target = models.load("builtin", dtype="bfloat16", device="cpu")
    ids = target.encode(PROMPTS[5].text, chat=True)
    print("\nrecording: a round with p, q and digests recorded against the same round without")
    for drafter in (PLAIN, NGRAM):
        spent: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(repeats):
            sides = {detail: rounds_timed(target, ids, RunSettings(drafter=drafter, max_new_tokens=128, detail=detail))
                     for detail in (True, False)}
            for index in count():
                pair = {detail: next(sides[detail], None) for detail in (index % 2 == 0, index % 2 == 1)}
                for detail, seconds in pair.items():
                    if seconds is not None:
                        spent[detail].append(seconds)
                if None in pair.values():
                    break
        pairs = sorted(a / b - 1 for a, b in zip(spent[True], spent[False], strict=True))
        print(f"  {drafter.label}: {statistics.median(spent[True]) * 1e3:.1f} ms against "
              f"{statistics.median(spent[False]) * 1e3:.1f} ms, median of {len(pairs)} pairs "
              f"{statistics.median(pairs):+.1%} (middle half {pairs[len(pairs) // 4]:+.1%} to "
              f"{pairs[len(pairs) * 3 // 4]:+.1%})")


def lookup() -> None:
    """Microseconds a token that prompt lookup reads, and milliseconds that a round takes it: to read 32 tokens and
    propose 31, at any point of a long context."""
    print("\nlookup: prompt lookup's index over 100 000 tokens")
    for name, text in LONG.items():
        drafter, spent = PromptLookup(1, 32, "frequent"), []
        for end in range(32, len(text), 32):
            tokens, before = text[:end], time.perf_counter()
            proposed = len(list(drafter.propose(tokens, 31, RoundDraws(0, end))))
            spent.append(time.perf_counter() - before)
        whole, known = PromptLookup(1, 32, "frequent"), time.perf_counter()
        whole.prefill(text)
        read = time.perf_counter() - known
        print(f"  {name}: {read / len(text) * 1e6:.1f} µs a token read at once ({read:.2f} s in all); a round "
              f"{statistics.median(spent) * 1e3:.2f} ms (median), {max(spent) * 1e3:.1f} ms (longest); "
              f"{proposed} drafts in the last")


def rounds_timed(target: Model, prompt: Sequence[int], settings: RunSettings) -> Iterator[float]:
    """Wall seconds of each round of a run, from one commit to the next."""
    records = race(target, prompt, [LanePlan("0", settings)], run="bench")
    for record in records:
        if isinstance(record, Prefilled):
            break
    while True:
        begin = time.perf_counter()
        if not any(isinstance(record, Committed) for record in records):
            return
        yield time.perf_counter() - begin


def exact(repeats: int) -> None:
    """Float32: seconds a token of plain decoding and prompt lookup, padded to one width and not."""
    target: Model = models.load("builtin", dtype="float32", device="cpu")
    ids = target.encode(PROMPTS[5].text, chat=True)
    print("\nexact: float32, every forward padded to one width against not")
    for drafter in (PLAIN, NGRAM):
        def a_token(padded: bool, drafter: DrafterSettings = drafter) -> float:
            both = [RunSettings(drafter=d, max_new_tokens=32, exact=padded) for d in (drafter, NGRAM)]
            totals = lanes(target, ids, both)[0].finished.totals
            return totals.decode_seconds / totals.committed

        padded, free = alternate(lambda f=a_token: f(True), lambda f=a_token: f(False), repeats)
        print(f"  {drafter.label}: {statistics.median(padded) / statistics.median(free):.2f} times the time "
              f"({statistics.median(free) * 1e3:.0f} ms a token without)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["speed", "drafters", "recording", "lookup", "exact",
                                                            "trees", "stepping"],
                        help="speed, drafters, recording, lookup, exact, trees, stepping (all)")
    parser.add_argument("--per-kind", type=int, default=2, help="drafters: held-out prompts of each kind")
    parser.add_argument("--chat", type=int, default=8, help="drafters: held-out chat prompts")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", default=["chat", "edit", "quotes"])
    args = parser.parse_args()
    print(f"{machine()}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    if "speed" in args.parts:
        speed([p for p in PROMPTS if p.kind in args.kinds], args.tokens, args.repeats)
    if "drafters" in args.parts:
        from tests.bench_drafters import drafters

        drafters(args.tokens, args.per_kind, args.chat)
    if "recording" in args.parts:
        recording(args.repeats)
    if "lookup" in args.parts:
        lookup()
    if "exact" in args.parts:
        exact(args.repeats)
    if "trees" in args.parts:
        from tests.bench_trees import trees

        trees(5 * args.repeats)
    if "stepping" in args.parts:
        from tests.bench_stepping import stepping

        print("\nstepping: back and forth in the window")
        stepping()


if __name__ == "__main__":
    main()
