"""What the window's own parts look like beyond the application's style sheet: top bar, form, notices."""

from __future__ import annotations

import re

from app.assets import ASSETS
from app.theme import Theme

_SHEET = """
#topbar { background: @panel; border-bottom: 1px solid @line; }
#brand { font-size: {16}px; font-weight: 600; color: @strong; }
#tabs { background: @sunken; border-radius: {9}px; }
#targetName { color: @text; }
#tabs QToolButton { padding: {5}px {12}px; min-height: {18}px; }
#tabs QToolButton:checked { background: @tab; }
#exact[state="good"] { color: @good; }
#exact[state="open"] { color: @warning; }
#badge { color: @warning; border: 1px solid @warning; border-radius: {9}px; padding: {1}px {9}px; font-weight: 600; }

#form, #formBody { background: @panel; border: none; }
#formFrame { background: @panel; border-right: 1px solid @line; }
#field { background: @raised; border: 1px solid transparent; border-radius: {7}px; }
#field:hover { background: @hover; }
#field[fault="true"] { border-color: @danger; }
#fieldName { color: @dim; background: transparent; }
#fieldValue { background: transparent; border: none; padding: 0; color: @text; min-height: {20}px; font-weight: 500; }
#lane { background: @raised; border: 1px solid transparent; border-radius: {7}px; }
#lane:hover { background: @hover; }
#lane:focus { border-color: @focus; }
#lane[fault="true"] { border-color: @danger; }
#lane #field { background: @panel; }
QComboBox#fieldChoice { background: transparent; border: 1px solid transparent; font-weight: 500; padding-left: 2px; }
QComboBox#fieldChoice:focus { border-color: @focus; }
#lane QLineEdit#source { background: @panel; }
#segment { padding: {1}px {9}px; min-height: {16}px; font-size: {12}px; }
QCheckBox { color: @dim; spacing: {8}px; }
QCheckBox::indicator { width: {14}px; height: {14}px; border: 1px solid @strong_line; border-radius: {4}px;
    background: @raised; }
QCheckBox::indicator:checked { background: @focus; border-color: @focus; image: url("%tick%"); }
QCheckBox:focus { color: @text; }
#problem { color: @danger; font-size: {12}px; }
#prompt { font-size: {13}px; }

#notice { background: @raised; border: 1px solid @strong_line; border-radius: {9}px; }
#notice[bad="true"] { border-color: @danger; }
#footer { color: @dim; }
#recordingBar { background: @panel; border: 1px solid @line; border-radius: {10}px; }
#palette { background: @panel; border: 1px solid @strong_line; border-radius: {12}px; }
#palette QTreeWidget { background: transparent; border: none; outline: none; }
#palette QTreeWidget::item { height: {30}px; padding: 0 {10}px; color: @text; }
#palette QTreeWidget::item:disabled { color: @dim; }
#palette QTreeWidget::item:selected { background: @selection; color: @selection_text; }
#checks { background: transparent; color: @text; }
#checks::item { padding: {5}px {6}px; border: none; }
#checks::item:hover { background: @hover; }
#checks::item:selected { background: @selection; color: @selection_text; }
#checks QHeaderView { background: transparent; }
#checks QHeaderView::section { background: transparent; color: @dim; border: none; padding: {4}px {6}px; }
#comingTitle { font-size: {26}px; font-weight: 600; color: @strong; }
#comingLead { font-size: {15}px; color: @text; }
#comingItem { font-size: {14}px; color: @dim; }
QScrollArea { background: transparent; border: none; }
QSplitter::handle:hover { background: @line; }
"""


def window_sheet(theme: Theme) -> str:
    """``@role`` becomes a colour of the theme, ``{n}`` a length at its scale."""
    roles = {"tab": "hover" if theme.dark else "panel"}
    sheet = re.sub(r"@(\w+)", lambda match: theme.colour(roles.get(match[1], match[1])).name(), _SHEET)
    sheet = re.sub(r"\{(\d+)\}", lambda match: str(theme.px(float(match[1]))), sheet)
    return sheet.replace("%tick%", (ASSETS / "tick.svg").as_posix())
