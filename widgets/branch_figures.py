"""What a branch cost beside its original, in figures with their formulas."""

from __future__ import annotations

from engine.debugger.alignment import Cost
from widgets.counted import counted, plural
from widgets.lane_figures import NONE, Shown


def tokens(cost: Cost) -> Shown:
    return Shown(f"{cost.tokens:,}", "tokens compared = what both lanes have written from the branch point on\n"
                 f"(the branch point is after {counted(cost.start, 'token')} of output)",
                 unit=f"{plural(cost.tokens, 'token')} each")


def forwards(cost: Cost) -> Shown:
    a, b = cost.original.forwards, cost.branch.forwards
    return Shown(f"{a:,} → {b:,}", "forwards of the target = rounds, original → branch, from the branch point on\n"
                 f"to have those {counted(cost.tokens, 'token')}; a round that ends beyond counts whole",
                 unit="forwards")


def drafted(cost: Cost) -> Shown:
    a, b = cost.original.drafted, cost.branch.drafted
    return Shown(f"{a:,} → {b:,}", "draft tokens proposed in those rounds, original → branch", unit="drafted")


def difference(cost: Cost) -> Shown:
    formula = "extra forwards a token = (forwards of the branch − forwards of the original) ÷ tokens"
    extra = cost.extra
    if extra is None:
        return Shown(NONE, f"{formula}\nBoth must have written a token from the branch point on first.", "dim")
    a, b = cost.original.forwards, cost.branch.forwards
    value = f"{extra:+.3f}".replace("-", "−") if extra else "±0"
    return Shown(value, f"{formula}\n= ({b:,} − {a:,}) ÷ {cost.tokens:,} = {extra:.4f}", unit="forwards a token")
