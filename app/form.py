"""The form: everything that decides a race, in one column."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.examples import load_examples
from app.form_fields import Field
from app.form_lanes import LanesSection
from app.form_memory import MemorySection
from app.form_prompt import PromptSection
from app.form_sampling import SamplingSection
from app.form_target import TargetSection
from app.setup import Setup
from app.theme import Theme

SETTLED_MS = 400
"""How long nothing must have been typed before anyone acts on a change."""


class Form(QFrame):
    """``changed`` at once with every edit; ``settled`` a moment after the last one, if the form can be used then."""

    changed = Signal()
    settled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("formFrame")
        self.target = TargetSection()
        self.lanes = LanesSection(theme)
        self.prompt = PromptSection(load_examples())
        self.sampling = SamplingSection()
        self.memory = MemorySection()

        body = QWidget()
        body.setObjectName("formBody")
        column = QVBoxLayout(body)
        column.setContentsMargins(16, 16, 14, 16)
        column.setSpacing(8)
        sections = (("Target", self.target), ("Lanes", self.lanes), ("Prompt", self.prompt),
                    ("Sampling", self.sampling), ("Memory", self.memory))
        for place, (title, section) in enumerate(sections):
            caption = QLabel(title.upper())
            caption.setProperty("kind", "caption")
            caption.setFont(theme.font("caption"))
            if place:
                column.addSpacing(10)
            line = QHBoxLayout()
            line.addWidget(caption, 1)
            if section is self.prompt:
                line.addWidget(self.prompt.header)
            column.addLayout(line)
            column.addWidget(section)
        column.addStretch(1)
        self._scroll = scroll = QScrollArea()
        scroll.setObjectName("form")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)

        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(SETTLED_MS)
        self._quiet.timeout.connect(self._on_quiet)
        self._reveal_soon = QTimer(self)
        self._reveal_soon.setSingleShot(True)
        self._reveal_soon.timeout.connect(self._reveal)
        for part in (self.target, self.lanes, self.prompt, self.sampling):
            part.changed.connect(self._on_change)

    @property
    def setup(self) -> Setup:
        """What the form says; fields that can't be used keep their last good value (see :attr:`problem`)."""
        setup = Setup()
        for part in (self.target, self.lanes, self.prompt, self.sampling):
            setup = part.apply_to(setup)
        return setup

    @property
    def trusted(self) -> bool:
        return self.target.trusted

    @property
    def problem(self) -> str:
        """Why a race can't begin; empty when it can."""
        row, field = self.lanes.bad_row, self.sampling.bad_field
        return (self.target.problem or (row.problem if row else "") or self.prompt.problem
                or (field.problem if field else ""))

    def complain(self) -> None:
        """Show and focus what is wrong."""
        if self.target.problem:
            self.target.complain()
        elif row := self.lanes.bad_row:
            row.complain()
        elif self.prompt.problem:
            self.prompt.complain()
        elif field := self.sampling.bad_field:
            field.setFocus()
        if (focused := self.focusWidget()) is not None:
            self._scroll.ensureWidgetVisible(focused)
        self._reveal_soon.start(0)

    def show_setup(self, setup: Setup) -> None:
        for part in (self.target, self.lanes, self.prompt, self.sampling):
            part.show_setup(setup)
        self._quiet.stop()  # nobody has typed anything

    def set_theme(self, theme: Theme) -> None:
        self.lanes.set_theme(theme)

    def _on_change(self) -> None:
        self._quiet.start()
        self._reveal_soon.start(0)  # once the layout has made room for a sentence that has just appeared
        self.changed.emit()

    def _reveal(self) -> None:
        """Scroll to what is said about the field that is being typed into, and no further than the field allows."""
        field: QWidget | None = self.focusWidget()
        while field is not None and not isinstance(field, Field):
            field = field.parentWidget()
        if field is not None and field.problem:
            self._scroll.ensureWidgetVisible(field.problem_label, 0, 8)
            self._scroll.ensureWidgetVisible(field, 0, 8)

    def _on_quiet(self) -> None:
        if not self.target.problem and self.lanes.bad_row is None and self.sampling.bad_field is None:
            self.settled.emit()
