"""SpecScope's door: parses the command line and opens a command of ``app``."""

from __future__ import annotations

import importlib.util
import sys


def main() -> int:
    """The whole program; its exit status. One sentence where it was started by a Python without the dependencies."""
    if importlib.util.find_spec("msgspec") is None:
        print("SpecScope's dependencies aren't installed for this Python; run `make run` once, then use "
              ".venv/bin/python main.py", file=sys.stderr)
        return 2
    from app.commandline import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
