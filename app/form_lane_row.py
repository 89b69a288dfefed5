"""One lane in the form: its colour and name, and, opened, the options of its way of drafting."""

from __future__ import annotations

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

from app.elided_label import ElidedLabel
from app.form_fields import ProblemLabel, mark_bad
from app.form_lane_options import LaneOptions
from app.form_options import described, note
from app.theme import Theme
from engine.errors import SettingsError, SpecScopeError
from engine.settings import DrafterSettings
from widgets.marks import swatch_path


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
        method, self._fault = described(kind)

        self._swatch = Swatch(theme, 1)
        self._name = QLabel(method.label)
        self._name.setToolTip(f"{method.label}: {method.guess}")
        self._note = ElidedLabel()
        self._note.setProperty("kind", "dim")
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._close = QToolButton()
        self._close.setProperty("kind", "flat")
        self._close.setToolTip("Remove this lane")
        self._close.setAccessibleName(f"Remove {method.label}")
        self._close.setIconSize(QSize(12, 12))
        self._close.clicked.connect(self.removed)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._swatch)
        head.addWidget(self._name)
        head.addWidget(self._note, 1)
        head.addWidget(self._close)
        self.options = LaneOptions(method, drafter)
        self.options.changed.connect(self._on_change)
        self.options.hide()
        self._problem_label = ProblemLabel()
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 2, 4, 2)
        column.setSpacing(8)
        column.addLayout(head)
        column.addWidget(self.options)
        column.addWidget(self._problem_label)
        self.set_theme(theme)
        self._refresh()

    # --- what it says -------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> DrafterSettings | None:
        """None while something can't be used; ``problem`` says what."""
        try:
            if self._fault:
                raise SettingsError(self._fault)
            settings = self.options.settings()
        except SpecScopeError as error:
            self.problem = str(error)
            return None
        self.problem = ""
        return settings

    def open_options(self, opened: bool) -> None:
        self.options.setVisible(opened)
        self._refresh()

    @property
    def opened(self) -> bool:
        return not self.options.isHidden()

    def complain(self) -> None:
        self.open_options(True)
        self._refresh(complain=True)
        if self.options.bad is None and not self.options.lacks_model:
            self.setFocus()
        else:
            self.options.focus()

    def set_place(self, place: int, *, last: bool) -> None:
        self._place, self._last = place, last
        self._swatch.show_look(self._theme, place)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._swatch.show_look(theme, self._place)
        self._close.setIcon(theme.icon("close", "dim"))

    def _on_change(self) -> None:
        self._refresh()
        self.changed.emit()

    def _refresh(self, *, complain: bool = False) -> None:
        settings = self.settings
        unnamed = self.options.lacks_model and self.options.bad is None
        shown = self.problem if complain or not unnamed else ""
        said_at_field = self.opened and self.options.bad is not None
        self._problem_label.show_problem("" if said_at_field else shown)
        mark_bad(self, bool(shown))
        self._note.show_text(note(settings) if settings is not None else "",
                             tip=settings.model if settings is not None else "")

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
