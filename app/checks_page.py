"""The proof on screen: begin it, watch its checks come in, read any of them in full."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.examiner import Proof
from app.saying import Saying
from app.theme import Theme
from widgets.check_table import CheckTable
from widgets.counted import counted
from widgets.empty_state import EmptyState

EMPTY, TABLE = 0, 1


class ChecksPage(QWidget):
    prove_wanted = Signal()
    cancel_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.saying = Saying(theme, "title")
        self._model = QCheckBox("with the target")
        self._model.setToolTip("Also the checks that decode with the target of the form (minutes). Without: those on "
                               "tables and tiny random models.")
        self._model.setChecked(True)
        self._prove = QPushButton("Prove")
        self._prove.setProperty("kind", "primary")
        self._prove.clicked.connect(self.prove_wanted)
        self._cancel = QPushButton("Cancel")
        self._cancel.clicked.connect(self.cancel_wanted)
        self._copy = QPushButton("Copy table")
        self._copy.setToolTip("All checks as text, columns apart by tabs")
        self._copy.clicked.connect(self.copy)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 0)
        self._bar.setFixedWidth(120)
        self._progress = QLabel()
        self._progress.setProperty("kind", "dim")
        self.table = CheckTable(theme)
        self.empty = EmptyState(
            theme, "Nothing has been proved yet", "Press Prove: exact enumeration, statistics on the real loop, row "
            "invariance, caches, counts, and wrong rules that must be caught. It takes a minute or two.",
            icon="check", action="Prove")
        self.empty.acted.connect(self.prove_wanted)
        self._row = QHBoxLayout()
        controls: tuple[QWidget, ...] = (self._prove, self._cancel, self._model)
        state: tuple[QWidget, ...] = (self._progress, self._bar, self._copy)
        for part in controls:
            self._row.addWidget(part)
        self._row.addStretch(1)
        for part in state:
            self._row.addWidget(part)
        card = QFrame()
        card.setProperty("kind", "panel")
        self._inside = QVBoxLayout(card)
        self._inside.addWidget(self.table)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._pages.addWidget(card)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._row)
        self._column.addWidget(self.saying)
        self._column.addWidget(self._pages, 1)
        self.set_theme(theme)

    @property
    def with_model(self) -> bool:
        return self._model.isChecked()

    def copy(self) -> None:
        QApplication.clipboard().setText(self.table.as_text())

    def show_proof(self, proof: Proof, *, may_start: bool, why_not: str, loading: str) -> None:
        self._prove.setEnabled(may_start)
        self._prove.setToolTip(why_not or "Try every claim, the quick form")
        self._cancel.setVisible(proof.busy)
        self._bar.setVisible(proof.busy)
        self._copy.setEnabled(bool(proof.checks))
        self._pages.setCurrentIndex(EMPTY if proof.phase == "empty" else TABLE)
        self.table.show_checks(proof.checks)
        self.saying.setVisible(proof.phase != "empty")
        self._progress.setText(self._words(proof, loading) if proof.busy else "")
        self._say(proof)

    def _words(self, proof: Proof, loading: str) -> str:
        if loading or not proof.checks:
            return loading or "The first check is under way …"
        drawn = f", {proof.sampling.samples:,} samples drawn for the next" if proof.sampling else ""
        return f"{len(proof.checks)} checks{drawn}"

    def _say(self, proof: Proof) -> None:
        failed = [check for check in proof.checks if not check.passed]
        count = len(proof.checks)
        if proof.phase == "failed":
            self.saying.say(proof.sentence, "bad", proof.details or proof.sentence, sign="!")
        elif failed:
            self.saying.say(f"{len(failed)} of {count} checks failed. This doesn’t hold: {failed[0].claim}", "bad",
                            sign="✗")
        elif proof.phase == "done" and count:
            seconds = sum(check.seconds for check in proof.checks)
            self.saying.say(f"All {count} checks passed in {seconds:.0f} s.", "good")
        elif proof.phase == "stopped":
            self.saying.say(f"Cancelled. {counted(count, 'check')} passed before; the others weren’t tried.")
        elif count:
            self.saying.say(f"{counted(count, 'check')} so far, {'all ' if count > 1 else ''}passed.")
        else:
            self.saying.say("The proof begins …")

    def set_theme(self, theme: Theme) -> None:
        px = theme.px
        self._column.setContentsMargins(px(16), px(4), px(14), px(12))
        self._column.setSpacing(px(10))
        self._row.setSpacing(px(10))
        self._inside.setContentsMargins(px(10), px(8), px(8), px(8))
        self._progress.setFont(theme.font("body"))
        self.saying.set_theme(theme)
        self.table.set_theme(theme)
        self.empty.set_theme(theme)
