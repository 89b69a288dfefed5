"""The loop on tiny models of every kind: exactness, stopping, limits, caches (pitfalls 11, 12, 16, 17, 18, 19, 21, 22,
24 to 29, 33, 36)."""

from __future__ import annotations

import copy
import functools

import pytest
import torch

from engine.drafters import layer_skip
from engine.drafters.base import RoundDraws
from engine.drafters.model import ModelDrafter
from engine.errors import CacheError
from engine.records import Committed, Drafted, Judged, Prefilled, Record, RunFinished, RunStarted, Verified, Vocabulary
from engine.runner import Runner
from engine.sampling import Sampling, Warper, choose
from tests.engine import tiny
from tests.engine.support import PROMPT, VOCABULARY, WARM, Run, lanes, run, settings, target, wrap

DRAFTERS = ["ngram", "layer-skip", "model:twin", "model:other"]


def twins(kind: str):  # type: ignore[no-untyped-def]
    """Draft models: one that nearly agrees with the target (its first layers), and one that seldom does."""
    thin = layer_skip.thinned(target(kind).hf, [2])
    return {"twin": wrap(thin, name="twin"), "other": target(kind, seed=7)}


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_greedy_float32_equals_generate(kind: str) -> None:
    """Plain and speculative lanes equal transformers' generate, token by token; past a sliding window too."""
    model = target(kind)
    found = lanes(model, PROMPT, [settings(drafter, tokens=60) for drafter in ("none", *DRAFTERS)], models=twins(kind))
    expected = model.hf.generate(torch.tensor([PROMPT]), max_new_tokens=60, do_sample=False, eos_token_id=None,
                                 pad_token_id=0)[0, len(PROMPT) :].tolist()
    for drafter, lane in zip(("none", *DRAFTERS), found, strict=True):
        assert lane.tokens == expected, drafter
        assert lane.finished.reason == "length", drafter


@pytest.mark.parametrize("drafter", ["ngram", "layer-skip", "model:twin"])
def test_acceptances_and_rejections_both_occur(drafter: str) -> None:
    one = run(target("llama"), PROMPT, settings(drafter, tokens=120, skip=(2,)), models=twins("llama"))
    assert one.mixed


def test_records_come_in_the_documented_order() -> None:
    one = run(target(), PROMPT, settings("model:twin"), models=twins("llama"))
    kinds = [type(r) for r in one.records if not isinstance(r, Vocabulary)]
    assert kinds[:2] == [RunStarted, Prefilled]
    assert kinds[-1] is RunFinished
    rounds: list[list[type[Record]]] = [[]]
    for kind in kinds[2:-1]:
        rounds[-1].append(kind)
        if kind is Committed:
            rounds.append([])
    assert rounds.pop() == []
    for events, end in zip(rounds, one.rounds, strict=True):
        assert events == [Drafted] * end.drafted + [Verified] + [Judged] * end.tested + [Committed]
        assert end.tested == min(end.accepted + 1, end.drafted)


def test_every_id_is_explained_before_it_is_used() -> None:
    known: set[int] = set()
    for record in run(target(), PROMPT, settings("model:other", sampling=WARM), models=twins("llama")).records:
        if isinstance(record, Vocabulary):
            assert not known & set(record.texts)
            known |= set(record.texts)
        elif isinstance(record, RunStarted):
            assert set(record.prompt) <= known
        elif isinstance(record, (Drafted, Judged)):
            assert record.token in known
        elif isinstance(record, Verified):
            assert all(set(row.ids.tolist()) <= known for row in record.rows)
        elif isinstance(record, Committed):
            assert set(record.tokens) <= known


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_verify_rows_equal_single_steps(kind: str) -> None:  # pitfall 17
    """In float32, within rounding, at every width and fill; a shifted position or slot would be far off."""
    hf = target(kind).hf
    tokens = [(37 * i + 11) % VOCABULARY for i in range(48)]
    steps, wide = Runner(hf), Runner(hf)
    reference = [steps.forward([t])[0] for t in tokens]
    at = 0
    for width in (1, 5, 3, 8, 1, 11, 19):
        rows = wide.forward(tokens[at : at + width])
        torch.testing.assert_close(rows, torch.stack(reference[at : at + width]), rtol=1e-4, atol=2e-4)
        at += width
    whole = hf(input_ids=torch.tensor([tokens])).logits[0]
    torch.testing.assert_close(torch.stack(reference), whole, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("kind", ["llama", "gemma", "gpt2"])
def test_cut_and_redone_equals_never_done(kind: str) -> None:  # pitfalls 18, 19
    hf = target(kind).hf
    tokens = [(37 * i + 11) % VOCABULARY for i in range(30)]
    straight, detour = Runner(hf), Runner(hf)
    straight.prefill(tokens[:20])
    detour.prefill(tokens[:20])
    detour.forward([3, 4, 5, 6, 7])
    detour.cut(20)
    torch.testing.assert_close(detour.forward(tokens[20:]), straight.forward(tokens[20:]), rtol=0, atol=0)


def test_a_second_prompt_on_fresh_caches_equals_the_first_time() -> None:  # pitfall 22
    model, models = target(), twins("llama")
    first = run(model, PROMPT, settings("model:twin", sampling=WARM, seed=5), models=models)
    run(model, [1, 2, 3, 4, 5], settings("model:twin", sampling=WARM, seed=6), models=models)
    again = run(model, PROMPT, settings("model:twin", sampling=WARM, seed=5), models=models)
    assert again.tokens == first.tokens
    assert again.digests == first.digests


def test_two_runs_at_once_don_t_meet() -> None:  # pitfall 33
    many = [settings(d, sampling=WARM, seed=3) for d in ("none", "model:twin", "layer-skip")]
    together = lanes(target(), PROMPT, many, models=twins("llama"))
    for one, alone in zip(together, many, strict=True):
        assert one.tokens == run(target(), PROMPT, alone, models=twins("llama")).tokens


def test_prefill_is_split_alike_on_every_lane(monkeypatch: pytest.MonkeyPatch) -> None:  # pitfall 16
    widths: list[list[int]] = []
    forward = Runner._forward

    def spy(self: Runner, ids: torch.Tensor, *, rows: int) -> torch.Tensor:
        if self.length == 0:
            widths.append([])
        widths[-1].append(ids.shape[1])
        return forward(self, ids, rows=rows)

    monkeypatch.setattr(Runner, "_forward", spy)
    monkeypatch.setattr("engine.runner.PREFILL_CHUNK", 16)
    prompt = [i % 90 + 3 for i in range(41)]
    for drafter in ("none", "ngram", "layer-skip"):
        widths.clear()
        run(target(), prompt, settings(drafter, tokens=3))
        assert next(w[:3] for w in widths if w[0] == 16) == [16, 16, 8]


@pytest.mark.parametrize("drafter", ["none", "ngram", "model:twin"])
@pytest.mark.parametrize("limit", [0, 1, 2, 5, 17])
def test_the_length_limit_is_met_exactly(drafter: str, limit: int) -> None:  # pitfall 26
    one = run(target(), PROMPT, settings(drafter, tokens=limit), models=twins("llama"))
    assert len(one.tokens) == limit
    assert one.finished.reason == "length"
    assert sum(len(r.texts) for r in one.rounds) == limit


def test_the_context_limit_ends_a_run_before_the_model_does() -> None:
    model = target("gpt2")
    one = run(model, PROMPT, settings("ngram", tokens=10_000))
    assert len(PROMPT) + len(one.tokens) == model.info.context
    assert one.finished.reason == "context"


@functools.cache
def free_run(drafter: str, tokens: int) -> list[int]:
    """Greedy, without an end token."""
    return run(target(), PROMPT, settings(drafter, tokens=tokens), models=twins("llama")).tokens


def end_at(index: int, drafter: str = "model:twin", tokens: int = 40) -> tuple[Run, list[int]]:
    """A greedy run in which the token that is committed at ``index`` is the end token."""
    free = free_run(drafter, tokens)
    ended = wrap(target().hf, eos=frozenset({free[index]}))
    return run(ended, PROMPT, settings(drafter, tokens=tokens), models=twins("llama")), free


@pytest.mark.parametrize("index", range(12))
@pytest.mark.parametrize("drafter", ["none", "ngram", "layer-skip", "model:twin"])
def test_an_accepted_end_token_ends_the_run_and_nothing_is_behind_it(index: int, drafter: str) -> None:  # pitfall 24
    one, free = end_at(index, drafter)
    end = free.index(free[index])
    assert one.tokens == free[: end + 1]
    assert one.finished.reason == "eos"
    last = one.rounds[-1]
    assert last.target_slots == len(PROMPT) + len(one.tokens) - 1
    assert len(last.texts) == len(last.digests) == len(last.gaps) == len(last.p) == len(last.tokens)
    assert last.accepted <= len(last.tokens)
    if last.final == "none":
        assert last.accepted == last.tested == len(last.tokens)
        assert last.final_draw is None
    totals = one.finished.totals
    assert totals.committed == len(one.tokens)
    assert totals.tested == len(one.judged)
    assert totals.accepted == sum(j.accepted for j in one.judged)


def test_a_rejected_end_token_ends_nothing() -> None:  # pitfall 25
    free = run(target(), PROMPT, settings("model:other", tokens=60), models=twins("llama"))
    rejected = [j.token for j in free.judged if not j.accepted and j.token not in free.tokens]
    assert rejected
    ended = wrap(target().hf, eos=frozenset(rejected))
    one = run(ended, PROMPT, settings("model:other", tokens=60), models=twins("llama"))
    assert one.tokens == free.tokens
    assert one.finished.reason == "length"


def test_several_end_tokens_or_none() -> None:  # pitfall 24
    free = run(target(), PROMPT, settings(tokens=30)).tokens
    assert len(free) == 30
    several = wrap(target().hf, eos=frozenset({free[9], free[4]}))
    first = min(free.index(free[9]), free.index(free[4]))
    assert run(several, PROMPT, settings(tokens=30)).tokens == free[: first + 1]
    assert run(several, PROMPT, settings(tokens=30, ignore_eos=True)).tokens == free


@pytest.mark.parametrize("drafter", ["none", "ngram", "model:twin"])
def test_a_stop_text_ends_the_run_wherever_it_falls(drafter: str) -> None:
    free = run(target(), PROMPT, settings(drafter, tokens=40), models=twins("llama"))
    text = free.finished.text
    for start in (3, 8, 15):
        stop = text[start : start + 3]
        one = run(target(), PROMPT, settings(drafter, tokens=40, stop=(stop,)), models=twins("llama"))
        assert one.finished.reason == "stop"
        assert one.finished.text == text[: text.find(stop)]
        assert one.tokens == free.tokens[: len(one.tokens)]


def test_greedy_means_greedy_on_both_sides() -> None:  # pitfall 11
    one = run(target(), PROMPT, settings("model:other"), models=twins("llama"))
    assert all(d.draw is None for d in one.drafted)
    runner, other = target().hf, twins("llama")["other"].hf
    drafter = ModelDrafter(Runner(other), Warper(Sampling()), vocabulary=VOCABULARY, device=runner.device)
    drafter.prefill(PROMPT[:-1])
    drafts = [int(d.token) for d in drafter.propose(PROMPT, 4, RoundDraws(0, len(PROMPT)))]
    expected = other.generate(torch.tensor([PROMPT]), max_new_tokens=4, do_sample=False, eos_token_id=None,
                              pad_token_id=0)[0, len(PROMPT) :].tolist()
    assert drafts == expected


@pytest.mark.parametrize("drafter", ["none", "ngram", "model:other"])
def test_sampling_reaches_every_supported_token(drafter: str) -> None:  # pitfall 12
    model = target()
    warm = Sampling(temperature=1.0, top_k=3)
    runner = Runner(model.hf)
    runner.prefill(PROMPT[:-1])
    supported = torch.topk(runner.forward(PROMPT[-1:])[0], 3)
    rare = float(torch.softmax(supported.values, 0).min())
    seen = {run(model, PROMPT, settings(drafter, tokens=1, gamma=2, sampling=warm, seed=s), models=twins("llama"))
            .tokens[0] for s in range(int(20 / rare) + 20)}  # missing one has a chance below e^-20
    assert seen == set(supported.indices.tolist())


def test_rounds_of_any_length_keep_the_drafter_in_step() -> None:  # pitfall 21
    """Each proposal must equal a fresh drafter's from the same tokens, whatever happened in the rounds before."""
    models = twins("llama")
    free = run(target(), PROMPT, settings("model:other", tokens=80), models=models)
    proposed: dict[int, list[int]] = {}
    for d in free.drafted:
        proposed.setdefault(d.round, []).append(d.token)
    text = PROMPT + free.tokens
    for end in free.rounds[:12]:
        fresh = ModelDrafter(Runner(models["other"].hf), Warper(Sampling()), vocabulary=VOCABULARY,
                             device=torch.device("cpu"))
        fresh.prefill(text[: end.position - 1])
        again = [int(d.token) for d in fresh.propose(text[: end.position], end.drafted, RoundDraws(0, end.position))]
        assert again == proposed[end.round]
        assert end.drafter_slots <= end.position + len(end.tokens) - 1


def test_drafter_alternating_none_and_three_drafts() -> None:  # pitfall 21
    models = twins("llama")
    drafter = ModelDrafter(Runner(models["other"].hf), Warper(Sampling()), vocabulary=VOCABULARY,
                           device=torch.device("cpu"))
    text = [(5 * i + 2) % VOCABULARY for i in range(30)]
    drafter.prefill(text[:5])
    for at in range(6, 30):
        count = 3 if at % 2 else 0
        again = [int(d.token) for d in drafter.propose(text[:at], count, RoundDraws(0, at))]
        drafter.cut(at)
        if count:
            fresh = ModelDrafter(Runner(models["other"].hf), Warper(Sampling()), vocabulary=VOCABULARY,
                                 device=torch.device("cpu"))
            fresh.prefill(text[: at - 1])
            assert again == [int(d.token) for d in fresh.propose(text[:at], 3, RoundDraws(0, at))]


def test_a_drafter_with_another_vocabulary_size(  # pitfall 28
) -> None:
    for size in (VOCABULARY - 20, VOCABULARY + 40):
        odd = target("llama", seed=3, vocabulary=size)
        one = run(target(), PROMPT, settings("model:odd", sampling=WARM, tokens=40), models={"odd": odd})
        assert one.finished.reason == "length", one.finished.message
        assert all(d.token < min(size, VOCABULARY) for d in one.drafted)
    greedy = run(target(), PROMPT, settings("model:odd", tokens=40), models={"odd": target(seed=3, vocabulary=400)})
    assert greedy.tokens == run(target(), PROMPT, settings(tokens=40)).tokens


def test_an_id_outside_the_embedding_never_reaches_it() -> None:  # pitfall 29
    for bad in (VOCABULARY, -1):
        with pytest.raises(CacheError, match="outside the model's vocabulary"):
            Runner(target().hf).forward([bad])


def test_layer_skip_never_touches_the_target() -> None:  # pitfall 36
    hf = target().hf
    before, config = {k: v.clone() for k, v in hf.state_dict().items()}, copy.deepcopy(hf.config.to_dict())
    layers = list(hf.model.layers)
    run(target(), PROMPT, settings("layer-skip"))
    failed = run(target(), PROMPT, settings("layer-skip", skip=(0, 99)))
    assert failed.finished.reason == "error"
    assert "layers 0 to 2" in failed.finished.message
    assert hf.config.to_dict() == config
    assert list(hf.model.layers) == layers
    assert all(torch.equal(v, before[k]) for k, v in hf.state_dict().items())


def test_nan_logits_end_the_lane_with_the_place_named() -> None:  # pitfall 6
    broken = copy.deepcopy(target().hf)
    broken.lm_head.weight[5] = float("nan")
    plain, other = lanes(wrap(broken), PROMPT, [settings(), settings("ngram", sampling=WARM)])
    for one in (plain, other):
        assert one.finished.reason == "error"
        assert f"position {len(PROMPT)}" in one.finished.message
        assert "float32" in one.finished.message
    infinite = copy.deepcopy(target().hf)
    infinite.lm_head.weight[5] = float("inf")
    assert run(wrap(infinite), PROMPT, settings()).finished.reason == "error"


def test_one_forward_a_round_and_the_last_draft_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    runners: list[Runner] = []
    init = Runner.__init__

    def spy(self: Runner, *args: object, **kw: object) -> None:
        init(self, *args, **kw)  # type: ignore[arg-type]
        runners.append(self)

    models = twins("llama")
    target_runs = settings("model:other", tokens=40)
    run(target(), PROMPT, target_runs, models=models)  # the exactness check is done and remembered
    monkeypatch.setattr(Runner, "__init__", spy)
    one = run(target(), PROMPT, target_runs, models=models)
    forwards = {r.model: r.forwards for r in runners if r.forwards}
    assert forwards[target().hf] == 1 + len(one.rounds)  # the prefill and one a round
    assert forwards[models["other"].hf] == 1 + one.finished.totals.drafted  # one a draft


def test_stepping_by_record_changes_nothing() -> None:
    free = run(target(), PROMPT, settings("model:twin", sampling=WARM, seed=9), models=twins("llama"))
    stepped = run(target(), PROMPT, settings("model:twin", sampling=WARM, seed=9), models=twins("llama"),
                  by_record=lambda: True)
    assert stepped.tokens == free.tokens
    assert [(d.token, d.q, d.draw) for d in stepped.drafted] == [(d.token, d.q, d.draw) for d in free.drafted]


def test_closing_the_race_midway_is_clean() -> None:
    from engine.race import LanePlan, race

    records = race(target(), PROMPT, [LanePlan("0", settings("model:twin"))], run="x", models=twins("llama"))
    for _ in range(9):
        next(records)
    records.close()
    with pytest.raises(StopIteration):
        next(records)


def test_penalty_counts_drafts_and_equals_plain() -> None:  # pitfall 9
    strict = Sampling(repetition_penalty=1.8)
    plain, fast, skip = lanes(target(), PROMPT, [settings(d, tokens=60, sampling=strict)
                                                 for d in ("none", "model:twin", "ngram")], models=twins("llama"))
    expected = target().hf.generate(torch.tensor([PROMPT]), max_new_tokens=60, do_sample=False, eos_token_id=None,
                                    pad_token_id=0, repetition_penalty=1.8)[0, len(PROMPT) :].tolist()
    assert plain.tokens == fast.tokens == skip.tokens == expected


def test_a_drafter_with_a_shorter_context_drafts_no_more_behind_it() -> None:
    import dataclasses

    import msgspec

    short = target("llama", seed=3)
    short = dataclasses.replace(short, info=msgspec.structs.replace(short.info, context=30))
    one = run(target(), PROMPT, settings("model:short", tokens=60), models={"short": short})
    assert one.tokens == run(target(), PROMPT, settings(tokens=60)).tokens
    assert one.drafted
    assert max(d.position for d in one.drafted) <= 30  # its inputs, one before, are positions 0 to 29
    long = run(target(), PROMPT * 3, settings("model:short", tokens=10), models={"short": short})
    assert long.tokens == run(target(), PROMPT * 3, settings(tokens=10)).tokens
    assert not long.drafted


def drafted_by(runner: Runner, sampling: Sampling, device: str = "cpu"):  # type: ignore[no-untyped-def]
    drafter = ModelDrafter(runner, Warper(sampling), vocabulary=VOCABULARY, device=torch.device(device))
    drafter.prefill(PROMPT[:-1])
    return list(drafter.propose(PROMPT, 6, RoundDraws(3, len(PROMPT))))


@pytest.mark.parametrize("sampling", [WARM, Sampling(temperature=0.8, top_k=7, top_p=0.9, min_p=0.01,
                                                     repetition_penalty=1.2)], ids=["plain", "warped"])
def test_q_is_the_very_tensor_drawn_from(sampling: Sampling) -> None:  # pitfalls 2, 3
    half = copy.deepcopy(target(seed=7).hf).to(torch.bfloat16)
    for draft in drafted_by(Runner(half), sampling):
        assert draft.q is not None
        assert draft.q.dtype == torch.float32
        assert float(draft.q.sum()) == pytest.approx(1, abs=1e-5)
        assert draft.draw is not None
        assert int(choose(draft.q, draft.draw)) == int(draft.token)


def test_drafts_are_handed_over_on_the_target_s_device() -> None:  # pitfall 31
    """The meta device stands for another one: drafts arrive there, while the drafter goes on where its model is."""
    away, here = (drafted_by(Runner(target(seed=7).hf), WARM, device) for device in ("meta", "cpu"))
    assert len(away) == len(here) == 6
    for draft in away:
        assert draft.q is not None
        assert isinstance(draft.token, torch.Tensor)
        assert draft.token.device.type == draft.q.device.type == "meta"


def test_only_the_rows_that_are_needed_have_logits(monkeypatch: pytest.MonkeyPatch) -> None:  # pitfall 34
    shapes: list[tuple[int, int]] = []
    call = Runner._call

    def spy(self: Runner, ids: torch.Tensor, positions: torch.Tensor, rows: int) -> torch.Tensor:
        out = call(self, ids, positions, rows)
        shapes.append((ids.shape[1], out.shape[0]))
        return out

    monkeypatch.setattr(Runner, "_call", spy)
    runner = Runner(target().hf)
    runner.prefill([i % VOCABULARY for i in range(200)])
    runner.forward([1, 2, 3], rows=1)
    runner.forward([1, 2, 3])
    assert shapes == [(200, 1), (3, 1), (3, 3)]


def test_rejected_drafts_leave_no_trace_in_the_penalty() -> None:  # pitfall 27
    """Only committed tokens advance what the penalty has seen, on both sides."""
    strict = Sampling(temperature=1.0, repetition_penalty=1.5)
    one = run(target(), PROMPT, settings("model:other", tokens=40, sampling=strict, seed=2), models=twins("llama"))
    assert any(not j.accepted for j in one.judged)
    text = PROMPT + one.tokens
    warper = Warper(strict)
    for end, verified in zip(one.rounds, one.verified, strict=True):
        fresh = Runner(target().hf)
        fresh.prefill(text[: end.position - 1])
        seen = torch.zeros(1, VOCABULARY, dtype=torch.bool)
        seen[0, text[: end.position]] = True
        p = warper.distribution(warper.scores(fresh.forward([text[end.position - 1]]), seen))[0]
        row = verified.rows[0]
        torch.testing.assert_close(torch.from_numpy(row.p.copy()), p[row.ids.tolist()], rtol=1e-3, atol=1e-5)


def test_a_decoder_inside_a_larger_model_keeps_its_window() -> None:
    """Models of several kinds of input nest the decoder's configuration: the window stands there."""
    import transformers

    text = tiny.config("gemma", vocabulary=VOCABULARY).to_dict()
    vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
              "image_size": 28, "patch_size": 14}
    config = transformers.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        hf = transformers.Gemma3ForConditionalGeneration(config).eval().requires_grad_(False)
    runner, tokens = Runner(hf), [(37 * i + 11) % VOCABULARY for i in range(40)]
    ours = torch.cat([runner.forward([t]) for t in tokens])
    theirs = hf(input_ids=torch.tensor([tokens])).logits[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)


def test_gaps_are_those_of_the_logits_even_where_one_token_is_left() -> None:
    one = run(target(), PROMPT, settings(tokens=6, sampling=Sampling(temperature=1.0, top_k=1)))
    text = PROMPT + one.tokens
    for end in one.rounds:
        runner = Runner(target().hf)
        runner.prefill(text[: end.position - 1])
        top = torch.topk(runner.forward([text[end.position - 1]])[0], 2).values
        assert end.gaps[0] == pytest.approx(float(top[0] - top[1]), abs=1e-3)


def test_a_failed_lane_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    forward, calls = Runner.forward, [0]

    def failing(self: Runner, tokens, **how):  # type: ignore[no-untyped-def]
        calls[0] += 1
        return forward(self, tokens, **how) * (float("nan") if calls[0] > 7 else 1)

    run(target(), PROMPT, settings())
    monkeypatch.setattr(Runner, "forward", failing)
    one = run(target(), PROMPT, settings())
    assert one.finished.reason == "error"
    assert len(one.tokens) == 7
    assert one.finished.text == "".join(text for r in one.rounds for text in r.texts)


def test_more_positions_than_the_model_has_are_not_tried() -> None:
    import transformers

    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=4,
                                     bos_token_id=0, eos_token_id=0)
    small = wrap(transformers.GPT2LMHeadModel(config).eval().requires_grad_(False))
    for exact in (False, True):
        plain, fast = lanes(small, PROMPT, [settings(d, gamma=64, tokens=100, exact=exact) for d in ("none", "ngram")])
        assert plain.finished.reason == fast.finished.reason == "context", fast.finished.message
        assert plain.tokens == fast.tokens
