"""What the window remembers from one start to the next: its looks and its layout, the form, breakpoints, watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray

from app.examples import load_examples
from app.notice import Notice
from app.settings import Settings
from app.setup import Setup
from app.top_bar import PERSPECTIVES
from engine.debugger.breakpoints import load, save

if TYPE_CHECKING:
    from app.window import Window


class Remembered:
    """What is asked for before there are parts, what the parts are then given back, and what they say at the end."""

    def __init__(self, window: Window, settings: Settings) -> None:
        self._window = window
        self._settings = settings

    @property
    def theme(self) -> str:
        return self._settings.text("view/theme", "dark")

    @property
    def ghosts(self) -> bool:
        return self._settings.flag("view/ghosts", True)

    @property
    def prompt_shown(self) -> bool:
        return self._settings.flag("view/prompt", False)

    def restore(self) -> None:
        """Whatever isn't known keeps its default."""
        window, settings = self._window, self._settings
        window.resize(1440, 860)
        window.restoreGeometry(settings.state("window/geometry"))
        window.split.restoreState(settings.state("window/split"))
        window.race.restore(settings.state("race/lanes"), settings.state("race/charts"))
        window.race.show_ghosts(window.ghosts)
        window.race.show_prompt(window.prompt_shown)
        window.form.show_setup(settings.setup() or _first_setup())
        breakpoints, problem = load(settings.text("debug/breakpoints"))
        window.debugger.set_breakpoints(breakpoints)
        window.debug.state.set_watches([line for line in settings.text("debug/watches").split("\n") if line])
        name = settings.text("view/perspective", "race")
        window.show_perspective(name if name in PERSPECTIVES else "race")
        if settings.notice or problem:
            window.notice.show_notice(Notice(settings.notice or problem))

    def put_watches(self, watches: tuple[str, ...]) -> None:
        self._settings.put("debug/watches", "\n".join(watches))

    def save(self) -> None:
        window, settings = self._window, self._settings
        states: dict[str, QByteArray] = {
            "window/geometry": window.saveGeometry(), "window/split": window.split.saveState()}
        states |= {f"race/{key}": state for key, state in window.race.state().items()}
        for key, state in states.items():
            settings.put(key, state)
        settings.put("view/theme", window.theme.name)
        settings.put("view/perspective", window.perspective)
        settings.put("view/ghosts", window.ghosts)
        settings.put("view/prompt", window.prompt_shown)
        settings.put("debug/breakpoints", save(window.debugger.breakpoints))
        settings.put_setup(window.form.setup)
        settings.save()


def _first_setup() -> Setup:
    examples = {example.id: example.prompt for example in load_examples()}
    return Setup(prompt=examples.get("code_edit", ""))
