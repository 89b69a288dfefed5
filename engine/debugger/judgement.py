"""One test of one draft, as figures that can be checked by eye."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

Tone = Literal["plain", "p", "q", "product", "accept", "reject", "dim"]


class Span(NamedTuple):
    """A piece of a formula, and what it means."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Judgement:
    """Sampled: accept y when u·q(y) < p(y). Greedy: accept y when it is the target's argmax. None: unknown."""

    token: int
    label: str
    accepted: bool | None
    """As recorded; None: not judged yet, or never."""
    greedy: bool
    p: float | None
    q: float | None
    draw: float | None
    best: int | None
    best_label: str
    gap: float | None
    """Greedy: difference of the row's two largest logits."""
    p_best: float | None = None

    @property
    def threshold(self) -> float | None:
        """min(1, p/q): a draw below it accepts."""
        if self.greedy or self.p is None or self.q is None or self.q <= 0:
            return None
        return min(1.0, self.p / self.q)

    @property
    def margin(self) -> float | None:
        """ln p(argmax) − ln p(y): by how many logits the target prefers its own choice (at temperature 1)."""
        if self.p is None or self.p_best is None or self.p <= 0 or self.p_best <= 0:
            return None
        return math.log(self.p_best / self.p)

    def accepts(self, draw: float) -> bool | None:
        """Would this draw accept? None: p or q is unknown."""
        if self.p is None or self.q is None:
            return None
        return draw * self.q < self.p and self.q > 0

    @property
    def recomputed(self) -> bool | None:
        """The verdict that the figures give; None where they are unknown."""
        if self.greedy:
            return self.token == self.best if self.best is not None else None
        return self.accepts(self.draw) if self.draw is not None else None

    def formula(self) -> tuple[Span, ...]:
        """The test spelled out, e.g. ``u·q(y) = 0.31·0.82 = 0.254 < p(y) = 0.41 → accept``."""
        if self.accepted is None:
            return self._open()
        verdict = Span("accept", "accept") if self.accepted else Span("reject", "reject")
        if self.greedy:
            return (*self._greedy(), Span(" → "), verdict)
        if self.draw is None or self.p is None or self.q is None:
            return (Span("u·q(y) "), Span("<" if self.accepted else "≥"), Span(" p(y) → "), verdict,
                    Span(f"   {self._missing()}", "dim"))
        u, q, product, p = figures(self.draw, self.q, self.p)
        return (Span("u·q(y) = "), Span(f"{u}·"), Span(q, "q"), Span(" = "),
                Span(product, "accept" if self.accepted else "reject"), Span(" < " if self.accepted else " ≥ "),
                Span("p(y) = "), Span(p, "p"), Span(" → "), verdict)

    def _open(self) -> tuple[Span, ...]:
        """As far as it can be written down before it is made."""
        if self.greedy:
            best = Span(f"argmax p “{self.best_label}”") if self.best is not None else Span("argmax p")
            return best, Span(f" ≟ “{self.label}”")
        q = (Span("q(y)"),) if self.q is None else (Span(figure(self.q, 2), "q"),)
        p = (Span("p(y)"),) if self.p is None else (Span("p(y) = "), Span(figure(self.p, 2), "p"))
        return Span("u·q(y) = u·"), *q, Span(" < "), *p, Span(" ?")

    def _greedy(self) -> tuple[Span, ...]:
        same = bool(self.accepted)
        if self.best is None:
            return Span(f"“{self.label}” {'=' if same else '≠'} argmax p"), Span(" (unknown here)", "dim")
        middle = Span(f"argmax p “{self.best_label}”"), Span(f" {'=' if same else '≠'} “{self.label}”")
        if not same and self.margin is not None:
            return *middle, Span(f"  (ahead by {self.margin:.2f} logits)", "dim")
        return (*middle, Span(f"  (gap {self.gap:.2f} logits)", "dim")) if self.gap is not None else middle

    def _missing(self) -> str:
        names = [name for name, value in (("u", self.draw), ("p", self.p), ("q", self.q)) if value is None]
        return f"{' and '.join(names)} not recorded"


def figures(u: float, q: float, p: float) -> tuple[str, str, str, str]:
    """u, q, u·q and p with as few digits as let the reader check both the product and the comparison."""
    product = u * q
    found = ("", "", "", "")
    for digits in range(2, 17):
        for longer in (1, 0):
            found = figure(u, digits), figure(q, digits), figure(product, digits + longer), figure(p, digits)
            shown_u, shown_q, shown_product, shown_p = map(read, found)
            right = figure(shown_u * shown_q, digits + longer) == found[2]
            fair = all(map(_fair, (u, q, product, p), (shown_u, shown_q, shown_product, shown_p)))
            if right and fair and (shown_product < shown_p) == (product < p):
                return found
    return found


def _fair(value: float, shown: float) -> bool:
    """Nothing that isn't 0 or 1 may look like it, nor be off by more than two percent."""
    return abs(shown - value) <= 0.02 * value and (shown not in (0.0, 1.0) or abs(shown - value) < 1e-7)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def figure(value: float, digits: int = 3) -> str:
    """A probability: so many decimals, but two figures at least, in powers of ten where it is tiny."""
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    if value >= 0.001:
        return f"{value:.{max(digits, 1 - math.floor(math.log10(value)))}f}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_RAISED)}"


def read(shown: str) -> float:
    """The inverse of :func:`figure`, as far as its digits go."""
    return float(shown.replace("·10", "e").translate(_LOWERED))


def percent(value: float) -> str:
    """For labels and axes: 41 %, 2.3 %, 0.04 %, 3·10⁻⁶."""
    if value == 0:
        return "0 %"
    if value < 5e-5:
        return figure(value, 1)
    hundred = 100 * value
    return f"{hundred:.{0 if hundred >= 9.95 else 1 if hundred >= 0.95 else 2}f} %"
