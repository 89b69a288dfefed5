"""Where two lanes first differ: the text before, both rows there, and what it means."""

from __future__ import annotations

import html
import math
from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QStackedWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from engine.divergence import Comparison, Kind, Output, Side, compare
from widgets.empty_state import EmptyState
from widgets.panel import Panel
from widgets.protocols import LaneView, StoreView, ThemeView

SIGNS: dict[Kind, tuple[str, str]] = {
    "waiting": ("", "dim"), "incomparable": ("", "dim"), "same": ("=", "good"), "so far": ("=", "good"),
    "near-tie": ("≈", "warning"), "fault": ("≠", "danger"), "length": ("≠", "danger"), "sampled": ("≠", "link")}
"""A sign and a colour for each verdict."""


class DivergencePanel(Panel, QWidget):
    PAUSE = 0.25

    def __init__(self, store: StoreView, theme: ThemeView, parent: QWidget | None = None, *,
                 make_picker: Callable[[], QComboBox] = QComboBox) -> None:
        super().__init__(parent)
        self.init_panel(store, theme)
        self._outputs: dict[str, tuple[LaneView, Output, int]] = {}
        """By lane: its output, made of so many of its records."""
        self._listed: list[tuple[str, str]] = []
        self._shown: Comparison | None = None
        self._pickers = (make_picker(), make_picker())
        for picker, name in zip(self._pickers, ("first lane", "second lane"), strict=True):
            picker.setAccessibleName(name)
            picker.setMinimumContentsLength(22)
            picker.activated.connect(self._on_pick)
        self._against = QLabel("against")
        self._against.setProperty("kind", "dim")
        self._sign, self._sentence = QLabel(), QLabel()
        self._sentence.setWordWrap(True)
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._sides = (_SideView(theme), _SideView(theme))
        self._note = QLabel()
        self._note.setProperty("kind", "dim")
        self._note.setWordWrap(True)
        self._nothing = EmptyState(theme, "Nothing to compare yet",
                                   "Run several lanes in Race, or open a recording; then any two can be compared here.",
                                   icon="lanes")
        self._alike = EmptyState(theme, "")
        self._build()
        self.restyle()

    def _build(self) -> None:
        self._picks = QHBoxLayout()
        self._picks.addWidget(self._pickers[0])
        self._picks.addWidget(self._against)
        self._picks.addWidget(self._pickers[1])
        self._picks.addStretch(1)
        self._say = QHBoxLayout()
        self._say.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        self._say.addWidget(self._sentence, 1)
        self._pair = QHBoxLayout()
        for side in self._sides:
            self._pair.addWidget(side, 1)
        differing = QWidget()
        inside = QVBoxLayout(differing)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addLayout(self._pair, 1)
        inside.addWidget(self._note)
        self._body = QStackedWidget()
        for page in (differing, self._alike):
            self._body.addWidget(page)
        compared = QWidget()
        self._column = QVBoxLayout(compared)
        self._column.addLayout(self._picks)
        self._column.addLayout(self._say)
        self._column.addWidget(self._body, 1)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._nothing)
        self._pages.addWidget(compared)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._pages)

    def restyle(self) -> None:
        px = self.theme.px
        self._column.setContentsMargins(px(16), px(4), px(14), px(12))
        self._column.setSpacing(px(12))
        self._picks.setSpacing(px(10))
        self._say.setSpacing(px(12))
        self._pair.setSpacing(px(10))
        for label in (self._sign, self._sentence):
            label.setFont(self.theme.font("headline"))
        self._against.setFont(self.theme.font("body"))
        self._note.setFont(self.theme.font("small"))
        for part in (self._nothing, self._alike):
            part.set_theme(self.theme)
        for side in self._sides:
            side.set_theme(self.theme)
        self._shown = None

    # What is compared

    def choose(self, first: str, second: str) -> None:
        """Two lanes by id."""
        self._list_lanes()
        for picker, lane in zip(self._pickers, (first, second), strict=True):
            place = picker.findData(lane)
            if place >= 0:
                picker.setCurrentIndex(place)
        self.mark_dirty()

    def compare_with_plain(self, lane: str) -> None:
        if self.store.plain is not None:
            self.choose(self.store.plain.id, lane)

    def _on_pick(self) -> None:
        self.mark_dirty()

    def _list_lanes(self) -> None:
        """The lanes on screen; at first plain decoding is compared with the first lane that differs from it, or with
        the first there is."""
        listed = [(lane.id, lane.title) for lane in self.store.lanes]
        if listed == self._listed:
            return
        chosen = [picker.currentData() for picker in self._pickers]
        self._listed = listed
        for picker in self._pickers:
            picker.clear()
            for lane, title in listed:
                picker.addItem(title, lane)
        plain = self.store.plain
        others = [lane for lane, _ in listed if plain is None or lane != plain.id]
        first = plain.id if plain is not None else others[0] if others else None
        second = next((lane for lane in others if lane != first and self.store.divergence(lane)), None) or next(
            (lane for lane in others if lane != first), None)
        for picker, before, default in zip(self._pickers, chosen, (first, second), strict=True):
            picker.setCurrentIndex(max(0, picker.findData(before if picker.findData(before) >= 0 else default)))

    def _output(self, lane: LaneView) -> Output:
        known, output, count = self._outputs.get(lane.id, (lane, Output(), 0))
        if known is not lane:
            output, count = Output(), 0
        for record in lane.records[count:]:
            output.see(record)
        self._outputs[lane.id] = (lane, output, len(lane.records))
        return output

    # Once a frame

    def sync(self) -> None:
        self._list_lanes()
        lanes = [self.store.lane(picker.currentData()) for picker in self._pickers if picker.currentData() is not None]
        if len(self.store.lanes) < 2 or len(lanes) < 2 or lanes[0] is None or lanes[1] is None:
            self._pages.setCurrentIndex(0)
            return
        self._pages.setCurrentIndex(1)
        comparison = compare(self._output(lanes[0]), self._output(lanes[1]))
        if comparison == self._shown:
            return
        self._shown = comparison
        self._show(comparison, lanes[0], lanes[1])

    def _show(self, comparison: Comparison, first: LaneView, second: LaneView) -> None:
        sign, role = SIGNS[comparison.kind]
        self._sign.setText(sign)
        self._sign.setVisible(bool(sign))
        _colour(self._sign, self.theme.colour(role))
        _colour(self._sentence, self.theme.colour("strong" if sign else "dim"))
        self._sentence.setText(comparison.sentence)
        self._body.setCurrentIndex(0 if comparison.sides else 1)
        if comparison.sides is None:
            self._alike.set_text(*_calm(comparison))
            return
        for view, side, lane in zip(self._sides, comparison.sides, (first, second), strict=True):
            view.show_side(side, lane, max(len(one.candidates) for one in comparison.sides))
        self._note.setText(f"{comparison.shown}. Logits are given as differences to the row’s best: ln p − ln p(best)"
                           f"{', times the temperature' if 'drew' in comparison.shown else ''}; nothing else of "
                           "them is recorded.")


class _SideView(QFrame):
    """One lane at the place of the difference."""

    def __init__(self, theme: ThemeView) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self._title = QLabel()
        self._gap = QLabel()
        self._gap.setProperty("kind", "dim")
        self._context = QTextBrowser()
        self._context.setFrameShape(QFrame.Shape.NoFrame)
        self._context.setOpenLinks(False)
        self._context.setAccessibleName("text up to the difference")
        self._rows = _Candidates(theme)
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self._gap)
        self._column = QVBoxLayout(self)
        self._column.addLayout(head)
        self._column.addWidget(self._context, 1)
        self._column.addWidget(self._rows)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        px = theme.px
        self._column.setContentsMargins(px(16), px(12), px(16), px(12))
        self._column.setSpacing(px(10))
        self._title.setFont(theme.font("title"))
        self._gap.setFont(theme.font("body"))
        self._context.setFont(theme.font("token"))
        self._context.setMinimumHeight(px(96))
        self._rows.set_theme(theme)

    def show_side(self, side: Side, lane: LaneView, lines: int) -> None:
        """``lines``: as many as the longer table of the two has."""
        self._title.setText(side.title)
        self._gap.setText("" if side.gap is None else f"gap of the two best logits {side.gap:.3g}")
        colour = self.theme.colour
        token = (f'<span style="background:{colour("selection").name()}; color:{colour("selection_text").name()}">'
                 f"{_shown(side.text) or lane.token_text(side.token)}</span>" if side.token is not None else
                 f'<span style="color:{colour("danger").name()}">⟨ended⟩</span>')
        self._context.setHtml(
            f'<div style="white-space:pre-wrap; color:{colour("dim").name()}">{_shown(side.before)}'
            f'{token}<span style="color:{colour("text").name()}">{_shown(side.after)}</span></div>')
        bar = self._context.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._rows.show_side(side, lane, lines)


class _Candidates(QWidget):
    """The row's best tokens: text, a bar for p, p, and how far the logit is behind the best."""

    def __init__(self, theme: ThemeView) -> None:
        super().__init__()
        self._lines: list[tuple[str, float, str, bool]] = []
        self._room = 5
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._height = 1.5 * QFontMetricsF(theme.font("token")).height()
        self.updateGeometry()
        self.update()

    def show_side(self, side: Side, lane: LaneView, lines: int) -> None:
        self._room = lines
        self._lines = [(lane.token_text(c.token), c.p, "cut off" if c.behind == -math.inf else f"{c.behind:+.3f}"
                        if c.behind else "best", c.token == side.token) for c in side.candidates]
        self.setAccessibleName("; ".join(f"{text} {p:.4f}" for text, p, _, _ in self._lines))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(320), round(self._height * (max(5, self._room) + 1)))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        px, colour = self.theme.px, self.theme.colour
        small, body, mono = (self.theme.font(role) for role in ("small", "body", "token"))
        if not self._lines:
            painter.setFont(body)
            painter.setPen(colour("dim"))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "This lane’s row was not recorded here.")
            return
        names = 0.34 * self.width()
        right = QFontMetricsF(body).horizontalAdvance("−00.000") + px(8)
        number = QFontMetricsF(body).horizontalAdvance("0.0000") + px(14)
        room = self.width() - names - right - number
        baseline = 0.68 * self._height
        painter.setFont(small)
        painter.setPen(colour("dim"))
        painter.drawText(QPointF(0, baseline), "token")
        painter.drawText(QPointF(names, baseline), "p")
        _right(painter, self.width(), baseline, "Δ logit")
        for place, (text, p, behind, chosen) in enumerate(self._lines, start=1):
            top = place * self._height
            if chosen:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colour("selection"))
                painter.drawRoundedRect(QRectF(0, top + 1, names - px(8), self._height - 2), px(5), px(5))
            painter.setFont(mono)
            painter.setPen(colour("selection_text" if chosen else "text"))
            metrics = QFontMetricsF(mono)
            painter.drawText(QPointF(px(6), top + baseline), ("▸ " if chosen else "  ") + metrics.elidedText(
                text, Qt.TextElideMode.ElideRight, names - px(20) - metrics.horizontalAdvance("▸ ")))
            painter.fillRect(QRectF(names, top + 0.25 * self._height, max(1.0, room * p), 0.5 * self._height),
                             colour("p"))
            painter.setFont(body)
            painter.setPen(colour("text"))
            _right(painter, self.width() - right, top + baseline, f"{p:.4f}")
            painter.setPen(colour("dim"))
            _right(painter, self.width(), top + baseline, behind.replace("-", "−"))


def _right(painter: QPainter, x: float, y: float, text: str) -> None:
    painter.drawText(QPointF(x - painter.fontMetrics().horizontalAdvance(text), y), text)


def _shown(text: str) -> str:
    """As HTML, line ends visible."""
    return html.escape(text).replace("\n", "↵\n")


def _colour(label: QLabel, colour: QColor) -> None:
    palette = QPalette(label.palette())
    palette.setColor(QPalette.ColorRole.WindowText, colour)
    label.setPalette(palette)


def _calm(comparison: Comparison) -> tuple[str, str]:
    """What stands in the middle where there is no difference to show."""
    if comparison.kind == "same":
        return "No token differs", "Both lanes wrote the same text."
    if comparison.kind == "so far":
        return "No token differs so far", "This page follows the run and shows the first difference once there is one."
    return "Nothing to show", "Choose two other lanes."
