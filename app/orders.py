"""What the window asks of the engine thread, and what the thread reports back besides records: frozen, plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.debugger.breakpoints import Breakpoint
from engine.debugger.full_row import FullRow
from engine.debugger.what_if import AnyChange
from engine.proof.report import Event
from engine.records import Exactness, Record, TargetInfo
from engine.settings import DrafterSettings, RunSettings

# --- orders: window -> engine thread ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelChoice:
    """Which model, and how to hold it."""

    source: str = "builtin"
    """builtin, a folder, a .gguf file or a hub id."""
    revision: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    trust_remote_code: bool = False


@dataclass(frozen=True)
class LaneChoice:
    lane: str
    settings: RunSettings


Start = Literal["run", "record", "round"]
"""Run on, or stop behind the first record or round."""


@dataclass(frozen=True)
class Load:
    """Have this target ready, and checked for the widths of these lanes, so that a run can start at once."""

    target: ModelChoice
    lanes: tuple[LaneChoice, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """How much memory would these take? Answered with :class:`Estimated`."""

    target: ModelChoice
    lanes: tuple[LaneChoice, ...]
    prompt: str = ""


@dataclass(frozen=True)
class Race:
    """Decode the prompt in every lane."""

    run: str
    target: ModelChoice
    lanes: tuple[LaneChoice, ...]
    prompt: str
    chat: bool
    start: Start = "run"


@dataclass(frozen=True)
class Continue:
    pass


@dataclass(frozen=True)
class Pause:
    pass


@dataclass(frozen=True)
class StepRecord:
    """One record, of any lane or of one; the others go on meanwhile. Over at once when no such lane is running."""

    lane: str = ""


@dataclass(frozen=True)
class StepRound:
    """One round, of any lane or of one; as :class:`StepRecord`."""

    lane: str = ""


@dataclass(frozen=True)
class Stop:
    """End the run or the loading under way; of a branch and the race that waits for it, the branch only."""

    lane: str = ""
    """Only if this branch is what is under way: too late, it doesn't end what comes behind."""


@dataclass(frozen=True)
class Cancel:
    """Call off the loading under way, whatever it is for; a race that waits meanwhile is not ended."""


@dataclass(frozen=True)
class Leave:
    """End everything under way, a race that waits for a branch too: something else is on screen."""


@dataclass(frozen=True)
class Watch:
    """Stop at these breakpoints instead of at those of before. Counts what has happened in the run under way."""

    breakpoints: tuple[Breakpoint, ...]


@dataclass(frozen=True, eq=False)
class Branch:
    """What if? One more lane, ended with a ``RunFinished`` in any case and then answered with :class:`Branched`. Given
    in the middle of a race, the race pauses for it; gate orders and ``Stop`` are then for the branch until it is over.
    A second one meanwhile is refused."""

    run: str
    lane: str
    title: str
    """How the person is told of it."""
    target: ModelChoice
    original: tuple[Record, ...]
    """All records of the lane that it branches off."""
    change: AnyChange
    start: Start = "run"
    """As of a race, behind what is copied: neither steps nor breakpoints stop there."""
    plain_ids: tuple[int, ...] | None = None
    """The output of plain decoding, which breakpoints may compare with; None: that of the race that waits, if any."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The whole p and q at one position of a recorded round? Answered with :class:`RowsFound` or :class:`RowsFailed`.
    What is under way waits for it."""

    run: str
    target: ModelChoice
    original: tuple[Record, ...]
    """All records of the lane."""
    round: int
    index: int


@dataclass(frozen=True)
class Quit:
    """End everything and leave the thread."""


Source = Literal["two tokens", "quiz", "layer-skip", "ngram"]
"""What an experiment is tried on: a blackboard example, or the model with one of its drafters."""


@dataclass(frozen=True)
class Trial:
    """Draw the first token again and again under a rule, and count."""

    source: Source
    rule: str
    samples: int
    target: ModelChoice = ModelChoice()
    prompt: str = ""
    chat: bool = True
    seed: int = 0

    @property
    def drafter(self) -> DrafterSettings | None:
        """None: no model is needed."""
        return DrafterSettings(kind=self.source) if self.source in ("layer-skip", "ngram") else None


@dataclass(frozen=True)
class Proving:
    """All checks of the engine. ``target`` None: those that need no model."""

    target: ModelChoice | None
    quick: bool = True


@dataclass(frozen=True)
class Rules:
    """Which rules can be tried? Answered with :class:`Catalogue`; asked because they come with torch."""


@dataclass(frozen=True)
class Examine:
    """Try, prove or look up. Given in the middle of a race, the race waits for it."""

    id: str
    what: Trial | Proving | Rules


@dataclass(frozen=True)
class StopExamining:
    id: str


GateOrder = Continue | Pause | StepRecord | StepRound
Order = (Load | Estimate | Race | Branch | Rows | Watch | Examine | StopExamining | GateOrder | Stop | Cancel | Leave
         | Quit)

# --- reports: engine thread -> window ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loading:
    """Long work goes on. ``total`` 0: nobody knows how long."""

    stage: str
    done: float = 0
    total: float = 0
    unit: str = ""


@dataclass(frozen=True)
class Loaded:
    """The target is ready."""

    target: ModelChoice
    info: TargetInfo
    exactness: Exactness | None = None
    """None: not checked yet."""


@dataclass(frozen=True)
class Estimated:
    order: Estimate
    sentence: str
    share: float | None
    """Of what is free, 0 … 1 and more; None when unknown."""
    fits: bool = True


@dataclass(frozen=True)
class Paused:
    """The gate is shut. Right behind the record that shut it, or on demand."""

    run: str
    lane: str = ""
    """Of that record; "" on demand."""
    index: int = 0
    """The moment in that lane: how many of its records have happened."""
    hits: tuple[str, ...] = ()
    """Ids of the breakpoints that stop there, also when a step would have ended there anyway."""


@dataclass(frozen=True)
class Ended:
    """The run is over, one way or another; nothing of it follows."""

    run: str
    stopped: bool = False


@dataclass(frozen=True)
class Branched:
    """The branch is over; nothing of it follows. A race that waited is paused still, and says so."""

    run: str
    lane: str
    stopped: bool = False
    sentence: str = ""
    """Why it couldn't be made; empty: it could."""
    details: str = ""


@dataclass(frozen=True, eq=False)
class RowsFound:
    run: str
    lane: str
    row: FullRow


@dataclass(frozen=True)
class RowsFailed:
    run: str
    sentence: str = ""
    """Empty: called off, by something that was ordered later."""
    details: str = ""
    lane: str = ""
    round: int = 0
    index: int = 0


@dataclass(frozen=True)
class Failed:
    """Something went wrong before any lane could say so itself."""

    sentence: str
    details: str = ""
    run: str = ""


@dataclass(frozen=True)
class Idle:
    """A load was cancelled or is over; the thread waits for orders."""


@dataclass(frozen=True)
class Rule:
    """A way to judge drafts that can be tried."""

    name: str
    title: str
    about: str


@dataclass(frozen=True)
class Catalogue:
    id: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Observed:
    """One event of an examination."""

    id: str
    event: Event
    by_chance: float = 0.0
    """For a sample: the total variation that a right rule shows on average after so many."""


@dataclass(frozen=True)
class Examined:
    """The examination is over; nothing of it follows."""

    id: str
    stopped: bool = False
    sentence: str = ""
    """Why it failed; empty: it didn't."""
    details: str = ""


Finding = Catalogue | Observed | Examined
Answer = Branched | RowsFound | RowsFailed
Report = Loading | Loaded | Estimated | Paused | Ended | Failed | Idle | Finding | Answer
