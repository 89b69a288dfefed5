"""What expressions may compute: arithmetic, comparisons and a few functions, each of bounded size, on known values.

The rule of the unknown: None stands for "not known". Arithmetic with it, and a comparison with it, is unknown. So is
what has no value: a division by zero, the logarithm of 0, a fractional power of a negative number. ``and``, ``or`` and
``not`` follow: false and unknown is false, true or unknown is true, anything else with an unknown is unknown. Whoever
asks for a verdict takes unknown for no; ``known(x)`` asks for it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

Value = bool | int | float | str | None

MAX_NUMBER = 1e300
MAX_BITS = 1024
MAX_EXPONENT = 1024
MAX_CHARACTERS = 10_000
MAX_DIGITS = 15
"""Places that ``round`` rounds to."""


class Refused(Exception):
    """An operation on values that it isn't for, or with a result that is too large; ``str`` is the sentence's end."""


def truth(value: Value) -> bool | None:
    return None if value is None else bool(value)


def negated(value: Value) -> Value:
    return None if value is None else not value


# --- arithmetic -------------------------------------------------------------------------------------------------------


def _numbers(sign: str, left: Value, right: Value) -> tuple[int | float, int | float] | None:
    """Both as numbers; None if one is unknown."""
    if left is None or right is None:
        return None
    if isinstance(left, str) or isinstance(right, str):
        raise Refused(f"“{sign}” is for numbers, but {_shown(left if isinstance(left, str) else right)} is a text")
    return left, right


def bounded(number: object) -> Value:
    """A result, if it is a real number of a size that one can go on with."""
    if isinstance(number, complex) or (isinstance(number, float) and math.isnan(number)):
        return None
    if isinstance(number, int) and number.bit_length() <= MAX_BITS:
        return number
    if isinstance(number, float) and abs(number) <= MAX_NUMBER:
        return number
    raise Refused("the result is too large")


def _arithmetic(sign: str, act: Callable[[int | float, int | float], object]) -> Callable[[Value, Value], Value]:
    def compute(left: Value, right: Value) -> Value:
        pair = _numbers(sign, left, right)
        if pair is None:
            return None
        try:
            return bounded(act(*pair))
        except ZeroDivisionError:
            return None
        except OverflowError:
            raise Refused("the result is too large") from None
    return compute


def add(left: Value, right: Value) -> Value:
    if isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MAX_CHARACTERS:
            raise Refused("the text gets too long")
        return left + right
    return _add(left, right)


def power(base: int | float, exponent: int | float) -> object:
    if abs(exponent) > MAX_EXPONENT:
        raise Refused(f"the exponent may be {MAX_EXPONENT} at most")
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > 2 * MAX_BITS:
        raise Refused("the result is too large")
    return base**exponent


_add = _arithmetic("+", operator.add)
subtract = _arithmetic("-", operator.sub)
multiply = _arithmetic("*", operator.mul)
divide = _arithmetic("/", operator.truediv)
divide_whole = _arithmetic("//", operator.floordiv)
remainder = _arithmetic("%", operator.mod)
raise_to = _arithmetic("**", power)


def negative(value: Value) -> Value:
    return subtract(0, value)


# --- comparison -------------------------------------------------------------------------------------------------------


def equal(left: Value, right: Value) -> bool | None:
    return None if left is None or right is None else left == right


def unequal(left: Value, right: Value) -> bool | None:
    return None if left is None or right is None else left != right


def _order(sign: str, act: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool | None]:
    def compare(left: Value, right: Value) -> bool | None:
        if left is None or right is None:
            return None
        if isinstance(left, str) != isinstance(right, str):
            raise Refused(f"“{sign}” can't compare {_shown(left)} with {_shown(right)}: one is a text, one a number")
        return act(left, right)
    return compare


less = _order("<", operator.lt)
at_most = _order("<=", operator.le)
more = _order(">", operator.gt)
at_least = _order(">=", operator.ge)


def among(value: Value, values: Sequence[Value]) -> bool | None:
    if value is None:
        return None
    if any(other is not None and other == value for other in values):
        return True
    return None if None in values else False


def within(part: Value, whole: Value) -> bool | None:
    if part is None or whole is None:
        return None
    if not isinstance(part, str) or not isinstance(whole, str):
        raise Refused("“in” looks for a text in a text, or for a value in a list in parentheses")
    return part in whole


# --- functions --------------------------------------------------------------------------------------------------------


def _absolute(value: Value) -> Value:
    return negative(value) if not isinstance(value, str) and value is not None and value < 0 else subtract(value, 0)


def _least(*values: Value) -> Value:
    return _chosen(less, values)


def _greatest(*values: Value) -> Value:
    return _chosen(more, values)


def _chosen(better: Callable[[Value, Value], bool | None], values: Sequence[Value]) -> Value:
    if None in values:
        return None
    best = values[0]
    for value in values[1:]:
        if better(value, best):
            best = value
    return best


def _length(value: Value) -> Value:
    if value is not None and not isinstance(value, str):
        raise Refused(f"“len” is for texts, but {_shown(value)} is a number")
    return None if value is None else len(value)


def _rounded(value: Value, digits: Value = 0) -> Value:
    pair = _numbers("round", value, digits)
    if pair is None:
        return None
    number, places = pair
    if not isinstance(places, int) or not 0 <= places <= MAX_DIGITS:
        raise Refused(f"“round” takes 0 to {MAX_DIGITS} digits")
    return bounded(round(number, places) if places else round(number))


def _logarithm(value: Value, base: Value = math.e) -> Value:
    pair = _numbers("log", value, base)
    if pair is None or min(pair) <= 0 or pair[1] == 1:
        return None
    return bounded(math.log(pair[0]) if base == math.e else math.log(*pair))


def _known(value: Value) -> Value:
    return value is not None


FUNCTIONS: dict[str, tuple[Callable[..., Value], int, int, str]] = {
    "abs": (_absolute, 1, 1, "size without sign"),
    "min": (_least, 1, 16, "the smallest"),
    "max": (_greatest, 1, 16, "the largest"),
    "len": (_length, 1, 1, "characters of a text"),
    "round": (_rounded, 1, 2, "to a whole number, or to so many digits"),
    "log": (_logarithm, 1, 2, "natural logarithm, or to a base"),
    "known": (_known, 1, 1, "is there a value at all?"),
}
"""Each with the least and the largest number of arguments, and what it gives."""


def _shown(value: Value) -> str:
    text = f'"{value}"' if isinstance(value, str) else f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
