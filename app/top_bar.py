"""The bar across the top: name, perspectives, run controls, what the target is and whether it is exact, the menu."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QToolButton, QWidget

from app.actions import Actions
from app.elided_label import ElidedLabel
from app.form_fields import restyle
from app.theme import Theme
from engine.records import Exactness, TargetInfo

PERSPECTIVES = ("race", "debug", "lab", "learn")
NARROW = 1120
SHORT_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


class TopBar(QFrame):
    def __init__(self, theme: Theme, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("topbar")
        self._actions = actions
        self._icons: list[QToolButton] = []

        self._dot = QLabel("●")
        self._name = QLabel("SpecScope")
        self._name.setObjectName("brand")
        tabs = QFrame()
        tabs.setObjectName("tabs")
        tab_row = QHBoxLayout(tabs)
        tab_row.setContentsMargins(3, 3, 3, 3)
        tab_row.setSpacing(2)
        for perspective in PERSPECTIVES:
            tab_row.addWidget(self._button(f"perspective.{perspective}", kind="tab", text=True, icon=False))

        self._run = QPushButton()
        self._run.setProperty("kind", "primary")
        self._run.clicked.connect(actions["run.run"].trigger)
        actions["run.run"].changed.connect(self._show_run)

        self.target = ElidedLabel()
        self.target.setObjectName("targetName")
        self.target.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.exact = QLabel()
        self.exact.setObjectName("exact")
        self._menu_button = QToolButton()
        self._menu_button.setProperty("kind", "flat")
        self._menu_button.setToolTip("Everything SpecScope can do (also Ctrl+Shift+P)")
        self._menu_button.setAccessibleName("Menu")
        self._menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self._menu_button)
        actions.fill(menu)
        self._menu_button.setMenu(menu)

        row = QHBoxLayout(self)
        self._row = row
        row.addWidget(self._dot)
        row.addWidget(self._name)
        row.addSpacing(10)
        row.addWidget(tabs)
        row.addSpacing(10)
        row.addWidget(self._run)
        pause, stop = self._button("run.pause"), self._button("run.stop")
        self._steps = [self._button(action, text=True) for action in ("run.step_record", "run.step_round")]
        for button in (pause, *self._steps, stop):
            row.addWidget(button)
        row.addSpacing(6)
        row.addWidget(self.target, 1)
        row.addWidget(self.exact)
        row.addSpacing(6)
        row.addWidget(self._button("view.theme", kind="flat"))
        row.addWidget(self._button("view.present", kind="flat"))
        row.addWidget(self._menu_button)
        self.exact.hide()
        self._run_action = actions["run.run"]
        self._heirs: dict[QWidget, QWidget] = {
            self._run: pause, pause: self._run, stop: self._run, **{step: step for step in self._steps}}
        """Who has the focus after a run control that is switched off while it has it: Return on Run, then on Pause."""
        self._heir: QWidget | None = None
        for control in ("run.run", "run.pause", "run.step_record", "run.step_round"):
            actions[control].changed.connect(self._pass_focus_on)
        self.set_theme(theme)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Qt also asks this when the control in focus is switched off, and would go on to the theme's button."""
        holder = self.window().focusWidget()
        action = holder.defaultAction() if isinstance(holder, QToolButton) else self._run_action
        if holder in self._heirs and not action.isEnabled():
            self._heir = self._heirs[holder]
            self.setFocus()
            self._pass_focus_on()
            return True
        return super().focusNextPrevChild(next)

    def _pass_focus_on(self) -> None:
        """To the heir, once it can take it, unless the person has gone elsewhere meanwhile."""
        if self._heir is None or self.window().focusWidget() is not self:
            return
        for candidate in (self._heir, self._run):
            if candidate.isEnabled():
                self._heir = None
                candidate.setFocus()
                return

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._row.setContentsMargins(theme.px(16), theme.px(7), theme.px(12), theme.px(7))
        self._row.setSpacing(theme.px(6))
        self._dot.setStyleSheet(f"color: {theme.colour('focus').name()}; font-size: {theme.px(15)}px;")
        for button in self._icons:
            button.setIconSize(QSize(theme.px(16), theme.px(16)))
        self._menu_button.setIcon(theme.icon("more", "text"))
        self._menu_button.setIconSize(QSize(theme.px(18), theme.px(18)))
        self._show_run()
        self._make_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        """On a narrow bar the steps are told by their icons alone."""
        narrow = self.width() < self._theme.px(NARROW)
        style = Qt.ToolButtonStyle.ToolButtonIconOnly if narrow else Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        for button in self._steps:
            button.setToolButtonStyle(style)

    def show_target(self, target: TargetInfo, exactness: Exactness | None, machine: str = "") -> None:
        """What runs or ran; before any run, what is loaded."""
        dtype = SHORT_DTYPES.get(target.dtype, target.dtype)
        device = target.device.upper() if target.device == "cpu" else target.device
        known = (target.name, dtype, device, "static cache") if target.dtype else (target.name or "target unknown",)
        self.target.show_text(" · ".join(known), tip=describe(target, machine) if target.dtype else "")
        self.exact.setVisible(exactness is not None)
        if exactness is not None:
            self.exact.setText(f"● {short_verdict(exactness)}")
            self.exact.setToolTip(exactness.sentence)
            self.exact.setProperty("state", "good" if exactness.invariant else "open")
            restyle(self.exact)

    def _button(self, action_id: str, *, kind: str = "", text: bool = False, icon: bool = True) -> QToolButton:
        button = QToolButton()
        button.setDefaultAction(self._actions[action_id])
        button.setAccessibleName(self._actions[action_id].text())
        if kind:
            button.setProperty("kind", kind)
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if text and icon else (
            Qt.ToolButtonStyle.ToolButtonTextOnly if text else Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setToolButtonStyle(style)
        if icon:
            self._icons.append(button)
        return button

    def _show_run(self) -> None:
        action = self._actions["run.run"]
        self._run.setText(action.text())
        self._run.setEnabled(action.isEnabled())
        self._run.setToolTip(action.toolTip())
        self._run.setIcon(self._theme.icon("play", "button_text"))
        self._run.setIconSize(QSize(self._theme.px(14), self._theme.px(14)))


def short_verdict(exactness: Exactness) -> str:
    """The sentence without what stands in brackets or behind a colon."""
    return exactness.sentence.split(" (")[0].split(":")[0].rstrip(".")


def describe(target: TargetInfo, machine: str = "") -> str:
    """The target and the machine in full, for a tooltip."""
    lines = [f"{target.name}: {target.parameters / 1e6:,.0f} M parameters, {target.layers} layers, "
             f"{target.vocabulary:,} tokens, context {target.context:,}",
             f"{target.dtype} on {target.device}; fingerprint {target.fingerprint}"]
    if target.source:
        lines.append(f"from {target.source}")
    lines += [*target.generation_notes, machine]
    return "\n".join(line for line in lines if line)
