"""The left of the Proof panel: what is tried, under which rule, how often; and two lessons that are one click each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.combo_box import ComboBox
from app.examiner import Experiment
from app.orders import Rule, Source
from app.theme import Theme
from app.trials import RIGHT, SAMPLES, SOURCES, source_choice

WIDTH = 288
"""Logical pixels at scale 1."""


class LabForm(QFrame):
    run_wanted = Signal()
    cancel_wanted = Signal()
    redraw_wanted = Signal(str)
    """A source on which to redraw from p."""

    def __init__(self, theme: Theme, rules: Sequence[Rule], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("formFrame")
        self._rules: tuple[Rule, ...] = ()
        self._captions: list[QLabel] = []
        self._source = ComboBox()
        self._source.setAccessibleName("what is tried")
        for choice in SOURCES:
            self._source.addItem(choice.title, choice.source)
        self._source.currentIndexChanged.connect(self._explain)
        self._source_about = self._about()
        self._rule = ComboBox()
        self._rule.setAccessibleName("rule")
        self._rule.currentIndexChanged.connect(self._explain)
        self._rule_about = self._about()
        self._counts = QButtonGroup(self)
        counts = QHBoxLayout()
        counts.setSpacing(4)
        for samples in SAMPLES:
            button = QToolButton()
            button.setText(f"{samples:,}")
            button.setCheckable(True)
            button.setObjectName("segment")
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.setAccessibleName(f"{samples:,} samples")
            self._counts.addButton(button, samples)
            counts.addWidget(button, 1)
        self._counts.button(SAMPLES[1]).setChecked(True)
        self._run = QPushButton("Run experiment")
        self._run.setProperty("kind", "primary")
        self._run.clicked.connect(self.run_wanted)
        self._cancel = QPushButton("Cancel")
        self._cancel.clicked.connect(self.cancel_wanted)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._progress = self._about()
        self._lessons = []
        for text, source in (("What if we redrew from p?", "two tokens"), ("… and on the real model?", "layer-skip")):
            lesson = QPushButton(text)
            lesson.setToolTip(f"The wrong rule “redraw from p”, on: {source_choice(_source(source)).title.lower()}")
            lesson.clicked.connect(lambda _=False, source=source: self.redraw_wanted.emit(source))
            self._lessons.append(lesson)
        self._later = self._about()
        self._later.setText("Sweeps over γ, temperature and drafters come later.")

        body = QWidget()
        body.setObjectName("formBody")
        self._column = column = QVBoxLayout(body)
        column.addWidget(self._caption("ONE CLICK"))
        for lesson in self._lessons:
            column.addWidget(lesson)
        column.addSpacing(8)
        column.addWidget(self._caption("WHAT IS TRIED"))
        column.addWidget(self._source)
        column.addWidget(self._source_about)
        column.addSpacing(8)
        column.addWidget(self._caption("RULE"))
        column.addWidget(self._rule)
        column.addWidget(self._rule_about)
        column.addSpacing(8)
        column.addWidget(self._caption("SAMPLES"))
        column.addLayout(counts)
        column.addSpacing(8)
        run = QHBoxLayout()
        run.addWidget(self._run, 1)
        run.addWidget(self._cancel)
        column.addLayout(run)
        column.addWidget(self._bar)
        column.addWidget(self._progress)
        column.addStretch(1)
        column.addWidget(self._later)
        scroll = QScrollArea()
        scroll.setObjectName("form")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)
        self.show_rules(rules)
        self.set_theme(theme)

    # What is chosen

    @property
    def source(self) -> Source:
        return _source(self._source.currentData())

    @property
    def rule(self) -> Rule:
        return self._rules[self._rule.currentIndex()]

    @property
    def samples(self) -> int:
        return self._counts.checkedId()

    def choose(self, source: Source | None = None, rule: str = "", samples: int = 0) -> None:
        if source is not None:
            self._source.setCurrentIndex(self._source.findData(source))
        if rule:
            self._rule.setCurrentIndex(max(0, self._rule.findData(rule)))
        if samples:
            self._counts.button(samples).setChecked(True)

    def show_rules(self, rules: Sequence[Rule]) -> None:
        """The list grows once the engine has told it; what is chosen stays chosen."""
        if tuple(rules) == self._rules:
            return
        chosen = self._rule.currentData() or RIGHT.name
        self._rules = tuple(rules)
        self._rule.blockSignals(True)
        self._rule.clear()
        for rule in rules:
            self._rule.addItem(rule.title if rule == RIGHT else f"Wrong: {rule.title}", rule.name)
        self._rule.blockSignals(False)
        self.choose(rule=chosen)
        self._explain()

    # How far it is

    def show_progress(self, experiment: Experiment, *, may_start: bool, why_not: str, loading: str) -> None:
        self._run.setEnabled(may_start)
        self._run.setToolTip(why_not or "Draw the first token again and again under this rule, and count")
        for lesson in self._lessons:
            lesson.setEnabled(may_start)
        self._cancel.setVisible(experiment.busy)
        self._bar.setVisible(experiment.busy)
        wanted = experiment.trial.samples if experiment.trial else 0
        done = experiment.latest.samples if experiment.latest else 0
        self._bar.setRange(0, wanted if done else 0)
        self._bar.setValue(done)
        texts = {"empty": why_not, "waiting": loading or "Waits for the engine …",
                 "running": f"{done:,} of {wanted:,} samples", "done": f"{done:,} samples, complete",
                 "stopped": f"Cancelled after {done:,} of {wanted:,} samples.", "failed": "It failed."}
        self._progress.setText(texts[experiment.phase])

    # Looks

    def set_theme(self, theme: Theme) -> None:
        px = theme.px
        self.setFixedWidth(px(WIDTH))
        self._column.setContentsMargins(px(16), px(14), px(14), px(12))
        self._column.setSpacing(px(7))
        for caption in self._captions:
            caption.setFont(theme.font("caption"))
        for about in (self._source_about, self._rule_about, self._progress, self._later):
            about.setFont(theme.font("body"))

    def _caption(self, text: str) -> QLabel:
        caption = QLabel(text)
        caption.setProperty("kind", "caption")
        self._captions.append(caption)
        return caption

    def _about(self) -> QLabel:
        label = QLabel()
        label.setWordWrap(True)
        label.setProperty("kind", "dim")
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _explain(self) -> None:
        if self._rules and self._rule.currentIndex() >= 0:
            self._source_about.setText(source_choice(self.source).about)
            self._rule_about.setText(self.rule.about)


def _source(text: str) -> Source:
    return next(choice.source for choice in SOURCES if choice.source == text)
