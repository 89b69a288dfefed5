"""Cache slots as rows of cells. Thousands of them are summarised: only the last rows are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from engine.debugger.cache_cells import CacheCells, CacheSide, SlotKind
from engine.debugger.history import Moment
from engine.debugger.state_words import in_bytes
from engine.debugger.token_words import quoted
from widgets.counted import counted
from widgets.protocols import ThemeView

LEGEND: dict[SlotKind, str] = {"kept": "kept", "accepted": "accepted now", "drafted": "draft, not judged",
                               "cut": "cut", "awaited": "computed next round"}
WORDS: dict[SlotKind, str] = {
    "kept": "of a committed token, kept",
    "accepted": "of a draft that was accepted in this round",
    "drafted": "of a draft that isn’t judged yet",
    "doomed": "of a draft that was not accepted: the commit will cut it",
    "cut": "of a draft that was not accepted: just cut",
    "awaited": "the token is committed; its keys and values come with the next round",
}
SMALLEST, LARGEST = 13, 26
"""Logical pixels at scale 1, from one cell to the next."""
GAP = 0.17
"""Of that, between two cells."""
FEWEST_ROWS = 3
"""Of cells, before there is room for a legend."""
MOST_ROWS = 4
"""More rows of kept slots would say nothing new."""


@dataclass(frozen=True)
class Cell:
    box: QRectF
    kind: SlotKind
    slot: int


@dataclass(frozen=True)
class Part:
    """One side's picture."""

    side: CacheSide
    caption: QPointF
    """Where its baseline begins."""
    cells: tuple[Cell, ...]
    hidden: int
    """Older slots that aren't drawn."""
    more: QRectF
    """Where that is said."""
    reason: QRectF
    """Where it is said why there are none."""


class CacheGrid(QWidget):
    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cells: CacheCells | None = None
        self._moment: Moment | None = None
        self._progress = 1.0
        self._parts: tuple[Part, ...] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("cache slots")
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self._caption, self._small = theme.font("caption"), theme.font("small")
        self._caption_metrics, self._small_metrics = QFontMetricsF(self._caption), QFontMetricsF(self._small)
        self._parts = None
        self.update()

    def show_cells(self, cells: CacheCells, moment: Moment | None) -> None:
        """``moment``: whose texts the tooltips tell."""
        self._cells, self._moment, self._parts = cells, moment, None
        self.setAccessibleDescription(". ".join(said(side) for side in (cells.target, cells.drafter)))
        self.update()

    def set_progress(self, progress: float) -> None:
        """Of the cut: 0 still there, 1 gone."""
        if progress != self._progress:
            self._progress = progress
            self.update()

    def resizeEvent(self, event: object) -> None:
        self._parts = None

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(300), self.theme.px(240))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(160), self.theme.px(120))

    # Where everything stands

    @property
    def parts(self) -> tuple[Part, ...]:
        if self._parts is None:
            self._parts = self._placed()
        return self._parts

    def _columns(self) -> int:
        """Tens, so that slots can be counted."""
        return max(10, self.width() // self.theme.px(LARGEST) // 10 * 10)

    def _pitch(self, free: float, wanted: list[int]) -> int:
        """As large as the width allows and as lets all rows be seen, within bounds."""
        px = self.theme.px
        by_height = free / max(1, sum(wanted))
        return max(px(SMALLEST), int(min(px(LARGEST), by_height, self.width() / self._columns())))

    def _head(self) -> float:
        return round(1.7 * self._caption_metrics.height())

    def _placed(self) -> tuple[Part, ...]:
        if self._cells is None:
            return ()
        sides = (self._cells.target, self._cells.drafter)
        columns = self._columns()
        wanted = [self._rows_wanted(side, columns) for side in sides]
        free = self.height() - self._legend_height() - 2 * self._head() - self.theme.px(16)
        free -= sum(self._reason_height(side) for side in sides)
        pitch = self._pitch(free, wanted)
        rows = shared(int(free // pitch), wanted)
        parts, y = [], 0.0
        for side, count in zip(sides, rows, strict=True):
            caption = QPointF(0, y + self._caption_metrics.ascent())
            y += self._head()
            parts.append(self._part(side, caption, y, columns, count, pitch))
            y += count * pitch + self._reason_height(side) + self.theme.px(8)
        return tuple(parts)

    def _rows_wanted(self, side: CacheSide, columns: int) -> int:
        total = sum(run.count for run in side.runs)
        new = total - side.count("kept")
        return min(-(-total // columns), max(MOST_ROWS, -(-new // columns) + 2))

    def _reason_height(self, side: CacheSide) -> float:
        if not side.reason:
            return 0.0
        room = QRectF(0, 0, max(self.width(), 1), 1e4)
        return self._small_metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, side.reason).height()

    def _part(self, side: CacheSide, caption: QPointF, top: float, columns: int, rows: int, pitch: int) -> Part:
        """The last rows, slot after slot from the left; what is older is a word at the start of the first row."""
        total, size = sum(run.count for run in side.runs), pitch - max(2, round(GAP * pitch))
        first_row = max(0, -(-total // columns) - rows)
        hidden, more = first_row * columns, QRectF()
        if hidden and rows:
            width = self._small_metrics.horizontalAdvance(f"… {hidden + columns:,} more")
            taken = min(columns, -(-int(width + self.theme.px(6)) // pitch))
            hidden += taken
            more = QRectF(0, top, taken * pitch, size)
        cells = []
        if rows:
            for place, kind, slot in places(side, hidden):
                row, column = place // columns - first_row, place % columns
                cells.append(Cell(QRectF(column * pitch, top + row * pitch, size, size), kind, slot))
        reason = QRectF(0, top, self.width(), self._reason_height(side))
        return Part(side, caption, tuple(cells), hidden, more, reason)

    def _legend(self, width: float) -> list[tuple[SlotKind, QPointF]]:
        """Each sample's left top, flowing into lines."""
        sample, gap, line = 0.8 * self._small_metrics.ascent(), self.theme.px(14), 1.35 * self._small_metrics.height()
        found: list[tuple[SlotKind, QPointF]] = []
        x = y = 0.0
        for kind, text in LEGEND.items():
            wide = sample + self.theme.px(6) + self._small_metrics.horizontalAdvance(text)
            if x and x + wide > width:
                x, y = 0.0, y + line
            found.append((kind, QPointF(x, y)))
            x += wide + gap
        return found

    def _legend_height(self) -> float:
        """0 where the cells need its room: tooltips say the same."""
        full = self._legend(self.width())[-1][1].y() + 1.35 * self._small_metrics.height()
        sides = (self._cells.target, self._cells.drafter) if self._cells is not None else ()
        needed = full + 2 * self._head() + sum(self._reason_height(side) for side in sides)
        return full if self.height() >= needed + self.theme.px(16) + FEWEST_ROWS * self.theme.px(LARGEST) else 0.0

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for part in self.parts:
            self._paint_part(painter, part)
        self._paint_legend(painter)

    def _paint_part(self, painter: QPainter, part: Part) -> None:
        side, theme = part.side, self.theme
        painter.setFont(self._caption)
        painter.setPen(theme.colour("dim"))
        text = caption(side)
        painter.drawText(part.caption, text)
        change, tone = changed(side)
        x = self._caption_metrics.horizontalAdvance(text) + theme.px(10)
        if change and x + self._small_metrics.horizontalAdvance(change) <= self.width():
            painter.setFont(self._small)
            painter.setPen(theme.colour(tone))
            painter.drawText(QPointF(x, part.caption.y()), change)
        painter.setFont(self._small)
        painter.setPen(theme.colour("dim"))
        if side.reason:
            painter.drawText(part.reason, Qt.TextFlag.TextWordWrap, side.reason)
        elif part.hidden and not part.more.isNull():
            painter.drawText(part.more, Qt.AlignmentFlag.AlignVCenter, f"… {part.hidden:,} more")
        for cell in part.cells:
            self._paint_cell(painter, cell.box, cell.kind)

    def _paint_cell(self, painter: QPainter, box: QRectF, kind: SlotKind) -> None:
        theme, radius = self.theme, 0.16 * box.width()
        line = max(1.0, 0.06 * box.width())
        inner = box.adjusted(line / 2, line / 2, -line / 2, -line / 2)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        match kind:
            case "kept":
                fill(painter, box, theme.colour("strong_line"), radius)
            case "accepted":
                fill(painter, box, mixed(theme.colour("accepted"), theme.colour("panel"), 0.62), radius)
                bar = 0.16 * box.height()
                painter.fillRect(QRectF(box.left(), box.bottom() - bar, box.width(), bar), theme.colour("accepted"))
            case "drafted":
                fill(painter, inner, mixed(theme.colour("pending"), theme.colour("panel"), 0.28), radius)
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(theme.colour("pending"), line, Qt.PenStyle.DotLine))
                painter.drawRoundedRect(inner, radius, radius)
            case "doomed" | "cut":
                self._paint_cut(painter, inner, radius, line, self._progress if kind == "cut" else 0.0)
            case "awaited":
                colour = theme.colour("text")
                colour.setAlphaF(self._progress)
                painter.setPen(QPen(colour, 1.4 * line))
                painter.drawRoundedRect(inner, radius, radius)

    def _paint_cut(self, painter: QPainter, box: QRectF, radius: float, line: float, gone: float) -> None:
        """Struck through while it is still held; then its contents shrink away and a dashed outline is left."""
        theme = self.theme
        shrunk = 0.5 * gone * box.width()
        held = box.adjusted(shrunk, shrunk, -shrunk, -shrunk)
        if gone < 1:
            fill(painter, held, mixed(theme.colour("rejected"), theme.colour("panel"), 0.38), radius)
            painter.fillRect(QRectF(held.left(), held.center().y() - line, held.width(), 2 * line),
                             theme.colour("rejected"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen = QPen(theme.colour("rejected"), line)
        pen.setDashPattern([2.5, 2.0])
        painter.setPen(pen)
        painter.drawRoundedRect(box, radius, radius)

    def _paint_legend(self, painter: QPainter) -> None:
        if not self._legend_height():
            return
        top = self.height() - self._legend_height() + 0.2 * self._small_metrics.height()
        sample = 0.8 * self._small_metrics.ascent()
        progress, self._progress = self._progress, 1.0  # samples stand still
        for kind, place in self._legend(self.width()):
            y = top + place.y()
            self._paint_cell(painter, QRectF(place.x(), y, sample, sample), kind)
            painter.setFont(self._small)
            painter.setPen(self.theme.colour("dim"))
            painter.drawText(QPointF(place.x() + sample + self.theme.px(6), y + sample), LEGEND[kind])
        self._progress = progress

    # In words

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.explain(QPointF(event.pos())), self)
            return True
        return bool(super().event(event))

    def explain(self, point: QPointF) -> str:
        for part in self.parts:
            for cell in part.cells:
                if cell.box.contains(point):
                    return f"{part.side.owner} slot {cell.slot:,}{self._text_of(cell)}\n{WORDS[cell.kind]}"
            if part.more.contains(point):
                return f"{counted(part.hidden, 'older slot')} of committed tokens"
        return ""

    def _text_of(self, cell: Cell) -> str:
        drafts = dict(self._cells.labels) if self._cells is not None else {}
        if cell.kind in ("accepted", "drafted", "doomed", "cut") and cell.slot in drafts:
            return f": {quoted(drafts[cell.slot])}"
        if self._moment is not None and cell.slot < self._moment.length:
            return f": {quoted(self._moment.label(self._moment.history.ids[cell.slot]))}"
        return ""


def places(side: CacheSide, start: int) -> Iterator[tuple[int, SlotKind, int]]:
    """Place, kind and slot number of each cell from place ``start`` on; cut ones stand before those that take over."""
    place = 0
    for run in side.runs:
        for i in range(max(0, start - place), run.count):
            yield place + i, run.kind, run.first + i
        place += run.count


def shared(rows: int, wanted: list[int]) -> list[int]:
    """Rows for each, as many as are wanted where there is room, at least one for whoever wants any."""
    given = [min(want, 1) for want in wanted]
    while sum(given) < rows and given != wanted:
        # the one that has least of what it wants
        short = min((i for i in range(len(wanted)) if given[i] < wanted[i]), key=lambda i: given[i])
        given[short] += 1
    return given


def caption(side: CacheSide) -> str:
    if side.reason:
        return side.owner.upper()
    size = f" · {in_bytes(side.bytes)}" if side.bytes else ""
    return f"{side.owner.upper()} · {counted(side.held, 'SLOT').replace('SLOTs', 'SLOTS')}{size}"


def changed(side: CacheSide) -> tuple[str, str]:
    """What happens to it at this moment, and the colour to say it in."""
    doomed, cut, drafted = side.count("doomed"), side.count("cut"), side.count("drafted")
    if cut:
        return f"{cut} cut", "rejected_text"
    if doomed:
        return f"{doomed} will be cut", "rejected_text"
    return (f"{drafted} not judged yet", "dim") if drafted else ("", "dim")


def said(side: CacheSide) -> str:
    change = changed(side)[0]
    return f"{side.owner}: {side.reason or counted(side.held, 'slot')}{', ' + change if change else ''}"


def fill(painter: QPainter, box: QRectF, colour: QColor, radius: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRoundedRect(box, radius, radius)


def mixed(colour: QColor, ground: QColor, share: float) -> QColor:
    """``share`` of a colour on a ground."""
    def part(a: float, b: float) -> float:
        return share * a + (1 - share) * b

    return QColor.fromRgbF(part(colour.redF(), ground.redF()), part(colour.greenF(), ground.greenF()),
                           part(colour.blueF(), ground.blueF()))
