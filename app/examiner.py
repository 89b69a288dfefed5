"""What is examined in the Lab: an experiment, or the proof; one at a time, on the engine thread.

Everything that comes for another examination than the one under way is dropped: it belongs to one that was stopped.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Literal

from PySide6.QtCore import QObject, Signal

from app.conductor import Conductor
from app.orders import Catalogue, Examine, Examined, Finding, Observed, Proving, Rule, Rules, StopExamining, Trial
from app.trials import REDRAW, RIGHT
from engine.proof.report import Check, Sampled
from widgets.variation_chart import Point

Phase = Literal["empty", "waiting", "running", "done", "stopped", "failed"]
"""Waiting: for the engine, or for the model to be loaded."""


@dataclass
class Progress:
    """What the experiment and the proof have in common."""

    phase: Phase = "empty"
    sentence: str = ""
    """Why it failed."""
    details: str = ""

    @property
    def busy(self) -> bool:
        return self.phase in ("waiting", "running")

    def end(self, report: Examined) -> None:
        self.phase = "failed" if report.sentence else "stopped" if report.stopped else "done"
        self.sentence, self.details = report.sentence, report.details


@dataclass
class Experiment(Progress):
    trial: Trial | None = None
    latest: Sampled | None = None
    curve: list[Point] = field(default_factory=list)
    """Total variation against samples."""

    def see(self, observed: Observed) -> None:
        if isinstance(observed.event, Sampled):
            self.latest = observed.event
            self.curve.append(Point(observed.event.samples, observed.event.total_variation, observed.by_chance))


@dataclass
class Proof(Progress):
    checks: list[Check] = field(default_factory=list)
    sampling: Sampled | None = None
    """What is being sampled for the check that comes next."""

    def see(self, observed: Observed) -> None:
        if isinstance(observed.event, Check):
            self.checks.append(observed.event)
            self.sampling = None
        else:
            self.sampling = observed.event


class Examiner(QObject):
    changed = Signal()
    """Anything but another event of the examination under way: what buttons depend on."""

    def __init__(self, conductor: Conductor, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.experiment = Experiment()
        self.proof = Proof()
        self.rules: tuple[Rule, ...] = (RIGHT, REDRAW)
        self.revision = 0
        """Grows with every event."""
        self._conductor = conductor
        self._numbers = itertools.count(1)
        self._id = ""
        self._asked = ""
        """The id under which the rules were asked for."""
        self._current: Experiment | Proof | None = None
        conductor.found.connect(self._hear)

    @property
    def busy(self) -> bool:
        return self._current is not None and self._current.busy

    @property
    def may_start(self) -> bool:
        return not self.busy and not self._conductor.decoding

    def try_out(self, trial: Trial) -> None:
        self.stop()
        self.experiment = Experiment("waiting", trial=trial)
        self._begin(self.experiment, trial)

    def prove(self, proving: Proving) -> None:
        self.stop()
        self.proof = Proof("waiting")
        self._begin(self.proof, proving)

    def stop(self) -> None:
        """What was found stays; what still comes is dropped."""
        if self._current is not None and self._current.busy:
            self._conductor.examine(StopExamining(self._id))
            self._current.phase = "stopped"
            self._id = ""
            self._tell()

    def ask_for_rules(self) -> None:
        """Once: they never change."""
        if not self._asked:
            self._asked = "rules"
            self._conductor.examine(Examine(self._asked, Rules()))

    def _begin(self, current: Experiment | Proof, what: Trial | Proving) -> None:
        self._current = current
        self._id = f"examination-{next(self._numbers)}"
        self._conductor.examine(Examine(self._id, what))
        self._tell()

    def _hear(self, report: Finding) -> None:
        if isinstance(report, Catalogue):
            self.rules = report.rules
            self._tell()
        elif isinstance(report, Examined) and report.id == self._asked and (report.stopped or report.sentence):
            self._asked = ""  # something more urgent came, or it failed: ask again another time
        elif self._current is None or report.id != self._id:
            return
        elif isinstance(report, Observed):
            started = self._current.phase == "running"
            self._current.phase = "running"
            self._current.see(report)
            self.revision += 1
            if not started:
                self.changed.emit()
        else:
            self._current.end(report)
            self._id = ""
            self._tell()

    def _tell(self) -> None:
        self.revision += 1
        self.changed.emit()
