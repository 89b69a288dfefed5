"""The window: puts the parts together and carries out what its actions say. What runs is the conductor's affair."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QMessageBox,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.actions import Actions
from app.coming import COMING, ComingView
from app.conductor import Conductor
from app.debug_view import DebugView
from app.debugger import Debugger
from app.engine_thread import Workshop
from app.foot_bar import FootBar
from app.form import Form
from app.lab_view import LabView
from app.looks import window_sheet
from app.notice import Notice
from app.notice_bar import NoticeBar
from app.opening import Recent
from app.orders import Estimated, Loaded
from app.palette import Palette
from app.playback import Grain
from app.race_view import FEW, RaceView
from app.settings import Settings
from app.setup import five
from app.shortcuts_dialog import ShortcutsDialog
from app.store import Store
from app.theme import Theme
from app.top_bar import PERSPECTIVES, TopBar
from app.window_actions import declare
from app.window_files import Files
from app.window_remembered import Remembered
from engine import __version__
from engine.records import RunStarted

PRESENT_HEIGHT = 770
"""A window of this height shows an audience three lanes at scale 1; a higher one can show them larger."""
SMALLEST = QSize(1180, 640)
SAMPLED = "sampled: same distribution, not the same tokens"


class Window(QMainWindow):
    def __init__(self, settings: Settings, make_workshop: Callable[[], Workshop], theme_name: str = "") -> None:
        super().__init__()
        self.setWindowTitle("SpecScope")
        self.setAcceptDrops(True)
        self._remembered = Remembered(self, settings)
        name = theme_name or self._remembered.theme
        self.theme = Theme.load(name if name in ("dark", "light") else "dark")
        self._dress_application()  # before any widget is made: fonts are resolved when it is
        self.presenting = False
        self.form_shown = True
        self.ghosts = self._remembered.ghosts
        self.prompt_shown = self._remembered.prompt_shown
        self.perspective = "race"
        self.keep_settings = True
        self._shown_started = 0
        """So many lanes' beginnings are told of."""

        self.store = Store()
        self.conductor = Conductor(self.store, make_workshop, self)
        self.form = Form(self.theme)
        self.race = RaceView(self.store, self.theme)
        self.lab = LabView(self.store, self.conductor, self.theme, lambda: (self.form.setup, self.form.trusted))
        self.debugger = Debugger(self.store, self.conductor, self)
        self.debug = DebugView(self.store, self.conductor, self.debugger, self.theme)
        self.notice = NoticeBar(self.theme)
        self.files = Files(self, Recent(settings))
        self.actions_list = Actions(declare(self), self, lambda icon: self.theme.icon(icon))
        self.form.lanes.offer(self.actions_list["run.five"])
        self.top_bar = TopBar(self.theme, self.actions_list)
        self.foot = FootBar(self.store, self.conductor, self.debugger, self.theme, self.actions_list)
        self._coming = {name: ComingView(self.theme, coming) for name, coming in COMING.items()}
        self._build()
        self._connect()
        self._remembered.restore()

    # --- what actions do ----------------------------------------------------------------------------------------------

    @property
    def can_run(self) -> bool:
        return self.conductor.phase in ("idle", "over", "paused") or not self.conductor.live

    @property
    def has_records(self) -> bool:
        return bool(self.store.records())

    def run_or_continue(self) -> None:
        if self.conductor.phase == "paused":
            self.conductor.proceed()
        else:
            self._race("run")

    def race_five(self) -> None:
        """One lane of each family, on the built-in target; the prompt and the sampling stay."""
        self.form.show_setup(five(self.form.setup))
        self.show_perspective("race")
        self._race("run")

    def step(self, grain: Grain) -> None:
        """In Debug of its lane, else of any; where nothing is on its way, a run begins with it."""
        if self.conductor.active:
            if self.perspective == "debug":
                self.debugger.step(grain)
            else:
                self.conductor.step(grain)
        elif self.perspective != "debug" or not self.has_records:
            self._race(grain)
        else:
            self.say("This run has ended, and all of it is recorded. Step back with Shift, or press Run to decode.")

    def step_back(self, grain: Grain) -> None:
        if self.perspective == "debug":
            self.debugger.step_back(grain)
        else:
            self.conductor.step_back(grain)

    def say(self, sentence: str, details: str = "", bad: bool = False) -> None:
        self.notice.show_notice(Notice(sentence, details, bad=bad))

    def _race(self, start: Literal["run", "record", "round"]) -> None:
        if problem := self.form.problem:
            self.show_perspective("race")
            if not self.form_shown:
                self.toggle_form()
            self.form.complain()
            self.notice.show_notice(Notice(problem, about="form"))
            return
        self.notice.hide()
        self.conductor.race(self.form.setup, self.form.trusted, start)

    def preload(self) -> None:
        """Have the target ready before anyone asks, and say what memory it takes."""
        if not self.form.target.problem:
            self.conductor.preload(self.form.setup, self.form.trusted)

    def play(self, path: Path) -> None:
        self.conductor.play(path)

    def show_perspective(self, name: str) -> None:
        self.perspective = name
        self._pages.setCurrentIndex(PERSPECTIVES.index(name))
        self.foot.one_lane = name == "debug"
        self._place_notice()
        self._show_foot()
        self.actions_list.refresh()

    def in_debug(self, act: Callable[[], object]) -> None:
        """Do it where it is seen."""
        self.show_perspective("debug")
        act()

    def in_lab(self, act: Callable[[], object]) -> None:
        """Do it where it is seen."""
        self.show_perspective("lab")
        act()

    def toggle_form(self) -> None:
        self.form_shown = not self.form_shown
        self.form.setVisible(self.form_shown and not self.presenting)

    def toggle_ghosts(self) -> None:
        self.ghosts = not self.ghosts
        self.race.show_ghosts(self.ghosts)

    def toggle_prompt(self) -> None:
        self.prompt_shown = not self.prompt_shown
        self.race.show_prompt(self.prompt_shown)

    def toggle_theme(self) -> None:
        self._wear(Theme.load("light" if self.theme.dark else "dark", self.theme.scale))

    def toggle_present(self) -> None:
        self.presenting = not self.presenting
        self.form.setVisible(self.form_shown and not self.presenting)
        least = 1.1 if len(self.race.cards) <= FEW else 1.0  # many lanes in a low window need all of it
        scale = max(least, min(2.2, self.height() / PRESENT_HEIGHT)) if self.presenting else 1.0
        self._wear(Theme.load(self.theme.name, scale))

    def show_frames(self) -> None:
        figures = self.conductor.frames.figures()
        self.notice.show_notice(Notice(str(figures) if figures else "No frames yet.", bad=False))

    def open_palette(self) -> None:
        Palette(self.actions_list, self).open()

    def open_shortcuts(self) -> None:
        ShortcutsDialog(self.actions_list, self).show()

    def show_about(self) -> None:
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle("About SpecScope")
        box.setText(f"SpecScope {__version__}")
        box.setInformativeText("An oscilloscope and debugger for speculative decoding. Apache-2.0.\n\n"
                               "Inter and JetBrains Mono under the Open Font License.")
        box.show()

    # --- Qt's events --------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.presenting:
            self.actions_list["view.present"].trigger()
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if url.isLocalFile():
                self.files.open(Path(url.toLocalFile()))
                return

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember, tell the engine to end, and go. Whoever started the window waits for the engine."""
        if self.keep_settings:
            self._remembered.save()
        self.conductor.begin_quit()
        event.accept()

    def dismantle(self) -> None:
        """Let go of what would keep the window alive, once it is closed."""
        self.race.forget_store()
        self.debug.forget_store()

    # --- putting it together ------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.setHandleWidth(1)
        self.split.addWidget(self.form)
        stage = QWidget()
        self._stage_column = QVBoxLayout(stage)
        self._stage_column.setContentsMargins(0, 0, 0, 0)
        self._stage_column.setSpacing(0)
        self._stage_column.addWidget(self.race, 1)
        self.split.addWidget(stage)
        self.split.setStretchFactor(1, 1)
        self.split.setCollapsible(1, False)
        self.split.setSizes([290, 1300])
        self.form.setMinimumWidth(280)
        self._pages = QStackedWidget()
        built = {"race": self.split, "debug": self.debug, "lab": self.lab}
        for name in PERSPECTIVES:
            self._pages.addWidget(built.get(name) or self._coming[name])
        for view in self._coming.values():
            view.to_race.connect(lambda: self.show_perspective("race"))
        body = QWidget()
        self._column = column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.top_bar)
        column.addWidget(self._pages, 1)
        column.addWidget(self.foot)
        self.setCentralWidget(body)
        self.setMinimumSize(SMALLEST)
        self._wear(self.theme)
        body.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        body.setFocus()

    def _place_notice(self) -> None:
        """In Race above the stage alone: the form must not move under the hand that fills it."""
        shown = not self.notice.isHidden()
        if self.perspective == "race":
            self._stage_column.insertWidget(0, self.notice)
        else:
            self._column.insertWidget(1, self.notice)
        self.notice.setVisible(shown)  # a change of parent hides it

    def _connect(self) -> None:
        self.conductor.changed.connect(self._on_change)
        self.conductor.began.connect(self._on_began)
        self.conductor.noticed.connect(self.notice.show_notice)
        self.conductor.loaded.connect(self._on_loaded)
        self.conductor.estimated.connect(self._on_estimate)
        self.conductor.frame.connect(self._on_frame)
        self.form.changed.connect(self._on_form)
        self.form.settled.connect(lambda: self.conductor.estimate(self.form.setup, self.form.trusted))
        self.race.run_wanted.connect(self.run_or_continue)
        self.race.activity.cancelled.connect(self.conductor.cancel_loading)
        self.race.recording_bar.replay_wanted.connect(self.conductor.replay)
        self.debug.notice_wanted.connect(self.say)
        self.debug.state.watches_changed.connect(self._remembered.put_watches)
        self.debugger.changed.connect(self.actions_list.refresh)
        self.lab.examiner.changed.connect(self.actions_list.refresh)
        self.race.difference_wanted.connect(lambda lane: self.in_lab(lambda: self.lab.show_difference(lane)))

    def _on_frame(self) -> None:
        started = self._started
        if len(started) > self._shown_started:
            self._shown_started = len(started)
            self.top_bar.show_target(started[0].target, started[0].exactness, started[0].machine)
            self._on_change()
        self.race.refresh()
        self.debug.refresh()
        self.lab.refresh()
        self.foot.refresh()

    def _on_form(self) -> None:
        if not self.form.problem:
            self.notice.dismiss("form")

    def _on_began(self) -> None:
        self._shown_started = 0
        self.notice.dismiss("recording")

    def _on_change(self) -> None:
        conductor = self.conductor
        self.race.activity.show_loading(conductor.loading, self._hint)
        if conductor.recording is not None:
            self.race.recording_bar.show_recording(conductor.recording.name, self._started,
                                                   over=conductor.phase == "over")
        else:
            self.race.recording_bar.hide()
        self._show_foot()
        self.actions_list.refresh()

    def _show_foot(self) -> None:
        self.foot.setVisible(self.perspective in ("race", "debug") and self.foot.wanted)

    def _on_loaded(self, loaded: Loaded) -> None:
        if self.conductor.live:  # a recording says itself what it was made with
            self.top_bar.show_target(loaded.info, loaded.exactness)

    def _on_estimate(self, estimate: Estimated) -> None:
        self.form.memory.show_estimate(estimate)

    @property
    def _started(self) -> list[RunStarted]:
        return [lane.started for lane in self.store.lanes if lane.started is not None]

    @property
    def _hint(self) -> str:
        """At the foot: how to read what is on screen."""
        started = self._started
        if len(started) > 1 and not started[0].settings.sampling.greedy:
            return SAMPLED  # or else lanes that part look like a fault
        return "hover a token for p, q and its draw" if self.has_records else ""

    def _wear(self, theme: Theme) -> None:
        self.theme = theme
        self._dress_application()
        self.setStyleSheet(window_sheet(theme))
        self.top_bar.set_theme(theme)
        self.form.set_theme(theme)
        self.race.set_theme(theme)
        self.notice.set_theme(theme)
        self.lab.set_theme(theme)
        self.debug.set_theme(theme)
        self.foot.set_theme(theme)
        for view in self._coming.values():
            view.set_theme(theme)
        self.actions_list.reload_icons()

    def _dress_application(self) -> None:
        application = QApplication.instance()
        if isinstance(application, QApplication):
            self.theme.apply(application)
