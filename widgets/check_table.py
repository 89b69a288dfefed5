"""The proof as a table: a line for each claim that was tried, as they come, and all that is known of the chosen one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QPlainTextEdit,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from engine.proof.report import Check
from widgets.protocols import ThemeView

COLUMNS = ("", "What is checked", "Claim", "Tried", "Found", "Allowed", "Seconds")
VERDICT, NAME, CLAIM, SAMPLES, STATISTIC, THRESHOLD, SECONDS = range(len(COLUMNS))
WIDTHS = (92, 0, 0, 160, 0, 0, 70)
"""Logical pixels at scale 1; 0: a share of what is left."""
SHARES = {NAME: 0.34, CLAIM: 0.24, STATISTIC: 0.24, THRESHOLD: 0.18}


class CheckTable(QWidget):
    """Groups with their checks beneath them. Verdicts have a sign and a word besides their colour."""

    def __init__(self, theme: ThemeView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._checks: list[Check] = []
        self._groups: dict[str, QTreeWidgetItem] = {}
        self.tree = QTreeWidget()
        self.tree.setObjectName("checks")
        self.tree.setColumnCount(len(COLUMNS))
        self.tree.setHeaderLabels(COLUMNS)
        self.tree.setRootIsDecorated(False)
        self.tree.setItemsExpandable(False)
        self.tree.setIndentation(0)
        self.tree.setUniformRowHeights(True)
        self.tree.setFrameShape(QFrame.Shape.NoFrame)
        self.tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.tree.header().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.tree.header().setStretchLastSection(False)
        self.tree.header().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.tree.setAccessibleName("checks")
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setFrameShape(QFrame.Shape.NoFrame)
        self.details.setPlaceholderText("Choose a check to see what it tried and what it found.")
        self.details.setAccessibleName("the chosen check in full")
        split = self._split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.tree)
        split.addWidget(self.details)
        split.setChildrenCollapsible(False)
        split.setStretchFactor(0, 4)
        split.setStretchFactor(1, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(split)
        self.tree.currentItemChanged.connect(self._on_choice)
        self.set_theme(theme)

    def set_theme(self, theme: ThemeView) -> None:
        self.theme = theme
        self.tree.setFont(theme.font("body"))
        self.tree.header().setFont(theme.font("caption"))
        self.tree.setIconSize(QSize(theme.px(16), theme.px(16)))
        self.details.setFont(theme.font("code"))
        self.details.setMinimumHeight(theme.px(84))
        self._split.setHandleWidth(theme.px(8))
        self._share_width()
        for place in range(self.tree.topLevelItemCount()):
            item = self.tree.topLevelItem(place)
            if item is not None:
                self._dress(item)

    @property
    def checks(self) -> Sequence[Check]:
        return self._checks

    def show_checks(self, checks: Sequence[Check]) -> None:
        """All so far. Those that are shown already stay where they are, with what is chosen among them."""
        if list(checks[: len(self._checks)]) != self._checks:
            self._checks, self._groups = [], {}
            self.tree.clear()
            self.details.clear()
        for check in checks[len(self._checks):]:
            self._add(check)
        self._checks = list(checks)

    def as_text(self) -> str:
        """For the clipboard: a line a check, columns apart by tabs."""
        lines = ["\t".join(("verdict", "group", "check", "claim", "tried", "found", "allowed", "seconds"))]
        lines += ["\t".join((verdict(check), check.group, check.name, check.claim, tried(check), check.statistic,
                             check.threshold, f"{check.seconds:.2f}")) for check in self._checks]
        return "\n".join(lines)

    def _add(self, check: Check) -> None:
        if check.group not in self._groups:
            group = QTreeWidgetItem(self.tree, [check.group[:1].upper() + check.group[1:]])
            group.setFirstColumnSpanned(True)
            group.setFlags(Qt.ItemFlag.ItemIsEnabled)
            self._groups[check.group] = group
            self._dress(group)
        # Behind the last of its group: groups are never nested, so that every line has all the width.
        texts = [verdict(check), check.name, check.claim, tried(check), check.statistic, check.threshold,
                 f"{check.seconds:.1f}"]
        item = QTreeWidgetItem(texts)
        item.setData(0, Qt.ItemDataRole.UserRole, check)
        for column in (NAME, CLAIM, SAMPLES, STATISTIC, THRESHOLD):
            item.setToolTip(column, texts[column])
        self._groups[check.group].addChild(item)
        self._groups[check.group].setExpanded(True)
        self._dress(item)
        if self.tree.currentItem() is None:
            self.tree.scrollToItem(item)

    def _dress(self, item: QTreeWidgetItem) -> None:
        check = item.data(0, Qt.ItemDataRole.UserRole)
        if not isinstance(check, Check):
            item.setFont(0, self.theme.font("strong"))
            item.setForeground(0, self.theme.colour("strong"))
            for child in (item.child(place) for place in range(item.childCount())):
                if child is not None:
                    self._dress(child)
            return
        strong = QFont(self.theme.font("strong"))
        item.setFont(VERDICT, strong)
        item.setForeground(VERDICT, self.theme.colour("good" if check.passed else "danger"))
        for column in (CLAIM, THRESHOLD, SECONDS, SAMPLES):
            item.setForeground(column, self.theme.colour("dim"))

    def _on_choice(self, item: QTreeWidgetItem | None) -> None:
        check = item.data(0, Qt.ItemDataRole.UserRole) if item is not None else None
        self.details.setPlainText(in_full(check) if check is not None else "")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _share_width(self) -> None:
        fixed = [self.theme.px(width) for width in WIDTHS]
        left = self.width() - sum(fixed) - self.theme.px(14)
        for column, width in enumerate(fixed):
            self.tree.setColumnWidth(column, width or max(40, int(SHARES[column] * left)))


def verdict(check: Check) -> str:
    return "✓ passed" if check.passed else "✗ failed"


def tried(check: Check) -> str:
    return f"{check.samples:,} {check.unit}"


def in_full(check: Check) -> str:
    lines = [f"{verdict(check)}: {check.name}", check.claim,
             f"tried {tried(check)} in {check.seconds:.2f} s; found {check.statistic}; allowed: {check.threshold}"]
    return "\n".join([*lines, *check.details])
