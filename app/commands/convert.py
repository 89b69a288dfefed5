"""``convert``: a trace of one format into another. Loads no model and no torch."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from engine.formats import FORMATS, Conversion, convert

EXIT_PARTIAL = 1
"""Something was converted, but the source is damaged further on."""


def run(args: argparse.Namespace) -> int:
    if args.list:
        print(json.dumps(_formats()) if args.json else _table())
        return 0
    done = convert(Path(args.source), Path(args.target), from_format=args.from_format, to_format=args.to_format,
                   lane=args.lane)
    if args.json:
        print(json.dumps(_figures(done)))
    else:
        print(_sentence(done))
    if done.passed.damage:
        print(done.passed.damage, file=sys.stderr)
        return EXIT_PARTIAL
    return 0


def _sentence(done: Conversion) -> str:
    rounds = f"{done.passed.rounds} {'round' if done.passed.rounds == 1 else 'rounds'}"
    return f"{rounds} from {done.source.name} to {done.target.name}: {', '.join(map(str, done.outputs))}"


def _figures(done: Conversion) -> dict[str, object]:
    passed = done.passed
    return {"from": done.source.name, "to": done.target.name, "outputs": [str(path) for path in done.outputs],
            "lanes": passed.lanes, "rounds": passed.rounds, "records": passed.records, "damage": passed.damage or None}


def _formats() -> list[dict[str, object]]:
    return [{"name": one.name, "about": one.about, "suffixes": list(one.suffixes), "reads": one.read is not None,
             "writes": one.write is not None} for one in FORMATS]


def _table() -> str:
    lines = []
    for one in FORMATS:
        ways = " and ".join(way for way, there in (("read", one.read), ("written", one.write)) if there)
        lines += [f"{one.name:<12}{ways:<18}{' '.join(one.suffixes)}", f"{'':<12}{one.about}"]
    return "\n".join(lines)
