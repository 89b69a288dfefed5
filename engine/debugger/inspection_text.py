"""An inspection for the clipboard: as text to read, as CSV to compute with."""

from __future__ import annotations

import csv
import io

from engine.debugger.inspection import Inspection

LISTED = 20
"""Tokens that the text lists; the CSV has all."""


def as_text(found: Inspection) -> str:
    lines = [f"{found.title}, round {found.round + 1}", found.sentence]
    if found.judgement is not None:
        lines.append("".join(span.text for span in found.judgement.formula()))
    lines += [f"draw {choice.draw:.6f} chose {choice.label} from {name_of(choice.source)}"
              for choice in found.choices if choice.draw is not None]
    figures = [("overlap Σ min(p, q)", found.overlap), ("residual mass", found.mass),
               ("entropy of p (nats)", found.p_entropy), ("entropy of q (nats)", found.q_entropy),
               ("rest of p", found.p_rest), ("rest of q", found.q_rest)]
    lines += [f"{name} = {value:.6g}" for name, value in figures if value is not None]
    lines += [*found.notes, "", f"{'id':>7}  {'p':>10}  {'q':>10}  {'residual':>10}  token"]
    lines += [f"{bar.token:>7}  {_number(bar.p):>10}  {_number(bar.q):>10}  {_number(bar.residual):>10}  {bar.label}"
              + "".join(f"  ({mark})" for mark in sorted(bar.marks)) for bar in found.bars[:LISTED]]
    if len(found.bars) > LISTED:
        lines.append(f"… {len(found.bars) - LISTED} more recorded")
    return "\n".join(lines)


def as_csv(found: Inspection) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "token", "p", "q", "residual", "marks"])
    for bar in found.bars:
        figures = [repr(x) if x is not None else "" for x in (bar.p, bar.q, bar.residual)]
        writer.writerow([bar.token, bar.label, *figures, " ".join(sorted(bar.marks))])
    return out.getvalue()


def name_of(source: str) -> str:
    return {"residual": "the residual"}.get(source, source)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
