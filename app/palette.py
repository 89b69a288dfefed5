"""The command palette: type a few letters of any action, press Return."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from app.actions import Action, Actions

NOTHING = "Nothing found among what can be done now"


def fuzzy(query: str, text: str) -> float | None:
    """How well the letters of ``query`` appear in ``text``, in order; None if they don't. Higher is better.

    Letters that start words and letters that follow each other count more; shorter texts win ties.
    """
    score, at = 0.0, -1
    lowered = text.lower()
    for letter in query.lower().replace(" ", ""):
        found = lowered.find(letter, at + 1)
        if found < 0:
            return None
        starts = found == 0 or not lowered[found - 1].isalnum()
        score += 3 if starts else 2 if found == at + 1 else 1
        at = found
    return score - len(text) / 1000


def ranked(query: str, actions: list[Action]) -> list[Action]:
    """Best first; all, as declared, while nothing is typed."""
    if not query.strip():
        return actions
    scored = [(score, action) for action in actions if (score := _score(query, action)) is not None]
    return [action for _, action in sorted(scored, key=lambda pair: -pair[0])]


def _score(query: str, action: Action) -> float | None:
    """By its name, or by a keyword that has a word beginning like the query: below the name itself in full, above
    letters strewn over a name."""
    name = fuzzy(query, _full(action))
    wanted = " ".join(query.lower().split())
    if any(f" {keyword}".find(f" {wanted}") >= 0 for keyword in action.keywords):
        return max(name or 0.0, 2.0 * len(wanted.replace(" ", "")))
    return name


def _full(action: Action) -> str:
    text = action.text_now() if action.text_now else action.text
    return f"{action.menu}: {text}"


class Palette(QFrame):
    """Lies over the window; Escape, a choice or a click elsewhere closes it."""

    def __init__(self, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._actions = actions
        self._usable = [a for a in actions.declared if a.enabled_when() and a.id != "help.palette"]
        self.edit = QLineEdit()
        self.edit.setPlaceholderText("What do you want to do?")
        self.edit.textChanged.connect(self._filter)
        self.edit.installEventFilter(self)
        self.list = QTreeWidget()
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setColumnCount(2)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemClicked.connect(self._choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 10, 10, 10)
        column.addWidget(self.edit)
        column.addWidget(self.list)
        self._tallest = min(460, parent.height() - 80)
        self.resize(min(560, parent.width() - 40), self._tallest)
        self.move((parent.width() - self.width()) // 2, 64)
        self._filter("")

    def open(self) -> None:
        self.show()
        self.raise_()
        self.edit.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.edit and event.type() == QEvent.Type.FocusOut:
            self.close()
        elif watched is self.edit and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                self.close()
                return True
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step:
                self._select(self.list.currentIndex().row() + step)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                if item := self.list.currentItem():
                    self._choose(item)
                return True
        return super().eventFilter(watched, event)

    def _filter(self, query: str) -> None:
        self.list.clear()
        found = ranked(query, self._usable)
        if not found:
            nothing = QTreeWidgetItem([NOTHING])
            nothing.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addTopLevelItem(nothing)
        for action in found:
            item = QTreeWidgetItem([_full(action), action.shown_shortcut])
            item.setData(0, Qt.ItemDataRole.UserRole, action.id)
            item.setToolTip(0, action.tip)
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setForeground(1, self.palette().placeholderText())
            self.list.addTopLevelItem(item)
        if found:
            self._select(0)
        rows = max(1, self.list.topLevelItemCount()) * max(30, self.list.sizeHintForRow(0))
        self.resize(self.width(), min(self._tallest, self.edit.sizeHint().height() + rows + 40))

    def _select(self, row: int) -> None:
        """Beyond either end it goes round."""
        if count := self.list.topLevelItemCount():
            self.list.setCurrentIndex(self.list.model().index(row % count, 0))

    def _choose(self, item: QTreeWidgetItem) -> None:
        chosen = item.data(0, Qt.ItemDataRole.UserRole)
        if chosen is None:  # the line that says there is nothing
            return
        self.close()
        self._actions[str(chosen)].trigger()
