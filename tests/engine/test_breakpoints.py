"""Each kind of breakpoint on records where it fires and on records where it must not; what is saved; what is typed."""

from __future__ import annotations

import contextlib
import time
import typing

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.debugger import breakpoints
from engine.debugger.breakpoints import Breakpoint, HitRule, fresh_id
from engine.debugger.combined import AnyCondition, Both, Either
from engine.debugger.condition import Condition, ConditionError
from engine.debugger.conditions import (
    AllAccepted,
    AnyRejection,
    Divergence,
    EarlyRejection,
    FewerAccepted,
    LowOverlap,
    LowRatio,
    LowResidual,
    NearThreshold,
    RoundReached,
    SlowerThanMedian,
    SlowRound,
    TokenReached,
)
from engine.debugger.expressions import ExpressionError
from engine.debugger.history import History
from engine.debugger.patterns import MAX_SEARCHED, PatternError, found
from engine.debugger.scene import Around
from engine.debugger.token_conditions import EosDrafted, TokenId, TokenText
from engine.debugger.watcher import Watcher
from engine.debugger.where import Where
from engine.records import Committed, Drafted, Judged, Record, RunStarted, Verified
from tests.engine.breakpoint_runs import BAD, EOS, GOOD, NO, OK, Tested, fired, run

CASES: list[tuple[Condition, History, int, type[Record], History]] = [
    # the condition, a run where it fires, how often, at which records; a run where it must not
    (AnyRejection(), BAD, 2, Judged, GOOD),
    (EarlyRejection(draft=1), BAD, 1, Judged, run([OK, NO])),
    (EarlyRejection(draft=2), BAD, 2, Judged, run([OK, OK, NO])),
    (AllAccepted(), GOOD, 2, Committed, run([OK, NO], [], k=2)),
    (FewerAccepted(count=1), BAD, 1, Committed, GOOD),
    (FewerAccepted(count=2), BAD, 2, Committed, run([OK, OK, NO])),
    (FewerAccepted(count=2), run([OK], k=2), 1, Committed, run([], [])),  # not in plain decoding
    (LowOverlap(below=0.3), run([OK, Tested(overlap=0.29)]), 1, Judged, run([Tested(overlap=0.3)])),
    (LowOverlap(below=0.3), run([Tested(overlap=0.1), Tested(overlap=0.1)]), 2, Judged, run([], [])),
    (LowRatio(below=0.5), run([OK, Tested(p=0.2, q=0.5, accepted=False)]), 1, Judged, run([Tested(p=0.25, q=0.5)])),
    (NearThreshold(within=0.05), run([Tested(p=0.4, q=0.5, u=0.78)]), 1, Judged, run([Tested(p=0.4, q=0.5, u=0.7)])),
    (NearThreshold(within=0.05), run([Tested(p=0.4, q=0.5, u=0.82, accepted=False)]), 1, Judged,
     run([Tested(p=0.9, q=0.5, u=0.99)])),
    (LowResidual(below=0.1), run([NO], residual=0.09), 1, Committed, run([NO], residual=0.1)),
    (LowResidual(below=1.0), run([NO]), 1, Committed, GOOD),
    (TokenId(role="drafted", token=1), GOOD, 4, Drafted, run([Tested(token=2)])),
    (TokenId(role="committed", token=3), GOOD, 2, Committed, run([OK], final=2)),
    (TokenId(role="rejected", token=1), BAD, 2, Judged, GOOD),
    (TokenText(role="drafted", text="tea"), GOOD, 4, Drafted, run([Tested(token=5)])),
    (TokenText(role="committed", match="contains", text="tea"), run([Tested(token=5)]), 1, Committed,
     run([Tested(token=2)])),
    (TokenText(role="rejected", match="pattern", text="^ ?t.a$"), BAD, 2, Judged,
     run([Tested(token=5, accepted=False)])),
    (TokenText(role="committed", text="\n"), run([Tested(token=4)]), 1, Committed, GOOD),
    (EosDrafted(), run([OK, Tested(token=EOS)]), 1, Drafted, run([OK], final=EOS)),
    (RoundReached(number=2), GOOD, 1, Drafted, run([OK])),
    (RoundReached(number=2), run([], []), 1, Verified, run([])),
    (TokenReached(number=4), GOOD, 1, Committed, run([OK, OK])),
    (SlowRound(milliseconds=60), run([OK], [OK], seconds=(0.05, 0.061)), 1, Committed, run([OK], seconds=(0.06,))),
    (SlowerThanMedian(times=2), run(*[[OK]] * 6, seconds=(0.05,) * 5 + (0.101,)), 1, Committed,
     run(*[[OK]] * 6, seconds=(0.101,) + (0.05,) * 4 + (0.1,))),
    (Where("overlap < 0.3 and accepted == 1"), run([OK, Tested(overlap=0.2, accepted=False)]), 1, Judged,
     run([Tested(overlap=0.2, accepted=False)])),
    (Where("overlap < 0.3"), run([Tested(overlap=0.2, accepted=False)]), 1, Judged, GOOD),
    (Where("ms > 60"), run([OK], seconds=(0.061,)), 1, Committed, GOOD),
    (Where("fate == 'bonus' and token_text == ' black'"), GOOD, 2, Committed, BAD),
    (Where("1e300 * 1e300 > round"), run([]), 0, Committed, GOOD),  # can't be computed: doesn't hold
    (Both((AnyRejection(), LowOverlap(below=0.3))), run([OK, Tested(overlap=0.2, accepted=False)]), 1, Judged,
     run([Tested(overlap=0.2), NO])),  # not of the same draft
    (Both((AnyRejection(), SlowRound(milliseconds=60))), run([NO], [OK], seconds=(0.061, 0.061)), 1, Committed,
     run([NO], [OK], seconds=(0.05, 0.061))),
    (Both((TokenText(role="drafted", text="tea"), AnyRejection())), BAD, 2, Judged, GOOD),
    (Both((RoundReached(number=2), AnyRejection())), BAD, 1, Judged, run([NO], [OK])),
    (Both((RoundReached(number=2), TokenId(role="drafted", token=1))), GOOD, 2, Drafted, run([OK])),
    (Both((Either((EosDrafted(), AnyRejection())), SlowRound(milliseconds=60))),
     run([Tested(token=EOS)], seconds=(0.07,)), 1, Committed, run([OK], seconds=(0.07,))),
    (Either((AnyRejection(), SlowRound(milliseconds=60))), BAD, 2, Judged, GOOD),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].words)
def test_fires_where_it_should_and_nowhere_else(
        case: tuple[Condition, History, int, type[Record], History]) -> None:
    condition, history, times, kind, quiet = case
    stops = fired(condition, history)
    assert [type(record) for record in stops] == [kind] * times
    assert fired(condition, quiet) == []
    assert {type(record) for record in stops} <= condition.kinds
    assert condition.words == condition.words.strip() != ""


def test_every_kind_is_tried() -> None:
    tried = {type(case[0]) for case in CASES} | {Divergence}
    assert set(typing.get_args(AnyCondition)) == tried


def test_divergence_fires_once_and_only_if_plain_is_known() -> None:
    ids = [1, 1, 3, 1, 1, 3]
    assert fired(Divergence(), GOOD, Around(plain_ids=ids)) == []
    assert fired(Divergence(), GOOD) == []
    assert fired(Divergence(), GOOD, Around(plain_ids=ids[:2])) == []
    stops = fired(Divergence(), GOOD, Around(plain_ids=[1, 1, 3, 1, 2, 2]))
    assert stops == [record for record in GOOD.records if isinstance(record, Committed)][1:]


def test_divergence_is_noticed_when_plain_catches_up() -> None:
    plain: list[int] = []
    history, watcher = History("made"), Watcher(
        [Breakpoint(id="b", condition=Divergence())], {"made": Around(plain_ids=plain)})
    seen = []
    for record in GOOD.records:
        history.append(record)
        seen += watcher.see(history)
        if isinstance(record, Committed) and not plain:
            plain += [1, 2, 2, 2]
    assert len(seen) == 1


def test_end_of_text_from_around_when_the_recording_tells_none() -> None:
    history = History("made")
    for record in run([Tested(token=EOS)]).records:
        history.append(msgspec.structs.replace(record, eos=()) if isinstance(record, RunStarted) else record)
    assert fired(EosDrafted(), history) == []
    assert len(fired(EosDrafted(), history, Around(eos={EOS}))) == 1


def test_outcomes_alone_are_enough_for_what_they_tell() -> None:
    history = History("made")
    for record in BAD.records:
        if not isinstance(record, (Drafted, Verified, Judged)):
            history.append(record)
    assert len(fired(FewerAccepted(count=2), history)) == 2
    assert len(fired(RoundReached(number=2), history)) == 1
    assert fired(LowOverlap(), history) == fired(AnyRejection(), history) == []


# --- what is kept, and what is typed ----------------------------------------------------------------------------------


def test_saved_and_loaded() -> None:
    ones = [Breakpoint(id=f"b{i}", condition=case[0], hits=HitRule("each", 2), lane="x", enabled=False)  # type: ignore[arg-type]
            for i, case in enumerate(CASES)]
    assert breakpoints.load(breakpoints.save(ones)) == (tuple(ones), "")
    assert breakpoints.load("") == ((), "")
    assert fresh_id([]) == "b1"
    assert fresh_id([Breakpoint(id="b1", condition=AnyRejection())]) == "b2"


@pytest.mark.parametrize("text", [
    "{", "nonsense", "3", "null", "[" * 10_000, '"\ud800"', "[" + "1," * 600_000 + "1]", "\x00",
    '[{"id": "c", "condition": ' + '{"type": "and", "of": [' * 5_000 + "]}" * 5_000 + "}]"])
def test_what_is_no_list_gives_none_and_says_so(text: str) -> None:
    kept, problem = breakpoints.load(text)
    assert kept == ()
    assert problem


@pytest.mark.parametrize("one", [
    '{"id": "", "condition": {"type": "rejection"}}', '{"id": "c", "condition": {"type": "unheard"}}',
    '{"id": "c", "condition": {"type": "overlap", "below": -1}}',
    '{"id": "c", "condition": {"type": "overlap", "below": 1e999}}',
    '{"id": "c", "condition": {"type": "where", "text": "import os"}}',
    '{"id": "c", "condition": {"type": "token-text", "match": "pattern", "text": "(a+)+$"}}',
    '{"id": "c", "condition": {"type": "round", "number": 0}}', '{"id": "c", "condition": {"type": "and", "of": []}}',
    '{"id": "c", "hits": {"n": 0}, "condition": {"type": "rejection"}}', '{"id": "a", "condition": {"type": "eos"}}',
    '{"id": "c", "condition": ' + '{"type": "and", "of": [{"type": "eos"}, ' * 9 + '{"type": "eos"}' + "]}" * 9 + "}",
    "[]", "7",
])
def test_one_bad_breakpoint_costs_only_itself(one: str) -> None:
    good = Breakpoint(id="a", condition=AnyRejection())
    kept, problem = breakpoints.load(f"[{breakpoints.save([good])[1:-1]}, {one}]")
    assert kept == (good,)
    assert problem == "1 saved breakpoint couldn't be read."


def test_figures_out_of_range_are_refused_in_words() -> None:
    for make, words in ((lambda: LowOverlap(below=1.5), "overlap is 1.5, but it must be more than 0 and at most 1"),
                        (lambda: EarlyRejection(draft=0), "draft is 0"), (lambda: TokenText(text=""), "1 to 200"),
                        (lambda: SlowRound(milliseconds=float("nan")), "milliseconds is nan"),
                        (lambda: Both((AnyRejection(),)), "2 to 8")):
        with pytest.raises(ConditionError, match=words):
            make()
    with pytest.raises(ExpressionError, match="did you mean overlap"):
        Where("overlpa < 1")
    with pytest.raises(ExpressionError, match="no “phase”"):
        Where("phase == 'draft'")


@pytest.mark.parametrize("pattern", [
    "(a+)+$", "(a|a)*b", "((a?)x)*", r"(a)\1", "a?" * 30, "(", "[", "*", "(a|b)" * 20, "[[a]", "x" * 101, "(?P<n>a)",
    "a{1,2}b*c+d?"])
def test_patterns_that_could_run_away_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        found(pattern, "a" * 40)


@pytest.mark.parametrize(("pattern", "where", "fits"), [
    ("^ ?the$", " the", True), ("foo|bar", "a bar", True), ("(?i)TEA", "tea", True), (r"\d+", "a12", True),
    ("[)*+|]", "|", True), ("a.*b.*c.*d", "a" * 300, False), ("(?:ab)+", "xabab", True), ("[^]a]", "]a", False)])
def test_patterns(pattern: str, where: str, fits: bool) -> None:
    began = time.perf_counter()
    assert found(pattern, where) is fits
    assert time.perf_counter() - began < 0.5
    assert not found("z", "a" * MAX_SEARCHED + "z")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", ".", "(", "(?:", ")", "|", "*", "+", "?", "{2,}", "[ab]", "[^b]", "^", "$", "a*",
                                 ".*", r"\w", r"\d", "(?=", "(?i)", "[", "]", "\\", "😀"]), max_size=14).map("".join))
def test_no_pattern_runs_away(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(PatternError):
        found(text, "a" * 200)
    assert time.process_time() - began < 0.5


SAVED = breakpoints.save([Breakpoint(id=f"b{i}", condition=case[0]) for i, case in enumerate(CASES)])  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(SAVED)), st.integers(0, 30), st.text(max_size=8))
def test_whatever_was_saved_opens(place: int, cut: int, put: str) -> None:
    kept, problem = breakpoints.load(SAVED[:place] + put + SAVED[place + cut:])
    assert len(kept) <= len(CASES) + 1
    for one in kept:
        assert one.words
    assert kept or problem or not put
