"""The form's sampling section: how tokens are drawn, how many, and when to end."""

from __future__ import annotations

from typing import Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from app.form_fields import Field, Spec, field_row, named, number, show_number, stepper, whole, whole_stepper
from app.setup import Setup
from engine.settings import DrafterSettings, RunSettings, Sampling

AUTO = -1
"""The field's number for "each method's own default"."""


def gamma_spec(word: str, tip: str) -> Spec[int]:
    return Spec("γ", tip, whole("γ", word, AUTO),
                named("γ", lambda v: DrafterSettings(gamma=None if v == AUTO else v)),
                lambda v: word if v == AUTO else str(v), whole_stepper())


def read_stops(text: str) -> tuple[str, ...]:
    """Stop texts parted by " | "; \\n and \\t are a newline and a tab."""
    return tuple(part.replace("\\n", "\n").replace("\\t", "\t") for part in text.split(" | ") if part)


def show_stops(stops: tuple[str, ...]) -> str:
    return " | ".join(stop.replace("\n", "\\n").replace("\t", "\\t") for stop in stops)


class SamplingSection(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.gamma = Field(gamma_spec("auto", "Draft length γ: how many tokens a drafter guesses before the target "
                                      "checks them. auto: each method's own default."), AUTO)
        self.temperature = Field(Spec(
            "temperature", "0 is greedy: always the most probable token. 1 samples from the model's distribution "
            "as it is.", number("temperature"), lambda v: Sampling(temperature=v), show_number(),
            stepper(0.1, 0.0)), 0.0)
        self.top_k = Field(Spec(
            "top-k", "Keep only the k most probable tokens. off: all.", whole("top-k", "off", 0),
            lambda v: Sampling(top_k=v), lambda v: "off" if v == 0 else str(v), whole_stepper(5)), 0)
        self.top_p = Field(Spec(
            "top-p", "Keep the smallest set of tokens that holds this much probability. off: all.",
            number("top-p", "off", 1.0), lambda v: Sampling(top_p=v), show_number("off", 1.0), stepper(0.05)), 1.0)
        self.min_p = Field(Spec(
            "min-p", "Drop tokens less probable than this share of the most probable one. off: none.",
            number("min-p", "off", 0.0), lambda v: Sampling(min_p=v), show_number("off", 0.0),
            stepper(0.05, 0.0)), 0.0)
        self.penalty = Field(Spec(
            "penalty", "Repetition penalty: above 1, tokens that have already appeared become less probable. off: 1.",
            number("repetition penalty", "off", 1.0), lambda v: Sampling(repetition_penalty=v),
            show_number("off", 1.0), stepper(0.05)), 1.0)
        self.seed = Field(Spec(
            "seed", "Every random choice follows from it: the same seed gives the same run.", whole("seed"),
            lambda v: RunSettings(seed=v), str, whole_stepper()), 0)
        self.length = Field(Spec(
            "tokens", "How many tokens to write at most.", whole("tokens"),
            named("tokens", lambda v: RunSettings(max_new_tokens=v)), str, whole_stepper(16)), 128)
        self.stop = Field(Spec(
            "stop at", "End once this text appears. Several: parted by \" | \". \\n is a new line.", read_stops,
            lambda v: RunSettings(stop=v), show_stops), ())
        self.stop.edit.setPlaceholderText("its end")
        self.exact = QCheckBox("always bit-exact")
        self.exact.setToolTip("Pad every forward to one width, so that speculative lanes give plain decoding's very "
                              "bits on devices whose rows depend on the width. Where they don't, it changes nothing.")

        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for row in ((self.gamma, self.temperature), (self.top_k, self.top_p), (self.min_p, self.penalty),
                    (self.seed, self.length), (self.stop,)):
            column.addLayout(field_row(*row))
            for field in row:
                column.addWidget(field.problem_label)
        column.addWidget(self.exact)
        for field in self.fields:
            field.changed.connect(self.changed)
        self.exact.toggled.connect(lambda: self.changed.emit())

    @property
    def fields(self) -> list[Field[Any]]:
        return [self.gamma, self.temperature, self.top_k, self.top_p, self.min_p, self.penalty, self.seed,
                self.length, self.stop]

    @property
    def bad_field(self) -> Field[Any] | None:
        return next((field for field in self.fields if field.problem), None)

    def show_setup(self, setup: Setup) -> None:
        self.gamma.set_value(AUTO if setup.gamma is None else setup.gamma)
        sampling = setup.sampling
        self.temperature.set_value(sampling.temperature)
        self.top_k.set_value(sampling.top_k)
        self.top_p.set_value(sampling.top_p)
        self.min_p.set_value(sampling.min_p)
        self.penalty.set_value(sampling.repetition_penalty)
        self.seed.set_value(setup.seed)
        self.length.set_value(setup.max_new_tokens)
        self.stop.set_value(setup.stop)
        self.exact.setChecked(setup.exact)

    def apply_to(self, setup: Setup) -> Setup:
        gamma = self.gamma.value
        return msgspec.structs.replace(
            setup, gamma=None if gamma == AUTO else gamma, seed=self.seed.value,
            max_new_tokens=self.length.value, stop=self.stop.value,
            exact=self.exact.isChecked(),
            sampling=Sampling(
                temperature=self.temperature.value, top_k=self.top_k.value,
                top_p=self.top_p.value, min_p=self.min_p.value,
                repetition_penalty=self.penalty.value))
