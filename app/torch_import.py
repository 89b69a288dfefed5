"""Imports torch and transformers without freezing the window.

Python's import lock isn't the trouble, the interpreter's is: loading torch's libraries, hundreds of megabytes, happens
in one call that keeps it. So they are first opened through a C call, which lets the window's thread go on; the import
then finds them in place.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import sys
from pathlib import Path

LIBRARIES = ("libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so")


def import_gently() -> None:
    """Call on the engine thread before anything that imports torch."""
    if "torch" in sys.modules:
        return
    if sys.platform == "linux":
        _open_libraries()
    # A full collection among the hundred thousand objects that an import makes takes longer than a frame.
    gc.disable()
    try:
        import engine.models
        import engine.race  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()


def _open_libraries() -> None:
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return
    folder = Path(found.origin).parent / "lib"
    process = ctypes.CDLL(None)  # calls through ctypes release the interpreter
    process.dlopen.restype = ctypes.c_void_p
    process.dlopen.argtypes = (ctypes.c_char_p, ctypes.c_int)
    for name in LIBRARIES:
        path = folder / name
        if path.exists():
            process.dlopen(os.fsencode(path), os.RTLD_NOW | os.RTLD_GLOBAL)
