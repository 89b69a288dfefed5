"""The options of one lane of the form, laid out; what they say together is one :class:`DrafterSettings`."""

from __future__ import annotations

from typing import Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.form_controls import Control, Source
from app.form_fields import field_row
from app.form_options import Option, rows_of
from app.form_sampling import AUTO
from engine.errors import SettingsError
from engine.methods import Method
from engine.settings import DrafterSettings

NO_MODEL = "No draft model is named: type a hub id, or choose a folder or GGUF file."


class LaneOptions(QWidget):
    changed = Signal()

    def __init__(self, method: Method, drafter: DrafterSettings | None, parent: QWidget | None = None) -> None:
        """``drafter``: None for the method's defaults."""
        super().__init__(parent)
        self.method = method
        self._kept = msgspec.structs.asdict(drafter) if drafter is not None else {}
        self._options: dict[str, Option] = {}
        self._controls: dict[str, Control[Any]] = {}
        shown = drafter or DrafterSettings()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 4, 2)
        column.setSpacing(6)
        for row in rows_of(method):
            made = [self._make(option, getattr(shown, option.setting)) for option in row]
            column.addLayout(field_row(*made))
            for control in made:
                column.addWidget(control.problem_label)
        self._offer()

    def __getitem__(self, setting: str) -> Any:
        """The control of a setting."""
        return self._controls[setting]

    def __contains__(self, setting: object) -> bool:
        return setting in self._controls

    @property
    def bad(self) -> Control[Any] | None:
        """The first control whose value can't be used."""
        return next((one for name, one in self._controls.items() if one.problem and self._offered(name)), None)

    @property
    def lacks_model(self) -> bool:
        """Nothing was named yet where something must be."""
        return self.method.needs_model and "model" in self and not self["model"].value

    def settings(self) -> DrafterSettings:
        """Raises :class:`SettingsError` where something can't be used."""
        if (bad := self.bad) is not None:
            raise SettingsError(bad.problem)
        if self.lacks_model:
            raise SettingsError(NO_MODEL)
        values = {**self._kept, "kind": self.method.kind, **self._values()}
        values["gamma"] = None if values["gamma"] == AUTO else values["gamma"]
        return DrafterSettings(**values)

    def focus(self) -> None:
        """What is to be put right, or filled in."""
        wanted = self.bad or next((one for one in self._controls.values() if isinstance(one, Source)), None)
        if wanted is not None:
            wanted.setFocus()

    def _make(self, option: Option, value: Any) -> Any:
        control: Any = option.make(value)
        self._options[option.setting], self._controls[option.setting] = option, control
        control.changed.connect(self._on_change)
        return control

    def _values(self) -> dict[str, Any]:
        """What the controls say; one that isn't offered says its ``otherwise``, or what it holds."""
        found = {}
        for name, control in self._controls.items():
            option = self._options[name]
            found[name] = control.value if option.otherwise is None or self._offered(name) else option.otherwise
        return found

    def _offered(self, name: str) -> bool:
        return self._options[name].offered({one: control.value for one, control in self._controls.items()})

    def _offer(self) -> None:
        for name, control in self._controls.items():
            offered = self._offered(name)
            control.setVisible(offered)
            control.problem_label.setVisible(offered and bool(control.problem_label.text()))

    def _on_change(self) -> None:
        self._offer()
        self.changed.emit()
