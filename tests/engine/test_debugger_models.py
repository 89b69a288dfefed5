"""Cache, verify rows, state and the round in words: on real runs, on the shipped recording and on made-up ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
import pytest

from engine.debugger.cache_cells import CacheSide, SlotRun, cache_cells
from engine.debugger.history import History, Moment
from engine.debugger.round_words import round_words, sentence
from engine.debugger.state_words import as_text, in_bytes, state_words
from engine.debugger.token_words import compared, one_line, plain, quoted, readable, squeezed
from engine.debugger.verify_rows import VerifyRow, verify_rows
from engine.models.describe import slot_bytes
from engine.records import Committed, Judged, Record, RunFinished, RunStarted, Verified
from engine.runner import Runner
from engine.settings import Sampling
from engine.trace import read
from tests.engine import support, tiny
from tests.widgets import fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN

DEMO = Path(__file__).resolve().parents[2] / "assets" / "demo" / "code-edit.spectrace.gz"
MODELS: tuple[Callable[[Moment], object], ...] = (cache_cells, verify_rows, state_words, round_words)


def history(records: Iterable[Record]) -> History:
    made = History("lane")
    for record in records:
        made.append(record)
    return made


@functools.cache
def tiny_run(drafter: str, temperature: float = 1.0, gamma: int = 4, tokens: int = 24) -> History:
    """Decoded by a tiny model. The draft model ``same`` is the target itself, so that whole rounds are accepted."""
    target = support.target()
    settings = support.settings(drafter, gamma=gamma, tokens=tokens, sampling=Sampling(temperature=temperature))
    models = {"other": support.target(layers=1, seed=3), "same": target}
    return history(support.run(target, support.PROMPT, settings, models=models).records)


@functools.cache
def demo() -> tuple[History, ...]:
    lanes: dict[str, History] = {}
    for record in read(DEMO):
        lanes.setdefault(record.lane, History(record.lane)).append(record)
    return tuple(lanes.values())


@functools.cache
def made_up(method: fake_run.Method, limit: int = 60, temperature: float = 0.8) -> History:
    return history(fake_run.lane_records(method, limit=limit, temperature=temperature))


REAL = ("none", "ngram", "layer-skip", "model:other", "model:same")


def every() -> list[History]:
    return [*(tiny_run(kind, t) for kind in REAL for t in (0.0, 1.0)), *demo(),
            *(made_up(method) for method in (PLAIN, LOOKUP, DRAFT))]


def moments(whole: History) -> list[Moment]:
    return [whole.at(index) for index in range(len(whole) + 1)]


def at_commits(whole: History) -> list[tuple[Moment, Committed]]:
    found = [(whole.at(end + 1), whole.records[end]) for end in whole.ends]
    return [(moment, record) for moment, record in found if isinstance(record, Committed)]


def kinds(side: CacheSide) -> list[tuple[str, int]]:
    return [(run.kind, run.count) for run in side.runs]


@pytest.mark.parametrize("model", MODELS, ids=lambda f: f.__name__)
def test_the_same_both_ways(model: Callable[[Moment], object]) -> None:
    for whole in every():
        growing, forth = History("lane"), []
        for record in whole.records:
            forth.append(model(growing.at(len(growing))))
            growing.append(record)
        back = [model(whole.at(index)) for index in range(len(whole) - 1, -1, -1)]
        assert back[::-1] == forth


# Caches


@pytest.mark.parametrize("whole", [*(lambda k=k, t=t: tiny_run(k, t) for k in REAL for t in (0.0, 1.0)),
                                   *(lambda i=i: demo()[i] for i in range(3))])
def test_slots_at_a_commit_are_the_recorded_ones(whole: Callable[[], History]) -> None:
    """Reckoned from what the loop does, not read from the record."""
    for moment, record in at_commits(whole()):
        cells = cache_cells(moment)
        assert cells is not None
        assert (cells.target.held, cells.drafter.held) == (record.target_slots, record.drafter_slots)
        assert reckoned(moment, record) == (record.target_slots, record.drafter_slots)


def reckoned(moment: Moment, record: Committed) -> tuple[int, int]:
    """Slots after the cut: what was held just before the commit, shortened to what may stay."""
    before = cache_cells(moment.history.at(moment.index - 1))
    assert before is not None
    room = record.position + len(record.tokens) - 1
    return min(before.target.held, room), min(before.drafter.held, room)


def test_the_target_holds_nothing_of_the_drafts_until_it_verifies() -> None:
    seen = set()
    for whole in every():
        for moment in moments(whole):
            cells, now = cache_cells(moment), moment.round
            if cells is None or now is None:
                continue
            seen.add(moment.phase)
            if moment.phase == "draft":
                assert kinds(cells.target) == [("kept", now.start - 1), ("awaited", 1)]
            elif moment.phase in ("verify", "judge"):
                assert cells.target.held == now.start + now.k
                assert cells.target.count("kept") == now.start
            elif moment.phase == "commit":
                assert cells.target.count("awaited") == 1
                assert cells.target.held == moment.length - 1
            elif moment.phase == "finished":
                assert cells.target.count("awaited") == 0
    assert {"draft", "verify", "judge", "commit", "finished"} <= seen


def test_the_drafter_lags_by_its_last_draft() -> None:
    whole = tiny_run("model:same")
    cells = [cache_cells(m) for m in moments(whole) if m.phase == "draft" and m.round is not None and m.round.k == 3]
    assert cells
    for each in cells:
        assert each is not None
        assert kinds(each.drafter) == [("kept", each.start), ("drafted", 2)]
    bonus = [cache_cells(m) for m, record in at_commits(whole) if record.final == "bonus"]
    assert bonus
    for each in bonus:
        assert each is not None
        assert each.drafter.count("awaited") == 2
        assert each.target.count("cut") == each.drafter.count("cut") == 0


def test_a_rejection_dooms_and_then_cuts() -> None:
    whole = made_up(DRAFT)
    found = 0
    for moment, record in at_commits(whole):
        rejected = record.tested - record.accepted
        if not rejected:
            continue
        found += 1
        before, after = cache_cells(whole.at(moment.index - 1)), cache_cells(moment)
        assert before is not None
        assert after is not None
        lost = record.drafted - record.accepted
        assert before.target.count("doomed") == after.target.count("cut") == lost
        assert before.drafter.count("doomed") == after.drafter.count("cut") == lost - 1
        assert after.target.count("accepted") == record.accepted
        assert after.target.runs[-2:] == (SlotRun("cut", record.target_slots, lost),
                                          SlotRun("awaited", record.target_slots, 1))
    assert found > 3


def test_an_output_that_ends_on_an_accepted_draft_loses_that_slot_too() -> None:
    whole = tiny_run("model:same", 1.0, gamma=4, tokens=24)
    cells, moment = None, None
    for record in whole.records:
        if isinstance(record, Committed) and record.final == "bonus":
            cut = msgspec.structs.replace(
                record, tokens=record.tokens[:2], texts=record.texts[:2], accepted=2, tested=2, final="none",
                target_slots=record.position + 1, drafter_slots=record.position + 1)
            part = whole.records[: whole.records.index(record)]
            part = [r for r in part if not (isinstance(r, Judged) and r.round == record.round and r.index >= 2)]
            moment = history([*part, cut]).at(len(part) + 1)
            cells = cache_cells(moment)
            break
    assert cells is not None
    assert moment is not None
    assert kinds(cells.target) == [("kept", cells.start), ("accepted", 1), ("cut", 3), ("awaited", 1)]
    words = round_words(moment)
    assert words is not None
    assert words.sentence.startswith("2 of 4 drafts are accepted. The output ends with the last accepted one.")


def test_lanes_without_a_drafter_s_cache_say_so() -> None:
    for whole, word in ((made_up(PLAIN), "no drafter"), (made_up(LOOKUP), "no cache")):
        cells = cache_cells(whole.at(len(whole)))
        assert cells is not None
        assert word in cells.drafter.reason
        assert not cells.drafter.runs


def altered(whole: History, **changes: object) -> History:
    return history(msgspec.structs.replace(r, **changes) if isinstance(r, RunStarted) else r for r in whole.records)


def test_what_a_recording_does_not_know_is_never_made_up() -> None:
    whole = altered(made_up(DRAFT), unknown=("slots", "draws", "settings", "target", "seconds"))
    for moment in moments(whole)[2:]:
        cells = cache_cells(moment)
        assert cells is not None
        assert "does not tell" in cells.target.reason
        assert cells.target.held == cells.target.bytes == 0
        names = [fact.name for fact in state_words(moment)]
        assert not {"sampling", "seed", "target", "clock", "exactness", "test 1"} & set(names)
        words = round_words(moment)
        assert words is not None
        assert words.gamma is None


def test_a_file_that_claims_absurd_lengths_costs_nothing() -> None:
    whole = history(msgspec.structs.replace(r, target_slots=2**40, drafter_slots=0) if isinstance(r, Committed) else r
                    for r in made_up(DRAFT).records)
    for moment in moments(whole):
        cells = cache_cells(moment)
        if cells is not None:
            assert len(cells.target.runs) < 8
            assert sum(run.count for run in cells.target.runs) <= 2**40 + 8


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_a_slot_takes_what_is_said(kind: str) -> None:
    model = tiny.model(kind)
    runner = Runner(model)
    runner.prefill([1, 2, 3])
    assert slot_bytes(model.config, model.dtype) == runner.cache.bytes // runner.cache.capacity


def test_bytes_are_told_only_where_they_are_known() -> None:
    whole = made_up(DRAFT)
    cells = cache_cells(whole.at(len(whole)))
    assert cells is not None
    assert cells.target.bytes == 0
    info = whole.at(3).started
    assert info is not None
    known = altered(whole, target=msgspec.structs.replace(info.target, slot_bytes=23_040))
    cells = cache_cells(known.at(len(known)))
    assert cells is not None
    assert cells.target.bytes == cells.target.held * 23_040
    assert cells.drafter.bytes == 0
    assert (in_bytes(999), in_bytes(23_040), in_bytes(4_147_200)) == ("999 B", "23 kB", "4.15 MB")


# Verify rows


def rows_at(moment: Moment) -> Sequence[VerifyRow]:
    found = verify_rows(moment)
    assert found is not None
    return found.rows


def test_rows_follow_their_round() -> None:
    whole = made_up(DRAFT)
    for moment, record in at_commits(whole):
        rows = rows_at(moment)
        assert len(rows) == record.drafted + 1
        assert [row.position for row in rows] == list(range(record.position, record.position + record.drafted + 1))
        rejected = record.final == "correction"
        for row in rows:
            expected = "accepted" if row.index < record.accepted else "final"
            if rejected and row.index >= record.accepted:
                expected = "rejected" if row.index == record.accepted else "void"
            assert row.use == expected
        if rejected:
            assert rows[record.accepted].outcome == moment.label(record.tokens[-1])
            assert {row.status for row in rows[record.accepted + 1:]} <= {"void: its prefix no longer exists"}
        else:
            drawn = ("bonus drawn", "bonus") if record.drafted else ("token drawn", "plain")
            assert (rows[-1].status, rows[-1].kind, rows[-1].token) == (*drawn, record.tokens[-1])


def test_each_row_s_prefix_grows_by_the_draft_before() -> None:
    moment = next(m for m, record in at_commits(made_up(DRAFT)) if record.drafted == 4)
    rows = rows_at(moment)
    assert moment.round is not None
    for before, after, draft in zip(rows, rows[1:], moment.round.drafted, strict=False):
        assert after.prefix == before.prefix + squeezed(draft.text)


def test_rows_are_not_there_before_the_forward_and_not_judged_before_the_test() -> None:
    seen: dict[str, set[str]] = {}
    for moment in moments(made_up(DRAFT)):
        found = verify_rows(moment)
        for row in found.rows if found is not None else ():
            seen.setdefault(moment.phase, set()).add(row.status)
            assert not (row.outcome and moment.phase != "commit" and moment.phase != "finished")
    assert seen["draft"] == {"not computed yet"}
    assert seen["verify"] == {"computed, not judged yet", "computed, nothing drawn from it yet"}
    assert "void: its prefix no longer exists" in seen["judge"]


def test_plain_decoding_has_one_row() -> None:
    for whole in (made_up(PLAIN), tiny_run("none")):
        for moment, _ in at_commits(whole):
            (row,) = rows_at(moment)
            assert (row.status, row.kind) == ("token drawn", "plain")
    greedy = tiny_run("none", 0.0)
    assert rows_at(greedy.at(greedy.ends[0] + 1))[0].status == "token chosen"


# The round in words


def test_the_sentence_grows_with_the_round() -> None:
    whole = made_up(DRAFT)
    moment, _ = next((m, c) for m, c in at_commits(whole) if c.final == "correction" and c.drafted - c.tested == 1)
    number = moment.round.round if moment.round is not None else 0
    told = [sentence(whole.at(i)) for i in range(whole.begins[number] + 1, whole.ends[number] + 2)]
    first, last = told[0], told[-1]
    assert first.startswith("Draft 1, “")
    assert "is proposed" in first
    assert "Nothing is judged yet." in told[4]
    judged = told[-2]
    assert "is rejected: u·q = " in judged
    assert " is not below p = " in judged
    assert "will never be tested." in judged
    assert "The correction “" in last
    assert "is drawn from the residual." in last
    assert last.endswith("is never tested.")


def test_greedy_sentences_speak_of_the_argmax() -> None:
    told = " ".join(sentence(m) for m in moments(tiny_run("layer-skip", 0.0)))
    assert "u·q" not in told
    assert "drawn" not in told
    assert "the target’s most probable token is “" in told


def test_a_forced_verdict_is_not_glossed_over() -> None:
    whole = made_up(DRAFT)
    place = next(i for i, r in enumerate(whole.records) if isinstance(r, Judged) and not r.accepted)
    record = whole.records[place]
    assert isinstance(record, Judged)
    forced = history([*whole.records[:place], msgspec.structs.replace(record, accepted=True)])
    assert "is accepted although u·q = " in sentence(forced.at(len(forced)))


def test_chips_say_what_the_round_was_made_of() -> None:
    for whole in every():
        for moment, record in at_commits(whole):
            words = round_words(moment)
            assert words is not None
            own = [chip for chip in words.chips if chip.index >= 0]
            finals = [chip for chip in own if chip.kind in ("correction", "bonus", "plain")]
            assert len(own) == record.drafted + (record.final != "none")
            assert [chip.kind for chip in finals] == ([record.final] if record.final != "none" else [])
            assert sum(chip.kind == "accepted" for chip in own) == record.accepted
            assert all("\n" not in chip.text and "\t" not in chip.text for chip in words.chips)


def test_the_end_is_told() -> None:
    whole = made_up(DRAFT)
    assert sentence(whole.at(len(whole))) == "The run is over: it has all the tokens that were asked for."
    assert sentence(whole.at(0)) == "Nothing has happened yet."
    failed = history([*whole.records[:-1], msgspec.structs.replace(
        whole.records[-1], reason="error", message="The model gave NaN.")])
    assert isinstance(failed.records[-1], RunFinished)
    assert sentence(failed.at(len(failed))) == "The model gave NaN."


# State


def test_the_state_tells_each_draw_of_the_round() -> None:
    whole = made_up(DRAFT)
    moment, record = next((m, c) for m, c in at_commits(whole) if c.final == "correction")
    facts = dict(state_words(moment))
    assert moment.round is not None
    for judged in moment.round.judged:
        assert judged.draw is not None
        assert judged.p is not None
        assert judged.q is not None
        verdict = "accepted" if judged.accepted else "rejected"
        assert facts[f"test {judged.index + 1}"] == (
            f"u = {judged.draw:.3f} against p/q = {plain(judged.p / judged.q)} → {verdict}")
    assert f"draw {record.final_draw:.4f} chose " in facts["correction"]
    assert facts["target cache"].startswith(f"{record.target_slots} slots")
    text = as_text(state_words(moment))
    assert text.count("\n") == len(state_words(moment)) - 1


def test_a_zero_q_divides_nothing() -> None:
    whole = made_up(DRAFT)
    zeroed = history(msgspec.structs.replace(r, q=0.0) if isinstance(r, Judged) else r for r in whole.records)
    for moment in moments(zeroed):
        state_words(moment)
        sentence(moment)


def test_nothing_fails_without_detail() -> None:
    bare = history(msgspec.structs.replace(r, rows=(), gaps=(), digests=()) if isinstance(r, Verified) else r
                   for r in made_up(DRAFT).records)
    outcomes = history(r for r in made_up(DRAFT).records if isinstance(r, RunStarted | Committed | RunFinished))
    for whole in (bare, outcomes):
        for moment in moments(whole):
            for model in MODELS:
                model(moment)
    words = round_words(outcomes.at(2))
    assert words is not None
    assert [chip.kind for chip in words.chips if chip.index >= 0][-1] in ("correction", "bonus")


# Texts in sentences


def test_token_texts_are_shown_whole_and_on_one_line() -> None:
    assert readable(" a\tb\n") == "·a⇥b↵"
    assert readable("\x1b[0m") == "⟨1B⟩[0m"
    assert one_line("a \n b\0") == "a ↵ b⟨00⟩"
    assert squeezed("if a:\n        b") == "if a:↵  b"
    assert readable("\u200d") == "⟨200D⟩"
    assert quoted("x" * 100) == "“" + "x" * 23 + "…”"
    assert readable("\U0001f469\u200d\U0001f680") == "\U0001f469\u200d\U0001f680"
    assert compared(0.391, 0.22) == ("0.391", "0.22")
    assert compared(0.12345678, 0.12345699) == ("0.1234568", "0.123457")
    assert (plain(0.0), plain(1.0), plain(2.1345), plain(0.00001234)) == ("0", "1.00", "2.13", "1.23e-05")
