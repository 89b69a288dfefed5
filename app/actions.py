"""Every action of the window is one declared object; menus, toolbar, shortcut list and palette all come from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QIcon, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget


def _always() -> bool:
    return True


@dataclass(frozen=True)
class Action:
    id: str
    text: str
    """As in a menu, without the dots of mnemonics."""
    callback: Callable[[], object]
    menu: str
    shortcut: str = ""
    short: str = ""
    """For a button, where the text is too long."""
    icon: str = ""
    tip: str = ""
    """One sentence, when the text alone doesn't say it."""
    keywords: tuple[str, ...] = ()
    """Other words a person may look for it by, in the palette."""
    enabled_when: Callable[[], bool] = _always
    checked_when: Callable[[], bool] | None = None
    text_now: Callable[[], str] | None = None
    """For the few whose name depends on the state (Run, Continue)."""

    @property
    def shown_shortcut(self) -> str:
        return QKeySequence(self.shortcut).toString(QKeySequence.SequenceFormat.NativeText)


class Actions(QObject):
    """The window's actions by id, each with its QAction. :meth:`refresh` asks their conditions again."""

    def __init__(self, declared: Iterable[Action], window: QWidget, icon_of: Callable[[str], QIcon]) -> None:
        super().__init__(window)
        self._icon_of = icon_of
        self.declared = tuple(declared)
        self._made: dict[str, QAction] = {}
        for action in self.declared:
            if action.id in self._made:
                raise ValueError(f"two actions are called {action.id}")
            self._made[action.id] = self._make(action, window)
        taken = [a.shortcut for a in self.declared if a.shortcut]
        if len(taken) != len(set(taken)):
            raise ValueError("two actions share a shortcut")
        self.refresh()

    def __getitem__(self, action_id: str) -> QAction:
        return self._made[action_id]

    def declaration(self, action_id: str) -> Action:
        return next(a for a in self.declared if a.id == action_id)

    def refresh(self) -> None:
        for action in self.declared:
            made = self._made[action.id]
            made.setEnabled(action.enabled_when())
            if action.checked_when is not None:
                made.setChecked(action.checked_when())
            if action.text_now is not None:
                made.setText(action.text_now())

    def reload_icons(self) -> None:
        """After a change of theme."""
        for action in self.declared:
            if action.icon:
                self._made[action.id].setIcon(self._icon_of(action.icon))

    def by_menu(self) -> dict[str, list[Action]]:
        menus: dict[str, list[Action]] = {}
        for action in self.declared:
            menus.setdefault(action.menu, []).append(action)
        return menus

    def fill(self, menu: QMenu) -> None:
        """One submenu for each menu name, in the order of declaration."""
        for title, actions in self.by_menu().items():
            submenu = menu.addMenu(title)
            submenu.setToolTipsVisible(True)
            for action in actions:
                submenu.addAction(self._made[action.id])

    def _make(self, action: Action, window: QWidget) -> QAction:
        made = QAction(action.text, window)
        made.setObjectName(action.id)
        if action.shortcut:
            made.setShortcut(QKeySequence(action.shortcut))
            made.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        if action.short:
            made.setIconText(action.short)
        if action.icon:
            made.setIcon(self._icon_of(action.icon))
        made.setCheckable(action.checked_when is not None)
        tip = action.tip or action.text
        made.setToolTip(f"{tip} ({action.shown_shortcut})" if action.shortcut else tip)

        def trigger() -> None:
            action.callback()
            self.refresh()

        made.triggered.connect(trigger)
        window.addAction(made)
        return made
