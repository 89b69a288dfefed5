"""Is there a screen to open a window on? Asked first, because Qt ends the process when there is none."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

from engine.errors import SpecScopeError

NEEDED = ("apt-get install libegl1 libgl1 libdbus-1-3 libfontconfig1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 "
          "libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0")


def check_display(*, for_picture: bool) -> None:
    """Raises :class:`SpecScopeError` when no window can open. A picture alone is drawn offscreen then."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM") or os.environ.get("WAYLAND_DISPLAY"):
        return
    problem = _x11_problem() if os.environ.get("DISPLAY") else "there is no display"
    if not problem:
        return
    if not for_picture:
        raise SpecScopeError(f"The window can't open: {problem}. The record and compare commands work without one.")
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


def missing_library(error: ImportError) -> SpecScopeError:
    """Qt itself couldn't be loaded."""
    return SpecScopeError(f"The window can't open because a system library is missing ({error}); on Debian and Ubuntu: "
                          f"{NEEDED}.")


def _x11_problem() -> str:
    """Empty when all is well. Opens Qt's own plugin for X, whose libraries are the system's, then the display."""
    qt = importlib.util.find_spec("PySide6")
    plugin = Path(qt.origin or "").parent / "Qt" / "plugins" / "platforms" / "libqxcb.so" if qt else Path()
    try:
        if plugin.is_file():
            ctypes.CDLL(str(plugin))
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError as error:
        return f"a system library is missing ({error}); on Debian and Ubuntu: {NEEDED}"
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    xcb.xcb_connection_has_error.argtypes = (ctypes.c_void_p,)
    xcb.xcb_disconnect.argtypes = (ctypes.c_void_p,)
    connection = xcb.xcb_connect(None, None)
    failed = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return f"the display {os.environ['DISPLAY']} doesn't answer" if failed else ""
