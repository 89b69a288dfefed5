"""The statistics themselves, and what they say of the engine and of a wrong rule."""

from __future__ import annotations

import math

import pytest
import torch

from engine.draws import Purpose
from engine.proof import firsttoken, sampling_checks, tiny_models
from engine.proof.report import Check, Sampled
from engine.proof.statistics import GTest, g_test, pooled, together, total_variation, transformed, uniform
from engine.rounds import SampledRule
from engine.sampling import choose
from engine.settings import DrafterKind, DrafterSettings
from engine.verify import Verdict, judge_sampled
from tests.engine import support

D = torch.float64


def redraw_from_p(p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor, accept_draws: torch.Tensor,
                  final_draws: torch.Tensor) -> Verdict:
    """The tempting bug: the correction comes from p, not from the residual."""
    right = judge_sampled(p, q, drafts, accept_draws, final_draws)
    final = choose(p[right.accepted], final_draws[right.accepted])
    return Verdict(right.accepted, right.passed, final, right.mass, right.p, right.q)


def drawn(p: torch.Tensor, count: int, seed: int = 0) -> torch.Tensor:
    """(V,) counts of tokens drawn from p."""
    u = torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=D)
    return torch.bincount(choose(p, u), minlength=len(p))


# --- G-test


@pytest.mark.parametrize(("quantile", "freedom", "p_value"), [
    (3.841459, 1, 0.05), (6.634897, 1, 0.01), (18.307038, 10, 0.05), (124.342113, 100, 0.05), (23.928127, 1, 1e-6),
    (0.0, 3, 1.0), (math.inf, 1, 0.0), (0.0, 0, 1.0)])
def test_p_values_are_those_of_chi_square_tables(quantile: float, freedom: int, p_value: float) -> None:
    assert GTest(quantile, freedom).p_value == pytest.approx(p_value, rel=1e-5)


def test_g_is_what_its_formula_says() -> None:
    counts, p = torch.tensor([30, 14, 34, 45, 57, 20]), torch.tensor([0.2, 0.1, 0.15, 0.2, 0.25, 0.1], dtype=D)
    n = 200
    plain = 2 * sum(o * math.log(o / (n * e)) for o, e in zip(counts.tolist(), p.tolist(), strict=True))
    williams = 1 + (sum(1 / e for e in p.tolist()) - 1) / (6 * n * 5)
    found = g_test(counts, p)
    assert (found.g, found.freedom) == (pytest.approx(plain / williams), 5)


def test_an_outcome_that_cannot_be_is_a_fault() -> None:
    p = torch.tensor([0.5, 0.5, 0.0], dtype=D)
    assert g_test(torch.tensor([500, 499, 1]), p).p_value == 0.0
    assert g_test(torch.tensor([500, 500, 0]), p).p_value == 1.0


def test_cells_hold_at_least_five() -> None:
    expected = torch.tensor([3.0, 40.0, 0.5, 2.0, 6.0, 1.0, 0.0])
    cells = pooled(expected, 5.0)
    held = torch.zeros(int(cells.max()) + 1).index_add_(0, cells, expected)
    assert cells.tolist() == [2, 0, 2, 2, 1, 2, 2]
    assert held.tolist() == [40.0, 6.0, 6.5]
    assert set(pooled(torch.tensor([1.0, 2.0]), 5.0).tolist()) == {0}
    assert g_test(torch.tensor([1, 2]), torch.tensor([0.5, 0.5])).freedom == 0  # too few to say anything
    assert g_test(torch.zeros(3), torch.ones(3) / 3).p_value == 1.0


def test_p_values_of_right_samples_are_spread_evenly() -> None:
    """Many cells of few: where the χ² tail is worst."""
    p = torch.softmax(2 * torch.randn(60, generator=torch.Generator().manual_seed(1), dtype=D), -1)
    values = [g_test(drawn(p, 400, seed), p).p_value for seed in range(400)]
    assert min(values) > 1e-5
    for level in (0.05, 0.5, 0.95):
        assert sum(v < level for v in values) / len(values) == pytest.approx(level, abs=0.06)


def test_tests_add_up() -> None:
    both = together([GTest(3.0, 2), GTest(4.5, 5)])
    assert (both.g, both.freedom) == (7.5, 7)
    assert together([]).p_value == 1.0


# --- Total variation


@pytest.mark.parametrize("size", [2, 12, 500])
@pytest.mark.parametrize("bend", [0.0, 0.1])
def test_the_interval_holds_the_true_distance(size: int, bend: float) -> None:
    p = torch.softmax(torch.randn(size, generator=torch.Generator().manual_seed(size), dtype=D), -1)
    r = (1 - bend) * p + bend * torch.full_like(p, 1 / size).roll(1) if size > 2 else p + torch.tensor([-bend, bend])
    true = 0.5 * float((r - p).abs().sum())
    found = [total_variation(drawn(r, 2000, seed), p) for seed in range(100)]
    assert sum(d.low <= true <= d.high for d in found) >= 95
    assert all(d.low <= d.value <= d.high for d in found)


def test_the_interval_leaves_zero_behind_once_there_are_samples_enough() -> None:
    p, r = torch.tensor([0.4, 0.6], dtype=D), torch.tensor([0.56, 0.44], dtype=D)
    assert total_variation(drawn(r, 10_000), p).low > 0.13
    assert total_variation(drawn(p, 10_000), p).low == 0.0


# --- Probability integral transform


def test_transform_is_uniform_for_the_right_p_only() -> None:
    generator = torch.Generator().manual_seed(2)
    right, wrong = [], []
    for i in range(2000):
        p = torch.softmax(2 * torch.randn(20, generator=generator, dtype=D), -1)  # another row for each token
        u, v = torch.rand(2, generator=generator, dtype=D).tolist()
        token = int(choose(p, u))
        right.append(transformed(p, token, v))
        wrong.append(transformed(torch.softmax(p.log() / 1.3, -1), token, v))  # as if T had been forgotten
        assert 0 <= right[i] < 1
    assert uniform(torch.tensor(right)).p_value > 0.01
    assert uniform(torch.tensor(wrong)).p_value < 1e-6


def test_transform_by_hand() -> None:
    p = torch.tensor([0.2, 0.5, 0.3])
    assert transformed(p, 1, 0.5) == pytest.approx(0.25)
    assert transformed(p, 2, 0.5) == pytest.approx(0.65)
    assert transformed(p, 0, 0.0) == pytest.approx(0.8)
    assert uniform(torch.tensor([0.5] * 3)).p_value == 1.0  # too few to say anything


# --- The first token


def watched(rule: SampledRule, samples: int = 4000) -> list[Sampled]:
    """p = [0.4, 0.6] and q = [0.8, 0.2], the example of the lessons."""
    p = torch.tensor([[0.4, 0.6], [0.4, 0.6]], dtype=D)
    return list(firsttoken.watch(p, torch.tensor([[0.8, 0.2]], dtype=D), rule, samples=samples, seed=0,
                                 labels=("A", "B"), every=1500))


def test_the_right_rule_gives_the_worked_example_its_numbers() -> None:
    seen = watched(judge_sampled)
    assert [s.samples for s in seen] == [1500, 3000, 4000]
    last = seen[-1]
    assert (last.labels, last.expected) == (("B", "A"), (0.6, 0.4))  # the most probable first
    assert last.counts[1] / last.samples == pytest.approx(0.4, abs=4 * math.sqrt(0.24 / 4000))
    assert last.total_variation == pytest.approx(abs(last.counts[1] / last.samples - 0.4))
    assert total_variation(torch.tensor(last.counts), torch.tensor(last.expected)).low == 0.0


def test_redrawing_from_p_gives_what_the_lessons_say() -> None:
    last = watched(redraw_from_p)[-1]
    assert last.counts[1] / last.samples == pytest.approx(0.56, abs=4 * math.sqrt(0.25 / 4000))
    found = total_variation(torch.tensor(last.counts), torch.tensor(last.expected))
    assert found.low > 0
    assert found.low <= 0.16 <= found.high


@pytest.mark.parametrize("one_hot", [False, True])
def test_tally_counts_what_watch_counts(one_hot: bool) -> None:
    p, q = torch.softmax(torch.randn(2, 200, generator=torch.Generator().manual_seed(3)), -1).split(1)
    rows, draft = torch.cat((p, p)), 7 if one_hot else None
    last = list(firsttoken.watch(rows, None if one_hot else q, judge_sampled, samples=500, seed=9, draft=draft,
                                 labels=[str(i) for i in range(200)], every=500))[-1]
    counts = firsttoken.tally(p[0], None if one_hot else q[0], 500, 9, draft=draft)
    assert last.labels[-1] == firsttoken.OTHERS
    assert last.counts[:-1] == tuple(int(counts[int(label)]) for label in last.labels[:-1])
    assert sum(last.counts) == int(counts.sum()) == 500
    assert sum(last.expected) == pytest.approx(1)
    assert last.total_variation == pytest.approx(total_variation(counts, p[0]).value)


def test_plain_tally_is_the_inverse_cdf_of_p() -> None:
    p = torch.softmax(torch.randn(30, generator=torch.Generator().manual_seed(4)), -1)
    u = firsttoken.uniforms(3, 50, 0, Purpose.FINAL)
    expected = torch.bincount(torch.stack([choose(p, float(x)) for x in u]), minlength=30)
    assert torch.equal(firsttoken.tally(p, None, 50, 3, plain=True), expected)


def test_a_one_hot_draft_must_be_given() -> None:
    with pytest.raises(ValueError, match="draft"):
        firsttoken.tally(torch.tensor([0.5, 0.5]), None, 10, 0)


# --- The real loop


@pytest.mark.parametrize(("kind", "sampling"), [
    ("none", "T 0.7"), ("ngram", "penalty 1.5"), ("layer-skip", "top-p 0.8"), ("model", "T 1.5"),
    ("model", "penalty 1.5")])
def test_tiny_runs_are_distributed_as_the_target_is(kind: DrafterKind, sampling: str) -> None:
    check = sampling_checks.tiny_check(kind, sampling, samples=150, tests=28)
    assert check.passed, "\n".join(check.details)
    assert (check.group, check.samples, check.threshold) == (
        "statistics", 150, "p-value at least 1e-06 (28 such tests)")


def test_a_wrong_rule_is_caught_on_the_real_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling_checks, "AGAIN", 1)
    check = sampling_checks.tiny_check("model", "top-k 4", samples=500, rule=redraw_from_p)
    assert not check.passed
    assert check.details[0].startswith("seeds 0 to 499")
    assert any(line.startswith("again, seeds 500 to 999") for line in check.details)
    assert any("seen" in line and "expected" in line for line in check.details)


def test_a_test_that_fails_once_by_chance_passes_on_new_samples() -> None:
    tried: list[tuple[int, int]] = []

    def trial(first: int, count: int) -> sampling_checks.Outcome:
        tried.append((first, count))
        return sampling_checks.Outcome(GTest(0.0 if first else 1e3, 1), lambda: ["a table"])

    check = sampling_checks._tested("name", "claim", 20, "runs", 2, trial)
    assert tried == [(0, 20), (20, 200)]
    assert check.passed
    assert check.samples == 200
    assert check.details.count("a table") == 2


def test_tiny_runs_have_what_a_judgement_can_get_wrong() -> None:
    """Acceptances and rejections, and more than one round."""
    runs = [sampling_checks.tiny_run("model", sampling_checks.TINY_SAMPLINGS["T 1"], seed) for seed in range(20)]
    assert {len(run) for run in runs} == {tiny_models.TOKENS}
    assert len(set(runs)) > 10


def test_a_proof_that_is_cancelled_says_nothing_more() -> None:
    assert list(sampling_checks.tiny_checks(True, lambda: True)) == []
    assert list(sampling_checks.builtin_checks(support.target(), True, lambda: True, prompt=support.PROMPT)) == []
    asked = iter([False, False])
    assert list(sampling_checks.tiny_checks(True, lambda: next(asked, True))) == []  # one that was cut short


@pytest.mark.parametrize("spelled", ["none", "ngram", "layer-skip", "model:other"])
def test_checks_of_a_whole_model(spelled: str) -> None:
    """On a tiny stand-in for the built-in model, through its own runner and drafter."""
    target, method = support.target(vocabulary=320), DrafterSettings.parse(spelled)
    others = {"other": support.target(vocabulary=320, seed=1)}
    checks: list[Check] = [
        *(sampling_checks.first_token_check(target, support.PROMPT, method, name, samples=2000, models=others)
          for name in ("top-p 0.9", "penalty 1.3")),
        sampling_checks.whole_runs_check(target, support.PROMPT, method, runs=7, tokens=20, models=others)]
    for check in checks:
        assert check.passed, "\n".join(check.details)


@pytest.mark.model
def test_checks_of_the_built_in_model() -> None:
    target = support.builtin("float32")
    prompt = target.encode(sampling_checks.BUILTIN_PROMPT, chat=False)
    checks: list[Check] = [
        *(sampling_checks.first_token_check(target, prompt, method, name, samples=20_000)
          for method in sampling_checks.METHODS for name in ("T 1", "top-p 0.9", "penalty 1.3")),
        sampling_checks.whole_runs_check(target, prompt, DrafterSettings(kind="ngram"), runs=2, tokens=16)]
    for check in checks:
        assert check.passed, "\n".join(check.details)
        assert ", 0 degrees" not in check.statistic, f"{check.name}: nothing was tested"


def test_whole_runs_catch_a_wrong_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def reckless(p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor, accept_draws: torch.Tensor,
                 final_draws: torch.Tensor) -> Verdict:
        """Accepts every draft."""
        return judge_sampled(p, q, drafts, accept_draws * 0, final_draws)

    monkeypatch.setattr(sampling_checks, "AGAIN", 1)
    check = sampling_checks.whole_runs_check(support.target(vocabulary=320), support.PROMPT,
                                             DrafterSettings(kind="layer-skip"), runs=7, tokens=40, rule=reckless)
    assert not check.passed
    assert any(line.startswith("values: ") for line in check.details)
