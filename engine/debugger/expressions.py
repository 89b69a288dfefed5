"""Expressions that a person types, for watches, conditions and filters: checked once, then evaluated often and safely.

Python's parser reads the text; nothing of Python runs it. What it read is checked against the few forms below and
turned into closures of our own. There are no attributes, no calls but the functions of ``operations``, no loops, and
every result has a bound, so an evaluation is short whatever was typed. See ``operations`` for the rule of the unknown.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from engine.debugger import operations as op
from engine.debugger.operations import FUNCTIONS, Refused, Value
from engine.errors import SpecScopeError

MAX_LENGTH = 500
"""Characters."""
MAX_DEPTH = 24
MAX_LISTED = 64
"""Values in a list."""

Given = Mapping[str, Value]
_Evaluate = Callable[[Given], Value]


class ExpressionError(SpecScopeError):
    """An expression can't be understood, or can't be computed from these values. ``column`` counts from 1;
    ``names`` are those there are, when one was looked for in vain."""

    def __init__(self, sentence: str, *, column: int | None = None, details: str = "",
                 names: Collection[str] = ()) -> None:
        super().__init__(sentence if column is None else f"{sentence} (column {column}).", details=details)
        self.column = column
        self.names = tuple(sorted(names))


@dataclass(frozen=True)
class Expression:
    text: str
    names: frozenset[str]
    """Those it uses."""
    _evaluate: _Evaluate = field(repr=False, compare=False)

    def evaluate(self, given: Given) -> Value:
        """Asks ``given``, which holds all of ``names``, only for those it comes to. Raises :class:`ExpressionError`
        when the values don't fit."""
        return self._evaluate(given)

    def holds(self, given: Given) -> bool:
        """Unknown counts as no."""
        return bool(self._evaluate(given))


def compile(text: str, names: Collection[str], texts: Collection[str] | None = None) -> Expression:
    """``texts``: those of the names whose values are texts, all others being numbers; None: not known, so what doesn't
    fit comes out when it is evaluated. Raises :class:`ExpressionError` that says what is wrong and where."""
    if not text.strip():
        raise ExpressionError("Type an expression, for example: overlap < 0.3 and accepted == 0.")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"The expression has {len(text)} characters; {MAX_LENGTH} is the most.")
    tree, shift = _parsed(text)
    checker = _Checker(text, shift, names, texts)
    evaluate = checker.check(tree, 1)
    return Expression(text.strip(), frozenset(checker.used), evaluate)


# --- reading ----------------------------------------------------------------------------------------------------------

_ESCAPES = set("\\'\"nrt")
_SLIPS = {"≤": "<=", "≥": ">=", "≠": "!=", "×": "*", "÷": "/", "−": "-", "&": "and", "|": "or", "!": "not", "²": "**2"}


def _parsed(text: str) -> tuple[ast.expr, int]:
    """The tree, and how many characters were cut off in front."""
    for escape in re.finditer(r"\\(.?)", text, re.DOTALL):
        if escape[1] not in _ESCAPES or not escape[1]:
            raise ExpressionError(r"A backslash is written \\ in a text", column=escape.start() + 1)
    plain = re.sub(r"\s", " ", text)
    shift = len(plain) - len(plain.lstrip())
    try:
        return ast.parse(plain.strip(), mode="eval").body, shift
    except SyntaxError as error:
        column = shift + min(max(1, error.offset or 1), len(text) + 1)
        raise ExpressionError(_complaint(text, error), column=column, details=str(error)) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise ExpressionError("The expression can't be read: it is nested too deeply, or holds characters that don't "
                              "belong there.", details=str(error)) from None


def _complaint(text: str, error: SyntaxError) -> str:
    if "nested" in str(error.msg):
        return "Too many parentheses are nested"
    outside = re.sub(r"\"[^\"]*\"|'[^']*'", "", text)
    if re.search(r"(?<![<>=!])=(?!=)", outside):
        return "To compare, write == with two signs"
    for slip, right in _SLIPS.items():
        if slip in outside.replace("!=", ""):
            return f"{slip} is written {right} here"
    if "(" in outside and outside.count("(") != outside.count(")"):
        return "The parentheses don't match"
    if outside.count('"') % 2 or outside.count("'") % 2:
        return "A text ends with the quotation mark it began with"
    if "unexpected EOF" in str(error.msg) or text.rstrip()[-1:] in "+-*/%<>=,":
        return "Something is missing at the end"
    return "This isn't an expression"


# --- checking, and what becomes of each form --------------------------------------------------------------------------

_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: op.add, ast.Sub: op.subtract, ast.Mult: op.multiply, ast.Div: op.divide, ast.FloorDiv: op.divide_whole,
    ast.Mod: op.remainder, ast.Pow: op.raise_to,
}
_UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.USub: op.negative, ast.UAdd: lambda value: op.subtract(value, 0), ast.Not: op.negated,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], bool | None]] = {
    ast.Eq: op.equal, ast.NotEq: op.unequal, ast.Lt: op.less, ast.LtE: op.at_most, ast.Gt: op.more,
    ast.GtE: op.at_least,
}
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.NotIn: "not in"}


class _Checker:
    """Turns a tree into closures, or refuses it."""

    def __init__(self, text: str, shift: int, names: Collection[str], texts: Collection[str] | None) -> None:
        self.bytes = text.strip().encode("utf-8", "replace")
        self.shift = shift
        self.names = names
        self.texts = texts
        self.used: set[str] = set()

    def column(self, node: ast.expr) -> int:
        """The parser counts bytes."""
        return self.shift + len(self.bytes[: node.col_offset].decode("utf-8", "ignore")) + 1

    def check(self, node: ast.expr, depth: int) -> _Evaluate:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"More than {MAX_DEPTH} levels are nested here", column=self.column(node))
        deeper = depth + 1
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as constant):
                return self._constant(node, constant)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
                return self._called(node, _UNARY[type(sign)], [self.check(operand, deeper)])
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
                return self._called(node, _BINARY[type(sign)], [self.check(left, deeper), self.check(right, deeper)])
            case ast.BoolOp(op=sign, values=parts):
                return _joined(isinstance(sign, ast.Or), [self.check(part, deeper) for part in parts])
            case ast.Compare(left=left, ops=signs, comparators=others):
                return self._compared(left, signs, others, deeper)
            case ast.IfExp(test=test, body=body, orelse=other):
                return _conditional(*(self.check(part, deeper) for part in (test, body, other)))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._function(node, name, arguments, deeper)
        raise ExpressionError(_refusal(node), column=self.column(node))

    def _constant(self, node: ast.expr, constant: Value) -> _Evaluate:
        if not isinstance(constant, str):
            try:
                op.bounded(constant)
            except Refused:
                raise ExpressionError("This number is too large", column=self.column(node)) from None
        return lambda given: constant

    def _name(self, node: ast.expr, name: str) -> _Evaluate:
        if name in self.names:
            self.used.add(name)
            return lambda given: given[name]
        if name in ("true", "false"):
            return self._constant(node, name == "true")
        near = difflib.get_close_matches(name, self.names, 3, 0.6) or [
            known for known in self.names if known.lower() == name.lower()][:1]
        if name in FUNCTIONS:
            hint = f": write {name}(…) with what it is of"
        else:
            hint = f": did you mean {' or '.join(near)}?" if near else ""
        raise ExpressionError(f"There is no “{name[:40]}”{hint}", column=self.column(node),
                              details=", ".join(sorted(self.names)), names=self.names)

    def _called(self, node: ast.expr, act: Callable[..., Value], parts: list[_Evaluate]) -> _Evaluate:
        """One operation; what it refuses is told with its place."""
        column = self.column(node)

        def evaluate(given: Given) -> Value:
            values = [part(given) for part in parts]
            try:
                return act(*values)
            except Refused as refused:
                sentence = str(refused)
            raise ExpressionError(sentence[:1].upper() + sentence[1:], column=column)

        return evaluate

    def _compared(self, left: ast.expr, signs: list[ast.cmpop], others: list[ast.expr], deeper: int) -> _Evaluate:
        pairs = []
        for sign, right in zip(signs, others, strict=True):
            pairs.append(self._pair(left, sign, right, deeper))
            left = right
        return pairs[0] if len(pairs) == 1 else _joined(False, pairs)

    def _pair(self, left: ast.expr, sign: ast.cmpop, right: ast.expr, deeper: int) -> _Evaluate:
        self._alike(left, sign, right)
        if type(sign) in _COMPARISONS:
            return self._called(left, _COMPARISONS[type(sign)], [self.check(left, deeper), self.check(right, deeper)])
        if not isinstance(sign, (ast.In, ast.NotIn)):
            raise ExpressionError("To compare, write == or !=", column=self.column(right))
        value = self.check(left, deeper)
        if isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            if len(right.elts) > MAX_LISTED:
                raise ExpressionError(f"A list may have {MAX_LISTED} values", column=self.column(right))
            values = [self.check(element, deeper + 1) for element in right.elts]
            found: _Evaluate = lambda given: op.among(value(given), [one(given) for one in values])  # noqa: E731
        else:
            found = self._called(left, op.within, [value, self.check(right, deeper)])
        return found if isinstance(sign, ast.In) else lambda given: op.negated(found(given))

    def _alike(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> None:
        """A number is never a text, so a comparison of the two would never be met and nobody be told."""
        kind, within = self._is_text(left), isinstance(sign, (ast.In, ast.NotIn))
        if isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            unlike = kind is not None and bool(right.elts) and all(
                self._is_text(element) is (not kind) for element in right.elts)
        else:
            other = self._is_text(right)
            unlike = (within and False in (kind, other) and True in (kind, other)) or (
                not within and None not in (kind, other) and kind is not other)
        if unlike:
            raise ExpressionError(f"“{_SIGNS.get(type(sign), 'in')}” can't compare {ast.unparse(left)[:40]} with "
                                  f"{ast.unparse(right)[:40]}: one is a text, one a number", column=self.column(left))

    def _is_text(self, node: ast.expr) -> bool | None:
        """Will it come to a text, or to a number (true and false count as such)? None: that isn't known here."""
        match node:
            case ast.Constant(value=constant):
                return isinstance(constant, str)
            case ast.Name(id=name) if name in self.names:
                return name in self.texts if self.texts is not None else None
            case ast.BinOp(left=left, op=ast.Add()):
                return self._is_text(left)
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp():
                return False
            case ast.IfExp(body=body, orelse=other):
                kind = self._is_text(body)
                return kind if kind is self._is_text(other) else None
            case ast.Call(func=ast.Name(id="min" | "max"), args=[first, *_]):
                return self._is_text(first)
            case ast.Call():
                return False
        return None

    def _function(self, node: ast.expr, name: str, arguments: list[ast.expr], deeper: int) -> _Evaluate:
        if name not in FUNCTIONS:
            raise ExpressionError(f"There is no function “{name[:40]}”; there are {', '.join(FUNCTIONS)}",
                                  column=self.column(node))
        act, least, most, _ = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            takes = f"{least}" if least == most else f"{least} to {most}"
            raise ExpressionError(f"“{name}” takes {takes} value{'s' if most > 1 else ''}, not {len(arguments)}",
                                  column=self.column(node))
        return self._called(node, act, [self.check(argument, deeper) for argument in arguments])


def _joined(either: bool, parts: list[_Evaluate]) -> _Evaluate:
    """And, or (``either``) or: asked from the left until it is decided; undecided with an unknown is unknown."""
    def evaluate(given: Given) -> Value:
        unknown = False
        for part in parts:
            value = op.truth(part(given))
            if value is either:
                return either
            unknown |= value is None
        return None if unknown else not either
    return evaluate


def _conditional(test: _Evaluate, body: _Evaluate, other: _Evaluate) -> _Evaluate:
    def evaluate(given: Given) -> Value:
        met = op.truth(test(given))
        return None if met is None else body(given) if met else other(given)
    return evaluate


def _refusal(node: ast.expr) -> str:
    match node:
        case ast.Attribute():
            return "A name stands alone: nothing follows it after a dot"
        case ast.Call():
            return f"Only {', '.join(FUNCTIONS)} can be called, with plain values"
        case ast.Tuple() | ast.List() | ast.Set():
            return "A list can only stand behind in"
        case ast.Subscript():
            return "Nothing can be picked out with [ ] here"
        case ast.Constant(value=None):
            return "What isn't known is asked for with known(…)"
        case ast.BinOp(op=ast.BitAnd()):
            return "& is written and here"
        case ast.BinOp(op=ast.BitOr()):
            return "| is written or here"
        case ast.BinOp(op=ast.BitXor()):
            return "^ is written ** here"
    return "This form can't be used in an expression"
