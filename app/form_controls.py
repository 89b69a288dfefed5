"""Controls of the form beside its typed fields: a choice, a switch, a model's source, a list of files. All have a
``value``, a ``problem`` and a label to tell it, and say when they are ``changed``, as fields do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QCheckBox, QFileDialog, QMenu, QToolButton, QWidget

from app.combo_box import ComboBox
from app.elided_label import ElidedLabel
from app.form_fields import Framed, ProblemLabel, mark_bad
from app.model_source import SourceRow
from engine.errors import SettingsError
from engine.lookup_texts import named
from engine.settings import MAX_TEXTS, LookupText

T = TypeVar("T", covariant=True)


class Control(Protocol[T]):
    """A widget that holds one setting."""

    problem: str
    problem_label: ProblemLabel

    @property
    def changed(self) -> SignalInstance: ...
    @property
    def value(self) -> T: ...
    def setVisible(self, visible: bool) -> None: ...
    def setFocus(self) -> None: ...


class Choice(Framed):
    """One of a few values, each with words for it."""

    def __init__(self, name: str, values: Sequence[tuple[str, str, str]], tip: str, value: str,
                 parent: QWidget | None = None) -> None:
        """``values``: each with its short name and its meaning."""
        super().__init__(name, parent)
        self.box = ComboBox()
        self.box.setObjectName("fieldChoice")
        self.box.setAccessibleName(name)
        for known, shown, meaning in values:
            self.box.addItem(shown, known)
            self.box.setItemData(self.box.count() - 1, meaning, Qt.ItemDataRole.ToolTipRole)
        self.setToolTip("\n".join([tip, *(f"{shown}: {meaning}" for _, shown, meaning in values)]))
        self.set_value(value)
        self.name.setBuddy(self.box)
        self._lay_out((10, 0, 2, 0), self.box)
        self.setFocusProxy(self.box)
        self.box.currentIndexChanged.connect(lambda _: self.changed.emit())

    @property
    def value(self) -> str:
        return str(self.box.currentData())

    def set_value(self, value: str) -> None:
        self.box.setCurrentIndex(max(0, self.box.findData(value)))


class Toggle(QCheckBox):
    changed = Signal()

    def __init__(self, name: str, tip: str, value: bool, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self.problem, self.problem_label = "", ProblemLabel()
        self.setToolTip(tip)
        self.setChecked(value)
        self.toggled.connect(lambda _: self.changed.emit())

    @property
    def value(self) -> bool:
        return self.isChecked()


class Source(SourceRow):
    """A model or checkpoint, as a person names it."""

    def __init__(self, placeholder: str, tip: str, value: str, parent: QWidget | None = None, *,
                 kinds: Sequence[str] = ("folder", "file")) -> None:
        super().__init__(placeholder, parent, kinds=kinds)
        self.problem, self.problem_label = "", ProblemLabel()
        self._tip = tip
        self.edit.setAccessibleName("source")
        self.text = value
        self._on_text(value)

    @property
    def value(self) -> str:
        return self.text

    def _on_text(self, text: str) -> None:
        super()._on_text(text)
        self.edit.setToolTip(f"{text}\n{self._tip}".strip())


class Texts(Framed):
    """Text files, by the content that they had when they were chosen."""

    def __init__(self, value: tuple[LookupText, ...], parent: QWidget | None = None) -> None:
        super().__init__("texts", parent)
        self._value = value
        self._shown = ElidedLabel()
        self._shown.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.button = QToolButton()
        self.button.setProperty("kind", "flat")
        self.button.setText("+")
        self.button.setAccessibleName("further texts")
        self.button.setToolTip("Add text files, or remove some")
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.menu.aboutToShow.connect(self._fill)
        self.button.setMenu(self.menu)
        self._lay_out((10, 2, 2, 2), self._shown, self.button)
        self.setFocusProxy(self.button)
        self._show()

    @property
    def value(self) -> tuple[LookupText, ...]:
        return self._value

    def add(self, paths: Sequence[str]) -> None:
        """Chosen once more, a file is read once more."""
        found = {text.path: text for text in self._value}
        problem = ""
        for path in paths:
            try:
                text = named(path, found.values())
            except SettingsError as error:
                problem = str(error)
                continue
            found[text.path] = text
        if len(found) > MAX_TEXTS:
            problem = f"{len(found)} texts are chosen, but at most {MAX_TEXTS} can be looked up in."
        self._take(tuple(found.values())[:MAX_TEXTS], problem)

    def remove(self, text: LookupText) -> None:
        self._take(tuple(one for one in self._value if one != text), "")

    def _take(self, texts: tuple[LookupText, ...], problem: str) -> None:
        self._value = texts
        self.problem_label.show_problem(problem)  # of a file that was not taken: what is held can be used
        mark_bad(self, bool(problem))
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        names = [Path(text.path).name for text in self._value]
        self._shown.show_text(", ".join(names) or "none", tip="\n".join(text.path for text in self._value))
        self.setToolTip("Text files beside the prompt to copy from: a document, earlier answers. They count as earlier "
                        "than the prompt." + "".join(f"\n{text.path}" for text in self._value))

    def _fill(self) -> None:
        self.menu.clear()
        self.menu.addAction("Add text files…", self._choose)
        if self._value:
            self.menu.addSeparator()
        for text in self._value:
            self.menu.addAction(f"Remove {Path(text.path).name}".replace("&", "&&"), partial(self.remove, text))

    def _choose(self) -> None:
        kinds = "Texts (*.txt *.md *.py);;All files (*)"
        paths, _ = QFileDialog.getOpenFileNames(self, "Texts to copy from", "", kinds)
        if paths:
            self.add(paths)
