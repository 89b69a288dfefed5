"""The round under the cursor: its tokens, and one sentence or two on what has just happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from engine.debugger.history import Moment
from engine.debugger.round_words import TAIL_TEXT, Chip, RoundWords, round_words
from engine.debugger.token_words import quoted
from widgets.marks import MEANINGS, WORDS
from widgets.moment_card import MomentCard, dress
from widgets.protocols import CellView, ThemeView
from widgets.text_layout import TextLayout
from widgets.token_painter import TokenPainter

LARGE_LINES = 2
DRAFT_TEXT, SOME_DRAFTS = 7, 4
"""Characters of a draft with its room, and how many drafts are expected where γ isn't told."""

NO_LANE = "No lane to step through yet: press Run, or open a recording."
TOO_EARLY = "Nothing has happened yet at this moment: step on (F11)."


class RoundStrip(MomentCard[tuple[RoundWords, int]]):
    selected = Signal(int, int)
    """A round, and the verify row that decided the token: a draft's own; a correction's is the rejected draft's, and a
    bonus stands behind the last draft."""
    breakpoint_wanted = Signal(object)
    """A :class:`engine.debugger.round_words.Chip` was clicked with the other button."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Round", NO_LANE, parent)
        self.chips = Chips(theme)
        self.chips.chosen.connect(self._on_chosen)
        self.chips.breakpoint_wanted.connect(self.breakpoint_wanted)
        self.sentence = QLabel(" ")  # an empty label would not take over font and colours
        self.sentence.setWordWrap(True)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        inner = QWidget()
        inner.setAutoFillBackground(False)
        self._inner = QVBoxLayout(inner)
        self._inner.setContentsMargins(0, 0, 0, 0)
        self._inner.addWidget(self.chips)
        self._inner.addWidget(self.sentence)
        self._inner.addStretch(1)
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inner)
        scroll.viewport().setAutoFillBackground(False)
        inner.setAutoFillBackground(False)  # setWidget turns it on
        self.hold(scroll)

    def show_moment(self, moment: Moment | None) -> None:
        self._hint.setText(NO_LANE if moment is None else TOO_EARLY)
        super().show_moment(moment)

    def read(self, moment: Moment) -> tuple[RoundWords, int] | None:
        words = round_words(moment)
        return (words, len(moment.history.begins)) if words is not None else None

    def present(self, model: tuple[RoundWords, int], before: Moment | None) -> None:
        words, rounds = model
        gamma = f" · γ {words.gamma}" if words.gamma is not None else ""
        place = "before the first round" if words.round is None else f"round {words.round + 1:,} of {rounds:,}"
        self.heading.say(words.title + gamma, place)
        self.chips.expect(words.gamma)
        self.chips.show_chips(words.chips)
        self.sentence.setText(words.sentence.replace(" = ", "\u00a0=\u00a0"))  # a formula isn't broken there
        self.setAccessibleDescription(words.sentence)

    def select(self, index: int | None) -> None:
        """Frame the token of this verify row of the round that is shown; None: no one."""
        self.chips.select(index)

    def restyle(self) -> None:
        self._inner.setSpacing(self.theme.px(8))
        dress(self.sentence, self.theme, "body", "dim")
        self.chips.set_theme(self.theme)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(320), self.theme.px(200))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(200), self.theme.px(110))

    def _on_chosen(self, chip: Chip) -> None:
        self.selected.emit(chip.round, chip.index)


class Chips(QWidget):
    """Tokens as the token stream shows them, wrapped into the width there is."""

    chosen = Signal(object)
    breakpoint_wanted = Signal(object)

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chips: tuple[Chip, ...] = ()
        self._index: int | None = None
        self._expected = SOME_DRAFTS
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMouseTracking(True)
        self.setAccessibleName("tokens of the round")
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self._painters = [TokenPainter(theme, "token_big"), TokenPainter(theme, "token")]
        self._lay_out()

    def expect(self, gamma: int | None) -> None:
        """How many drafts a round of this lane may have: the size of the type is chosen for them, once."""
        expected = gamma if gamma is not None else SOME_DRAFTS
        if expected != self._expected:
            self._expected = expected
            self._lay_out()

    def show_chips(self, chips: tuple[Chip, ...]) -> None:
        if chips == self._chips:
            return
        self._chips = chips
        self.setAccessibleDescription(", ".join(f"{WORDS[chip.kind]} {quoted(chip.text)}" for chip in chips
                                                if chip.index >= 0))
        self._lay_out()

    def select(self, index: int | None) -> None:
        if index != self._index:
            self._index = index
            self.update()

    # Layout

    def _cells(self) -> Sequence[CellView]:
        return cast(Sequence[CellView], self._chips)  # chips have what is needed for painting: id, text, label, kind

    def _lay_out(self) -> None:
        self._painter, self._layout = self._fitting(self.width())
        self.updateGeometry()
        self.update()

    def _fitting(self, width: int) -> tuple[TokenPainter, TextLayout]:
        """Large where two lines would do for a usual round of the lane, whatever this one holds: from step to step the
        type keeps its size."""
        large, small = self._painters
        usual = TAIL_TEXT + DRAFT_TEXT * (self._expected + 1)
        painter = large if usual * large.advance <= LARGE_LINES * (width - 3 * large.unit) else small
        layout = TextLayout(painter.measure, painter.advance)
        layout.prompt = True
        layout.reset(width - 3 * painter.unit)
        layout.sync(self._cells(), 0)
        return painter, layout

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        painter, layout = (self._painter, self._layout) if width == self.width() else self._fitting(width)
        return max(1, len(layout.lines)) * painter.line_height + round(3 * painter.unit)

    def sizeHint(self) -> QSize:
        return QSize(round(16 * self._painter.advance), self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        return QSize(round(8 * self._painter.advance), self._painter.line_height)

    def resizeEvent(self, event: object) -> None:
        self._painter, self._layout = self._fitting(self.width())

    def chip_at(self, point: QPointF) -> Chip | None:
        number = int(point.y() // self._painter.line_height)
        if not 0 <= number < len(self._layout.lines) or point.y() < 0:
            return None
        line = self._layout.lines[number]
        x = point.x() - self._painter.unit
        for fragment, (left, right) in zip(line.fragments, self._painter.spans(line), strict=True):
            if left <= x < right:
                return self._chips[fragment.cell]
        return None

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self._painter.unit, 0)  # a frame stands out a little
        framed = next((i for i, chip in enumerate(self._chips) if chip.index == self._index and chip.round >= 0), None)
        for number, line in enumerate(self._layout.lines):
            top = number * self._painter.line_height
            self._painter.paint_line(painter, line, top, self._cells(), 0)
            if framed is not None:
                self._painter.paint_outline(painter, line, top, framed, framed + 1)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        chip = self.chip_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and chip is not None and chip.index >= 0:
            self.chosen.emit(chip)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        chip = self.chip_at(event.position())
        known = chip is not None and chip.index >= 0
        self.setCursor(Qt.CursorShape.PointingHandCursor if known else Qt.CursorShape.ArrowCursor)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        chip = self.chip_at(QPointF(event.pos()))
        if chip is not None and chip.index >= 0:
            self.breakpoint_wanted.emit(chip)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            chip = self.chip_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), explain(chip) if chip is not None else "", self)
            return True
        return bool(super().event(event))


def explain(chip: Chip) -> str:
    if chip.id < 0:
        return "earlier tokens"
    if chip.index < 0:
        return f"{quoted(chip.text)}: {WORDS[chip.kind] if chip.kind == 'prompt' else 'committed earlier'}, " \
               f"position {chip.position:,}"
    return f"{quoted(chip.text)}: {WORDS[chip.kind]}, position {chip.position:,}\n{MEANINGS[chip.kind]}"
