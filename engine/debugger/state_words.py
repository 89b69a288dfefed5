"""All that is known of a lane at a moment, as names and values in words, to be read and copied."""

from __future__ import annotations

from typing import NamedTuple

from engine.debugger.cache_cells import CacheSide, cache_cells
from engine.debugger.history import Moment, RoundSoFar
from engine.debugger.token_words import plain, quoted, squeezed
from engine.records import Judged, RunStarted
from engine.settings import RunSettings

TAIL = 32
"""Tokens of the prefix that are told."""


class Fact(NamedTuple):
    name: str
    value: str


def state_words(moment: Moment) -> tuple[Fact, ...]:
    """Empty before the run has started."""
    started = moment.started
    if started is None:
        return ()
    facts = [Fact("round", _round(moment))]
    if moment.round is not None:
        facts += _drafts(moment, started, moment.round)
        facts += _draws(moment, moment.round)
    facts += _caches(moment)
    facts += [Fact("prefix", _prefix(moment)), Fact("tokens", _tokens(moment))]
    facts += _run(moment, started)
    return tuple(facts)


def as_text(facts: tuple[Fact, ...]) -> str:
    """For the clipboard: a fact a line."""
    return "\n".join(f"{name}: {value}" for name, value in facts)


def _round(moment: Moment) -> str:
    done = moment.totals.rounds
    if moment.finished is not None:
        return f"the run is over after {_many(done, 'round')}"
    if moment.round is None:
        return "none yet"
    doing = {"draft": "drafting", "verify": "verified", "judge": "judging", "commit": "committed"}
    return f"{moment.round.round + 1:,}, {doing.get(moment.phase, moment.phase)}"


def _prefix(moment: Moment) -> str:
    """As of the round’s start: what its drafts continue."""
    end = moment.round.start if moment.round is not None else moment.length
    first = max(0, end - TAIL)
    return ("…" if first else "") + squeezed("".join(moment.in_line(t) for t in moment.history.ids[first:end]))


def _tokens(moment: Moment) -> str:
    assert moment.started is not None
    if "prompt" in moment.started.unknown:
        return f"{moment.length:,} committed; the prompt is unknown"
    prompt = min(len(moment.started.prompt), moment.length)
    return f"{moment.length:,} committed: {prompt:,} of the prompt, {moment.length - prompt:,} of the output"


def _drafts(moment: Moment, started: RunStarted, now: RoundSoFar) -> list[Fact]:
    if not started.gamma and not now.k:
        return []
    asked = f" of γ = {started.gamma} asked for" if started.gamma else ""
    rejected = now.rejected_at
    judged = f"; {sum(j.accepted for j in now.judged)} accepted" if now.judged else ""
    judged += f", draft {rejected + 1} rejected" if rejected is not None else ""
    left = now.k - len(now.judged)
    if left and now.judged and (rejected is not None or now.committed is not None):
        judged += f", {left} never tested"
    elif left and now.verified is not None:
        judged += f"; {left} not judged yet"
    levels = 1 + max(now.tree.depths, default=-1)
    shape = f" in a tree of {levels} {'level' if levels == 1 else 'levels'}" if now.is_tree else ""
    positions = f"{now.start:,}" + (f" to {now.start + levels:,}" if now.k else "")
    return [Fact("drafts", f"k = {now.k}{shape}{asked}{judged}"), Fact("positions", positions)]


# Draws


def _draws(moment: Moment, now: RoundSoFar) -> list[Fact]:
    assert moment.started is not None
    if "draws" in moment.started.unknown:
        return [Fact("draws", "this recording does not tell them")]
    if not moment.sampled:
        return [Fact("draws", "none: greedy decoding takes the most probable token"), *_greedy(moment, now)]
    facts = [Fact(f"draft {d.index + 1}", f"draw {d.draw:.4f} chose {quoted(d.text)}"
                  + (f", q = {plain(d.q)}" if d.q is not None else ""))
             for d in now.drafted if d.draw is not None]
    facts += [Fact(f"test {j.index + 1}", _test(j)) for j in now.judged]
    done = now.committed
    if done is not None and done.final_draw is not None:
        token = quoted(moment.label(done.tokens[-1]))
        mass = f" of mass {plain(done.residual_mass)}" if done.residual_mass is not None else ""
        source = f"the residual{mass}" if done.final == "correction" and not done.residual_empty else "p"
        facts.append(Fact(done.final if done.final != "plain" else "token",
                          f"draw {done.final_draw:.4f} chose {token} from {source}"))
    return facts


def _test(judged: Judged) -> str:
    """In the form u against p/q, which is how a draw is thought of: accepted while it is below."""
    verdict = "accepted" if judged.accepted else "rejected"
    if judged.draw is None or judged.p is None or judged.q is None:
        return f"{quoted(judged.text)} {verdict}"
    if judged.q == 0:
        return f"u = {judged.draw:.3f}, q = 0 → {verdict}"
    return f"u = {judged.draw:.3f} against p/q = {plain(judged.p / judged.q)} → {verdict}"


def _greedy(moment: Moment, now: RoundSoFar) -> list[Fact]:
    return [Fact(f"test {j.index + 1}", f"{quoted(j.text)} is the argmax → accepted" if j.accepted
                 else f"{quoted(j.text)} is not the argmax"
                 + (f", {quoted(moment.label(j.best))} is" if j.best is not None else "") + " → rejected")
            for j in now.judged]


# Caches and what the run is


def _caches(moment: Moment) -> list[Fact]:
    cells = cache_cells(moment)
    assert cells is not None
    return [Fact(f"{side.owner} cache", side.reason or _slots(side)) for side in (cells.target, cells.drafter)]


def _slots(side: CacheSide) -> str:
    told = _many(side.held, "slot")
    if side.bytes:
        told += f", {in_bytes(side.bytes)}"
    doomed, cut, awaited = side.count("doomed"), side.count("cut"), side.count("awaited")
    told += f"; {doomed} will be cut" if doomed else ""
    told += f"; {cut} cut just now" if cut else ""
    return told + (f"; {_many(awaited, 'token')} to be computed" if awaited else "")


def _run(moment: Moment, started: RunStarted) -> list[Fact]:
    unknown = started.unknown
    facts = []
    if "settings" not in unknown:
        facts += [Fact("sampling", _sampling(started.settings)), Fact("drafter", _drafter(started)),
                  Fact("seed", f"{started.settings.seed}; every draw follows from it, the round’s start and the "
                               "position")]
    if "target" not in unknown:
        target = started.target
        facts += [Fact("target", f"{target.name}, {target.dtype} on {target.device}"),
                  Fact("exactness", started.exactness.sentence)]
    if "seconds" not in unknown:
        facts.append(Fact("clock", f"{moment.clock:.3f} s of this lane’s own compute"))
    if started.branch is not None:
        change = started.branch.change or "nothing changed"
        facts.append(Fact("branch", f"of {started.branch.lane} from round {started.branch.round + 1:,}: {change}"
                          + ("" if started.branch.lossless else "; no longer lossless")))
    return facts


def _sampling(settings: RunSettings) -> str:
    s = settings.sampling
    told = ["greedy" if s.greedy else f"temperature {s.temperature:g}"]
    if not s.greedy:
        told += [f"top-k {s.top_k}"] if s.top_k else []
        told += [f"top-p {s.top_p:g}"] if s.top_p < 1 else []
        told += [f"min-p {s.min_p:g}"] if s.min_p else []
    told += [f"repetition penalty {s.repetition_penalty:g}"] if s.repetition_penalty != 1 else []
    told.append(f"at most {_many(settings.max_new_tokens, 'new token')}")
    told += [f"stops at {', '.join(quoted(text) for text in settings.stop)}"] if settings.stop else []
    return ", ".join(told)


def _drafter(started: RunStarted) -> str:
    label = started.settings.drafter.label
    return f"{label}: {started.about}" if started.about else label


def in_bytes(number: int) -> str:
    """In powers of a thousand."""
    value, unit = float(number), "B"
    for bigger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, bigger
    return f"{value:.0f} B" if unit == "B" else f"{value:.3g} {unit}"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
