"""What the timeline says: the header's figures of a round, and what is under the mouse."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Literal

from engine.debugger.history import Moment
from widgets.protocols import LaneView
from widgets.timeline_axis import clock, duration, milliseconds
from widgets.timeline_tracks import STEPS, Step, Track

MEANINGS = {
    "draft": "the drafter proposes, one step a token",
    "verify": "one forward of the target over the newest token and all drafts",
    "judge": "the drafts are tested one by one, and the correction or bonus is drawn",
    "record": "p and q are reduced to what is shown: the price of watching",
    "commit": "tokens are added to the output and the caches are cut back",
    "prefill": "the prompt, all but its last token, goes into the caches",
}


def headline(track: Track, round: int, reached: float) -> str:
    """A finished round in figures, as far as it has happened at the cursor's clock. Rounds count from 1 here."""
    start, end = track.span(round)
    name = f"round {round + 1:,}"
    if start >= reached - 1e-8:
        name += ", recorded, not reached yet"
    if end <= reached + 1e-8 or start >= reached - 1e-8:
        parts = [f"{step} {milliseconds(track.seconds(round, step))}" for step in _told(track, round)]
        return f"{name}: {duration(end - start)} · " + " · ".join(parts)
    done = []
    at = start
    for step in _told(track, round):
        seconds = track.seconds(round, step)
        if at < reached - 1e-8:
            done.append(f"{step} {milliseconds(min(seconds, reached - at))}")
        at += seconds
    return f"{name}, under way: " + (" · ".join(done) + " ms so far" if done else "nothing yet")


def under_way(moment: Moment) -> str:
    """The round that is being computed."""
    now = moment.round
    assert now is not None
    parts = []
    if now.drafted:
        parts.append(f"draft {milliseconds(sum(draft.seconds for draft in now.drafted))}")
    if now.verified is not None:
        parts.append(f"verify {milliseconds(now.verified.seconds)}")
    return f"round {now.round + 1:,}, under way: " + (" · ".join(parts) + " ms so far" if parts else "nothing yet")


def explain(lane: LaneView, track: Track, step: Step | Literal["plain", "prefill"], round: int, index: int) -> str:
    """Rich text for a tooltip: what this slice is, how long it took, and how that adds up. Token texts are escaped."""
    if step == "prefill":
        return _lines(("<b>prefill</b>", f"{duration(track.prefill)}, before the first round", MEANINGS["prefill"]))
    number = f"{round + 1:,}"
    start, end = track.span(round)
    if step == "plain":
        return _lines((f"<b>plain step {number}</b>", duration(end - start), _sum(track, round),
                       f"from {clock(start)} on its own clock"))
    if step == "draft" and index >= 0:
        starts, ends = track.drafts(round, round + 1)
        first = f"<b>round {number} · draft {index + 1}</b>&nbsp; {_token(lane, round, index)}"
        figure = (f"draft step {duration(float(ends[index] - starts[index]))} of the round’s draft phase "
                  f"{duration(track.seconds(round, 'draft'))}")
        at = float(starts[index])
    else:
        first = f"<b>round {number} · {step}</b>"
        figure = f"{step} {duration(track.seconds(round, step))}"
        at = start + sum(track.seconds(round, s) for s in STEPS[:STEPS.index(step)])
    return _lines((first, figure, MEANINGS[step], _sum(track, round), f"from {clock(at)} on the lane’s own clock"))


def crowd(first: int, last: int, shares: Mapping[Step, float], seconds: float) -> str:
    """Of a pixel column that holds several rounds, ``first`` … ``last`` − 1."""
    told = " · ".join(f"{step} {100 * share:.1f} %" for step, share in shares.items())
    rounds = f"rounds {first + 1:,} to {last:,}" if last - first > 1 else f"round {first + 1:,}"
    return _lines((f"<b>{rounds}</b>, {duration(seconds)} in this pixel", told,
                   "share = seconds of the step here ÷ seconds of the pixel. Zoom in to tell rounds apart."))


def _sum(track: Track, round: int) -> str:
    start, end = track.span(round)
    parts = " + ".join(f"{step} {milliseconds(track.seconds(round, step))}" for step in _told(track, round))
    return f"round: {parts} = {milliseconds(end - start)} ms"


def _told(track: Track, round: int) -> list[Step]:
    """The steps worth telling: plain decoding drafts and judges nothing."""
    return [step for step in STEPS if step not in ("draft", "judge") or track.seconds(round, step) > 1e-9]


def _token(lane: LaneView, round: int, index: int) -> str:
    cell = lane.find(None, round, index)
    if cell is None:
        return ""
    label = lane.cells[cell].label
    return f"<code>{html.escape(label if len(label) <= 40 else label[:39] + '…')}</code>"


def _lines(lines: tuple[str, ...]) -> str:
    return "<div style='white-space:nowrap'>" + "<br>".join(lines) + "</div>"
