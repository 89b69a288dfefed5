"""A lane's figures in words, each with its formula: people argue about what such numbers mean."""

from __future__ import annotations

from dataclasses import dataclass

from widgets.counted import counted, plural
from widgets.known import NO_TIMES, knows
from widgets.protocols import LaneView, StoreView

NONE = "–"


@dataclass(frozen=True)
class Shown:
    value: str
    tooltip: str
    tone: str = "text"
    unit: str | None = None
    """Where the number decides it; None: the figure's own."""


def in_trees(lane: LaneView) -> bool:
    """Does it draft trees?"""
    return lane.started is not None and bool(lane.started.settings.drafter.tree)


def rounds(lane: LaneView) -> Shown:
    t = lane.totals
    return Shown(f"{t.rounds:,}", "rounds = forwards of the target after the prompt"
                 "\neach: draft, verify, judge, commit"
                 f"\n= {t.rounds:,} so far, {counted(t.committed, 'token')} committed",
                 unit=plural(t.rounds, "round"))


def acceptance(lane: LaneView) -> Shown:
    t = lane.totals
    rate = t.acceptance_rate
    if rate is None:
        return Shown(NONE, "acceptance rate α = accepted drafts ÷ tested drafts\nNothing was drafted here yet.", "dim")
    tested = ("In a tree every sibling's test counts, so this is no chain's α: compare E[m], the tokens a round."
              if in_trees(lane) else "(tested: up to and including the first rejection of a round)")
    return Shown(f"{rate:.2f}", "acceptance rate α = accepted drafts ÷ tested drafts\n"
                 f"{tested}\n= {t.accepted:,} ÷ {t.tested:,} = {rate:.3f}\n\n"
                 "Not the draft utilisation = accepted drafts ÷ drafted tokens\n"
                 f"= {t.accepted:,} ÷ {t.drafted:,} = {t.draft_utilisation or 0:.3f}")


def tokens_a_round(lane: LaneView) -> Shown:
    t = lane.totals
    mean = t.mean_committed_length
    if mean is None:
        return Shown(NONE, "mean committed length E[m] = committed tokens ÷ rounds", "dim")
    compared = "\nComparable between chains and trees." if in_trees(lane) else ""
    return Shown(f"{mean:.2f}", "mean committed length E[m] = committed tokens ÷ rounds\n"
                 f"(corrections and bonuses included)\n= {t.committed:,} ÷ {t.rounds:,} = {mean:.3f}{compared}")


def speed(lane: LaneView) -> Shown:
    t = lane.totals
    rate = t.tokens_per_second
    formula = "tokens a second = committed tokens ÷ decode seconds, prefill aside"
    if not knows(lane, "seconds"):
        return Shown(NONE, f"{formula}\n{NO_TIMES}", "dim", unit="tok/s unknown")
    if rate is None:
        return Shown(NONE, formula, "dim", unit="tok/s")
    return Shown(f"{rate:.1f}" if rate < 1000 else f"{rate:,.0f}",
                 f"{formula}\n= {t.committed:,} ÷ {t.decode_seconds:.3f} s = {rate:.2f}\n"
                 f"(draft {t.draft:.3f} s + verify {t.verify:.3f} s + judge, record, commit {t.other:.3f} s)\n"
                 f"Prefill took {t.prefill:.3f} s.", unit="tok/s")


def speedup(store: StoreView, lane: LaneView) -> Shown:
    ratio, plain = store.speedup(lane.id), store.plain
    formula = "speed-up = plain decoding's decode seconds per token ÷ this lane's, prefill aside"
    if not knows(lane, "seconds"):
        return Shown(NONE, f"{formula}\n{NO_TIMES}", "dim", unit="speed-up unknown")
    if plain is None:
        return Shown(NONE, f"{formula}\nThere is no lane of plain decoding to compare with.", "dim", unit="")
    if not knows(plain, "seconds"):
        return Shown(NONE, f"{formula}\nThe times of the plain lane aren't known.", "dim", unit="speed-up unknown")
    if ratio is None:
        return Shown(NONE, f"{formula}\nBoth lanes must have committed a token first.", "dim", unit="")
    a, b = plain.totals, lane.totals
    return Shown(f"{ratio:.2f}×", f"{formula}\n= ({a.decode_seconds:.3f} s ÷ {a.committed:,}) ÷ "
                 f"({b.decode_seconds:.3f} s ÷ {b.committed:,}) = {ratio:.3f}\n"
                 "over what each has committed so far, on the same runner and device",
                 "dim" if lane.plain else "strong", unit="")


def exactness(store: StoreView, lane: LaneView) -> tuple[str, str]:
    """Two words where this lane isn't as exact as the plain one, and the measured verdict as it was recorded."""
    if lane.started is None:
        return "", ""
    said, plain = lane.started.exactness, store.plain
    told = plain is not None and plain.started is not None and plain.started.exactness == said
    return "" if said.invariant or told or not said.sentence else "not bit-exact", said.sentence


_ENDS = {"eos": "finished: end of text", "stop": "finished: stop text", "length": "finished: length reached",
         "context": "finished: context is full", "stopped": "stopped", "error": "failed"}


def status(store: StoreView, lane: LaneView) -> tuple[str, ...]:
    """What the lane is doing, in two or three words, and in fewer, down to none where it can be seen elsewhere; nothing
    while it simply runs. And where it parts from plain decoding, should a greedy lane do that."""
    ways = [{"waiting": "waiting", "prefilling": "reading the prompt"}.get(lane.status, "")]
    if lane.finished is not None:
        ways = [_ENDS[lane.finished.reason]]
        brief, colon, _ = ways[0].partition(":")
        ways += [brief, ""] if colon else []
    elif lane.rounds and lane.rounds[-1].depth:
        ways = [f"tree: {lane.rounds[-1].k} drafted, {lane.rounds[-1].depth} deep"]
    parted = store.divergence(lane.id)
    return tuple(" · ".join(filter(None, (parted.sentence if parted else "", words))) for words in ways)
