"""A round as its tokens and, in plain words, what has just happened in it; both grow record by record."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from engine.debugger.history import Moment, RoundSoFar
from engine.debugger.token_words import compared, one_line, plain, quoted, squeezed
from engine.records import Committed, Judged

TAIL, TAIL_TEXT = 10, 24
"""Tokens of the prefix that are shown before the round's own, and about how many characters of them."""

ChipKind = Literal["prompt", "plain", "accepted", "rejected", "void", "pending", "correction", "bonus"]

_ENDS = {
    "eos": "The run is over: the end token was committed.",
    "stop": "The run is over: a stop text appeared.",
    "length": "The run is over: it has all the tokens that were asked for.",
    "context": "The run is over: the target’s context is full.",
    "stopped": "The run was stopped.",
    "error": "The run failed.",
}


@dataclass(frozen=True)
class Chip:
    """One token of the strip, shaped like a token of the stream so that the same painter draws it."""

    id: int
    text: str
    """On one line."""
    kind: ChipKind
    round: int
    index: int
    """The verify row that judged it or that it was drawn from: for a correction the rejected draft's. −1: prefix."""
    position: int
    tree: str = ""
    """Of the first one of a tree: how large it is."""

    @property
    def label(self) -> str:
        return self.text

    @property
    def aside(self) -> bool:
        """Off the way that is shown; such drafts get no chip."""
        return False


@dataclass(frozen=True)
class RoundWords:
    title: str
    gamma: int | None
    """None: unknown or no drafter."""
    round: int | None
    chips: tuple[Chip, ...]
    sentence: str


def round_words(moment: Moment) -> RoundWords | None:
    """None before the run has started."""
    started = moment.started
    if started is None:
        return None
    now = moment.round
    gamma = started.gamma if started.gamma and "settings" not in started.unknown else None
    return RoundWords(started.title, gamma, now.round if now is not None else None, tuple(_chips(moment, now)),
                      sentence(moment))


def _chips(moment: Moment, now: RoundSoFar | None) -> list[Chip]:
    start = now.start if now is not None else moment.length
    first, room = start, TAIL_TEXT
    while first > max(0, start - TAIL) and room > 0:
        first -= 1
        room -= len(moment.in_line(moment.history.ids[first]))
    chips = [Chip(-1, "…", "prompt", -1, -1, first - 1)] if first else []
    prompt = len(moment.started.prompt) if moment.started is not None else 0
    chips += [Chip(token, squeezed(moment.in_line(token)), "prompt" if first + place < prompt else "plain", -1, -1,
                   first + place) for place, token in enumerate(moment.history.ids[first:start])]
    if now is None:
        return chips
    shown = _shown(now)
    chips += [Chip(d.token, one_line(moment.in_line(d.token, d.text)), now.fate(d.index), now.round, d.index,
                   d.position, now.tree_size if d.index == min(shown) else "")
              for d in now.drafted if d.index in shown]
    done = now.committed
    if done is not None:  # a recording may hold nothing but the outcome
        chips += [Chip(done.tokens[i], one_line(done.texts[i]), "accepted", now.round, i, start + i)
                  for i in range(now.k, min(done.accepted, len(done.tokens)))]
    if done is not None and done.final != "none":
        text = one_line(moment.in_line(done.tokens[-1], done.texts[-1]) or moment.label(done.tokens[-1]))
        chips.append(Chip(done.tokens[-1], text, done.final, now.round, _ended(now), start + len(done.tokens) - 1))
    return chips


def _shown(now: RoundSoFar) -> Collection[int]:
    """The drafts that get a chip: while a tree is drafted the way to the newest, which the sentence speaks of."""
    drafting = now.is_tree and now.verified is None and not now.judged and now.committed is None
    return now.tree.path(now.k - 1) if drafting else now.in_sight


def _ended(now: RoundSoFar) -> int:
    """The place of the final token."""
    if now.is_tree:
        return now.ended_at if now.ended_at is not None else now.k
    corrected = now.committed is not None and now.committed.final == "correction" and now.rejected_at is not None
    return now.rejected_at or 0 if corrected else len(now.judged)


# What has just happened, in words


def named(moment: Moment, token: int, text: str | None = None) -> str:
    """A token within a sentence: in quotation marks, where its text is known."""
    shown = moment.in_line(token, text)
    known = text or moment.started is None or "texts" not in moment.started.unknown
    return quoted(shown) if known else shown.strip()


def sentence(moment: Moment) -> str:
    now = moment.round
    match moment.phase:
        case "waiting":
            return "Nothing has happened yet."
        case "started":
            count = moment.length
            return f"The run begins with a prompt of {count:,} {'token' if count == 1 else 'tokens'}."
        case "prefill":
            return ("The prompt is in the caches, all but its newest token: that one’s keys and values come with the "
                    "first round.")
        case "finished":
            assert moment.finished is not None
            return moment.finished.message or _ENDS[moment.finished.reason]
    assert now is not None
    match moment.phase:
        case "draft":
            return _drafted(moment, now)
        case "verify":
            return _verified(now)
        case "judge":
            return _judged(moment, now)
    return _committed(moment, now)


def _drafted(moment: Moment, now: RoundSoFar) -> str:
    draft = now.drafted[-1]
    text = f"Draft {draft.index + 1}, {named(moment, draft.token, draft.text)}, is proposed"
    if now.is_tree and draft.parent is not None and draft.parent >= 0:
        parent = now.drafted[draft.parent]
        text += f" after {named(moment, parent.token, parent.text)}"
    if draft.source:
        return f"{text}: {draft.source}."
    if draft.q is None:
        return f"{text}."
    if rank := _rank(moment, now):
        known = f", q = {plain(draft.q)}" if now.is_tree and draft.q < 1 else ""
        return f"{text}: the drafter’s {rank} probable token{' there' if now.is_tree else ''}{known}."
    if draft.draw is None:
        return f"{text}: the drafter gave it probability q = {plain(draft.q)}."
    before = len(now.siblings_before(draft.index))
    left = f" among what its earlier {'sibling' if before == 1 else 'siblings'} left" if before else ""
    return f"{text}: the drafter drew it with probability q = {plain(draft.q)}{left}."


_RANKS = ("most", "second most", "third most", "fourth most", "fifth most", "sixth most", "seventh most", "eighth most",
          "ninth most", "tenth most")


def _rank(moment: Moment, now: RoundSoFar) -> str:
    """How probable the drafter took its newest draft to be, where that is what it was chosen by; "" where not. Of a
    tree's siblings that nobody drew, the more probable come first; other programs may order theirs in other ways."""
    draft = now.drafted[-1]
    if not now.is_tree:
        return "most" if moment.greedy else ""
    known = moment.started is not None and "settings" not in moment.started.unknown
    siblings = [now.drafted[index].q for index in (*now.siblings_before(draft.index), draft.index)]
    falling = all(a is not None and b is not None and a >= b for a, b in pairwise(siblings))
    if draft.draw is not None or not known or not falling:
        return ""
    return _RANKS[len(siblings) - 1] if len(siblings) <= len(_RANKS) else f"{len(siblings)}th most"


def _verified(now: RoundSoFar) -> str:
    if not now.k:
        return "One forward of the target has computed what comes after the newest token."
    after = "the draft" if now.k == 1 else f"each of the {now.k} drafts"
    return (f"One forward of the target has computed {now.k + 1} rows: what comes after the newest token, and after "
            f"{after}. Nothing is judged yet.")


def _judged(moment: Moment, now: RoundSoFar) -> str:
    last = now.judged[-1]
    said = [verdict(moment, last)]
    if now.is_tree and now.next_test is not None:
        following = now.drafted[now.next_test]
        what = "Next is what continues it" if last.accepted else "Next is its sibling"
        said.append(f"{what}: {now.name_of(following.index)}, {named(moment, following.token, following.text)}.")
    elif now.is_tree and last.accepted:
        said.append("Nothing continues it in the tree.")
    elif last.accepted and last.index + 1 < now.k:
        after = now.drafted[last.index + 1]
        said.append(f"Next is draft {last.index + 2}, {named(moment, after.token, after.text)}.")
    elif last.accepted:
        said.append("That was the last draft." if now.k > 1 else "It was the only draft.")
    else:
        said.append("A correction follows.")
        said += _never_tested(moment, now, "will never be tested")
    return " ".join(said)


def verdict(moment: Moment, judged: Judged) -> str:
    """One test with its arithmetic, as far as it is known."""
    told = (f"Draft {judged.index + 1}, {named(moment, judged.token, judged.text)}, is "
            f"{'accepted' if judged.accepted else 'rejected'}")
    if moment.greedy:
        return told + _greedy_reason(moment, judged)
    if judged.draw is None or judged.q is None or judged.p is None:
        return f"{told}."
    left, right = judged.draw * judged.q, judged.p
    below = left < right
    u_q, p = compared(left, right)
    how = f"u·q = {u_q} {'is below' if below else 'is not below'} p = {p}"
    return f"{told}: {how}." if below == judged.accepted else f"{told} although {how}."


def _greedy_reason(moment: Moment, judged: Judged) -> str:
    if judged.best is None:
        return "."
    if judged.best == judged.token:
        return ": it is the target’s most probable token." if judged.accepted \
            else " although it is the target’s most probable token."
    best = quoted(moment.label(judged.best))
    return f" although the target’s most probable token is {best}." if judged.accepted \
        else f": the target’s most probable token is {best}."


def _committed(moment: Moment, now: RoundSoFar) -> str:
    done = now.committed
    assert done is not None
    if done.final == "plain" and not now.k:
        return _plain(moment, done)
    said = []
    if now.judged and not now.judged[-1].accepted:
        said.append(verdict(moment, now.judged[-1]))
    elif done.accepted and done.accepted == now.k:
        said.append("The one draft is accepted." if now.k == 1 else f"All {now.k} drafts are accepted.")
    elif done.accepted:
        said.append(f"{done.accepted} of {now.k} drafts {'is' if done.accepted == 1 else 'are'} accepted.")
    said += _final(moment, now, done)
    said += _never_tested(moment, now, "is never tested")
    return " ".join(said)


def _plain(moment: Moment, done: Committed) -> str:
    token = named(moment, done.tokens[-1])
    if moment.greedy:
        return f"{token}, the target’s most probable token, is committed."
    return f"{token} is drawn from p and committed." if moment.sampled else f"{token} is committed."


def _final(moment: Moment, now: RoundSoFar, done: Committed) -> list[str]:
    if done.final == "none":
        return ["The output ends with it." if done.accepted == 1 else "The output ends with the last accepted one."]
    token = named(moment, done.tokens[-1])
    if not moment.sampled and done.final == "correction":
        return [f"The correction {token} takes its place."]
    if not moment.sampled and not moment.greedy:
        return [f"The {done.final} {token} follows." if done.final == "bonus" else f"{token} is committed."]
    if not moment.sampled:
        return [f"The {done.final} {token} is the target’s most probable token after {'it' if now.k == 1 else 'them'}."
                if now.k else f"{token} is the target’s most probable token."]
    if done.final == "correction":
        source = "p, since the residual is empty" if done.residual_empty else "the residual"
        return [f"The correction {token} is drawn from {source}."]
    return [f"The {done.final} {token} is drawn from p after {'it' if now.k == 1 else 'them'}."
            if now.k else f"{token} is drawn from p."]


def _never_tested(moment: Moment, now: RoundSoFar, what: str) -> list[str]:
    left = [named(moment, d.token, d.text) for d in now.drafted if now.fate(d.index) == "void"]
    if not left:
        return []
    if len(left) == 1:
        return [f"{left[0]} {what}."]
    where = "other drafts of the tree" if now.is_tree else "drafts behind it"
    names = f"{', '.join(left[:-1])} and {left[-1]}" if len(left) <= 3 else f"The {len(left)} {where}"
    return [f"{names} {what.replace('is ', 'are ')}."]
