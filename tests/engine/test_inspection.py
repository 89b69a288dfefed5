"""What the inspector says of a row is what was recorded: nothing that came later, and nothing made up."""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from engine import sampling, trace
from engine.debugger import choices
from engine.debugger.choices import Choice, Inverse
from engine.debugger.full_row import FullRow, refined, search
from engine.debugger.history import History, Moment
from engine.debugger.inspection import Inspection, inspect
from engine.debugger.inspection_text import as_csv, as_text
from engine.debugger.judgement import Judgement, figure, figures, percent, read
from engine.debugger.token_words import readable
from engine.records import Committed, Drafted, Judged, Record, RunStarted, Verified
from engine.settings import Sampling
from tests.engine.support import PROMPT, builtin, run, settings, target

DEMO = Path("assets/demo/code-edit.spectrace.gz")
WARM = Sampling(temperature=1.0)
SAMPLINGS = (WARM, Sampling(temperature=0.7, top_k=20), Sampling(temperature=1.3, top_p=0.9),
             Sampling(temperature=4.0, repetition_penalty=1.2), Sampling(temperature=0.3))


@functools.cache
def recorded(drafter: str, sampled: Sampling, vocabulary: int = 352, detail: bool = True) -> History:
    model = target(vocabulary=vocabulary)
    other = {"other": target(vocabulary=vocabulary, layers=2, seed=0)}
    return history_of(run(model, PROMPT, settings(drafter, tokens=60, sampling=sampled, seed=11, detail=detail),
                          models=other).records)


def history_of(records: list[Record]) -> History:
    history = History(records[0].lane)
    for record in records:
        history.append(record)
    return history


def through_a_file(history: History, folder: Path) -> History:
    """As a trace holds it: four digits of each probability."""
    path = folder / "run.spectrace"
    with trace.Writer(path) as writer:
        for record in history.records:
            writer.write(record)
    return history_of(list(trace.read(path)))


def moments(history: History) -> Iterator[Moment]:
    return (history.at(index) for index in range(len(history) + 1))


def ends(history: History) -> Iterator[Moment]:
    return (history.at(end + 1) for end in history.ends)


def looked(moment: Moment, index: int | None = None) -> Inspection:
    found = inspect(moment, index)
    assert found is not None
    return found


def agrees(history: History) -> tuple[int, int]:
    """Every verdict follows from its figures, and every draw falls where what it chose stands: how many of each."""
    judged = drawn = 0
    for moment in ends(history):
        so_far = moment.round
        assert so_far is not None
        for index in range(so_far.k + 1):
            found = looked(moment, index)
            if index < len(so_far.judged):
                assert found.judgement is not None
                assert found.judgement.recomputed == so_far.judged[index].accepted
                told = "".join(span.text for span in found.judgement.formula())
                assert told.endswith("accept" if so_far.judged[index].accepted else "reject")
                judged += 1
            for choice in found.choices:
                if choice.draw is not None:
                    falls(choice)
                    drawn += 1
    return judged, drawn


def falls(choice: Choice) -> None:
    assert choice.draw is not None
    segment = choice.segment_at(choice.draw)
    assert segment is not None
    assert segment.left <= choice.draw < segment.right or segment.right == pytest.approx(1.0)
    named = [s for s in choice.segments if s.token == choice.token]
    assert segment.token == choice.token or (segment.token is None and not named)
    assert choice.segments[0].left == 0
    assert choice.segments[-1].right == pytest.approx(1.0)
    assert all(a.right == b.left for a, b in zip(choice.segments, choice.segments[1:], strict=False))
    assert choice.token_at(choice.draw) == choice.token


@pytest.mark.parametrize("sampled", SAMPLINGS, ids=str)
@pytest.mark.parametrize("drafter", ["none", "ngram", "layer-skip", "model:other"])
def test_figures_and_darts_agree_with_what_happened(drafter: str, sampled: Sampling, tmp_path: Path) -> None:
    history = recorded(drafter, sampled)
    judged, drawn = agrees(history)
    assert drawn >= len(history.ends)
    if drafter != "none":
        assert judged
    assert agrees(through_a_file(history, tmp_path)) == (judged, drawn)


@pytest.mark.parametrize("drafter", ["layer-skip", "model:other"])
def test_a_small_vocabulary_is_all_recorded(drafter: str) -> None:
    history = recorded(drafter, WARM, 64)
    agrees(history)
    for moment in ends(history):
        for choice in looked(moment).choices:
            assert choice.segments[-1].token is not None
            assert None not in [choice.token_at(u) for u in np.linspace(0, 0.999, 50).tolist()]


def test_the_recorded_demo_agrees() -> None:
    lanes: dict[str, list[Record]] = {}
    for record in trace.read(DEMO):
        lanes.setdefault(record.lane, []).append(record)
    judged = sum(agrees(history_of(records))[0] for records in lanes.values())
    assert judged > 50


@pytest.mark.model
def test_the_built_in_model_agrees() -> None:
    model = builtin()
    prompt = model.tokenizer("The museum opened its doors in 1911. The museum opened").input_ids
    for drafter in ("ngram", "layer-skip"):
        history = history_of(run(model, prompt, settings(drafter, tokens=24, sampling=WARM)).records)
        judged, drawn = agrees(history)
        assert judged
        assert drawn


def test_our_order_is_the_engines() -> None:
    generator = torch.Generator().manual_seed(5)
    assert choices.HEAD == sampling.HEAD
    for size in (40, 64, 500, 4096):
        weights = torch.rand(size, generator=generator) ** 8
        weights[::3] = weights[1]  # ties
        weights[5::7] = 0
        inverse = Inverse(weights.numpy())
        draws = torch.rand(200, generator=generator, dtype=torch.float64)
        expected = sampling.choose(weights, draws).tolist()
        assert [inverse.token_at(u) for u in draws.tolist()] == expected


def test_while_drafting_only_the_draft_is_known() -> None:
    history = recorded("model:other", WARM)
    for place, record in enumerate(history.records):
        moment = history.at(place + 1)
        if isinstance(record, Drafted):
            found = looked(moment)
            assert (found.index, found.use) == (record.index, "drafted")
            assert [(bar.token, bar.p, bar.q) for bar in found.bars] == [(record.token, None, record.q)]
            assert (found.judgement, found.overlap, found.final) == (None, None, "none")
            assert [(choice.draw, choice.token, choice.segments) for choice in found.choices] == [
                (record.draw, record.token, ())]
            assert found.choices[0].token_at(0.123) is None
            assert found.awaited is not None
            assert found.awaited.p is None
            assert "".join(span.text for span in found.awaited.formula()).endswith("< p(y) ?")
            assert inspect(moment, record.index + 1) is None
        elif isinstance(record, Verified):
            found = looked(moment)
            assert found.use == "computed"
            assert found.judgement is None
            assert found.overlap == record.rows[0].overlap
            assert [choice.purpose for choice in found.choices] == (["draft"] if record.k else ["final"])
            assert all(choice.draw is None for choice in found.choices if choice.purpose == "final")
        elif isinstance(record, Judged):
            found = looked(moment)
            assert found.index == record.index
            assert found.final == "none"
            assert all(choice.draw is None for choice in found.choices if choice.purpose == "final")
        elif isinstance(record, Committed):
            found = looked(moment)
            assert found.index == record.accepted
            assert found.final == record.final
            assert found.final_label == readable(history.texts[record.tokens[-1]])
            assert {bar.token for bar in found.bars if "drawn" in bar.marks} == {record.tokens[-1]}


def test_nothing_before_the_first_round() -> None:
    history = recorded("ngram", WARM)
    assert inspect(history.at(0)) is None
    assert inspect(history.at(history.begins[0])) is None
    first = history.at(history.ends[0] + 1)
    assert inspect(first, -1) is None
    assert first.round is not None
    assert inspect(first, first.round.k + 1) is None


def test_titles_and_sentences() -> None:
    told = {}
    for moment in ends(recorded("layer-skip", WARM)):
        for index in range(moment.round.k + 1):  # type: ignore[union-attr]
            found = looked(moment, index)
            told[found.use if found.draft is not None or found.index else "plain"] = found
    start = told["rejected"].position - told["rejected"].index
    assert told["rejected"].title == f"Position {start + told['rejected'].index} · draft {told['rejected'].index + 1}"
    assert "is rejected; the correction" in told["rejected"].sentence
    assert told["rejected"].sentence.endswith("is drawn from the residual.")
    assert told["final"].title.endswith("· bonus")
    assert "the bonus" in told["final"].sentence
    assert told["void"].sentence.endswith("its prefix no longer exists.")
    assert not any(found.sentence.startswith("All 1 ") for found in told.values())
    plain = looked(next(ends(recorded("none", WARM))))
    assert plain.title.endswith("· plain step")
    assert all(bar.q is None for bar in plain.bars)


def test_residual_and_overlap_are_one() -> None:
    for moment in ends(recorded("layer-skip", WARM)):
        for index in range(moment.round.k):  # type: ignore[union-attr]
            found = looked(moment, index)
            if found.use == "void":  # nothing is ever drawn from it
                assert (found.mass, found.awaited, found.judgement) == (None, None, None)
                assert all(bar.residual is None for bar in found.bars)
                continue
            assert found.mass == pytest.approx(1 - found.overlap, abs=1e-5)  # type: ignore[operator]
            shares = [bar.residual for bar in found.bars]
            assert 0 <= sum(shares) <= 1 + 1e-4  # type: ignore[arg-type]
            for bar in found.bars:
                assert (bar.residual > 0) == (bar.p > bar.q)  # type: ignore[operator]


def test_greedy_has_no_draws_and_no_residual() -> None:
    for moment in ends(recorded("model:other", Sampling())):
        for index in range(moment.round.k + 1):  # type: ignore[union-attr]
            found = looked(moment, index)
            assert found.greedy
            assert found.choices == ()
            assert found.mass is None
            assert all(bar.residual is None for bar in found.bars)
            assert "best" in found.bars[0].marks
            if found.judgement is not None:
                told = "".join(span.text for span in found.judgement.formula())
                assert told.startswith("argmax p “")
                assert found.judgement.threshold is None
                assert ("ahead by" in told) == (not found.judgement.accepted)


def test_a_deterministic_guess_has_q_one() -> None:
    rejected = [found for moment in ends(recorded("ngram", WARM)) if (found := looked(moment)).use == "rejected"]
    assert rejected
    for found in rejected:
        assert found.one_hot
        assert found.judgement is not None
        assert found.judgement.q == 1
        assert [choice.source for choice in found.choices] == ["residual"]
        assert found.draft is not None
        assert all(segment.token != found.draft.token for segment in found.choices[0].segments)
        assert any("deterministic" in note for note in found.notes)


def test_an_empty_residual_is_said_and_drawn_from_p() -> None:
    history = recorded("model:other", WARM)
    end = next(e for e in history.ends if history.records[e].final == "correction")  # type: ignore[attr-defined]
    records = list(history.records)
    records[end] = msgspec.structs.replace(records[end], residual_mass=0.0, residual_empty=True)
    found = looked(history_of(records).at(end + 1))
    assert found.residual_empty
    assert found.choices[0].source == "p"
    assert any("residual is empty" in note for note in found.notes)
    assert all(bar.residual == 0 for bar in found.bars)


def test_a_run_without_detail_shows_single_tokens() -> None:
    for moment in ends(recorded("layer-skip", WARM, 352, False)):
        found = looked(moment)
        assert found.choices == ()
        assert any("without rows" in note for note in found.notes)
        drawn = next(bar for bar in found.bars if "drawn" in bar.marks)
        assert drawn.p is not None
        if found.judgement is not None:
            assert found.judgement.recomputed == found.judgement.accepted
            assert "drafted" in found.bars[0].marks | found.bars[-1].marks


def test_what_an_import_does_not_know_is_not_made_up() -> None:
    records: list[Record] = []
    for record in recorded("layer-skip", WARM).records:
        match record:
            case RunStarted():
                record = msgspec.structs.replace(record, unknown=("p", "draws", "rows", "texts"))
            case Verified():
                record = msgspec.structs.replace(record, rows=(), gaps=(), digests=())
            case Drafted():
                record = msgspec.structs.replace(record, draw=None)
            case Judged():
                record = msgspec.structs.replace(record, p=None, draw=None, best=None)
            case Committed():
                record = msgspec.structs.replace(record, final_draw=None, p=())
        records.append(record)
    for moment in ends(history_of(records)):
        for index in range(moment.round.k + 1):  # type: ignore[union-attr]
            found = looked(moment, index)
            assert any("doesn't tell p nor draws" in note for note in found.notes)
            assert not found.one_hot
            assert all(bar.p is None for bar in found.bars)
            if found.judgement is not None:
                assert found.judgement.recomputed is None
                assert "u and p not recorded" in "".join(span.text for span in found.judgement.formula())


def test_only_an_outcome_is_known() -> None:
    """As imported from a server's statistics: counts, and nothing else."""
    whole = recorded("layer-skip", WARM)
    records = [r for r in whole.records if not isinstance(r, (Drafted, Verified, Judged))]
    records = [msgspec.structs.replace(r, unknown=("p", "q", "draws", "rows", "tokens"))
               if isinstance(r, RunStarted) else r for r in records]
    records = [msgspec.structs.replace(r, p=(), tokens=(-1,) * len(r.tokens), texts=("",) * len(r.tokens))
               if isinstance(r, Committed) else r for r in records]
    for moment in ends(history_of(records)):
        found = looked(moment)
        assert found.bars == ()
        assert found.notes[0] == "This recording doesn't tell p nor q nor draws."
        assert found.undrawn == "This recording doesn’t tell the draws."


# The formula


def judgement(p: float, q: float, u: float) -> Judgement:
    return Judgement(7, "·green", u * q < p, False, p, q, u, 8, "·black", None)


def test_the_formula_is_the_one_of_the_books() -> None:
    told = "".join(span.text for span in judgement(0.41, 0.82, 0.31).formula())
    assert told == "u·q(y) = 0.31·0.82 = 0.254 < p(y) = 0.41 → accept"
    told = "".join(span.text for span in judgement(0.22, 0.55, 0.71).formula())
    assert told == "u·q(y) = 0.71·0.55 = 0.391 ≥ p(y) = 0.22 → reject"
    assert figures(0.566944, 0.055846, 6.3632e-5) == ("0.57", "0.056", "0.032", "6.4·10⁻⁵")
    assert judgement(0.4, 0.8, 0.5).threshold == 0.5
    assert judgement(0.8, 0.4, 0.5).threshold == 1
    assert judgement(0.4, 0.8, 0.5).accepts(0.499)
    assert not judgement(0.4, 0.8, 0.5).accepts(0.5)


def test_figures_never_contradict_the_verdict() -> None:
    chance = np.random.default_rng(3)
    for _ in range(400):
        u, q = chance.random(), float(np.float32(chance.random() ** chance.integers(1, 30)))
        p = u * q * (1 + chance.normal() * 10.0 ** -chance.integers(0, 9))
        if not 0 < p < 1:
            continue
        shown = [read(x) for x in figures(u, q, p)]
        assert (shown[2] < shown[3]) == (u * q < p)
        assert shown[0] * shown[1] == pytest.approx(shown[2], rel=0.05)


def test_numbers_are_written_to_be_read() -> None:
    assert [figure(x, 2) for x in (0, 1, 0.41, 0.054, 0.0071, 3.2e-7)] == [
        "0", "1", "0.41", "0.054", "0.0071", "3.2·10⁻⁷"]
    assert [percent(x) for x in (0, 0.41, 0.0234, 0.0004, 0.00001)] == ["0 %", "41 %", "2.3 %", "0.04 %", "1·10⁻⁵"]
    assert readable(" a\n\t\x0b") == "·a↵⇥⟨0B⟩"


# Full rows


def test_a_full_row_decides_every_draw() -> None:
    """Rows recomputed from what a whole record knows: here the vocabulary is small enough for that."""
    found = next(f for m in ends(recorded("model:other", WARM)) if (f := looked(m)).use == "rejected")
    generator = np.random.default_rng(1)
    p, q = generator.dirichlet(np.full(500, 0.1), 2).astype(np.float32)
    full = FullRow(found.round, found.index, p, q, [f" t{i}" for i in range(500)])
    assert full.belongs_to(found)
    exact = refined(found.choices[0], full)
    for u in np.linspace(0, 0.999999, 300).tolist():
        weights = torch.from_numpy(np.maximum(p - q, 0))
        expected = int(sampling.choose(weights, u))
        if u != exact.draw:
            assert exact.token_at(u) == expected
            segment = exact.segment_at(u)
            assert segment is not None
            assert segment.token in (expected, None)
    assert full.top(3).tolist() == np.argsort(-np.maximum(p, q))[:3].tolist()


def test_any_token_can_be_found() -> None:
    found = looked(next(ends(recorded("layer-skip", WARM))))
    first = found.bars[0]
    assert search(str(first.token), found, None)[0] == first
    assert first in search(first.label, found, None)
    assert search("no such token", found, None) == ()
    texts = [f" word{i}" for i in range(400)]
    p = np.full(400, 1 / 400, dtype=np.float32)
    full = FullRow(found.round, found.index, p, p, texts)
    hits = search("word39", found, full)
    assert [hit.label for hit in hits[:2]] == ["·word39", "·word390"]
    assert len(hits) == 11
    assert search("#7", found, full)[0].token == 7
    assert search("400", found, full) == ()


def test_copies() -> None:
    found = next(f for m in ends(recorded("layer-skip", WARM)) if (f := looked(m)).use == "rejected")
    told = as_text(found)
    assert found.title in told
    assert "→ reject" in told
    assert "from the residual" in told
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert len(rows) == len(found.bars)
    assert math.isclose(float(rows[0]["p"]), found.bars[0].p)  # type: ignore[arg-type]
    assert any("drafted" in row["marks"] for row in rows)
