"""What a person types is computed as written, refused in words, and never runs away."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.debugger import expressions
from engine.debugger.expressions import ExpressionError
from engine.debugger.facts import FACTS, ROUND_NAMES, TEXT_NAMES, WATCH_NAMES, of_moment, of_round
from engine.debugger.history import History
from engine.debugger.operations import FUNCTIONS, MAX_CHARACTERS, MAX_NUMBER
from engine.debugger.round_filter import round_filter, words
from engine.debugger.round_rows import round_row
from engine.debugger.scene import FINAL
from engine.debugger.watches import evaluate
from engine.records import Committed, Drafted, Judged, Verified
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, PLAIN

GIVEN = {"overlap": 0.25, "accepted": 0, "tested": 3, "p": None, "q": 0.5, "text": " tea", "eos": True, "γ": 4}


def value(text: str) -> object:
    return expressions.compile(text, GIVEN).evaluate(GIVEN)


@pytest.mark.parametrize(("text", "expected"), [
    ("overlap < 0.3 and accepted == 0", True),
    ("0 < overlap < 0.2", False),
    ("1 if eos else 2", 1),
    ("-tested ** 2 + 7 % 4", -6),
    ("7 // 2 + 7 / 2", 6.5),
    ("abs(-2) + min(3, 1, 2) + max(1, 2) + len(text)", 9),
    ("round(2.71828, 3)", 2.718),
    ("round(2.6)", 3),
    ("log(100, 10)", pytest.approx(2)),
    ("log(1)", 0.0),
    ("'tea' in text and 'x' not in text", True),
    ("tested in (1, 2, 3)", True),
    ("tested not in [1, 2]", True),
    ("text + '!' == ' tea!'", True),
    ("not eos or true", True),
    ("accepted == 0 and tested / accepted > 1", None),  # what has no value is unknown
    ("accepted != 0 and tested / accepted > 1", False),  # and isn't asked for when all is decided
    ("γ > 3", True),
    ("(\n overlap\t< 1 )", True),
])
def test_computes(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("p", None), ("p / q", None), ("p < 1", None), ("p == p", None), ("-p", None), ("not p", None), ("min(p, 1)", None),
    ("p < 1 and eos", None), ("p < 1 and not eos", False), ("p < 1 or eos", True), ("p < 1 or not eos", None),
    ("1 if p else 2", None), ("p in (1, 2)", None), ("q in (0.5, p)", True), ("q in (0.4, p)", None),
    ("known(p)", False), ("known(q)", True), ("q / 0", None), ("log(0)", None), ("(-1) ** 0.5", None),
    ("0 ** -1", None),
    ("q % 0 > 1", None),
])
def test_the_unknown_spreads_until_it_does_not_matter(text: str, expected: object) -> None:
    assert value(text) is expected
    assert expressions.compile(text, GIVEN).holds(GIVEN) is bool(expected)


@pytest.mark.parametrize(("text", "words", "column"), [
    ("", "Type an expression", None),
    ("overlpa < 0.3", "did you mean overlap?", 1),
    ("1 < Overlap", "did you mean overlap?", 5),
    ("zzz > 1", "There is no “zzz” (column 1)", 1),
    ("'é' == zzz", "There is no “zzz”", 8),
    ("accepted = 1", "write == with two signs", 10),
    ("q ≤ 1", "≤ is written <=", 3),
    ("q > 0 && p > 0", "& is written and", None),
    ("(q > 0", "parentheses", None),
    ("q >", "missing at the end", None),
    ("text == 'a", "quotation mark", None),
    ("q.real", "nothing follows it after a dot", 1),
    ("text.__class__.__mro__", "nothing follows it after a dot", 1),
    ("__import__('os')", "There is no function", 1),
    ("(lambda: 1)()", "can be called", None),
    ("[x for x in text]", "can't be used", None),
    ("text[0]", "[ ]", 1),
    ("f'{q}'", "can't be used", 1),
    ("b'a'", "can't be used", 1),
    ("q is p", "write == or !=", None),
    ("None", "known(…)", 1),
    ("(1, 2)", "behind in", 1),
    ("min()", "takes 1 to 16", 1),
    ("log(1, 2, 3)", "takes 1 to 2", 1),
    ("round", "write round(…)", 1),
    ("min(q, key=q)", "can be called", 1),
    ("min(*text)", "can't be used", None),
    ("'\\d'", "backslash", 2),
    ("1e999", "too large", 1),
    ("9" * 400, "too large", 1),
    ("-" * 400 + "1", "levels are nested", None),
    ("(" * 240 + "1" + ")" * 240, "nested", None),
    ("q" * 501, "501 characters", None),
    ("q in (" + "1," * 80 + ")", "64 values", 6),
    ("a\0b", "", None),
    ("\ud800", "", None),
])
def test_refuses_with_what_and_where(text: str, words: str, column: int | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        expressions.compile(text, GIVEN)
    assert words in str(caught.value)
    assert column is None or caught.value.column == column
    assert str(caught.value)[0].isupper() or not str(caught.value)[0].isalpha()


@pytest.mark.parametrize(("text", "words"), [
    ("text < 3", "“<” can't compare \" tea\" with 3"),
    ("text * 3", "“*” is for numbers"),
    ("'%0999999d' % 1", "“%” is for numbers"),
    ("1 in 2", "“in” looks for a text in a text"),
    ("len(q)", "“len” is for texts"),
    ("2 ** 10000", "exponent may be 1024"),
    ("2 ** 1000 * 2 ** 1000", "too large"),
    ("10.0 ** 300 * 10", "too large"),
    ("(10 ** 300) ** 1000", "too large"),
    ("round(q, 99)", "digits"),
])
def test_refuses_values_that_do_not_fit(text: str, words: str) -> None:
    expression = expressions.compile(text, GIVEN)
    with pytest.raises(ExpressionError, match=r"column \d+"):
        expression.evaluate(GIVEN)
    with pytest.raises(ExpressionError) as caught:
        expression.evaluate(GIVEN)
    assert words in str(caught.value)


def test_text_cannot_be_blown_up() -> None:
    long = {"text": "x" * (MAX_CHARACTERS // 2 + 1)}
    with pytest.raises(ExpressionError, match="too long"):
        expressions.compile("text + text", long).evaluate(long)


def test_asks_only_for_what_it_comes_to() -> None:
    class Asked(dict[str, object]):
        names: list[str] = []  # noqa: RUF012

        def __getitem__(self, name: str) -> object:
            self.names.append(name)
            return super().__getitem__(name)

    asked = Asked(GIVEN)
    expression = expressions.compile("eos or q > 1 or p > 1", GIVEN)
    assert expression.names == {"eos", "q", "p"}
    assert expression.evaluate(asked) is True  # type: ignore[arg-type]
    assert asked.names == ["eos"]


# --- whatever is typed ------------------------------------------------------------------------------------------------

_ATOMS = st.sampled_from([*GIVEN, "1", "0", "2.5", "1e308", "10**300", "-3", "'a'", "''", "None", "x", "lambda: 0",
                          "()"])
_SIGNS = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", "and", "or", "in", "not in",
                          "is", "&", "|", "<<", ",", ":=", ".", " if q else "])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, _SIGNS, inner).map(" ".join), inner.map(lambda x: f"({x})"), inner.map(lambda x: f"not {x}"),
        st.tuples(st.sampled_from([*FUNCTIONS, "eval", "text"]), inner, inner).map(lambda x: f"{x[0]}({x[1]}, {x[2]})"),
        st.tuples(st.sampled_from(list(FUNCTIONS)), inner).map(lambda x: f"{x[0]}({x[1]})"),
        inner.map(lambda x: f"[{x}][0]"))


_TEXTS = st.one_of(st.recursive(_ATOMS, _grown, max_leaves=25), st.text(max_size=80),
                   st.text("()[]{}'\"\\+-*/%<>=!.,:~@ \n19aeγpq_", max_size=120))


@settings(max_examples=500, deadline=None)
@given(_TEXTS)
def test_nothing_typed_does_harm(text: str) -> None:
    before = time.perf_counter()
    try:
        result = expressions.compile(text, GIVEN).evaluate(GIVEN)
    except ExpressionError:
        pass
    else:
        assert result is None or isinstance(result, (bool, int, float, str))
        if isinstance(result, float):
            assert abs(result) <= MAX_NUMBER
    assert time.perf_counter() - before < 0.5


# --- the facts they are over ------------------------------------------------------------------------------------------


def history_of(method: fake_run.Method, **options: object) -> History:
    history = History(method.lane)
    for record in fake_run.lane_records(method, limit=60, **options):  # type: ignore[arg-type]
        history.append(record)
    return history


def test_every_fact_is_explained_and_never_fails() -> None:
    assert {"overlap", "overlap_min", "ratio", "margin", "alpha", "ms", "round", "token", "text"} <= ROUND_NAMES
    assert {"phase"} == WATCH_NAMES - ROUND_NAMES
    for fact in FACTS.values():
        assert fact.meaning
        assert "\n" not in fact.meaning
    for method, options in ((PLAIN, {}), (DRAFT, {}), (DRAFT, {"temperature": 0.0}), (DRAFT, {"detail": False})):
        history = history_of(method, **options)
        for index in range(len(history) + 1):
            for place in (None, FINAL, 0, 2, 99):
                for known in of_moment(history.at(index), place).values():
                    assert known is None or isinstance(known, (bool, int, float, str))
                    assert not isinstance(known, float) or math.isfinite(known)


def test_facts_of_a_round_are_its_records() -> None:
    history = history_of(DRAFT)
    for number in range(len(history.ends)):
        one, facts = history.round(number), of_round(history, number)
        end, last = one.committed, one.judged[-1] if one.judged else None
        assert isinstance(end, Committed)
        assert (facts["round"], facts["k"], facts["accepted"], facts["final"]) == (
            number + 1, end.drafted, end.accepted, end.final)
        assert facts["text"] == "".join(end.texts)
        assert facts["drafted_text"] == "".join(draft.text for draft in one.drafted)
        assert facts["void"] == end.drafted - end.tested
        assert facts["ms"] == pytest.approx(1e3 * end.seconds.total)
        assert facts["alpha"] == history.totals_after(number + 1).acceptance_rate
        if last is not None:
            assert last.p is not None
            assert last.q is not None
            assert last.draw is not None
            assert (facts["p"], facts["draw"]) == (last.p, last.draw)
            assert facts["margin"] == pytest.approx(last.p / last.q - last.draw)
            assert (facts["margin"] > 0) == last.accepted  # type: ignore[operator]
            assert facts["fate"] == ("accepted" if last.accepted else "rejected")
            assert facts["overlap"] == one.verified.rows[last.index].overlap  # type: ignore[union-attr]
            assert facts["overlap_min"] <= facts["overlap"]  # type: ignore[operator]


def test_facts_of_a_moment_know_nothing_later() -> None:
    history = history_of(DRAFT)
    first_draft = next(i for i, r in enumerate(history.records) if isinstance(r, Drafted))
    facts = of_moment(history.at(first_draft + 1))
    assert (facts["phase"], facts["k"], facts["fate"], facts["p"], facts["overlap"], facts["ms"]) == (
        "draft", 1, "pending", None, None, pytest.approx(1e3 * history.records[first_draft].seconds))  # type: ignore[attr-defined]
    verified = next(i for i, r in enumerate(history.records) if isinstance(r, Verified))
    assert of_moment(history.at(verified + 1), 0)["overlap"] is not None
    judged = next(i for i, r in enumerate(history.records) if isinstance(r, Judged))
    facts = of_moment(history.at(judged + 1))
    assert (facts["tested"], facts["final"], facts["phase"]) == (1, None, "judge")
    committed = next(i for i, r in enumerate(history.records) if isinstance(r, Committed))
    end = history.records[committed]
    facts = of_moment(history.at(committed + 1), FINAL)
    assert isinstance(end, Committed)
    assert (facts["fate"], facts["draw"], facts["id"]) == (end.final, end.final_draw, end.tokens[-1])
    assert facts["token"] == len(end.tokens)


def test_rounds_are_filtered_by_an_expression() -> None:
    history = history_of(DRAFT)
    rows = [round_row(history, number) for number in range(len(history.ends))]
    wanted = round_filter("accepted == k and k > 0", lambda: history)
    assert [row.round for row in rows if wanted(row)] == [
        number for number in range(len(rows)) if history.round(number).rejected_at is None and history.round(number).k]
    assert not any(map(round_filter("accepted >= 0", lambda: None), rows))
    with pytest.raises(ExpressionError, match="did you mean accepted"):
        round_filter("acepted > 1", lambda: history)
    with pytest.raises(ExpressionError, match="one is a text"):
        round_filter("final > 1", lambda: history)


def test_rounds_are_filtered_by_words() -> None:
    history = history_of(DRAFT)
    rows = [round_row(history, number) for number in range(len(history.ends))]
    texts = [(row.committed_text or "") + "\0" + "".join(row.drafted_texts or ()) for row in rows]
    word = "price"
    expected = [place for place, text in enumerate(texts) if word in text.casefold()]
    assert 0 < len(expected) < len(rows)
    for typed in ("price", "PRICE", "'price'", '"Price"'):
        assert [row.round for row in rows if round_filter(typed, lambda: history)(row)] == expected
    by_expression = round_filter("'price' in text or 'price' in drafted_text", lambda: history)
    assert [row.round for row in rows if by_expression(row)] == [
        place for place, text in enumerate(texts) if word in text]


@pytest.mark.parametrize(("text", "sought"), [
    ("sky", "sky"), (" sky ", "sky"), ("the sky", "the sky"), ("' sky'", " sky"), ('"a < b"', "a < b"),
    ("don't", "don't"), ("salt and sugar", "salt and sugar"), ("42", "42"), ("¿qué?", "¿qué?"), ("天", "天"),
    ("a, b.", "a, b."), ("eos", None), ("accepted", None), ("true", None), ("overlpa < 1", None), ("k - acepted", None),
    ("not acepted and eos", None), ("''", None), ("", None), ("known(p)", None),
])
def test_what_is_taken_for_words(text: str, sought: str | None) -> None:
    assert words(text) == sought


@pytest.mark.parametrize("text", [
    "p > 'a'", "'a' == p", "final != 1", "fate in (1, 2)", "1 in text", "'a' in accepted", "p + 1 < token_text",
    "max(p, q) == 'x'", "0 < p < 'a'", "len(text) == text", "(final if eos else fate) > 2",
])
def test_numbers_and_texts_are_told_apart_before_anything_runs(text: str) -> None:
    with pytest.raises(ExpressionError, match="one is a text, one a number"):
        expressions.compile(text, WATCH_NAMES, TEXT_NAMES)


@pytest.mark.parametrize("text", [
    "'a' in text", "final in ('bonus', 1)", "eos == 1", "text + 'b' == 'ab'", "p in (0, 1)", "source == drafted_text",
])
def test_what_may_be_met_is_taken(text: str) -> None:
    assert expressions.compile(text, WATCH_NAMES, TEXT_NAMES).names


def test_texts_are_those_facts_whose_values_are() -> None:
    history = history_of(DRAFT)
    for index in range(0, len(history) + 1, 3):
        for name, known in of_moment(history.at(index)).items():
            assert known is None or isinstance(known, str) is (name in TEXT_NAMES), name


def test_watches_are_evaluated_at_a_moment() -> None:
    history = history_of(DRAFT)
    judged = next(i for i, r in enumerate(history.records) if isinstance(r, Judged))
    moment = history.at(judged + 1)
    assert evaluate("tested", moment) == 1
    assert evaluate("final", moment) is None
    assert evaluate("phase == 'judge'", moment) is True
    assert evaluate("draft", moment, 2) == 3
    assert evaluate("p", history.at(0)) is None
    with pytest.raises(ExpressionError, match="did you mean phase"):
        evaluate("phases", moment)
