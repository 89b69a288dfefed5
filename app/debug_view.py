"""The Debug perspective: one lane, as of the cursor, in the panels of a debugger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QCursor
from PySide6.QtWidgets import QMenu, QWidget

from app.breakpoint_dialog import BreakpointDialog
from app.conductor import Conductor
from app.debug_stage import DebugStage
from app.debugger import Debugger
from app.lane_state import LaneState
from app.orders import Branched, RowsFailed, RowsFound
from app.screen import Screen
from app.store import Change, Store
from app.theme import Theme
from app.what_if_dialog import WhatIfDialog
from engine import methods
from engine.debugger.breakpoints import Breakpoint, fresh_id
from engine.debugger.combined import AnyCondition
from engine.debugger.conditions import AnyRejection
from engine.debugger.history import Moment
from engine.debugger.inspection import inspect, telling
from engine.debugger.round_filter import round_filter
from engine.debugger.round_rows import RoundRow
from engine.debugger.token_conditions import TokenId
from engine.debugger.tree_nodes import usual_rows
from engine.debugger.verify_rows import VerifyRow
from engine.debugger.what_if import AnyChange, OtherSettings

IN_TREE = ("In a tree no single draft, draw or verdict can be changed, nor its rows be had again: change the settings "
           "from this round on (Ctrl+I).")


def at_hand() -> tuple[str, ...]:
    """Ways to draft that need nothing to be named."""
    return tuple(kind for kind in methods.kinds() if methods.own(kind) and not methods.method(kind).needs_model)


class DebugView(DebugStage):
    notice_wanted = Signal(str, str, bool)
    """A sentence for a person, details to copy, and whether it is bad news."""

    def __init__(self, store: Store, conductor: Conductor, debugger: Debugger, theme: Theme,
                 parent: QWidget | None = None) -> None:
        super().__init__(Screen(store), theme, self._filter, parent)
        self._store = store
        self._conductor = conductor
        self.debugger = debugger
        self._branch: str | None = None
        """The lane that is shown beside its original."""
        self._seen: object = None
        self._inspected: LaneState | None = None
        self._settings_of = ""
        self._titles: list[str] = []
        self._connect()
        self._fill_chooser()

    # --- what actions do ----------------------------------------------------------------------------------------------

    def new_breakpoint(self) -> None:
        self._open_breakpoint(Breakpoint(id=fresh_id(self.debugger.breakpoints), condition=AnyRejection()), new=True)

    def change_settings(self) -> None:
        """What if, from this round on, γ, temperature or the drafter were others?"""
        lane, moment = self.debugger.lane, self.debugger.moment
        if lane is None or moment is None or moment.started is None:
            return
        number = moment.round.round if moment.round is not None else 0
        self._settings_of = lane.id  # another may be in view by the time they are chosen
        dialog = WhatIfDialog(self._theme, moment.started.settings, number, at_hand(), self,
                              before=lane.history.position_of(number) - len(moment.started.prompt))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.chosen.connect(self._on_settings)
        dialog.open()

    def copy_state(self) -> str:
        return self.state.text()

    @property
    def may_branch(self) -> str:
        """Why no branch can be made now; "" when one can."""
        lane = self.debugger.lane
        if lane is None or lane.started is None:
            return "There is no lane to branch from yet."
        if lane.started.unknown:
            return ("This lane was imported from a format that doesn't hold its "
                    f"{', '.join(lane.started.unknown)}, so it can't be decoded again.")
        if self._conductor.decoding and not self._conductor.playback.behind:
            return "The engine is running: pause it first."
        if self._conductor.branching:
            return "Another branch is under way: let it run to its end, or stop it first."
        if self._conductor.reading:
            return "The recording is still being read: wait until it is all there."
        return ""

    # --- once a frame -------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        if not self.isVisible():
            return
        self.debugger.look_ahead()
        lane, moment = self.debugger.lane, self.debugger.moment
        seen = (lane, moment.index if moment else None, len(lane.records) if lane else 0, self._store.selection,
                self.page, self.side, self._conductor.phase, len(self.debugger.stops()), self._store.revision,
                self.may_branch)
        if seen == self._seen:
            return
        self._seen = seen
        self._show(lane, moment)

    def _show(self, lane: LaneState | None, moment: Moment | None) -> None:
        if self._titles != [one.title for one in self._store.lanes]:
            self._fill_chooser()  # a lane is told of before its first record gives it its title
        if lane is not self._inspected:
            self._inspected = lane
            self.inspector.show_full_row(None)  # of the lane before, though of the same round and place
        row = self._row_of(lane, moment)
        shown = telling(moment.round) if row is None and moment is not None and moment.round is not None else row
        self.show_tree(usual_rows(moment) if moment is not None else 0, moment is not None and moment.greedy)
        self.tree.show_moment(moment)
        self.tree.select(shown)
        self.strip.show_moment(moment)
        self.strip.select(shown)
        self.verify.show_moment(moment)
        self.verify.select(shown)
        self.cache.show_moment(moment)
        self.inspector.show_inspection(inspect(moment, row) if moment is not None else None)
        in_tree = moment is not None and moment.round is not None and moment.round.is_tree
        why_not = self.may_branch or (IN_TREE if in_tree else "")
        self.inspector.set_may_branch(not why_not, why_not)
        if self.side == "state":
            self.state.show_moment(moment)
        else:
            self.breakpoints.show_rows(self.debugger.rows())
        self._show_foot(lane, moment, row)

    def _show_foot(self, lane: LaneState | None, moment: Moment | None, row: int | None) -> None:
        plain = self._store.plain
        if self.page == "timeline":
            self.timeline.show_lane(lane, plain if plain is not lane else None, moment)
            self.timeline.choose(moment.round.round if moment and moment.round else None, -1 if row is None else row)
        elif self.page == "rounds":
            self.rounds.show_lane(lane, moment)
        else:
            branch = self._store.lane(self._branch) if self._branch is not None else None
            original = self._store.lane(branch.original) if branch is not None and branch.original else None
            self.branch.show_branch(original, branch)

    def _row_of(self, lane: LaneState | None, moment: Moment | None) -> int | None:
        """The verify row that is selected in the round on screen; None: whichever tells most."""
        chosen = self._store.selection
        if lane is None or moment is None or moment.round is None or chosen is None or chosen.lane != lane.id:
            return None
        now = moment.round
        if chosen.round != now.round:
            return None
        if chosen.index is not None:
            return chosen.index if chosen.index <= now.k else None
        if chosen.position is not None and now.committed is not None and now.committed.final != "none":
            return now.ended_at
        return None

    # --- what the panels ask for --------------------------------------------------------------------------------------

    def _on_selected(self, round: int, index: int) -> None:
        lane = self.debugger.lane
        if lane is None or not 0 <= round < len(lane.history.begins):  # of another run, clicked as this one came
            return
        self.debugger.show_round(lane, round)
        at = lane.history.round(round).position_of(index) if index >= 0 else None
        self._store.select(lane.id, at, round, index if index >= 0 else None)

    def _on_branch_token(self, lane: str, position: int) -> None:
        state = self._store.lane(lane)
        if state is None:
            return
        self.debugger.choose(lane)
        cell = state.find(position)
        if cell is not None and state.cells[cell].round >= 0:
            found = state.cells[cell]
            self.debugger.show_round(state, found.round)
            self._store.select(lane, position, found.round, found.index if found.index >= 0 else None)

    def what_if(self, change: AnyChange) -> None:
        lane = self.debugger.lane
        if lane is None:
            return
        if why_not := self.may_branch:
            self.notice_wanted.emit(why_not, "", True)
            return
        self._branch = self._conductor.branch(self._owner(lane, change.round).id, change)
        self.debugger.choose(lane.id)
        self.turn_to("branch")

    def _owner(self, lane: LaneState, round: int) -> LaneState:
        """Rounds that a branch copied are its original's, which may be a branch itself."""
        for _ in self._store.lanes:  # a file may name a circle
            origin = lane.started.branch if lane.started is not None else None
            original = self._store.lane(origin.lane) if origin is not None and round < origin.round else None
            if original is None:
                break
            lane = original
        return lane

    def _on_settings(self, change: OtherSettings) -> None:
        if self._store.lane(self._settings_of) is not None:
            self.debugger.choose(self._settings_of)
            self.what_if(change)

    def _on_rows_wanted(self, round: int, index: int) -> None:
        lane = self.debugger.lane
        if lane is not None:
            self._conductor.ask_rows(lane.id, round, index)

    def _on_answer(self, answer: object) -> None:
        match answer:
            case RowsFound():
                if self._inspected is not None and answer.lane == self._inspected.id:
                    self.inspector.show_full_row(answer.row)
            case RowsFailed() if answer.sentence:
                self.notice_wanted.emit(answer.sentence, answer.details, True)
            case Branched():
                if answer.sentence:
                    self.notice_wanted.emit(answer.sentence, answer.details, True)
        self._seen = None

    def _on_condition(self, wanted: object) -> None:
        """A breakpoint straight from a panel: a condition, or its plain form."""
        if isinstance(wanted, dict):
            wanted = msgspec.convert(wanted, AnyCondition)
        made = self.debugger.add(wanted)  # type: ignore[arg-type]  # the panels' signals carry conditions
        self.turn_side("breakpoints")
        self.notice_wanted.emit(f"It will stop when: {made.words}.", "", False)

    def _on_token_menu(self, wanted: object) -> None:
        """A row or a chip was clicked with the other button: stop at its token?"""
        if isinstance(wanted, VerifyRow):
            token, shown = wanted.token, wanted.label
        else:
            token, shown = getattr(wanted, "id", None), getattr(wanted, "text", "")
        if token is None or token < 0:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        roles: tuple[Literal["drafted", "committed", "rejected"], ...] = ("drafted", "committed", "rejected")
        for role in roles:
            condition = TokenId(role=role, token=token, shown=shown[:200])
            action = QAction(f"Break when {condition.words}", menu)
            action.setData(condition)
            menu.addAction(action)
        menu.triggered.connect(self._on_menu_action)
        menu.popup(QCursor.pos() if self.isActiveWindow() else self.mapToGlobal(QPoint(0, 0)))

    def _on_menu_action(self, action: QAction) -> None:
        self._on_condition(action.data())

    def _open_breakpoint(self, breakpoint: Breakpoint, *, new: bool) -> None:
        lane = self.debugger.lane
        dialog = BreakpointDialog(
            self._theme, breakpoint, new=new, lanes=[(one.id, one.title) for one in self._store.lanes],
            text_of=lane.token_text if lane is not None else str, count=self.debugger.count,
            has_plain=self._store.plain is not None, parent=self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.chosen.connect(self.debugger.put)
        dialog.open()

    def _on_edit(self, id: str) -> None:
        found = self.debugger.find(id)
        if found is not None:
            self._open_breakpoint(found, new=False)

    def _filter(self, text: str) -> Callable[[RoundRow], bool]:
        return round_filter(text, lambda: self.debugger.lane.history if self.debugger.lane is not None else None)

    # --- lanes --------------------------------------------------------------------------------------------------------

    def _on_store(self, change: Change) -> None:
        if change == "run":
            self._branch = None
        if change in ("run", "lanes"):
            self._fill_chooser()

    def _fill_chooser(self) -> None:
        lanes, chosen = self._store.lanes, self.debugger.lane
        self.chooser.blockSignals(True)
        self.chooser.clear()
        for lane in lanes:
            alike = [other.id for other in lanes if other.title == lane.title]
            number = f" ({alike.index(lane.id) + 1})" if len(alike) > 1 else ""
            self.chooser.addItem(lane.title + number, lane.id)
            self.chooser.setItemData(self.chooser.count() - 1, lane.title, Qt.ItemDataRole.ToolTipRole)
        self._titles = [lane.title for lane in lanes]
        if chosen is not None:
            self.chooser.setCurrentIndex(self.chooser.findData(chosen.id))
        self.chooser.blockSignals(False)
        self._seen = None

    def _on_chosen(self) -> None:
        lane = self._store.lane(str(self.chooser.currentData()))
        if lane is not None:
            self.debugger.choose(lane.id)
            if lane.original is not None:
                self._branch = lane.id

    def _on_debugger(self) -> None:
        lane = self.debugger.lane
        if lane is not None:
            place = self.chooser.findData(lane.id)
            named = self.chooser.itemText(place).startswith(lane.title)
            if place >= 0 and (self.chooser.currentIndex() != place or not named):
                self._fill_chooser()
        self._seen = None

    def close_branch(self, lane: str) -> None:
        self._branch = None
        self.turn_to("timeline")

    def forget_store(self) -> None:
        self._store.changed.disconnect(self._on_store)
        self.debugger.close()

    # --- what is connected to what ------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self.turned.connect(self._look_again)
        self._store.changed.connect(self._on_store)
        self.debugger.changed.connect(self._on_debugger)
        self._conductor.answered.connect(self._on_answer)
        self.chooser.activated.connect(self._on_chosen)
        for panel in (self.strip, self.tree, self.verify, self.timeline):
            panel.selected.connect(self._on_selected)
        self.rounds.selected.connect(self._on_round)
        self.branch.selected.connect(self._on_branch_token)
        self.branch.close_wanted.connect(self.close_branch)
        self.inspector.what_if_wanted.connect(self.what_if)
        self.inspector.full_row_wanted.connect(self._on_rows_wanted)
        self.inspector.copied.connect(self._on_copied)
        for source in (self.inspector, self.timeline, self.rounds):
            source.breakpoint_wanted.connect(self._on_condition)
        for shown in (self.strip, self.verify):
            shown.breakpoint_wanted.connect(self._on_token_menu)
        self.breakpoints.toggled.connect(self.debugger.toggle)
        self.breakpoints.removed.connect(self.debugger.remove)
        self.breakpoints.edit_wanted.connect(self._on_edit)
        self.breakpoints.add_wanted.connect(self.new_breakpoint)

    def _on_round(self, round: int) -> None:
        self._on_selected(round, -1)

    def _look_again(self) -> None:
        """Whatever was shown: show it anew."""
        self._seen = None

    def _on_copied(self, what: str) -> None:
        self.notice_wanted.emit(f"On the clipboard: {what}.", "", False)

