"""``fetch``: the built-in model into the cache, with progress on the terminal."""

from __future__ import annotations

import argparse
import json

from app.commands.decoding import TerminalProgress
from engine.models import fetch


def run(args: argparse.Namespace) -> int:
    with TerminalProgress() as progress:
        fetched = fetch(progress=progress)
    if args.json:
        print(json.dumps({"path": str(fetched.path), "sha256": fetched.sha256, "cached": fetched.cached}))
    else:
        print(f"The built-in model is in {fetched.path}{' (it was there already)' if fetched.cached else ''}.")
    return 0
