"""What if, from a round on, something else were set: γ, the sampling, the drafter, the length."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.combo_box import ComboBox
from app.form_fields import ProblemLabel
from app.form_sampling import AUTO, SamplingSection
from app.looks import window_sheet
from app.theme import Theme
from engine import methods
from engine.debugger.change_words import in_words
from engine.debugger.what_if import OtherSettings
from engine.settings import DrafterSettings, RunSettings, Sampling


def as_drafter(settings: DrafterSettings, wanted: DrafterSettings) -> DrafterSettings:
    """These settings for the drafter that is wanted, without what it doesn't know. Another one drafts a chain."""
    if wanted.kind == settings.kind:
        return msgspec.structs.replace(settings, model=wanted.model)
    method, plain = methods.method(wanted.kind), DrafterSettings()
    return msgspec.structs.replace(
        settings, kind=wanted.kind, model=wanted.model, stop_below=settings.stop_below if method.draws else 0.0,
        adaptive=settings.adaptive and method.draws, tree="", tree_top=plain.tree_top, tree_nodes=plain.tree_nodes,
        gather=False)


class WhatIfDialog(QDialog):
    """Show it with ``open()``; ``chosen`` tells the :class:`OtherSettings` when OK is pressed."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, settings: RunSettings, round: int, drafters: Sequence[str],
                 parent: QWidget | None = None, *, before: int = 0) -> None:
        """``settings``: of the lane that is branched off in round ``round`` (from 0). ``drafters``: those at hand, as
        spelt on the command line; the lane's own is offered too. ``before``: output tokens before that round."""
        super().__init__(parent)
        self.setWindowTitle("What if …")
        self.setStyleSheet(window_sheet(theme))
        self._theme = theme
        self._first = settings
        self._round = round
        self._before = before
        self.drafter = ComboBox()
        self.drafter.setAccessibleName("drafter")
        self.drafter.setToolTip("What proposes tokens from this round on")
        own = settings.drafter.spell()
        for spelt in dict.fromkeys((*drafters, own)):
            self.drafter.addItem(DrafterSettings.parse(spelt).label, spelt)
        self.drafter.setCurrentIndex(self.drafter.findData(own))
        self.sampling = SamplingSection()
        self._show(settings)
        self.too_short = ProblemLabel()
        self.preview = QLabel()
        self.preview.setWordWrap(True)
        self.preview.setFont(theme.font("strong"))
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self._ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self._ok.setText("Branch")
        self._ok.setProperty("kind", "primary")
        self._fit = QTimer(self)
        self._fit.setSingleShot(True)
        self._fit.timeout.connect(self._on_fit)
        self._lay_out()
        self.drafter.currentIndexChanged.connect(self._on_change)
        self.sampling.changed.connect(self._on_change)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._on_change()
        (self.sampling.gamma if self._drafts else self.sampling.temperature).setFocus()

    def _show(self, settings: RunSettings) -> None:
        fields, sampling = self.sampling, settings.sampling
        fields.gamma.set_value(AUTO if settings.drafter.gamma is None else settings.drafter.gamma)
        fields.temperature.set_value(sampling.temperature)
        fields.top_k.set_value(sampling.top_k)
        fields.top_p.set_value(sampling.top_p)
        fields.min_p.set_value(sampling.min_p)
        fields.penalty.set_value(sampling.repetition_penalty)
        fields.length.set_value(settings.max_new_tokens)
        for left_out in (fields.seed, fields.stop, fields.exact):  # these stay as they are
            left_out.hide()

    def _lay_out(self) -> None:
        px = self._theme.px
        caption = QLabel(f"FROM ROUND {self._round + 1:,} ON")
        caption.setProperty("kind", "caption")
        caption.setFont(self._theme.font("caption"))
        drafter = QHBoxLayout()
        drafter.setSpacing(px(8))
        name = QLabel("drafter")
        name.setProperty("kind", "dim")
        name.setBuddy(self.drafter)
        drafter.addWidget(name)
        drafter.addWidget(self.drafter, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(px(18), px(16), px(18), px(16))
        column.setSpacing(px(8))
        column.addWidget(caption)
        column.addLayout(drafter)
        column.addWidget(self.sampling)
        column.addWidget(self.too_short)
        column.addSpacing(px(4))
        column.addWidget(self.preview)
        column.addStretch(1)
        column.addWidget(self.buttons)
        self.setMinimumWidth(px(440))

    # The result

    @property
    def _drafts(self) -> bool:
        return bool(self.drafter.currentData() != "none")

    @property
    def settings(self) -> RunSettings | None:
        """As the dialog says now; None while something can't be used."""
        fields = self.sampling
        if self._bad or self._shortage:
            return None
        sampling = Sampling(
            temperature=fields.temperature.value, top_k=fields.top_k.value, top_p=fields.top_p.value,
            min_p=fields.min_p.value, repetition_penalty=fields.penalty.value)
        return msgspec.structs.replace(self._first, sampling=sampling, drafter=self._drafter(),
                                       max_new_tokens=fields.length.value)

    @property
    def change(self) -> OtherSettings | None:
        settings = self.settings
        return OtherSettings(round=self._round, settings=settings) if settings is not None else None

    def _drafter(self) -> DrafterSettings:
        """The lane's other options stay, as far as the drafter knows them: only what is seen here is changed."""
        drafter = as_drafter(self._first.drafter, DrafterSettings.parse(self.drafter.currentData()))
        if not self._drafts:
            return drafter
        gamma = self.sampling.gamma.value
        return msgspec.structs.replace(drafter, gamma=None if gamma == AUTO else gamma)

    @property
    def _bad(self) -> bool:
        return any(field.problem for field in self.sampling.fields if self._drafts or field is not self.sampling.gamma)

    @property
    def _shortage(self) -> str:
        """Why the branch would have nothing to write; "" where it has."""
        length = self.sampling.length
        if length.problem or length.value > self._before or length.value == self._first.max_new_tokens:
            return ""
        return (f"{self._before:,} tokens are written before round {self._round + 1:,}: ask for more than that, "
                "or there is nothing left to do.")

    def accept(self) -> None:
        change = self.change
        if change is not None:
            self.chosen.emit(change)
            super().accept()

    # What changes

    def _on_change(self) -> None:
        gamma = self.sampling.gamma
        gamma.setEnabled(self._drafts)
        gamma.setToolTip("Plain decoding drafts nothing." if not self._drafts else gamma.problem or gamma.spec.tip)
        gamma.problem_label.show_problem(gamma.problem if self._drafts else "")
        self.too_short.show_problem(self._shortage)
        change = self.change
        self._ok.setEnabled(change is not None)
        self.preview.setVisible(change is not None)
        if change is not None:
            words = in_words(change, self._first, {})
            self.preview.setText(f"From round {self._round + 1:,} on: {words}." if words else
                                 "Nothing is changed: the branch would repeat the original, token by token.")
        self._fit.start(0)  # once the layout knows of what has come and gone

    def _on_fit(self) -> None:
        """As tall as what it holds at this width."""
        layout = self.layout()
        if layout is not None:
            layout.activate()
            self.resize(self.width(), layout.totalHeightForWidth(self.width()))
