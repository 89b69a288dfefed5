"""The Lab perspective: an experiment with the rule, the proof's checks, and where two lanes first differ."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from app.checks_page import ChecksPage
from app.combo_box import ComboBox
from app.conductor import Conductor
from app.examiner import Examiner
from app.lab_form import LabForm
from app.orders import Proving, Source, Trial
from app.saying import Saying, Tone
from app.setup import Setup
from app.store import Store
from app.theme import Theme
from app.trials import DEFAULT_PROMPT, REDRAW, source_choice
from engine.proof.verdict import State, judge
from widgets.divergence_panel import DivergencePanel
from widgets.empty_state import EmptyState
from widgets.frequency_chart import FrequencyChart
from widgets.variation_chart import VariationChart

Page = Literal["experiment", "checks", "difference"]
PAGES: dict[Page, str] = {"experiment": "Experiment", "checks": "Proof", "difference": "First difference"}
PAUSE = 0.08
"""Least seconds between two pictures of an experiment: an eye follows no more, and drawing has its price."""
ASK_MS = 250
"""After the first frames are on screen: the answer comes with torch, whose import shakes them."""
EMPTY, SHOWN = 0, 1
TONES: dict[State, Tone] = {"fits": "good", "open": "open", "bent": "bad"}


class LabView(QWidget):
    turned = Signal()
    """To another page."""

    def __init__(self, store: Store, conductor: Conductor, theme: Theme, setup_of: Callable[[], tuple[Setup, bool]],
                 parent: QWidget | None = None) -> None:
        """``setup_of``: what the form of Race says now, and whether its target's own code is trusted."""
        super().__init__(parent)
        self._conductor = conductor
        self._setup_of = setup_of
        self._drawn = 0
        self._drawn_at = 0.0
        self.page: Page = "experiment"
        self.examiner = Examiner(conductor, self)
        self.form = LabForm(theme, self.examiner.rules)
        self.saying = Saying(theme)
        self.frequencies = FrequencyChart(theme)
        self.variation = VariationChart(theme)
        self.empty = EmptyState(
            theme, "Is the rule right?", "Press “What if we redrew from p?” and watch the frequencies part from the "
            "target’s; then choose the right rule and watch them close in.", icon="lab",
            action="What if we redrew from p?")
        self.checks = ChecksPage(theme)
        self.difference = DivergencePanel(store, theme, make_picker=ComboBox)
        self._cards: list[QVBoxLayout] = []
        self._titles: list[QLabel] = []
        self._remarks: list[QLabel] = []
        self._tabs: dict[Page, QToolButton] = {}
        self._stack = QStackedWidget()
        self._build()
        self._connect()
        self.set_theme(theme)
        self._show_state()

    # --- what actions do ----------------------------------------------------------------------------------------------

    @property
    def may_start(self) -> bool:
        return self.examiner.may_start

    def turn_to(self, page: Page) -> None:
        self.page = page
        self._stack.setCurrentIndex(list(PAGES).index(page))
        for name, tab in self._tabs.items():
            tab.setChecked(name == page)
        self.refresh(now=True)
        self.turned.emit()

    def run(self) -> None:
        self.turn_to("experiment")
        if not self.may_start:
            return
        setup, trust = self._setup_of()
        self.examiner.try_out(Trial(
            self.form.source, self.form.rule.name, self.form.samples, target=setup.model(trust),
            prompt=setup.prompt or DEFAULT_PROMPT, chat=setup.chat, seed=random.randrange(1 << 40)))

    def redraw(self, source: Source) -> None:
        """The lesson: the most tempting wrong rule."""
        self.form.choose(source, REDRAW.name)
        self.run()

    def prove(self) -> None:
        self.turn_to("checks")
        if self.may_start:
            setup, trust = self._setup_of()
            self.examiner.prove(Proving(setup.model(trust) if self.checks.with_model else None, quick=True))

    def cancel(self) -> None:
        self.examiner.stop()

    def show_difference(self, lane: str) -> None:
        """Where the lane parts from plain decoding."""
        self.difference.compare_with_plain(lane)
        self.turn_to("difference")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh(now=True)
        QTimer.singleShot(ASK_MS, self, self.examiner.ask_for_rules)

    # --- once a frame -------------------------------------------------------------------------------------------------

    def refresh(self, *, now: bool = False) -> None:
        if not self.isVisible():
            return
        if self.page == "difference":
            self.difference.refresh()
        clock = time.monotonic()
        if now or (self.examiner.revision != self._drawn and clock - self._drawn_at >= PAUSE):
            self._drawn, self._drawn_at = self.examiner.revision, clock
            self._show_state()

    def _show_state(self) -> None:
        loading = self._conductor.loading
        stage = f"{loading.stage} …" if loading is not None else ""
        why_not = "A race is under way: pause or stop it first." if self._conductor.decoding else ""
        self.form.show_rules(self.examiner.rules)
        self.form.show_progress(self.examiner.experiment, may_start=self.may_start, why_not=why_not, loading=stage)
        self.checks.show_proof(self.examiner.proof, may_start=self.may_start, why_not=why_not, loading=stage)
        self._show_experiment()

    def _show_experiment(self) -> None:
        experiment = self.examiner.experiment
        self._result.setCurrentIndex(EMPTY if experiment.phase == "empty" else SHOWN)
        latest = experiment.latest
        verdict = judge(latest) if latest is not None else None
        self.frequencies.show_sampled(latest)
        self.variation.show_points(experiment.curve, bent=verdict is not None and verdict.state == "bent")
        if experiment.phase == "failed":
            self.saying.say(experiment.sentence, "bad", experiment.details or experiment.sentence, sign="!")
        elif verdict is not None:
            self.saying.say(verdict.sentence, TONES[verdict.state])
        elif experiment.phase == "stopped":
            self.saying.say("Cancelled before the first sample.")
        else:
            self.saying.say("The first samples are on their way …")
        if experiment.trial is not None:
            self._remarks[0].setText(self._describe(experiment.trial))

    def _describe(self, trial: Trial) -> str:
        rule = next((rule for rule in self.examiner.rules if rule.name == trial.rule), None)
        return f"{source_choice(trial.source).title} · {rule.title if rule else trial.rule}"

    # --- putting it together ------------------------------------------------------------------------------------------

    def _build(self) -> None:
        tabs = QFrame()
        tabs.setObjectName("tabs")
        row = QHBoxLayout(tabs)
        row.setContentsMargins(3, 3, 3, 3)
        row.setSpacing(2)
        for page, text in PAGES.items():
            tab = QToolButton()
            tab.setText(text)
            tab.setCheckable(True)
            tab.setProperty("kind", "tab")
            tab.clicked.connect(lambda _=False, page=page: self.turn_to(page))
            self._tabs[page] = tab
            row.addWidget(tab)
        self._tabs["experiment"].setChecked(True)
        self._head = QHBoxLayout()
        self._head.addWidget(tabs)
        self._head.addStretch(1)

        charts = QHBoxLayout()
        charts.addWidget(self._card("How often each token came first", self.frequencies), 3)
        charts.addWidget(self._card("Total variation", self.variation, "against samples, both on log axes"), 2)
        shown = QWidget()
        column = QVBoxLayout(shown)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.saying)
        column.addLayout(charts, 1)
        self._result_column, self._charts = column, charts
        self._result = QStackedWidget()
        self._result.addWidget(self.empty)
        self._result.addWidget(shown)
        stage = QWidget()
        self._stage_column = QVBoxLayout(stage)
        self._stage_column.addWidget(self._result)
        experiment = QWidget()
        across = QHBoxLayout(experiment)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(0)
        across.addWidget(self.form)
        across.addWidget(stage, 1)
        self._stack.addWidget(experiment)
        self._stack.addWidget(self.checks)
        self._stack.addWidget(self.difference)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(self._stack, 1)
        self._column.setContentsMargins(0, 0, 0, 0)

    def _card(self, title: str, chart: QWidget, remark: str = "") -> QFrame:
        card = QFrame()
        card.setProperty("kind", "panel")
        name, dim = QLabel(title), QLabel(remark)
        dim.setProperty("kind", "dim")
        self._titles.append(name)
        self._remarks.append(dim)
        head = QHBoxLayout()
        head.addWidget(name)
        head.addWidget(dim)
        head.addStretch(1)
        column = QVBoxLayout(card)
        column.addLayout(head)
        column.addWidget(chart, 1)
        self._cards.append(column)
        return card

    def _connect(self) -> None:
        self.examiner.changed.connect(lambda: self.refresh(now=True))
        self._conductor.changed.connect(lambda: self.refresh(now=True))
        self.form.run_wanted.connect(self.run)
        self.form.cancel_wanted.connect(self.cancel)
        self.form.redraw_wanted.connect(self.redraw)
        self.empty.acted.connect(lambda: self.redraw("two tokens"))
        self.checks.prove_wanted.connect(self.prove)
        self.checks.cancel_wanted.connect(self.cancel)

    def set_theme(self, theme: Theme) -> None:
        px = theme.px
        self._head.setContentsMargins(px(14), px(10), px(14), px(10))
        self._stage_column.setContentsMargins(px(16), px(4), px(14), px(12))
        self._result_column.setSpacing(px(10))
        self._charts.setSpacing(px(10))
        self._column.setSpacing(0)
        for card in self._cards:
            card.setContentsMargins(px(16), px(12), px(14), px(10))
            card.setSpacing(px(8))
        for title in self._titles:
            title.setFont(theme.font("strong"))
        for remark in self._remarks:
            remark.setFont(theme.font("small"))
        for part in (self.form, self.saying, self.frequencies, self.variation, self.empty, self.checks,
                     self.difference):
            part.set_theme(theme)
