"""Each kind of breakpoint on records where it fires and on records where it must not; and the same stops from either
side, live, and over a real run."""

from __future__ import annotations

import contextlib
import time
import typing
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.debugger import breakpoints
from engine.debugger.breakpoints import Breakpoint, HitRule, fresh_id
from engine.debugger.combined import AnyCondition, Both, Either
from engine.debugger.conditions import (
    AllAccepted,
    AnyRejection,
    Condition,
    ConditionError,
    Divergence,
    EarlyRejection,
    EosDrafted,
    FewerAccepted,
    LowOverlap,
    LowRatio,
    LowResidual,
    NearThreshold,
    RoundReached,
    SlowerThanMedian,
    SlowRound,
    TokenId,
    TokenReached,
    TokenText,
    Where,
)
from engine.debugger.expressions import ExpressionError
from engine.debugger.history import History
from engine.debugger.patterns import MAX_SEARCHED, PatternError, found
from engine.debugger.scene import Around
from engine.debugger.watcher import Trail, Watcher, count_stops, hit_counts, search
from engine.records import Committed, Contrast, Drafted, Judged, Record, RunStarted, Timings, Verified, Vocabulary
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN

COMMON = {"run": "r", "lane": "made"}
PROMPT = 3
EOS = 9
WORDS = {1: " tea", 2: " green", 3: " black", 4: "\n", 5: "steam", EOS: "<|end|>"}


class Test(msgspec.Struct):
    """One draft, and how it is tested."""

    token: int = 1
    p: float = 0.8
    q: float = 0.9
    u: float = 0.1
    overlap: float = 0.9
    accepted: bool = True


def run(*rounds: Sequence[Test], k: int | None = None, seconds: Sequence[float] = (), residual: float = 0.4,
        final: int = 3) -> History:
    """Hand-made rounds: tests in order; a rejected one ends its round. Round i takes ``seconds[i]``, else 50 ms."""
    history = History("made")
    first = next(iter(fake_run.lane_records(DRAFT)))
    assert isinstance(first, RunStarted)
    records: list[Record] = [
        msgspec.structs.replace(first, lane="made", run="r", prompt=(7,) * PROMPT, eos=(EOS,)),
        Vocabulary(**COMMON, texts=WORDS)]
    position = PROMPT
    for number, tests in enumerate(rounds):
        drafts = max(len(tests), k or 0)
        drafted = [tests[i] if i < len(tests) else Test(token=2) for i in range(drafts)]
        records += [Drafted(**COMMON, round=number, index=i, position=position + i, token=test.token,
                            text=WORDS[test.token], q=test.q, draw=0.5, seconds=0.001)
                    for i, test in enumerate(drafted)]
        rows = tuple(Contrast(ids=np.array([test.token], np.int32), p=np.array([test.p], np.float32),
                              q=np.array([test.q], np.float32), p_rest=0.1, q_rest=0.1, p_entropy=1.0, q_entropy=1.0,
                              overlap=test.overlap) for test in drafted)
        records.append(Verified(**COMMON, round=number, k=drafts, width=drafts + 1, seconds=0.04, rows=rows, gaps=(),
                                digests=()))
        records += [Judged(**COMMON, round=number, index=i, position=position + i, token=test.token,
                           text=WORDS[test.token], accepted=test.accepted, p=test.p, q=test.q, draw=test.u, best=1)
                    for i, test in enumerate(tests)]
        accepted = sum(test.accepted for test in tests)
        ids = [*(test.token for test in tests[:accepted]), final]
        correction = accepted < len(tests)
        spent = seconds[number] if number < len(seconds) else 0.05
        records.append(Committed(
            **COMMON, round=number, position=position, tokens=tuple(ids), texts=tuple(WORDS[i] for i in ids),
            accepted=accepted, tested=len(tests), drafted=drafts,
            final="correction" if correction else "bonus" if drafts else "plain", final_draw=0.5,
            residual_mass=residual if correction else None, residual_empty=False, gaps=(), digests=(),
            seconds=Timings(draft=0.0, verify=spent, judge=0.0, record=0.0, commit=0.0), target_slots=position,
            drafter_slots=position))
        position += len(ids)
    for record in records:
        history.append(record)
    return history


NO = Test(p=0.1, u=0.9, accepted=False)
OK = Test()


def fired(condition: Condition, history: History, around: Around | None = None) -> list[Record]:
    """The records at which it stops."""
    trail = Trail(history, [Breakpoint(id="b", condition=condition)], around or Around())  # type: ignore[arg-type]
    stops, moment = [], 0
    while (stop := trail.after(moment)) is not None:
        moment = stop[0]
        stops.append(history.records[moment - 1])
    return stops


GOOD = run([OK, OK], [OK, OK])
BAD = run([OK, NO], [NO], k=3)

CASES: list[tuple[Condition, History, int, type[Record], History]] = [
    # the condition, a run where it fires, how often, at which records; a run where it must not
    (AnyRejection(), BAD, 2, Judged, GOOD),
    (EarlyRejection(draft=1), BAD, 1, Judged, run([OK, NO])),
    (EarlyRejection(draft=2), BAD, 2, Judged, run([OK, OK, NO])),
    (AllAccepted(), GOOD, 2, Committed, run([OK, NO], [], k=2)),
    (FewerAccepted(count=1), BAD, 1, Committed, GOOD),
    (FewerAccepted(count=2), BAD, 2, Committed, run([OK, OK, NO])),
    (FewerAccepted(count=2), run([OK], k=2), 1, Committed, run([], [])),  # not in plain decoding
    (LowOverlap(below=0.3), run([OK, Test(overlap=0.29)]), 1, Judged, run([Test(overlap=0.3)])),
    (LowOverlap(below=0.3), run([Test(overlap=0.1), Test(overlap=0.1)]), 2, Judged, run([], [])),
    (LowRatio(below=0.5), run([OK, Test(p=0.2, q=0.5, accepted=False)]), 1, Judged, run([Test(p=0.25, q=0.5)])),
    (NearThreshold(within=0.05), run([Test(p=0.4, q=0.5, u=0.78)]), 1, Judged, run([Test(p=0.4, q=0.5, u=0.7)])),
    (NearThreshold(within=0.05), run([Test(p=0.4, q=0.5, u=0.82, accepted=False)]), 1, Judged,
     run([Test(p=0.9, q=0.5, u=0.99)])),
    (LowResidual(below=0.1), run([NO], residual=0.09), 1, Committed, run([NO], residual=0.1)),
    (LowResidual(below=1.0), run([NO]), 1, Committed, GOOD),
    (TokenId(role="drafted", token=1), GOOD, 4, Drafted, run([Test(token=2)])),
    (TokenId(role="committed", token=3), GOOD, 2, Committed, run([OK], final=2)),
    (TokenId(role="rejected", token=1), BAD, 2, Judged, GOOD),
    (TokenText(role="drafted", text="tea"), GOOD, 4, Drafted, run([Test(token=5)])),
    (TokenText(role="committed", match="contains", text="tea"), run([Test(token=5)]), 1, Committed,
     run([Test(token=2)])),
    (TokenText(role="rejected", match="pattern", text="^ ?t.a$"), BAD, 2, Judged, run([Test(token=5, accepted=False)])),
    (TokenText(role="committed", text="\n"), run([Test(token=4)]), 1, Committed, GOOD),
    (EosDrafted(), run([OK, Test(token=EOS)]), 1, Drafted, run([OK], final=EOS)),
    (RoundReached(number=2), GOOD, 1, Drafted, run([OK])),
    (RoundReached(number=2), run([], []), 1, Verified, run([])),
    (TokenReached(number=4), GOOD, 1, Committed, run([OK, OK])),
    (SlowRound(milliseconds=60), run([OK], [OK], seconds=(0.05, 0.061)), 1, Committed, run([OK], seconds=(0.06,))),
    (SlowerThanMedian(times=2), run(*[[OK]] * 6, seconds=(0.05,) * 5 + (0.101,)), 1, Committed,
     run(*[[OK]] * 6, seconds=(0.101,) + (0.05,) * 4 + (0.1,))),
    (Where("overlap < 0.3 and accepted == 1"), run([OK, Test(overlap=0.2, accepted=False)]), 1, Judged,
     run([Test(overlap=0.2, accepted=False)])),
    (Where("overlap < 0.3"), run([Test(overlap=0.2, accepted=False)]), 1, Judged, GOOD),
    (Where("ms > 60"), run([OK], seconds=(0.061,)), 1, Committed, GOOD),
    (Where("fate == 'bonus' and text == ' black'"), GOOD, 2, Committed, BAD),
    (Where("text > 3"), run([]), 0, Committed, GOOD),  # can't be computed: doesn't hold
    (Both((AnyRejection(), LowOverlap(below=0.3))), run([OK, Test(overlap=0.2, accepted=False)]), 1, Judged,
     run([Test(overlap=0.2), NO])),  # not of the same draft
    (Both((AnyRejection(), SlowRound(milliseconds=60))), run([NO], [OK], seconds=(0.061, 0.061)), 1, Committed,
     run([NO], [OK], seconds=(0.05, 0.061))),
    (Both((TokenText(role="drafted", text="tea"), AnyRejection())), BAD, 2, Judged, GOOD),
    (Both((RoundReached(number=2), AnyRejection())), BAD, 1, Judged, run([NO], [OK])),
    (Both((RoundReached(number=2), TokenId(role="drafted", token=1))), GOOD, 2, Drafted, run([OK])),
    (Both((Either((EosDrafted(), AnyRejection())), SlowRound(milliseconds=60))),
     run([Test(token=EOS)], seconds=(0.07,)), 1, Committed, run([OK], seconds=(0.07,))),
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
    for record in run([Test(token=EOS)]).records:
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


# --- when to stop -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "stops", "words"), [
    (HitRule(), [1, 2, 3, 4, 5, 6], ""),
    (HitRule("from", 4), [4, 5, 6], "from the 4th time"),
    (HitRule("exactly", 2), [2], "only the 2nd time"),
    (HitRule("each", 3), [3, 6], "every 3rd time"),
    (HitRule("each", 1), [1, 2, 3, 4, 5, 6], ""),
])
def test_hit_rules(rule: HitRule, stops: list[int], words: str) -> None:
    history = run(*[[NO]] * 6)
    one = Breakpoint(id="b", condition=AnyRejection(), hits=rule)
    assert [hit for hit in range(1, 7) if rule.stops(hit)] == stops
    assert [number(history, moment) for moment in forward(history, [one])] == stops
    assert hit_counts(history, [one]) == {"b": 6}
    assert one.words == ("any rejection" if not words else f"any rejection, {words}")


def number(history: History, moment: int) -> int:
    """Of the round of a stop, from 1."""
    record = history.records[moment - 1]
    assert isinstance(record, (Drafted, Judged, Committed, Verified))
    return record.round + 1


def forward(history: History, ones: Sequence[Breakpoint], around: Around | None = None) -> list[int]:
    moments, stop = [], search(history, ones, 0, 1, around or Around())
    while stop is not None:
        moments.append(stop[0])
        stop = search(history, ones, stop[0], 1, around or Around())
    return moments


def backward(history: History, ones: Sequence[Breakpoint], around: Around | None = None) -> list[int]:
    moments, stop = [], search(history, ones, len(history) + 1, -1, around or Around())
    while stop is not None:
        moments.append(stop[0])
        stop = search(history, ones, stop[0], -1, around or Around())
    return moments


MANY = [Breakpoint(id=f"b{i}", condition=condition, hits=rule) for i, (condition, rule) in enumerate([  # type: ignore[arg-type]
    (AnyRejection(), HitRule("each", 3)), (LowOverlap(below=0.4), HitRule("from", 5)), (AllAccepted(), HitRule()),
    (SlowerThanMedian(times=1.02), HitRule()), (Where("margin < 0.05 and draft > 1"), HitRule()),
    (TokenText(role="drafted", text="price"), HitRule("exactly", 2)), (Divergence(), HitRule()),
    (Both((RoundReached(number=4), AnyRejection())), HitRule()),
    (Either((TokenReached(number=20), EosDrafted())), HitRule())])]


@pytest.mark.parametrize("method", [PLAIN, LOOKUP, DRAFT], ids=lambda method: method.lane)
def test_the_same_stops_forwards_backwards_and_live(method: fake_run.Method) -> None:
    whole, growing = History(method.lane), History(method.lane)
    records = list(fake_run.lane_records(method, limit=60))
    around = Around(plain_ids=[100] * 60)
    watcher, live = Watcher(MANY, {method.lane: around}), []
    for record in records:
        whole.append(record)
        growing.append(record)
        if watcher.see(growing):
            live.append(len(growing))
        assert watcher.see(growing) == ()
    forth = forward(whole, MANY, around)
    assert forth == backward(whole, MANY, around)[::-1] == live
    assert len(forth) >= 2
    assert watcher.counts == hit_counts(whole, MANY, around)
    trail = Trail(whole, MANY, around)
    assert [trail.before(moment) for moment in (0, 1)] == [None, None]
    for moment in (len(whole), 30, 3, 77, 12):
        assert trail.after(moment) == search(whole, MANY, moment, 1, around)
        assert trail.before(moment) == search(whole, MANY, moment, -1, around)


def test_a_watcher_made_late_counts_what_has_happened() -> None:
    history = run(*[[NO]] * 4)
    ones = [Breakpoint(id="b", condition=AnyRejection(), hits=HitRule("exactly", 5))]
    watcher = Watcher(ones)
    assert watcher.see(history) == ()
    assert watcher.counts == {"b": 4}
    for record in run(*[[NO]] * 5).records[len(history):]:
        history.append(record)
        if isinstance(record, Judged):
            assert watcher.see(history) == tuple(ones)
    again = run([NO])
    watcher.see(again)
    assert watcher.counts == {"b": 1}  # another run of the same lane


def test_off_and_other_lanes_are_passed_by() -> None:
    history = run([NO])
    for one in (Breakpoint(id="b", condition=AnyRejection(), enabled=False),
                Breakpoint(id="b", condition=AnyRejection(), lane="other")):
        assert search(history, [one], 0, 1) is None
        assert hit_counts(history, [one]) == {"b": 0}
        assert Watcher([one]).see(history) == ()
    assert search(history, [Breakpoint(id="b", condition=AnyRejection(), lane="made")], 0, 1) is not None
    assert search(history, [], 0, 1) is None
    assert search(History("made"), MANY, 0, -1) is None


def test_a_trail_goes_on_where_the_run_goes_on() -> None:
    history, records = History("made"), run(*[[NO]] * 3).records
    trail = Trail(history, [Breakpoint(id="b", condition=AnyRejection())])
    found_at = []
    for record in records:
        history.append(record)
        stop = trail.after(found_at[-1] if found_at else 0)
        if stop is not None:
            found_at.append(stop[0])
    assert found_at == [index for index, record in enumerate(records, 1) if isinstance(record, Judged)]
    assert count_stops(history, Breakpoint(id="b", condition=AnyRejection(), hits=HitRule("from", 2))) == 2


def test_ten_thousand_rounds_are_looked_through_at_once() -> None:
    history, records = History("draft"), list(fake_run.lane_records(replace(DRAFT, gamma=8, skill=0.9), limit=5_000))
    for record in [*records[:3], *records[3:-1] * 10]:
        history.append(record)
    assert len(history.ends) > 9_000
    ones = [Breakpoint(id="a", condition=LowOverlap(below=1e-9)),
            Breakpoint(id="b", condition=Where("ms > 100000")),
            Breakpoint(id="c", condition=RoundReached(number=10**6))]
    began = time.process_time()
    assert search(history, ones, 0, 1) is None
    assert time.process_time() - began < 1.0
    trail = Trail(history, ones)
    trail.after(0)
    began = time.process_time()
    trail.after(5), trail.before(len(history))
    assert time.process_time() - began < 0.01


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


SAVED = breakpoints.save(MANY)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(SAVED)), st.integers(0, 30), st.text(max_size=8))
def test_whatever_was_saved_opens(place: int, cut: int, put: str) -> None:
    kept, problem = breakpoints.load(SAVED[:place] + put + SAVED[place + cut:])
    assert len(kept) <= len(MANY) + 1
    for one in kept:
        assert one.words
    assert kept or problem or not put


@pytest.mark.model
def test_a_real_run_stops_where_its_records_say() -> None:
    from engine import models
    from engine.race import LanePlan, race
    from engine.settings import DrafterSettings, RunSettings, Sampling

    target = models.load("builtin", dtype="float32", device="cpu")
    plan = RunSettings(sampling=Sampling(temperature=0.8), drafter=DrafterSettings(kind="layer-skip", gamma=3),
                           max_new_tokens=24, seed=3)
    history, ones = History("skip"), [
        Breakpoint(id="a", condition=AnyRejection()), Breakpoint(id="b", condition=Where("overlap < 0.5")),
        Breakpoint(id="c", condition=TokenReached(number=10)),
        Breakpoint(id="d", condition=SlowRound(milliseconds=1e8))]
    watcher, live = Watcher(ones), []
    prompt = target.encode("The museum opened its doors in", chat=False)
    for record in race(target, prompt, [LanePlan("skip", plan)], run="r"):
        history.append(record)
        if stopping := watcher.see(history):
            live.append((len(history), stopping))
    assert [set(record.eos) for record in history.records if isinstance(record, RunStarted)] == [set(target.eos)]
    assert [moment for moment, _ in live] == forward(history, ones) == backward(history, ones)[::-1]
    judged = [record for record in history.records if isinstance(record, Judged)]
    assert watcher.counts["a"] == sum(not record.accepted for record in judged) > 0
    assert (watcher.counts["c"], watcher.counts["d"]) == (1, 0)
    rejections = {moment for moment, stopping in live if ones[0] in stopping}
    assert rejections == {index + 1 for index, record in enumerate(history.records)
                          if isinstance(record, Judged) and not record.accepted}
