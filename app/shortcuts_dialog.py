"""All actions and their keys, on one page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.actions import Actions


class ShortcutsDialog(QDialog):
    def __init__(self, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        body = QWidget()
        grid = QGridLayout(body)
        grid.setHorizontalSpacing(28)
        grid.setVerticalSpacing(5)
        line = 0
        for menu, declared in actions.by_menu().items():
            caption = QLabel(menu.upper())
            caption.setProperty("kind", "caption")
            grid.setRowMinimumHeight(line, 26)
            grid.addWidget(caption, line, 0, 1, 2, Qt.AlignmentFlag.AlignBottom)
            line += 1
            for action in declared:
                keys = QLabel(action.shown_shortcut or "–")
                keys.setProperty("kind", "" if action.shortcut else "dim")
                text = QLabel(action.text)
                text.setToolTip(action.tip)
                grid.addWidget(text, line, 0)
                grid.addWidget(keys, line, 1, Qt.AlignmentFlag.AlignRight)
                line += 1
        grid.setRowStretch(line, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(body)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.close)
        column = QVBoxLayout(self)
        column.addWidget(scroll)
        column.addWidget(buttons)
        self.resize(440, min(640, parent.height() - 60))
