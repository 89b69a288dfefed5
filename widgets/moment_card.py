"""The card that a panel of the debugger stands on: a heading, and beneath it what it shows of a moment."""

from __future__ import annotations

from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from engine.debugger.history import Moment
from widgets.figures import ElidedLabel
from widgets.protocols import ThemeView

Model = TypeVar("Model")


class Heading(QWidget):
    """A title and, dim behind it, a remark."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ElidedLabel(theme, "strong", "text")
        self._remark = ElidedLabel(theme, "small", "dim", yields=False)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.addWidget(self._title)
        self._row.addWidget(self._remark, 1)
        self.set_theme(theme)

    def say(self, title: str, remark: str = "") -> None:
        self._title.set_whole(title)
        self._remark.set_whole(remark)

    @property
    def said(self) -> tuple[str, str]:
        return self._title.accessibleName(), self._remark.accessibleName()

    def set_theme(self, theme: ThemeView) -> None:
        self._row.setSpacing(theme.px(8))
        self._title.set_theme(theme)
        self._remark.set_theme(theme)


class MomentCard(QFrame, Generic[Model]):
    """Derive, give the contents to :meth:`hold`, say in :meth:`read` what is shown of a moment and in :meth:`present`
    how. Nothing is done when the next moment looks the same."""

    def __init__(self, theme: ThemeView, title: str, hint: str, parent: QWidget | None = None) -> None:
        """``hint``: what to do while there is nothing to show."""
        super().__init__(parent)
        self.theme = theme
        self.moment: Moment | None = None
        self.model: Model | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(title)
        self.heading = Heading(theme)
        self.heading.say(title)
        self._name = title
        self._hint = QLabel(hint)
        self._hint.setWordWrap(True)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._hint)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self.heading)
        self._column.addWidget(self._pages, 1)

    def hold(self, contents: QWidget) -> None:
        self._pages.addWidget(contents)
        self.set_theme(self.theme)

    def show_moment(self, moment: Moment | None) -> None:
        """Cheap: called at every step."""
        before, self.moment = self.moment, moment
        model = self.read(moment) if moment is not None else None
        if model == self.model:
            return
        self.model = model
        self._pages.setCurrentIndex(0 if model is None else 1)
        if model is None:
            self.heading.say(self._name)
        else:
            self.present(model, before)

    def read(self, moment: Moment) -> Model | None:
        """What is shown of it; None for nothing yet."""
        raise NotImplementedError

    def present(self, model: Model, before: Moment | None) -> None:
        """Show it. ``before``: the moment that was shown until now."""
        raise NotImplementedError

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        px = theme.px
        self._column.setContentsMargins(px(16), px(12), px(14), px(12))
        self._column.setSpacing(px(8))
        self.heading.set_theme(theme)
        dress(self._hint, theme, "body", "dim")
        self.restyle()
        self.update()

    def restyle(self) -> None:
        """Dress the contents in ``self.theme``."""
        raise NotImplementedError

    def changeEvent(self, event: QEvent) -> None:
        """With an application's style sheet, a widget that gets another parent falls back to its first fonts and
        colours; so they are set anew."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and self._pages.count() > 1:
            self.set_theme(self.theme)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(self.theme.colour("panel"))
        painter.setPen(QPen(self.theme.colour("line"), 1))
        radius = self.theme.px(10)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def dress(label: QWidget, theme: ThemeView, role: str, tone: str) -> None:
    """A font and a text colour of the theme."""
    label.setFont(theme.font(role))
    palette = QPalette(label.palette())
    for part in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text):
        palette.setColor(part, theme.colour(tone))
    label.setPalette(palette)
