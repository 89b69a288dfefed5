"""One lane in the form: its colour and name, and, opened, the options of its way of drafting."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.combo_box import ComboBox
from app.elided_label import ElidedLabel
from app.form_fields import Field, ProblemLabel, Spec, field_row, mark_bad, whole, whole_stepper
from app.form_sampling import AUTO, gamma_spec
from app.model_source import SourceRow
from app.theme import Theme
from engine.errors import SettingsError, SpecScopeError
from engine.settings import DrafterSettings
from widgets.marks import swatch_path

NAMES = {"ngram": "Prompt lookup", "layer-skip": "Layer skip", "model": "Draft model"}


class Swatch(QWidget):
    """The lane's colour and shape, as on its card."""

    def __init__(self, theme: Theme, look: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._look = look
        self.setFixedSize(12, 12)

    def show_look(self, theme: Theme, look: int) -> None:
        self._theme, self._look = theme, look
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._theme.lane_look(self._look)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(look.colour))
        painter.drawPath(swatch_path(look.shape, QRectF(self.rect()).adjusted(1, 1, -1, -1)))
        painter.end()


class PlainRow(QFrame):
    """Plain decoding can't be removed: it is what the others are measured against."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lane")
        self.setToolTip("One token a forward. Every speed-up is measured against this lane.")
        self._swatch = Swatch(theme, 0)
        note = QLabel("the yardstick")
        note.setProperty("kind", "dim")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 7, 10, 7)
        row.setSpacing(8)
        row.addWidget(self._swatch)
        row.addWidget(QLabel("Plain decoding"))
        row.addStretch(1)
        row.addWidget(note)

    def set_theme(self, theme: Theme) -> None:
        self._swatch.show_look(theme, 0)


class LaneRow(QFrame):
    changed = Signal()
    removed = Signal()
    moved = Signal(int)
    """By so many places, down if positive."""
    dragged_to = Signal(int)
    """The mouse is at this height on the screen, with the row in hand."""

    def __init__(self, theme: Theme, kind: str, drafter: DrafterSettings | None, parent: QWidget | None = None
                 ) -> None:
        super().__init__(parent)
        self.setObjectName("lane")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip("Click for its options. Drag, or Alt+Up and Alt+Down, to reorder.")
        self.kind = kind
        self.problem = ""
        self._theme = theme
        self._place = 1
        self._last = True
        self._press: QPoint | None = None
        self._dragging = False
        drafter = drafter or (DrafterSettings(kind=self.kind) if kind != "model" else DrafterSettings())

        self._swatch = Swatch(theme, 1)
        self._name = QLabel(NAMES[kind])
        self._note = ElidedLabel()
        self._note.setProperty("kind", "dim")
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._close = QToolButton()
        self._close.setProperty("kind", "flat")
        self._close.setToolTip("Remove this lane")
        self._close.setAccessibleName(f"Remove {NAMES[kind]}")
        self._close.setIconSize(QSize(12, 12))
        self._close.clicked.connect(self.removed)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._swatch)
        head.addWidget(self._name)
        head.addWidget(self._note, 1)
        head.addWidget(self._close)
        self._options = QWidget()
        self._options.hide()
        self._problem_label = ProblemLabel()
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 2, 4, 2)
        column.setSpacing(8)
        column.addLayout(head)
        column.addWidget(self._options)
        column.addWidget(self._problem_label)
        self._make_options(drafter)
        self.set_theme(theme)
        self._refresh()

    # --- what it says -------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> DrafterSettings | None:
        """None while something can't be used; ``problem`` says what."""
        try:
            if (bad := self._bad_field) is not None:
                raise SettingsError(bad.problem)
            settings = self._read()
        except SpecScopeError as error:
            self.problem = str(error)
            return None
        self.problem = ""
        return settings

    @property
    def _bad_field(self) -> Field[Any] | None:
        return next((field for field in self._fields if field.problem), None)

    def open_options(self, opened: bool) -> None:
        self._options.setVisible(opened)
        self._refresh()

    @property
    def opened(self) -> bool:
        return not self._options.isHidden()

    def focus_model(self) -> None:
        if self.kind == "model":
            self._model.setFocus()

    def complain(self) -> None:
        self.open_options(True)
        self._refresh(complain=True)
        bad = self._bad_field
        (bad if bad is not None else self._model if self.kind == "model" else self).setFocus()

    def set_place(self, place: int, *, last: bool) -> None:
        self._place, self._last = place, last
        self._swatch.show_look(self._theme, place)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._swatch.show_look(theme, self._place)
        self._close.setIcon(theme.icon("close", "dim"))

    # --- options ------------------------------------------------------------------------------------------------------

    def _make_options(self, drafter: DrafterSettings) -> None:
        rows: list[tuple[QWidget, ...]]
        self._gamma = Field(gamma_spec("as below", "Draft length of this lane; as below: the one under Sampling."),
                            AUTO if drafter.gamma is None else drafter.gamma)
        self._fields: list[Field[Any]] = [self._gamma]
        if self.kind == "ngram":
            self._min_n = self._make_n("shortest", "The shortest run of tokens that is looked up.", drafter.min_n)
            self._max_n = self._make_n("longest", "The longest run of tokens that is looked up, tried first.",
                                       drafter.max_n)
            self._texts = drafter.texts  # no field shows them: kept as they came
            self._match = ComboBox()
            self._match.addItem("most frequent", "frequent")
            self._match.addItem("latest match", "latest")
            self._match.addItem("earliest match", "earliest")
            self._match.setCurrentIndex(self._match.findData(drafter.match))
            self._match.setToolTip("What is copied, if several tokens followed the same ones before.")
            self._match.currentIndexChanged.connect(self._on_change)
            self._fields += [self._min_n, self._max_n]
            rows = [(self._min_n, self._max_n), (self._gamma, self._match)]
        elif self.kind == "layer-skip":
            self._skip = Field(Spec("skip", "Layers of the target left out while drafting, such as 10,11,12-15. "
                                    "auto: the method chooses.", read_layers,
                                    lambda v: DrafterSettings(skip=v), show_layers), drafter.skip)
            self._fields.append(self._skip)
            rows = [(self._skip, self._gamma)]
        else:
            self._model = SourceRow("builtin, folder, .gguf file or hub id")
            self._model.text = drafter.model
            self._model.changed.connect(self._on_change)
            rows = [(self._model,), (self._gamma,)]
        column = QVBoxLayout(self._options)
        column.setContentsMargins(0, 0, 4, 2)
        column.setSpacing(6)
        for row in rows:
            column.addLayout(field_row(*row))
            for widget in row:
                if isinstance(widget, Field):
                    column.addWidget(widget.problem_label)
        for field in self._fields:
            field.changed.connect(self._on_change)

    def _make_n(self, name: str, tip: str, value: int) -> Field[int]:
        return Field(Spec(name, tip, whole(name), lambda v: DrafterSettings(min_n=1, max_n=v), str, whole_stepper()),
                     value)

    def _read(self) -> DrafterSettings:
        gamma = None if self._gamma.value == AUTO else self._gamma.value
        if self.kind == "ngram":
            return DrafterSettings(kind="ngram", gamma=gamma, min_n=self._min_n.value, max_n=self._max_n.value,
                                   match=self._match.currentData(), texts=self._texts)
        if self.kind == "layer-skip":
            return DrafterSettings(kind="layer-skip", gamma=gamma, skip=self._skip.value)
        if not self._model.text:
            raise SettingsError("No draft model is named: type a hub id, or choose a folder or GGUF file.")
        return DrafterSettings(kind="model", gamma=gamma, model=self._model.text)

    def _on_change(self) -> None:
        self._refresh()
        self.changed.emit()

    def _refresh(self, *, complain: bool = False) -> None:
        settings = self.settings
        empty_model = self.kind == "model" and not self._model.text
        shown = self.problem if complain or not empty_model else ""
        said_at_field = self.opened and self._bad_field is not None
        self._problem_label.show_problem("" if said_at_field else shown)
        mark_bad(self, bool(shown))
        if settings is None:
            self._note.show_text("")
        else:
            self._note.show_text(_note(settings), tip=settings.model)

    # --- mouse and keys -----------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press = event.globalPosition().toPoint()
            self._dragging = False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            return
        now = event.globalPosition().toPoint()
        if not self._dragging and (now - self._press).manhattanLength() >= QApplication.startDragDistance():
            self._dragging = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        if self._dragging:
            self.dragged_to.emit(now.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._press is not None and not self._dragging:
            self.open_options(not self.opened)
        self._press = None
        self._dragging = False
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        alt = event.modifiers() & Qt.KeyboardModifier.AltModifier
        key = event.key()
        if alt and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.moved.emit(-1 if key == Qt.Key.Key_Up else 1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space):
            self.open_options(not self.opened)
        elif key == Qt.Key.Key_Delete:
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.addAction("Options", lambda: self.open_options(not self.opened))
        menu.addAction("Move up", lambda: self.moved.emit(-1)).setEnabled(self._place > 1)
        menu.addAction("Move down", lambda: self.moved.emit(1)).setEnabled(not self._last)
        menu.addSeparator()
        menu.addAction("Remove", self.removed.emit)
        menu.exec(event.globalPos())
        menu.deleteLater()


def _note(settings: DrafterSettings) -> str:
    """What differs from the defaults, in a few signs."""
    parts = []
    if settings.kind == "model":
        parts.append(settings.model.rstrip("/").rsplit("/", 1)[-1])
    default = DrafterSettings()
    if (settings.min_n, settings.max_n) != (default.min_n, default.max_n):
        parts.append(f"n {settings.min_n}–{settings.max_n}")
    if settings.match != default.match:
        parts.append(settings.match)
    if settings.skip:
        parts.append(f"{len(settings.skip)} left out")
    if settings.gamma is not None:
        parts.append(f"γ {settings.gamma}")
    return " · ".join(parts)


def read_layers(text: str) -> tuple[int, ...]:
    """Layer numbers, parted by commas or blanks; 4-7 is a range; auto or nothing: the method chooses."""
    if text.lower() in ("", "auto"):
        return ()
    layers: list[int] = []
    for part in text.replace(",", " ").split():
        first, dash, last = part.partition("-")
        try:
            low = int(first)
            high = int(last) if dash else low
        except ValueError:
            raise SettingsError(f"skip is {text!r}, but it must be layer numbers such as 10,11 or 10-12.") from None
        if high - low > 4096:
            raise SettingsError(f"skip is {text!r}, and no model has that many layers.")
        layers += range(low, high + 1)
    return tuple(sorted(set(layers)))


def show_layers(layers: tuple[int, ...]) -> str:
    return ",".join(str(layer) for layer in layers) or "auto"
