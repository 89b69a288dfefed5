"""What a person is told when something fails: our own errors speak for themselves, any other goes to a log file."""

from __future__ import annotations

import datetime
import os
import traceback
from pathlib import Path

from engine.errors import SpecScopeError


def log_path() -> Path:
    """Where the details of unexpected errors are kept."""
    if folder := os.environ.get("SPECSCOPE_STATE"):
        return Path(folder) / "errors.log"
    import platformdirs

    return Path(platformdirs.user_state_dir("specscope", appauthor=False)) / "errors.log"


def details_of(error: BaseException) -> str:
    """What may be copied into a report."""
    if isinstance(error, SpecScopeError):
        return error.details
    return "".join(traceback.format_exception(error)).rstrip()


def explain(error: BaseException) -> str:
    """One sentence. What we did not foresee is appended to the log as well, and the sentence says where that is."""
    if isinstance(error, SpecScopeError):
        return str(error)
    what = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    elif isinstance(error, MemoryError):
        what = "there is not enough memory for this"
    sentence = f"Something unexpected went wrong ({type(error).__name__}: {what[:300]})"
    path = log_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"\n{datetime.datetime.now().isoformat(timespec='seconds')}\n{details_of(error)}\n")
    except OSError:
        return f"{sentence}."
    return f"{sentence}; details in {path}"
