"""A lane that another program ran, as our records: what its file doesn't hold stays unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.formats.errors import FormatError
from engine.records import (
    UNKNOWN_TOKEN,
    Committed,
    Drafted,
    Exactness,
    FinalKind,
    Judged,
    Prefilled,
    Record,
    RunFinished,
    RunStarted,
    StopReason,
    TargetInfo,
    Timings,
    Totals,
    Unknown,
    Verified,
)
from engine.settings import MAX_GAMMA, DrafterSettings, RunSettings

ALWAYS_UNKNOWN: tuple[Unknown, ...] = ("settings", "seconds", "texts", "p", "draws", "rows", "slots")
"""No format that is read here holds these."""

UNKNOWN_SETTINGS = RunSettings(drafter=DrafterSettings(kind="model", model="unknown"))
"""Some drafter there was: without one the lane would count as plain decoding."""

NO_TIME = Timings(draft=0.0, verify=0.0, judge=0.0, record=0.0, commit=0.0)


@dataclass(frozen=True, slots=True)
class Guess:
    """One draft token."""

    token: int = UNKNOWN_TOKEN
    q: float | None = None
    source: str = ""


class ForeignLane:
    """Makes one lane's records. Verification is a chain's: drafts are tested in order, up to the first rejection."""

    def __init__(self, run: str, lane: str, *, title: str, about: str, unknown: Sequence[Unknown],
                 prompt: Sequence[int] = (), gamma: int = 0, target: str = "", started: str = "") -> None:
        self.run, self.lane = run, lane
        self.title, self.about = title, about
        self.unknown = (*ALWAYS_UNKNOWN, *unknown)
        self.prompt = tuple(prompt)
        self.gamma, self.target, self.started = gamma, target, started
        self.position = len(self.prompt)
        self.rounds = 0
        self.totals = Totals()

    def begin(self) -> Iterator[Record]:
        yield RunStarted(
            run=self.run, lane=self.lane, title=self.title, about=self.about, gamma=self.gamma,
            settings=UNKNOWN_SETTINGS,
            target=TargetInfo(name=self.target, parameters=0, layers=0, vocabulary=0, context=0, dtype="", device="",
                              fingerprint=""),
            exactness=Exactness(invariant=False, padded=False, width_checked=0, width_limit=0, row_difference=0.0,
                                sentence="not known: another program ran this"),
            prompt=self.prompt, prompt_text="", machine="", version="", started=self.started, unknown=self.unknown)
        yield Prefilled(run=self.run, lane=self.lane, tokens=max(0, len(self.prompt) - 1), target_seconds=0.0,
                        drafter_seconds=0.0)

    def round(self, guesses: Sequence[Guess], accepted: int, final: int = UNKNOWN_TOKEN) -> Iterator[Record]:
        """One round that committed ``accepted`` of the guesses and one more token."""
        k, number = len(guesses), self.rounds
        tested = min(accepted + 1, k)
        for i, guess in enumerate(guesses):
            yield Drafted(run=self.run, lane=self.lane, round=number, index=i, position=self.position + i,
                          token=guess.token, text="", q=guess.q, draw=None, seconds=0.0, source=guess.source)
        yield Verified(run=self.run, lane=self.lane, round=number, k=k, width=k + 1, seconds=0.0, rows=(), gaps=(),
                       digests=())
        for i, guess in enumerate(guesses[:tested]):
            yield Judged(run=self.run, lane=self.lane, round=number, index=i, position=self.position + i,
                         token=guess.token, text="", accepted=i < accepted, p=None, q=guess.q, draw=None, best=None)
        tokens = (*(guess.token for guess in guesses[:accepted]), final)
        kind: FinalKind = "plain" if k == 0 else "bonus" if accepted == k else "correction"
        committed = Committed(
            run=self.run, lane=self.lane, round=number, position=self.position, tokens=tokens,
            texts=("",) * len(tokens), accepted=accepted, tested=tested, drafted=k, final=kind, final_draw=None,
            residual_mass=None, residual_empty=False, gaps=(), digests=(), seconds=NO_TIME, target_slots=0,
            drafter_slots=0)
        self.totals = self.totals.plus(committed)
        self.position += len(tokens)
        self.rounds += 1
        yield committed

    def finish(self, reason: StopReason, message: str) -> Record:
        return RunFinished(run=self.run, lane=self.lane, reason=reason, message=message, text="", totals=self.totals)


def check_length(place: str, drafted: int) -> None:
    """Raises :class:`FormatError` for rounds longer than a trace can hold."""
    if drafted > MAX_GAMMA:
        raise FormatError(f"{place} drafts {drafted} tokens in one round, but a round holds at most {MAX_GAMMA}.")
