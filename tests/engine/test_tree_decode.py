"""Trees through the whole loop: the same output as plain decoding, records that agree, caches that are right."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from engine import checks, drafters
from engine.decode import decode, never
from engine.drafters.base import Draft, RoundDraws
from engine.errors import DraftError
from engine.invariance import exactness
from engine.proof import subjects
from engine.proof.rig import Rig, of_models
from engine.proof.tree_drafter import TreeDrafter
from engine.race import LanePlan, race
from engine.records import Committed, Drafted, Judged, Record, RunFinished, RunStarted, Verified
from engine.runner import Runner
from engine.sampling import Warper
from engine.scribe import Scribe
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.trace_order import RunOrder
from engine.tree import Tree
from engine.tree_invariance import with_trees

COLD = Sampling()
WARM = Sampling(temperature=0.9, top_p=0.95)
PENALISED = Sampling(temperature=0.8, repetition_penalty=1.3)
TREES = [("top", 3, 10, 3, False), ("sampled", 3, 10, 3, False), ("top", 2, 6, 4, True), ("sampled", 4, 12, 2, True)]


def method(tree: Any, top: int, nodes: int, gamma: int, gather: bool, **more) -> DrafterSettings:  # type: ignore[no-untyped-def]
    return DrafterSettings(kind="model", model="twin", tree=tree, tree_top=top, tree_nodes=nodes, gamma=gamma,
                           gather=gather, **more)


def tree_rig(drafter: DrafterSettings, *, kind: str = "llama", tokens: int = 40, sampling: Sampling = COLD,
             seed: int = 0, pad: bool = False, detail: bool = True) -> Rig:
    subject = subjects.tiny(kind)
    settings = RunSettings(drafter=drafter, sampling=sampling, max_new_tokens=tokens, seed=seed, detail=detail)
    rig = of_models(subject.target, subject.prompt, settings, subject.models)
    if drafter.tree:
        rig.drafter = TreeDrafter(Runner(subject.models["twin"].hf), Warper(sampling), drafter)
    if pad:
        rig.target.pad_to = 16
    return rig


def play(rig: Rig) -> list[Record]:
    check, order, records = checks.watch(rig.target, rig.drafter), RunOrder(), []
    started = RunStarted(run="proof", lane="0", title="", about="", gamma=rig.gamma, settings=rig.settings,
                         target=subjects.tiny("llama").target.info, exactness=EXACT, prompt=tuple(rig.seq.tokens),
                         prompt_text="", machine="", version="", started="")
    order.take(started)
    for record in rig.run():
        order.take(record)
        records.append(record)
        if isinstance(record, Committed):
            check(rig.seq.tokens)
    return records


EXACT = exactness(subjects.tiny("llama").target.hf, 1)


def tokens_of(records: Sequence[Record]) -> list[int]:
    return [token for record in records if isinstance(record, Committed) for token in record.tokens]


@functools.cache
def plain_tokens(kind: str) -> list[int]:
    return tokens_of(play(tree_rig(DrafterSettings(), kind=kind)))


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma"])
@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("pad", [False, True])
def test_greedy_is_plain_decoding(kind: str, tree, pad: bool) -> None:  # type: ignore[no-untyped-def]
    records = play(tree_rig(method(*tree), kind=kind, pad=pad))
    assert tokens_of(records) == plain_tokens(kind)
    ends = [record for record in records if isinstance(record, Committed)]
    assert max(end.drafted for end in ends) == tree[2]
    assert sum(end.accepted for end in ends) > 0
    assert any(end.path not in ((), tuple(range(len(end.path)))) for end in ends) or tree[1] == 1


@pytest.mark.parametrize("tree", TREES, ids=str)
@pytest.mark.parametrize("sampling", [Sampling(), WARM, PENALISED], ids=["greedy", "warm", "penalised"])
def test_records_agree(tree, sampling: Sampling) -> None:  # type: ignore[no-untyped-def]
    rig = tree_rig(method(*tree), sampling=sampling, seed=3)
    start, drafted, judged = len(rig.seq), list[Drafted](), list[Judged]()
    for record in play(rig):
        match record:
            case Drafted():
                drafted.append(record)
            case Verified():
                verified = record
            case Judged():
                judged.append(record)
            case Committed():
                shape = Tree.of([draft.parent for draft in drafted])
                draws = RoundDraws(3, start)
                assert shape.is_path(record.path)
                assert [d.position for d in drafted] == [start + depth for depth in shape.depths]
                assert [d.draw for d in drafted] == [
                    draws.draft(depth, number) if tree[0] == "sampled" and not sampling.greedy else None
                    for depth, number in zip(shape.depths, shape.numbers, strict=True)]
                for test in judged:
                    parent = shape.parents[test.index]
                    row = verified.rows[parent + 1]
                    raw = dict(zip(row.ids.tolist(), row.p.tolist(), strict=True))
                    first = shape.children(parent)[0] == test.index
                    assert test.token in raw
                    if first:
                        assert test.p == pytest.approx(raw[test.token], rel=1e-5)
                    if sampling.greedy:
                        assert test.accepted == (test.token == test.best)
                        assert test.draw is None
                    else:
                        assert test.draw == draws.accept(shape.depths[test.index], shape.numbers[test.index])
                        assert test.accepted == (test.draw * test.q < test.p)  # type: ignore[operator]
                assert record.tokens[: record.accepted] == tuple(drafted[i].token for i in record.path)
                judged_by = [0, *(i + 1 for i in record.path)][: len(record.tokens)]
                assert record.digests == tuple(verified.digests[i] for i in judged_by)
                assert record.p == pytest.approx([
                    dict(zip(verified.rows[i].ids.tolist(), verified.rows[i].p.tolist(), strict=True))[token]
                    for i, token in zip(judged_by, record.tokens, strict=True)], rel=1e-5)
                for row_number, row in enumerate(verified.rows):
                    children = shape.children(row_number - 1)
                    assert (row.overlap is None) == (not children)
                    assert {drafted[child].token for child in children} <= set(row.ids.tolist())
                    assert len(row.q) == (len(row.ids) if children else 0)
                start += len(record.tokens)
                drafted, judged = [], []
            case _:
                pass


def test_stepping_shows_the_same() -> None:
    always: Callable[[], bool] = lambda: True  # noqa: E731
    found = []
    for stepping in (never, always):
        rig = tree_rig(method(*TREES[1]), sampling=WARM)
        log = Scribe("proof", "0", rig.texts, sampled=True)
        found.append([(r.index, r.position, r.token, r.parent, pytest.approx(r.q)) for r in decode(
            rig.target, rig.drafter, rig.seq, rig.judge, log, rig.settings, rig.gamma, stepping)
            if isinstance(r, Drafted)])
    assert found[0] == found[1]


@pytest.mark.parametrize("tokens", range(1, 7))
def test_the_limit_is_never_overshot(tokens: int) -> None:
    for tree in TREES[:2]:
        records = play(tree_rig(method(*tree), tokens=tokens))
        assert len(tokens_of(records)) == tokens
        finished = records[-1]
        assert isinstance(finished, RunFinished)
        assert finished.reason == "length"


def test_an_end_token_on_the_path_ends_the_run() -> None:
    """What is behind it isn't committed, and its tests aren't told."""
    plain = tokens_of(play(tree_rig(DrafterSettings())))
    for at in range(2, 12):
        rig = tree_rig(method(*TREES[0]))
        rig.seq._eos = frozenset([plain[at]])
        got = tokens_of(play(rig))
        assert got == plain[: plain.index(plain[at]) + 1]


class Stray:
    """Proposes a tree whose second draft continues one that comes later."""

    about = "strays"
    slots = 0

    def prefill(self, tokens: Sequence[int]) -> None: ...

    def cut(self, length: int) -> None: ...

    def propose(self, tokens: Sequence[int], count: int, draws: RoundDraws) -> Iterator[Draft]:
        yield Draft(1, None, parent=-1)
        yield Draft(2, None, parent=5)


def test_a_tree_that_is_none_is_refused() -> None:
    rig = tree_rig(DrafterSettings(kind="model", model="twin"))
    rig.drafter = Stray()
    with pytest.raises(DraftError, match="doesn't come before it"):
        list(rig.run())


def test_trees_and_chains_race(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, made = subjects.tiny("llama"), drafters.make

    def make(settings: RunSettings, target, runner: Runner, models: Mapping):  # type: ignore[no-untyped-def,type-arg]
        if settings.drafter.tree:
            return TreeDrafter(Runner(models["twin"].hf), Warper(settings.sampling), settings.drafter)
        return made(settings, target, runner, models)

    monkeypatch.setattr(drafters, "make", make)
    methods = [DrafterSettings(), DrafterSettings(kind="ngram"), method(*TREES[0]), method(*TREES[1]),
               method(*TREES[2])]
    for exact_lanes in (False, True):
        plans = [LanePlan(str(i), RunSettings(drafter=one, max_new_tokens=30, exact=exact_lanes))
                 for i, one in enumerate(methods)]
        order, lanes = RunOrder(), dict[str, list[Record]]()
        for record in race(subject.target, subject.prompt, plans, run="r", models=subject.models):
            order.take(record)
            lanes.setdefault(record.lane, []).append(record)
        outputs = [tokens_of(lane) for lane in lanes.values()]
        assert all(out == outputs[0] for out in outputs)
        assert len(outputs[0]) == 30


def test_sampled_trees_say_other_things_by_seed() -> None:
    outputs = [tokens_of(play(tree_rig(method(*TREES[1]), sampling=WARM, seed=seed))) for seed in (0, 0, 1)]
    assert outputs[0] == outputs[1] != outputs[2]


def test_without_detail_the_output_is_the_same() -> None:
    a, b = (tokens_of(play(tree_rig(method(*TREES[1]), sampling=WARM, detail=detail))) for detail in (True, False))
    assert a == b


def test_a_lane_says_whether_its_tree_rows_are_exact() -> None:
    """In float32 widths differ, so nothing is exact until all forwards are padded; then gathering makes trees so."""
    subject = subjects.tiny("llama")
    chain = exactness(subject.target.hf, 13, pad_to=13)
    assert chain.invariant
    loose = with_trees(subject.target.hf, chain, method("top", 4, 12, 4, False), 4)
    assert not loose.invariant
    assert loose.sentence.startswith("tree rows are not bit-exact here (ancestors not gathered): logits differ by")
    assert loose.row_difference > 0
    gathered = with_trees(subject.target.hf, chain, method("top", 4, 12, 4, True), 4)
    assert gathered.invariant
    assert gathered.sentence.endswith("rows of trees too (ancestors gathered)")
    assert with_trees(subject.target.hf, chain, DrafterSettings(kind="ngram"), 4) is chain
