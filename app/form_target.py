"""The form's target section: which model, in which precision, on which device."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QVBoxLayout, QWidget

from app.combo_box import ComboBox
from app.form_fields import ProblemLabel
from app.model_source import SourceRow
from app.setup import Setup
from app.trust import ask_for_trust

BUILTIN_NAME = "SmolLM2-135M-Instruct · built in"
DTYPES = {"auto": "auto dtype", "bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
DEVICES = {"auto": "auto device", "cpu": "CPU", "cuda": "CUDA"}


class TargetSection(QWidget):
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = ComboBox()
        self.kind.setAccessibleName("Target model")
        self.kind.addItem(BUILTIN_NAME, "builtin")
        self.kind.addItem("Folder or GGUF file", "path")
        self.kind.addItem("Hugging Face hub", "hub")
        self.kind.setToolTip("The target: the model whose output counts.")
        self.path = SourceRow("a folder or a .gguf file")
        self.hub = QLineEdit()
        self.hub.setPlaceholderText("owner/name")
        self.hub.setToolTip("The model's id on the hub, such as HuggingFaceTB/SmolLM2-360M-Instruct.")
        self.revision = QLineEdit()
        self.revision.setPlaceholderText("revision (main)")
        self.revision.setToolTip("Branch, tag or commit; empty is the default branch.")
        self.trust = QCheckBox("run the model's own code")
        self.trust.setToolTip("Some models bring Python code of their own. Asked anew each time SpecScope starts.")
        self.trust.clicked.connect(self._on_trust)
        self.dtype = ComboBox()
        self.device = ComboBox()
        self.device.setEditable(True)
        self.device.setInsertPolicy(ComboBox.InsertPolicy.NoInsert)
        for box, values, name in ((self.dtype, DTYPES, "Precision"), (self.device, DEVICES, "Device")):
            box.setAccessibleName(name)
            for value, text in values.items():
                box.addItem(text, value)
        self.dtype.setToolTip("The precision of weights and sums. auto: what the device does well.")
        self.device.setToolTip("Where the model runs. auto: CUDA if there is a GPU. cuda:1 names one of several.")
        self.problem_label = ProblemLabel()

        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self.kind, self.path, self.hub, self.revision, self.trust, self.problem_label):
            column.addWidget(widget)
        pair = QGridLayout()
        pair.setSpacing(6)
        pair.addWidget(self.dtype, 0, 0)
        pair.addWidget(self.device, 0, 1)
        pair.setColumnStretch(0, 1)
        pair.setColumnStretch(1, 1)
        column.addLayout(pair)

        self.kind.currentIndexChanged.connect(self._on_change)
        self.dtype.currentIndexChanged.connect(self._on_change)
        self.device.currentTextChanged.connect(self._on_change)
        self.path.changed.connect(self._on_change)
        for edit in (self.hub, self.revision):
            edit.textChanged.connect(self._on_change)
        self._on_change()

    @property
    def source(self) -> str:
        return {"builtin": "builtin", "path": self.path.text, "hub": self.hub.text().strip()}[self.kind.currentData()]

    @property
    def trusted(self) -> bool:
        return self.trust.isChecked() and self.kind.currentData() != "builtin"

    @property
    def problem(self) -> str:
        if self.source:
            return ""
        if self.kind.currentData() == "path":
            return "No target is named: choose its folder or GGUF file."
        return "No target is named: type its id on the hub, such as owner/name."

    def complain(self) -> None:
        self.problem_label.show_problem(self.problem)
        (self.path if self.kind.currentData() == "path" else self.hub).setFocus()

    def show_setup(self, setup: Setup) -> None:
        target = setup.target
        if target == "builtin":
            self.kind.setCurrentIndex(0)
        elif _looks_like_a_path(target):
            self.kind.setCurrentIndex(1)
            self.path.text = target
        else:
            self.kind.setCurrentIndex(2)
            self.hub.setText(target)
        self.revision.setText(setup.revision)
        self.dtype.setCurrentIndex(max(0, self.dtype.findData(setup.dtype)))
        known = self.device.findData(setup.device)
        if known >= 0:
            self.device.setCurrentIndex(known)
        else:
            self.device.setEditText(setup.device)

    def apply_to(self, setup: Setup) -> Setup:
        hub = self.kind.currentData() == "hub"
        return msgspec.structs.replace(
            setup, target=self.source, revision=self.revision.text().strip() if hub else "",
            dtype=self.dtype.currentData(), device=self._device)

    @property
    def _device(self) -> str:
        text = self.device.currentText().strip()
        return next((value for value, shown in DEVICES.items() if shown.lower() == text.lower()), text) or "auto"

    def _on_trust(self, wanted: bool) -> None:
        if wanted and not ask_for_trust(self, self.source or "the model"):
            self.trust.setChecked(False)
        self._on_change()

    def _on_change(self) -> None:
        kind = self.kind.currentData()
        self.path.setVisible(kind == "path")
        self.hub.setVisible(kind == "hub")
        self.revision.setVisible(kind == "hub")
        self.trust.setVisible(kind != "builtin")
        if not self.problem:
            self.problem_label.hide()
        self.changed.emit()


def _looks_like_a_path(source: str) -> bool:
    return source.startswith((".", "/", "~", "\\")) or source.endswith(".gguf") or source[1:2] == ":"
