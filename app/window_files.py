"""What the window reads and writes: recordings, exports, pictures, the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox

from app.mishaps import details_of, explain
from app.notice import Notice
from app.opening import Recent, file_filter
from app.results import as_text
from app.screenshot import save_picture

if TYPE_CHECKING:
    from app.window import Window

TRACES = "Recordings (*.spectrace *.spectrace.gz *.spectrace.zst);;All files (*)"


class Files:
    """Each asks where, does it, and says in the window how it went."""

    def __init__(self, window: Window, recent: Recent) -> None:
        self._window = window
        self.recent = recent
        self.lately = recent.paths
        """Asked once: every refresh of the actions reads it."""

    def choose_recording(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self._window, "Open a recording", "", file_filter())
        if chosen:
            self.open(Path(chosen))

    def open(self, path: Path) -> None:
        self._window.play(path)
        if self._window.conductor.recording == path:
            self.recent.add(path)
            self.lately = self.recent.paths

    def save_recording(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self._window, "Save the recording", "race.spectrace.zst", TRACES)
        if chosen:
            self.write_recording(Path(chosen))

    def write_recording(self, path: Path) -> None:
        from engine import trace

        def write() -> str:
            with trace.Writer(path) as writer:
                for record in self._window.store.records():
                    writer.write(record)
            return f"The recording is in {path}."

        self._attempt(write)

    def choose_export(self) -> None:
        from app.exporting import choices

        offered = list(choices())
        chosen, how = QFileDialog.getSaveFileName(self._window, "Export", f"race{offered[0].suffix}",
                                                  ";;".join(one.filter for one in offered))
        named = any(chosen.endswith(one.suffix) for one in offered if one.suffix)
        format = "" if named else next((one.name for one in offered if one.filter == how), "")  # a name decides
        if chosen and self._may_replace(Path(chosen), format):
            self.export(Path(chosen), format)

    def _may_replace(self, path: Path, format: str) -> bool:
        """Some formats write several files: the dialog has asked about one name only."""
        from app.exporting import replaced

        others = [one for one in replaced(path, format) if one != path]
        if not others:
            return True
        names = ", ".join(one.name for one in others)
        answer = QMessageBox.question(self._window, "Export", f"Replace {names} in {path.parent}?")
        return answer == QMessageBox.StandardButton.Yes

    def export(self, path: Path, format: str) -> None:
        from app.exporting import export

        self._attempt(lambda: export(path, self._window.store.records(), format))

    def choose_picture(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self._window, "Save a picture", "specscope.png", "PNG (*.png)")
        if chosen:
            self._attempt(lambda: save_picture(self._window, Path(chosen)))

    def copy_results(self) -> None:
        self._attempt(lambda: self._copy(as_text(self._window.store), "The figures and texts of all lanes"))

    def copy_state(self) -> None:
        self._attempt(lambda: self._copy(self._window.debug.copy_state(), "The state of the lane at the cursor"))

    def _copy(self, text: str, what: str) -> str:
        QApplication.clipboard().setText(text)
        return f"On the clipboard: {what[0].lower()}{what[1:]}."

    def _attempt(self, act: Callable[[], str | None]) -> None:
        try:
            said = act()
        except Exception as error:
            self._window.notice.show_notice(Notice(explain(error), details_of(error)))
        else:
            if said:
                self._window.notice.show_notice(Notice(said, bad=False))
