"""The application's style sheet: what Fusion and the palette alone don't give. Small on purpose."""

from __future__ import annotations

import re
from typing import Protocol

from PySide6.QtGui import QColor


class _Theme(Protocol):
    def colour(self, role: str) -> QColor: ...
    def px(self, pixels: float) -> int: ...


# Buttons: quiet by default; property kind="primary" for the one that matters, "flat" for icons in a row, "tab" for
# checkable ones of which one is on. Labels: kind="caption" or "dim".
_SHEET = """
QToolTip { color: @text; background: @raised; border: 1px solid @strong_line; padding: {6}px {8}px; }

QPushButton, QToolButton { color: @text; background: @raised; border: 1px solid transparent; border-radius: {7}px;
    padding: {5}px {12}px; min-height: {20}px; }
QToolButton { padding: {5}px {8}px; }
QPushButton:hover, QToolButton:hover { background: @hover; }
QPushButton:pressed, QToolButton:pressed { background: @line; }
QPushButton:focus, QToolButton:focus { border-color: @focus; }
QPushButton:disabled, QToolButton:disabled { color: @disabled; }
QPushButton:checked, QToolButton:checked { background: @hover; color: @strong; }
QPushButton[kind="primary"], QToolButton[kind="primary"] { color: @button_text; background: @button; font-weight: 600; }
QPushButton[kind="primary"]:hover, QToolButton[kind="primary"]:hover { background: @strong; }
QPushButton[kind="primary"]:focus, QToolButton[kind="primary"]:focus { border-color: @focus; }
QPushButton[kind="primary"]:disabled, QToolButton[kind="primary"]:disabled { color: @disabled; background: @raised; }
QPushButton[kind="flat"], QToolButton[kind="flat"] { background: transparent; padding: {4}px; }
QPushButton[kind="flat"]:hover, QToolButton[kind="flat"]:hover { background: @hover; }
QPushButton[kind="flat"]:focus, QToolButton[kind="flat"]:focus { border-color: @focus; }
QPushButton[kind="tab"], QToolButton[kind="tab"] { background: transparent; color: @dim; padding: {5}px {16}px; }
QPushButton[kind="tab"]:hover, QToolButton[kind="tab"]:hover { color: @text; }
QPushButton[kind="tab"]:focus, QToolButton[kind="tab"]:focus { border-color: @focus; }
QPushButton[kind="tab"]:checked, QToolButton[kind="tab"]:checked { background: @hover; color: @strong;
    font-weight: 600; }
QPushButton[kind="chip"] { border-radius: {12}px; padding: {2}px {11}px; color: @text; }
QPushButton[kind="dashed"] { background: transparent; color: @dim; border: 1px dashed @strong_line; text-align: left; }
QPushButton[kind="dashed"]:hover { color: @text; background: @raised; }
QToolButton::menu-indicator { image: none; }
QDialogButtonBox, QMessageBox { dialogbuttonbox-buttons-have-icons: 0; }

QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QDoubleSpinBox, QComboBox { color: @text; background: @field;
    border: 1px solid @line; border-radius: {7}px; padding: {4}px {8}px; min-height: {20}px;
    selection-background-color: @selection; selection-color: @selection_text; }
QLineEdit:hover, QPlainTextEdit:hover, QTextEdit:hover, QSpinBox:hover, QDoubleSpinBox:hover, QComboBox:hover {
    border-color: @strong_line; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus {
    border-color: @focus; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { color: @disabled; }
QLineEdit[fault="true"], QSpinBox[fault="true"], QDoubleSpinBox[fault="true"], QComboBox[fault="true"] {
    border-color: @danger; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button { width: 0;
    border: none; }
QComboBox::drop-down { border: none; width: {22}px; }
QComboBox QAbstractItemView { color: @text; background: @panel; border: 1px solid @strong_line; padding: {4}px;
    outline: none; selection-background-color: @selection; selection-color: @selection_text; }

QMenuBar { background: @window; color: @text; padding: {2}px {6}px; }
QMenuBar::item { padding: {4}px {9}px; border-radius: {5}px; background: transparent; }
QMenuBar::item:selected { background: @hover; }
QMenu { background: @panel; color: @text; border: 1px solid @strong_line; padding: {5}px; }
QMenu::item { padding: {5}px {22}px {5}px {10}px; border-radius: {5}px; }
QMenu::item:selected { background: @selection; color: @selection_text; }
QMenu::item:disabled { color: @disabled; }
QMenu::separator { height: 1px; background: @line; margin: {5}px {8}px; }

QScrollBar:vertical { background: transparent; width: {10}px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: {10}px; margin: 0; }
QScrollBar::handle { background: @line; border-radius: {3}px; margin: {2}px; }
QScrollBar::handle:vertical { min-height: {28}px; }
QScrollBar::handle:horizontal { min-width: {28}px; }
QScrollBar::handle:hover { background: @strong_line; }
QScrollBar::handle:disabled { background: transparent; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QProgressBar { background: @sunken; border: none; border-radius: {3}px; max-height: {6}px; min-height: {6}px;
    text-align: center; color: transparent; }
QProgressBar::chunk { background: @focus; border-radius: {3}px; }
QSplitter::handle { background: transparent; }
QLabel[kind="caption"] { color: @dim; }
QLabel[kind="dim"] { color: @dim; }
QFrame[kind="panel"] { background: @panel; border: 1px solid @line; border-radius: {10}px; }
"""


def style_sheet(theme: _Theme) -> str:
    """``@role`` becomes a colour, ``{n}`` a length at the theme's scale."""
    def colour(match: re.Match[str]) -> str:
        role = match[1]
        if role == "field":  # text fields sink in the dark and stay white in the light
            role = "sunken" if theme.colour("window").lightness() < 128 else "panel"
        return theme.colour(role).name()

    sheet = re.sub(r"@(\w+)", colour, _SHEET)
    return re.sub(r"\{(\d+)\}", lambda match: str(theme.px(float(match[1]))), sheet)
