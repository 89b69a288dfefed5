"""All lanes' figures and texts as plain text, for the clipboard."""

from __future__ import annotations

from app.store import LaneState, Store

COLUMNS = ("lane", "tokens", "seconds", "tokens/s", "speed-up", "rounds", "α", "draft utilisation", "E[m]")


def as_text(store: Store) -> str:
    """A tab-separated table (a spreadsheet takes it as it is), then each lane's text."""
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(_row(store, lane)) for lane in store.lanes]
    for lane in store.lanes:
        lines += ["", f"{lane.title}:", _text(lane)]
    return "\n".join(lines) + "\n"


def _row(store: Store, lane: LaneState) -> list[str]:
    totals = lane.totals
    timed = [f"{totals.decode_seconds:.3f}", _figure(totals.tokens_per_second, 1), _figure(store.speedup(lane.id), 2)]
    return [lane.title, str(totals.committed), *(timed if lane.knows("seconds") else 3 * ["unknown"]),
            str(totals.rounds), _figure(totals.acceptance_rate, 3), _figure(totals.draft_utilisation, 3),
            _figure(totals.mean_committed_length, 2)]


def _text(lane: LaneState) -> str:
    if lane.status == "failed":
        return lane.message
    return lane.output if lane.knows("texts") else "(its text is unknown)"


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
