"""The playback controls in one row: back and forth by record, round, breakpoint and to the ends, and how fast to play.

The buttons are actions of whoever made them; here they only get their places, and an icon where they have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QStyle,
    QStyleOptionToolButton,
    QStylePainter,
    QToolButton,
    QWidget,
)

from widgets.protocols import ThemeView

GROUPS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("to_start", "to-start"), ("breakpoint_back", "breakpoint-back")),
    (("round_back", "round-back"), ("record_back", "step-back")),
    (("play_back", "play-back"), ("pause", "pause"), ("play", "play")),
    (("record", "step"), ("round", "round")),
    (("breakpoint", "breakpoint-next"), ("to_end", "to-end")),
)
"""Names of actions, each with its icon, in the order of the row: the past on the left, mirrored on the right."""
NAMES = tuple(name for group in GROUPS for name, _ in group)
HEIGHT = 32
"""Pixels at scale 1."""
SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


class Transport(QWidget):
    speed_wanted = Signal(float)
    """Of playing, against the measured pace: chosen by the person, not yet in force."""

    def __init__(self, theme: ThemeView, actions: Mapping[str, QAction], speeds: Sequence[float] = SPEEDS,
                 parent: QWidget | None = None) -> None:
        """``actions``: by the names in :data:`NAMES`; those that are missing have no button. Raises ValueError for a
        name that isn't known."""
        super().__init__(parent)
        if unknown := set(actions) - set(NAMES):
            raise ValueError(f"no place for {', '.join(sorted(unknown))}; known are {', '.join(NAMES)}")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("playback")
        self.buttons: dict[str, QToolButton] = {}
        self.speed = SpeedButton(theme, speeds)
        self.speed.wanted.connect(self.speed_wanted)
        self._undressed = {name for name, action in actions.items() if action.icon().isNull()}
        self._groups: list[QHBoxLayout] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        for group in GROUPS:
            row = QHBoxLayout()
            for name, _ in group:
                if name in actions:
                    row.addWidget(self._button(name, actions[name]))
            if row.count():
                self._row.addLayout(row)
                self._groups.append(row)
        self._row.addWidget(self.speed)
        self.set_theme(theme)

    def _button(self, name: str, action: QAction) -> QToolButton:
        button = self.buttons[name] = QToolButton()
        button.setDefaultAction(action)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setAccessibleName(action.text())
        return button

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._row.setSpacing(theme.px(10))
        for row in self._groups:
            row.setSpacing(theme.px(3))
        icons = {name: icon for group in GROUPS for name, icon in group}
        for name, button in self.buttons.items():
            if name in self._undressed:
                button.defaultAction().setIcon(theme.icon(icons[name]))
            button.setIconSize(QSize(theme.px(16), theme.px(16)))
            button.setFixedHeight(theme.px(HEIGHT))
        self.speed.set_theme(theme)

    def show_speed(self, speed: float) -> None:
        self.speed.show_speed(speed)


class SpeedButton(QToolButton):
    """Says the speed and, pressed, offers the others. Up and down keys, and the wheel while it has the focus, go from
    one to the next."""

    wanted = Signal(float)

    def __init__(self, theme: ThemeView, speeds: Sequence[float], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.speeds = tuple(sorted(speeds))
        self.value = 1.0
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setToolTip("How fast to play, against the pace that was measured")
        menu = QMenu(self)
        self._group = QActionGroup(menu)
        self._choices: dict[float, QAction] = {}
        for speed in self.speeds:
            choice = menu.addAction(spelled(speed))
            choice.setCheckable(True)
            choice.setData(speed)
            self._group.addAction(choice)
            self._choices[speed] = choice
        self.setMenu(menu)
        self._group.triggered.connect(self._on_chosen)
        self.set_theme(theme)
        self.show_speed(1.0)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.setFont(theme.font("body"))
        self.menu().setFont(theme.font("body"))
        widest = max(QFontMetrics(self.font()).horizontalAdvance(spelled(s)) for s in (*self.speeds, self.value))
        self.setFixedSize(widest + theme.px(38), theme.px(HEIGHT))
        self.update()

    def show_speed(self, speed: float) -> None:
        self.value = speed
        self.setText(spelled(speed))
        self.setAccessibleName(f"speed {spelled(speed)}")
        for one, choice in self._choices.items():
            choice.setChecked(one == speed)

    def _on_chosen(self, choice: QAction) -> None:
        self._want(float(choice.data()))

    def _want(self, speed: float) -> None:
        if speed != self.value:
            self.show_speed(speed)
            self.wanted.emit(speed)

    def _next(self, by: int) -> None:
        beyond = [s for s in self.speeds if (s > self.value if by > 0 else s < self.value)]
        if beyond:
            self._want(beyond[0] if by > 0 else beyond[-1])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self._next(by)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus() and event.angleDelta().y():
            self._next(1 if event.angleDelta().y() > 0 else -1)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The style's own ground; then the speed, and an arrow in the theme's colours."""
        painter = QStylePainter(self)
        option = QStyleOptionToolButton()
        self.initStyleOption(option)
        option.text = ""
        painter.drawComplexControl(QStyle.ComplexControl.CC_ToolButton, option)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        px, theme = self.theme.px, self.theme
        room = QRectF(self.rect()).adjusted(px(10), 0, -px(24), 0)
        painter.setPen(theme.colour("text" if self.isEnabled() else "disabled"))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self.text())
        x, y = self.width() - px(14), self.height() / 2
        painter.setPen(QPen(theme.colour("dim" if self.isEnabled() else "disabled"), 1.6 * theme.scale,
                            Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        painter.drawPolyline([QPointF(x - px(4), y - px(2)), QPointF(x, y + px(2)), QPointF(x + px(4), y - px(2))])


def spelled(speed: float) -> str:
    return f"{speed:g}×"
