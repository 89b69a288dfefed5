"""The test of a draft as a formula in figures, the threshold with its draw, and the question what another draw does."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from engine.debugger.judgement import Judgement, Span, figure, read
from widgets.branch_button import BranchButton
from widgets.inspector_gauge import ThresholdGauge
from widgets.protocols import ThemeView

_TONES = {"plain": "text", "p": "p", "q": "q", "accept": "good", "reject": "danger", "dim": "dim", "product": "text"}


class FormulaLine(QWidget):
    """Spans in one line, as large as fits; elided, with a tooltip, where even the smallest doesn't."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spans: tuple[Span, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.updateGeometry()
        self.update()

    def show_spans(self, spans: Sequence[Span]) -> None:
        self._spans = tuple(spans)
        self.setAccessibleName(self.text())
        self.update()

    def text(self) -> str:
        return "".join(span.text for span in self._spans)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(300), int(1.35 * QFontMetricsF(self.theme.font("token")).height()))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(80), self.sizeHint().height())

    def _font(self) -> QFont:
        fonts = [self.theme.font(role) for role in ("token", "code")]
        fonts.append(QFont(fonts[-1]))
        fonts[-1].setPixelSize(max(9, round(0.85 * fonts[-1].pixelSize())))
        return next((font for font in fonts if QFontMetricsF(font).horizontalAdvance(self.text()) <= self.width()),
                    fonts[-1])

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        font = self._font()
        metrics = QFontMetricsF(font)
        whole = metrics.horizontalAdvance(self.text()) <= self.width()
        if self.toolTip() != ("" if whole else self.text()):
            self.setToolTip("" if whole else self.text())
        painter.setFont(font)
        x, baseline = 0.0, (self.height() + metrics.ascent() - metrics.descent()) / 2
        for text, tone in self._spans:
            painter.setPen(self.theme.colour(_TONES[tone]))
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, self.width() - x))
            painter.drawText(QPointF(x, baseline), shown)
            x += metrics.horizontalAdvance(text)
            if shown != text:
                break


class FormulaStrip(QWidget):
    tried = Signal(object)
    """Another u is tried, or None."""
    branch_wanted = Signal(float)
    force_wanted = Signal(bool)
    """Greedy: there is no draw to change, only the verdict."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._judgement: Judgement | None = None
        self._may_branch, self._reason = True, ""
        self._typing = False
        self._greedy = self._in_tree = False
        self.line = FormulaLine(theme)
        self.gauge = ThresholdGauge(theme)
        self.question = QLabel("what if u were")
        self.value = QLineEdit()
        self.value.setMaxLength(12)
        self.value.setAccessibleName("another u")
        self.answer = QLabel()
        self.branch = BranchButton(theme)
        self._row, self._column = QHBoxLayout(), QVBoxLayout(self)
        self._row.addWidget(self.gauge, 1)
        for widget in (self.question, self.value, self.answer, self.branch):
            self._row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        self._row.addStretch(0)  # without a gauge, all stand on the left
        self._column.addWidget(self.line)
        self._column.addLayout(self._row)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.gauge.moved.connect(self._on_gauge)
        self.gauge.branch_wanted.connect(self._on_branch)
        self.value.textEdited.connect(self._on_value)
        self.value.returnPressed.connect(self.branch.click)
        self.branch.clicked.connect(self._on_branch)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        px = theme.px
        self.line.set_theme(theme)
        self.gauge.set_theme(theme)
        self._column.setContentsMargins(px(10), px(6), px(10), px(4))
        self._column.setSpacing(px(2))
        self._row.setSpacing(px(7))
        for label, tone in ((self.question, "dim"), (self.answer, "text")):
            label.setFont(theme.font("small"))
            palette = QPalette(label.palette())
            palette.setColor(QPalette.ColorRole.WindowText, theme.colour(tone))
            label.setPalette(palette)
        self.value.setFont(theme.font("code"))
        self.value.setFixedWidth(px(78))
        self.branch.set_theme(theme)
        self.answer.setFixedWidth(int(QFontMetricsF(theme.font("small")).horizontalAdvance("→ accept")) + px(3))
        self._keep_height()
        self.update()

    def show_judgement(self, judgement: Judgement | None, may_branch: bool, reason: str, *, greedy: bool,
                       in_tree: bool = False, otherwise: str = "") -> None:
        """``greedy``: the run is. ``in_tree``: no verdict can be changed, so none is offered. ``reason``: why there is
        no branching; ``otherwise``: what to say where nothing was judged."""
        self._greedy, self._in_tree = greedy, in_tree
        self._judgement, self._may_branch, self._reason = judgement, may_branch, reason
        sampled = self._sampled()
        self.gauge.show_judgement(judgement, sampled)
        self.gauge.setVisible(judgement is not None and judgement.threshold is not None)
        judged = judgement is not None and judgement.accepted is not None
        asked = judged and not (greedy and in_tree)
        self.value.setVisible(sampled)
        self.answer.setVisible(sampled)
        self.question.setVisible(asked)
        self.branch.setVisible(asked)
        self._keep_height()
        if judgement is None:
            self.line.show_spans([Span(otherwise, "dim")])
            return
        told = f"   {otherwise}" if otherwise and not judged else ""
        self.line.show_spans([*judgement.formula(), Span(told, "dim")])
        self.question.setText("what if u were" if sampled else
                              f"what if it were {'rejected' if judgement.accepted else 'accepted'}?")
        self.branch.setEnabled(may_branch)
        self.branch.setToolTip(
            f"No branch: {reason}" if not may_branch else
            "Run on from here with the other verdict: the output is no longer the target’s")
        self._write(suggestion(judgement))
        self._tell()

    def _why_not(self, value: float | None) -> str:
        """Why no branch is offered for another u; "" where it is."""
        judgement = self._judgement
        assert judgement is not None
        if not self._may_branch:
            return f"No branch: {self._reason}"
        if value is None:
            return "Write a number from 0 to below 1"
        if judgement.accepts(value) != judgement.accepted:
            return ""
        every = {0.0: "p = 0, so every u rejects", 1.0: "p ≥ q, so every u accepts"}.get(
            judgement.threshold or 0.0, f"this u {'accepts' if judgement.accepted else 'rejects'} too")
        return f"No branch: {every}, and nothing would change"

    def _keep_height(self) -> None:
        """With a test or without: what is above must not jump from step to step."""
        below = (0 if self._in_tree else self.branch.sizeHint().height()) if self._greedy else (
            self.gauge.sizeHint().height())
        margins = self._column.contentsMargins()
        self.setFixedHeight(margins.top() + self.line.sizeHint().height() + self._column.spacing() + below
                            + margins.bottom())

    def _write(self, value: float) -> None:
        self.value.setText(written(value))

    def _tell(self) -> None:
        """What the value in the field would do."""
        value = self.asked()
        accepts = self._judgement.accepts(value) if self._judgement is not None and value is not None else None
        self.answer.setText("" if accepts is None else f"→ {'accept' if accepts else 'reject'}")
        if self._sampled():
            why_not = self._why_not(value)
            self.branch.setEnabled(not why_not)
            self.branch.setToolTip(why_not or "Run on from here with this u")

    def asked(self) -> float | None:
        """The other u; None: the field holds no number from 0 to below 1."""
        if self.gauge.tried is not None:
            return self.gauge.tried
        try:
            value = read(self.value.text().replace(",", "."))
        except ValueError:
            return None
        return value if 0 <= value < 1 else None

    def _sampled(self) -> bool:
        j = self._judgement
        return j is not None and j.accepted is not None and j.threshold is not None and j.draw is not None

    def _on_gauge(self, value: float | None) -> None:
        if self._judgement is not None and not self._typing:
            self._write(value if value is not None else suggestion(self._judgement))
        self._tell()
        self.tried.emit(value)

    def _on_value(self, text: str) -> None:
        self._typing = True
        self.gauge.try_value(None)
        self.gauge.try_value(self.asked())
        self._typing = False
        self._tell()

    def _on_branch(self, *_: object) -> None:
        if not self.branch.isEnabled():  # Enter on the gauge asks for it too
            return
        value = self.asked()
        if self._judgement is not None and not self._sampled():
            self.force_wanted.emit(not self._judgement.accepted)
        elif value is not None:
            self.branch_wanted.emit(value)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(self.theme.colour("sunken" if self.theme.dark else "window"))
        painter.setPen(QPen(self.theme.colour("line"), 1) if not self.theme.dark else Qt.PenStyle.NoPen)
        radius = self.theme.px(8)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def suggestion(judgement: Judgement) -> float:
    """A draw that would decide otherwise, halfway between the threshold and the end, in few digits; the recorded one
    where every draw decides alike."""
    threshold = judgement.threshold
    if threshold is None or judgement.draw is None:
        return 0.0
    beyond = float(f"{((1 - threshold) if judgement.accepted else threshold) / 2:.2g}")
    other = round(1 - beyond, 10) if judgement.accepted else beyond
    return other if other < 1 and judgement.accepts(other) != judgement.accepted else round(judgement.draw, 3)


def written(value: float) -> str:
    """A u for the field: six decimals at most, but more, or a power of ten, where they would make it 0 or 1."""
    if 0 < value < 0.001:
        return figure(value, 2)
    digits = 6 if round(value, 6) < 1 else 10
    return f"{value:.{digits}f}".rstrip("0").ljust(4, "0")
