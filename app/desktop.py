"""The window as a program: Qt starts, a recording plays at once, the model loads behind it, and all ends well."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.assets import demo_recording
from app.display import check_display, missing_library
from app.mishaps import details_of, explain
from engine.settings import DrafterSettings

if TYPE_CHECKING:
    from app.engine_thread import Workshop
    from app.notice import Notice
    from app.screenshot import Photographer
    from app.window import Window

GRACE_SECONDS = 3.0
"""How long the engine may take to end after the window is gone: a forward or an import can't be interrupted."""
PRELOAD_MS = 250
"""After the first frames are on screen."""


def run(args: argparse.Namespace) -> int:
    check_display(for_picture=args.screenshot is not None)
    try:
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication
    except ImportError as error:
        raise missing_library(error) from None
    from app.screenshot import DEFAULT_AFTER, Photographer, fit
    from app.settings import Settings
    from app.theme import load_fonts
    from app.window import Window

    drafters = tuple(DrafterSettings.parse(text) for text in args.drafter or () if text != "none")
    application = QApplication(sys.argv[:1])
    application.setApplicationName("SpecScope")
    application.setDesktopFileName("specscope")
    load_fonts()
    window = Window(Settings(), make_workshop, args.theme or "")
    _fill_form(window, args, drafters)
    if args.perspective:
        window.show_perspective(args.perspective)
    if args.size:
        fit(window, args.size)
    window.show()
    _end_on_signals(window)
    sys.excepthook = lambda kind, error, trace: _on_unexpected(window, error)
    QTimer.singleShot(0, window, lambda: _begin(window, args))
    photographer = None
    if args.screenshot:
        window.keep_settings = False
        after = DEFAULT_AFTER if args.after is None else args.after
        photographer = Photographer(window, Path(args.screenshot), after)
        if args.trace:
            window.conductor.noticed.connect(partial(_on_notice_in_picture, photographer))
    status = application.exec()
    window.close()
    sys.excepthook = sys.__excepthook__
    ended = window.conductor.finish_quit(GRACE_SECONDS)
    if photographer and photographer.problem:
        raise photographer.problem
    if not ended:
        # The engine is inside a call that can't be interrupted, and Python's own end would wait for it or crash.
        # Everything that must be kept has been written.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def make_workshop() -> Workshop:
    """Called on the engine thread."""
    from app.torch_import import import_gently

    import_gently()
    from app.workshop import EngineWorkshop

    return EngineWorkshop()


def _fill_form(window: Window, args: argparse.Namespace, drafters: tuple[DrafterSettings, ...]) -> None:
    setup = window.form.setup
    if args.target is not None:
        setup = msgspec.structs.replace(setup, target=args.target, revision="")
    if args.drafter is not None:
        setup = msgspec.structs.replace(setup, drafters=drafters)
    if args.prompt is not None:
        setup = msgspec.structs.replace(setup, prompt=args.prompt)
    window.form.show_setup(setup)


def _begin(window: Window, args: argparse.Namespace) -> None:
    """What the first picture shows: the prompt being answered, the file that was named, or the recorded race."""
    from PySide6.QtCore import QTimer

    recording = Path(args.trace) if args.trace else demo_recording()
    if args.prompt is not None and not args.trace:
        window.run_or_continue()
        return
    if recording is not None:
        window.play(recording)
    if not args.trace:
        QTimer.singleShot(PRELOAD_MS, window, window.preload)


def _on_notice_in_picture(photographer: Photographer, notice: Notice) -> None:
    """The file that was named can't be played: whoever waits for its picture is told at the terminal."""
    if notice.about == "recording":
        photographer.give_up(notice.sentence)


def _end_on_signals(window: Window) -> None:
    """Ctrl+C in the terminal and a polite kill end the program the way closing the window does."""
    from PySide6.QtWidgets import QApplication

    def interrupted(number: int, frame: object) -> None:
        window.close()
        QApplication.exit(130 if number == signal.SIGINT else 0)

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)


def _on_unexpected(window: Window, error: BaseException) -> None:
    """A fault in the window's own code: the person is told, the log has the details, and the show goes on."""
    from app.notice import Notice

    window.notice.show_notice(Notice(explain(error), details_of(error)))
