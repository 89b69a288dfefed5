"""Records: plain, frozen, small; figures follow their formulas."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from engine.errors import SettingsError
from engine.records import Drafted, Judged, Record, Timings, Totals, Vocabulary
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.trace import Writer
from tests.engine.support import PROMPT, WARM, builtin, run, settings, target


def size(value: object, seen: set[int]) -> int:
    """Bytes held by a record and all it refers to, shared parts counted once."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    total = sys.getsizeof(value)
    if isinstance(value, np.ndarray):
        return total if value.base is None else total + size(value.base, seen)
    if isinstance(value, dict):
        return total + sum(size(k, seen) + size(v, seen) for k, v in value.items())
    if isinstance(value, (tuple, list)):
        return total + sum(size(v, seen) for v in value)
    if isinstance(value, msgspec.Struct):
        return total + sum(size(getattr(value, f), seen) for f in value.__struct_fields__)
    return total


@pytest.mark.model
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_thousand_rounds_stay_small(tmp_path: Path, temperature: float) -> None:
    """A real run, γ 8: under 40 MB in memory, 10 MB as compressed trace. Some rounds are measured and scaled; token
    texts, which are sent once a lane, are counted whole, for every id of the vocabulary."""
    model = builtin()
    prompt = model.encode("Tell a short story about a clockmaker who finds a clock that runs backwards.", chat=True)
    one = run(model, prompt, settings("layer-skip", gamma=8, skip=(5, 10, 15), tokens=32, ignore_eos=True,
                                      sampling=Sampling(temperature=temperature)))
    rounds = len(one.rounds)
    assert rounds > 5
    words: Record = Vocabulary(run="r", lane="0", texts=dict(enumerate(model.texts)))
    records = [r for r in one.records if not isinstance(r, Vocabulary)]
    seen: set[int] = set()
    memory = size(words, set()) + sum(size(r, seen) for r in records) / rounds * 1000
    on_disk = written(tmp_path, [words]) + written(tmp_path, records) / rounds * 1000
    print(f"1000 rounds: {memory / 1e6:.1f} MB in memory, {on_disk / 1e6:.1f} MB as compressed trace")
    assert memory < 40e6
    assert on_disk < 10e6


def written(folder: Path, records: list[Record]) -> int:
    """Bytes of a compressed trace of these records."""
    path = folder / "size.spectrace.gz"
    with Writer(path) as trace:
        for record in records:
            trace.write(record)
    return path.stat().st_size


def test_records_are_frozen_and_hold_no_whole_rows() -> None:
    one = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM))
    for record in one.records:
        with pytest.raises(AttributeError):
            record.run = "other"  # type: ignore[misc]
    for verified in one.verified:
        assert len(verified.rows) == verified.k + 1
        for row in verified.rows:
            assert len(row.ids) <= 131
            assert not row.ids.flags.writeable


def test_contrasts_hold_what_happened() -> None:
    """Tokens drafted and committed are in their rows, probabilities agree, the rest and the overlap add up."""
    one = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM, tokens=60))
    for verified in one.verified:
        end = next(r for r in one.rounds if r.round == verified.round)
        drafts = [d for d in one.drafted if d.round == verified.round]
        for judged in [j for j in one.judged if j.round == verified.round]:
            row = verified.rows[judged.index]
            at = row.ids.tolist().index(judged.token)
            assert row.p[at] == pytest.approx(judged.p, rel=1e-6)
            assert row.q[at] == pytest.approx(judged.q, rel=1e-6)
            assert judged.draw is not None
            assert judged.accepted == (judged.draw * judged.q < judged.p)
            assert row.ids[0] == judged.best
        for index, row in enumerate(verified.rows):
            assert row.p.sum() + row.p_rest == pytest.approx(1, abs=1e-5)
            assert list(row.p) == sorted(row.p, reverse=True)
            if index < verified.k:
                assert drafts[index].token in row.ids
                listed = float(np.minimum(row.p, row.q).sum())
                assert listed - 1e-5 <= (row.overlap or 0) <= listed + min(row.p_rest, row.q_rest) + 1e-5
            else:
                assert len(row.q) == 0
                assert row.overlap is None
        for offset, token in enumerate(end.tokens):
            row = verified.rows[offset]
            assert row.p[row.ids.tolist().index(token)] == pytest.approx(end.p[offset], rel=1e-6)
        if end.final == "correction":
            row = verified.rows[end.accepted]
            assert end.residual_mass == pytest.approx(1 - float(row.overlap or 0), abs=1e-5)


def test_figures_follow_their_formulas() -> None:
    totals = Totals()
    one = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM, tokens=60))
    for record in one.records:
        totals = totals.plus(record)
    assert totals == one.finished.totals
    assert totals.accepted == sum(j.accepted for j in one.judged)
    assert totals.tested == len(one.judged)
    assert totals.drafted == len(one.drafted)
    assert totals.acceptance_rate == totals.accepted / totals.tested
    assert totals.draft_utilisation == totals.accepted / totals.drafted
    assert totals.mean_committed_length == 60 / len(one.rounds)
    assert Totals().acceptance_rate is Totals().tokens_per_second is None
    spent = sum(r.seconds.total for r in one.rounds)
    assert totals.decode_seconds == pytest.approx(spent)
    assert Timings(1, 2, 3, 4, 5).total == 15


def test_draws_are_where_they_belong() -> None:
    from engine.draws import Purpose, draw

    one = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM, seed=2**64 - 1))
    starts = {r.round: r.position for r in one.rounds}
    for d in one.drafted:
        assert d.draw == draw(2**64 - 1, starts[d.round], d.position, Purpose.DRAFT)
    for j in one.judged:
        assert j.draw == draw(2**64 - 1, starts[j.round], j.position, Purpose.ACCEPT)
    for r in one.rounds:
        assert r.final_draw == draw(2**64 - 1, r.position, r.position + r.accepted, Purpose.FINAL)
    keys = [(starts[d.round], d.position) for d in one.drafted]
    assert len(keys) == len(set(keys))


def test_draws_are_uniform_and_independent_of_order() -> None:
    from engine.draws import Purpose, draw

    values = np.array([draw(7, i // 3, i, Purpose.ACCEPT) for i in range(4000)])
    assert ((values >= 0) & (values < 1)).all()
    counts, _ = np.histogram(values, bins=20, range=(0, 1))
    chi2 = float(((counts - 200) ** 2 / 200).sum())
    assert chi2 < 60  # 19 degrees of freedom: a chance below 1e-5, and draws are fixed
    assert draw(7, 3, 11, Purpose.ACCEPT) == draw(7, 3, 11, Purpose.ACCEPT)
    assert len({draw(7, 3, 11, p, s) for p in Purpose for s in range(3)}) == 9
    assert draw(7, 3, 11, Purpose.ACCEPT) != draw(7, 4, 11, Purpose.ACCEPT)  # each round draws anew
    assert draw(7, 3, 11, Purpose.ACCEPT) != draw(8, 3, 11, Purpose.ACCEPT)
    bits = np.random.Philox(key=7, counter=[0, 3, 11, int(Purpose.ACCEPT)]).random_raw()
    assert draw(7, 3, 11, Purpose.ACCEPT) == (int(bits) >> 11) / 2**53


@pytest.mark.parametrize(("field", "value"), [
    ("temperature", -1.0), ("temperature", float("nan")), ("temperature", float("inf")), ("top_k", -1), ("top_k", 1.5),
    ("top_p", 0.0), ("top_p", 1.1), ("min_p", 2.0), ("repetition_penalty", 0.0), ("temperature", True)])
def test_sampling_out_of_range_is_named(field: str, value: object) -> None:
    with pytest.raises(SettingsError, match=rf"{field.replace('_', '.')} is .* but it must be"):
        Sampling(**{field: value})  # type: ignore[arg-type]


def test_run_settings_out_of_range_are_named() -> None:
    for bad in ({"seed": -1}, {"seed": 2**64}, {"max_new_tokens": -1}, {"stop": ("",)}):
        with pytest.raises(SettingsError):
            RunSettings(**bad)  # type: ignore[arg-type]
    for bad in ({"gamma": 65}, {"kind": "model"}, {"min_n": 3, "max_n": 2}, {"kind": "magic"}, {"skip": (-1,)}):
        with pytest.raises(SettingsError):
            DrafterSettings(**bad)  # type: ignore[arg-type]
    assert DrafterSettings.parse("model:a:b").model == "a:b"
    assert DrafterSettings.parse("ngram", 3).spell() == "ngram"
    with pytest.raises(SettingsError):
        DrafterSettings.parse("ngram:4")


def test_drafted_and_judged_agree() -> None:
    one = run(target(), PROMPT, settings("layer-skip", skip=(2,), sampling=WARM))
    drafted = {(d.round, d.index): d for d in one.of(Drafted)}
    for j in one.of(Judged):
        d = drafted[j.round, j.index]
        assert (d.token, d.position) == (j.token, j.position)
        assert d.q == pytest.approx(j.q, rel=1e-6)
