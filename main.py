"""SpecScope's door: parses the command line and opens a command of ``app``."""

from __future__ import annotations

import sys

from app.commandline import main

if __name__ == "__main__":
    sys.exit(main())
