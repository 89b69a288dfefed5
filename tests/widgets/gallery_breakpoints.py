"""Scenes of the breakpoints' list and dialog; run the gallery through this module:

    QT_QPA_PLATFORM=offscreen python -m tests.widgets.gallery_breakpoints FOLDER [NAME …]
"""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.breakpoint_dialog import BreakpointDialog
from app.theme import Theme
from engine.debugger.breakpoints import Breakpoint, HitRule
from engine.debugger.combined import AnyCondition, Both, Either
from engine.debugger.conditions import AnyRejection, LowOverlap, SlowRound
from engine.debugger.token_conditions import TokenText
from engine.debugger.where import Where
from tests.widgets.gallery import column, main, scene
from widgets.breakpoint_list import BreakpointList
from widgets.breakpoint_row import BreakpointRow

SKETCH = (BreakpointRow("1", "first rejection at ≤ 2", hits=3, fired=True),
          BreakpointRow("2", "overlap < 0.30", hits=1),
          BreakpointRow("3", "committed token = “tea”", enabled=False, hits=0))

MANY = (*SKETCH, BreakpointRow("4", "drafted token matches /^ ?(?:the|a)$/ and (overlap < 0.50 or round slower than "
                               "2 × median), from the 3rd time", hits=12_345, lane="Prompt lookup"),
        BreakpointRow("5", "committed token = “中文：推测解码”", hits=0),
        BreakpointRow("6", "rejected token contains “العربية”", hits=2),
        BreakpointRow("7", "committed token = “👩‍🚀🎉” (50257)", hits=None),
        BreakpointRow("8", "end of text drafted", hits=0),
        BreakpointRow("9", "margin < 0.05 and draft > 1", hits=7))


def shown(theme: Theme, rows: tuple[BreakpointRow, ...]) -> BreakpointList:
    panel = BreakpointList(theme)
    panel.show_rows(rows)
    return panel


@scene(640, 300)
def breakpoints_sketch(theme: Theme) -> QWidget:
    page = QWidget()
    row = QHBoxLayout(page)
    row.addWidget(shown(theme, SKETCH))
    row.addWidget(shown(theme, ()))
    return page


@scene(900, 330)
def breakpoints_many(theme: Theme) -> QWidget:
    page = QWidget()
    row = QHBoxLayout(page)
    row.addWidget(shown(theme, MANY), 2)
    row.addWidget(shown(theme, MANY), 1)
    return page


@scene(200, 170)
def breakpoints_tiny(theme: Theme) -> QWidget:
    return column(theme, shown(theme, MANY), margin=4)


@scene(640, 460)
def breakpoints_hall(theme: Theme) -> QWidget:
    big = Theme.load(theme.name, 2.0)
    return column(big, shown(big, SKETCH))


def dialog(theme: Theme, condition: AnyCondition, rule: HitRule | None = None, *, new: bool = True) -> BreakpointDialog:
    one = BreakpointDialog(theme, Breakpoint(id="b1", condition=condition, hits=rule or HitRule()), new=new,
                           lanes=[("ngram", "Prompt lookup"), ("skip", "Layer skip")], count=lambda _: 7)
    one.lane.setCurrentIndex(0)
    return one


@scene(460, 310)
def breakpoint_new(theme: Theme) -> QWidget:
    return dialog(theme, AnyRejection())


@scene(520, 540)
def breakpoint_joined(theme: Theme) -> QWidget:
    one = dialog(theme, Both((TokenText(role="drafted", match="contains", text=" tea\n"), LowOverlap(below=0.3))),
                 HitRule("each", 3), new=False)
    one.lane.setCurrentIndex(1)
    return one


@scene(480, 380)
def breakpoint_wrong(theme: Theme) -> QWidget:
    one = dialog(theme, Where("overlap < 0.3"))
    field = one.parts[0].field
    assert field is not None
    field.edit.setText("overlpa < 0.3 and accepted == 0")
    field.edit.textEdited.emit(field.edit.text())
    one._on_quiet()
    return one


@scene(480, 620)
def breakpoint_nested(theme: Theme) -> QWidget:
    return dialog(theme, Either((Both((AnyRejection(), SlowRound(milliseconds=60))), Where("margin < 0.05"),
                                 TokenText(match="pattern", text="^中文"))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
