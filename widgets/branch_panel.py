"""A lane and one of its branches beside each other: what was changed, where their outputs part, and what it cost."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from engine.debugger.alignment import Cost
from widgets import branch_figures
from widgets.branch_comparison import Comparison
from widgets.branch_rows import BranchRows
from widgets.figures import ElidedLabel, Figure, Swatch
from widgets.moment_card import Heading, dress
from widgets.protocols import LaneView, ThemeView

HINT = ("Change a draw, force a verdict or choose another token in the inspector: the branch appears here beside its "
        "original.")
LOST = "The lane that this branch comes from is no longer here, so there is nothing to compare it with."
RESTORING = "The state at the branch point is being restored. The branch’s first tokens come with it."
NOT_LOSSLESS = "no longer lossless"
FORCED = ("A verdict was forced: from there on the output is no longer distributed as the target’s own.\n"
          "Changed draws, tokens and settings keep it so; a forced verdict doesn’t.")
NARROW, LOW = 470, 250
"""Pixels at scale 1: in less width, or height, some of it is left out."""
_ENDS = {"eos": "ended: end of text", "stop": "ended: stop text", "length": "ended: length reached",
         "context": "ended: context is full", "stopped": "stopped", "error": "failed"}
_FIGURES = ((branch_figures.tokens, "88"), (branch_figures.forwards, "88 → 88"), (branch_figures.drafted, "88 → 88"),
            (branch_figures.difference, "+0.888"))


class BranchPanel(QFrame):
    selected = Signal(str, int)
    """Lane and position of a token that was clicked."""
    close_wanted = Signal(str)
    """The branch's lane."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Branch")
        self._comparison = Comparison()
        self._pair: tuple[object, object] = (None, None)
        self._branch = ""
        self._title = "Branch", ""
        self.heading = Heading(theme)
        self.badge = QLabel(NOT_LOSSLESS)
        self.badge.setToolTip(FORCED)
        self.jump = QPushButton("First difference")
        self.jump.setProperty("kind", "chip")
        self.jump.setToolTip("Go to the first token that differs")
        self.close_button = QToolButton()
        self.close_button.setProperty("kind", "flat")
        self.close_button.setToolTip("Remove this branch")
        self.close_button.setAccessibleName("Remove this branch")
        self.names = tuple(LaneName(theme, word) for word in ("original", "branch"))
        self.rows = BranchRows(theme, self._comparison)
        self.parting, self.price = ElidedLabel(theme, "body", "text"), ElidedLabel(theme, "small", "dim")
        """Where they part, and what it cost."""
        self.figures = tuple(Figure(theme, "figure", "", sample) for _, sample in _FIGURES)
        self.hint = QLabel(HINT)
        self.hint.setWordWrap(True)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._lay_out()
        self.rows.selected.connect(self.selected)
        self.jump.clicked.connect(self.rows.go_to_difference)
        self.close_button.clicked.connect(self._on_close)
        self.set_theme(theme)
        self._show_state()

    def _lay_out(self) -> None:
        self._head = QHBoxLayout()
        self._head.addWidget(self.heading, 1)
        for widget in (self.badge, self.jump, self.close_button):
            self._head.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        contents = QWidget()
        self._legend, self._foot = QHBoxLayout(), QHBoxLayout()
        for name in self.names:
            self._legend.addWidget(name)
        self._legend.addStretch(1)
        for figure in self.figures:
            self._foot.addWidget(figure)
        self._foot.addStretch(1)
        self._body = QVBoxLayout(contents)
        self._body.setContentsMargins(0, 0, 0, 0)
        self._body.addLayout(self._legend)
        self._body.addWidget(self.rows, 1)
        self._told = QVBoxLayout()
        self._told.addWidget(self.parting)
        self._told.addWidget(self.price)
        self._body.addLayout(self._told)
        self._body.addLayout(self._foot)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.hint)
        self._pages.addWidget(contents)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._head)
        self._column.addWidget(self._pages, 1)

    # What is shown

    def show_branch(self, original: LaneView | None, branch: LaneView | None) -> None:
        """Cheap enough for every frame: without a new record it does nothing, with a new round little."""
        if not self._comparison.show(original, branch):
            return
        pair = tuple(lane.base if lane is not None else None for lane in (original, branch))
        self._branch = branch.id if branch is not None else ""
        if pair != self._pair:
            self._pair = pair[0], pair[1]
            self.rows.reload()
        else:
            self.rows.update_rows()
        self._show_state()

    def select(self, lane: str, position: int | None) -> None:
        """Outline a token of either lane; None: no one."""
        self.rows.select(lane, position)

    def _show_state(self) -> None:
        original, branch = (side.lane for side in self._comparison.sides)
        cost = self._comparison.cost
        started = branch.started if branch is not None else None
        origin = started.branch if started is not None else None
        self._pages.setCurrentIndex(int(cost is not None))
        self.close_button.setVisible(branch is not None)
        self.badge.setVisible(origin is not None and not origin.lossless)
        if cost is None or original is None or branch is None or origin is None:
            self._title = "Branch" if branch is None else branch.title, ""
            self.hint.setText(HINT if branch is None else RESTORING if started is None else LOST)
            self._make_room()
            return
        change = origin.change[:1].upper() + origin.change[1:] if origin.change else "Nothing changed"
        self._title = change, f"from round {origin.round + 1:,} on"
        for name, lane in zip(self.names, (original, branch), strict=True):
            name.show_lane(self.theme, lane)
        failed = branch.finished is not None and branch.finished.reason == "error"
        parting, price = told(cost)
        self.parting.set_whole(parting)
        self.price.set_whole(branch.message if failed else price)
        self.price.tone = "danger" if failed else "dim"
        self.price.set_theme(self.theme)  # for its tone
        for figure, (of, _) in zip(self.figures, _FIGURES, strict=True):
            shown = of(cost)
            figure.set(shown.value, shown.tooltip, shown.tone, shown.unit)
        self._make_room()

    def _on_close(self) -> None:
        if self._branch:
            self.close_wanted.emit(self._branch)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        """Where there is little, the tokens and the sentence have it."""
        px, cost = self.theme.px, self._comparison.cost
        narrow, low = self.width() < px(NARROW), self.height() < px(LOW)
        self.jump.setVisible(cost is not None and cost.index is not None and not narrow)
        self.heading.say(self._title[0], "" if narrow else self._title[1])
        self.badge.setText("not lossless" if narrow else NOT_LOSSLESS)
        room = self.width() - px(30)
        for figure in self.figures:
            room -= figure.sizeHint().width()
            figure.setVisible(room >= 0 and not low)
            room -= self._foot.spacing()

    # Looks

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        px = theme.px
        self._column.setContentsMargins(px(16), px(12), px(14), px(12))
        self._column.setSpacing(px(8))
        self._body.setSpacing(px(8))
        self._head.setSpacing(px(8))
        self._legend.setSpacing(px(18))
        self._told.setSpacing(px(2))
        self._foot.setSpacing(px(22))
        self.heading.set_theme(theme)
        self.rows.set_theme(theme)
        for name in self.names:
            name.set_theme(theme)
        for figure in self.figures:
            figure.set_theme(theme)
        self.parting.set_theme(theme)
        dress(self.hint, theme, "body", "dim")
        self.jump.setFont(theme.font("small"))
        self.badge.setFont(theme.font("small"))
        warning = theme.colour("warning").name()
        self.badge.setStyleSheet(f"color: {warning}; border: 1px solid {warning}; border-radius: {px(9)}px; "
                                 f"padding: {px(1)}px {px(9)}px;")
        self.close_button.setIcon(theme.icon("close", "dim"))
        self.close_button.setIconSize(QSize(px(14), px(14)))
        self._show_state()
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        """With an application's style sheet, a widget that gets another parent falls back to its first fonts and
        colours; so they are set anew."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_column"):
            self.set_theme(self.theme)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(640), self.theme.px(280))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(300), self.theme.px(180))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(self.theme.colour("panel"))
        painter.setPen(QPen(self.theme.colour("line"), 1))
        radius = self.theme.px(10)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def told(cost: Cost) -> tuple[str, str]:
    """The two halves of its sentence. A token's own spaces are shown as signs, so no token can look like the seam."""
    parting, seam, price = cost.sentence.rpartition(" For the ")
    return (parting, f"{seam.strip()} {price}") if seam else (cost.sentence, "")


class LaneName(QWidget):
    """Which of the two it is, its lane's sign and title, and how it fares."""

    def __init__(self, theme: ThemeView, word: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._word = word
        self._look = 0
        self._swatch = Swatch(theme, 0)
        self._label = ElidedLabel(theme, "small", "dim")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.addWidget(self._swatch)
        self._row.addWidget(self._label, 1)
        self.set_theme(theme)

    def show_lane(self, theme: ThemeView, lane: LaneView) -> None:
        self._look = lane.look
        self._swatch.set_look(theme, lane.look)
        state = _ENDS[lane.finished.reason] if lane.finished is not None else lane.status
        self._label.set_whole(f"{self._word}: {lane.title if self._word == 'original' else state}"
                              f"{f' · {state}' if self._word == 'original' else ''}")

    @property
    def said(self) -> str:
        return self._label.accessibleName()

    def set_theme(self, theme: ThemeView) -> None:
        self._row.setSpacing(theme.px(6))
        self._swatch.set_look(theme, self._look)
        self._label.set_theme(theme)
