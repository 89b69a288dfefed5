"""Dynamic draft length: by the drafter's own confidence, and by what was accepted. Both leave the output alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch

from app import commandline
from app.options import run_settings
from engine import kept_caches, race, step_cost, trace
from engine.debugger.history import History
from engine.debugger.what_if import NoChange, OtherDraw, OtherSettings, OtherToken
from engine.drafters.confidence import confident
from engine.errors import SettingsError
from engine.full_rows import round_rows
from engine.length import HOPE, Adaptive, Fixed, length
from engine.sampling import Sampling
from engine.settings import DrafterSettings, RunSettings
from tests.engine.branching import WARPED, branched, half, rounds_of, same
from tests.engine.support import GREEDY, PROMPT, WARM, Run, run, settings, target
from tests.engine.test_decode import twins

COST = 0.15


@pytest.fixture(autouse=True)
def _known_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny models cost what Python costs."""
    kept_caches._kept.clear()
    for module in (race, __import__("engine.branch", fromlist=["branch"])):
        monkeypatch.setattr(module, "step_cost", lambda *_, **__: COST)


def dynamic(drafter: str, *, stop_below: float = 0.0, adaptive: bool = False, sampling: Sampling = GREEDY,
            tokens: int = 40, gamma: int = 6) -> RunSettings:
    made = settings(drafter, gamma=gamma, tokens=tokens, sampling=sampling, seed=5)
    how = msgspec.structs.replace(made.drafter, stop_below=stop_below, adaptive=adaptive)
    return msgspec.structs.replace(made, drafter=how)


def lengths(one: Run) -> list[int]:
    return [end.drafted for end in one.rounds]


# --- The rules


def test_confidence_is_the_largest_probability_at_temperature_1() -> None:
    scores = torch.tensor([0.5, 0.3, 0.2]).log() + 7
    assert confident(scores, 0.49)
    assert not confident(scores, 0.51)
    assert confident(torch.zeros(1000), 0.0)
    assert confident(torch.tensor([0.0, -torch.inf]), 0.999)


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("cost", [0.01, 0.1, 0.4, 0.8])
def test_it_settles_on_the_best_length(chance: float, cost: float) -> None:
    """Where the share accepted is always the same, on the γ that the formula has, or one that is as good."""
    def speed(gamma: int) -> float:
        return sum(chance**i for i in range(gamma + 1)) / (1 + gamma * cost)

    chooser, carry = Adaptive(cost), [0.0] * 8
    asked = []
    for _ in range(400):
        count = chooser.next(8)
        accepted = 0
        for index in range(count):
            carry[index] += chance
            if carry[index] < 1 - 1e-9:
                break
            carry[index] -= 1
            accepted += 1
        chooser.learn(accepted, min(accepted + 1, count), count)
        asked.append(count)
    usual = sorted(asked[100:])[150]
    assert speed(usual) >= 0.95 * max(speed(gamma) for gamma in range(9))


def test_it_begins_hopeful_and_gives_up_and_tries_again() -> None:
    assert Adaptive(0.1).next(8) == 8
    assert Adaptive(HOPE + 0.01).next(8) == 0
    chooser, asked = Adaptive(0.3), []
    for _ in range(200):
        count = chooser.next(4)
        chooser.learn(0, min(1, count), count)
        asked.append(count)
    assert asked.count(0) > 150
    assert any(asked[100:])


def test_it_never_asks_for_more_than_gamma() -> None:
    chooser = Adaptive(0.0)
    assert [chooser.next(gamma) for gamma in (0, 1, 5)] == [0, 1, 5]
    chooser.learn(5, 5, 5)
    assert chooser.next(2) == 2
    assert Fixed().next(3) == 3


def test_its_state_follows_from_the_rounds() -> None:
    rounds = [(2, 3, 4), (0, 1, 4), (1, 1, 1), (0, 0, 0), (3, 3, 3), (0, 1, 2)]
    live, asked = Adaptive(0.2), []
    for one in rounds:
        asked.append(live.next(8))
        live.learn(*one)
    for count in range(len(rounds)):
        assert length(True, 0.2, rounds[:count]).next(8) == asked[count]
    assert isinstance(length(False, 0.2, rounds), Fixed)


# --- In runs


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt2"])
@pytest.mark.parametrize(("drafter", "how"), [
    ("layer-skip", {"stop_below": 0.4}), ("layer-skip", {"adaptive": True}), ("ngram", {"adaptive": True}),
    ("model:twin", {"stop_below": 0.4, "adaptive": True}), ("model:other", {"stop_below": 0.2, "adaptive": True})])
def test_greedy_output_is_the_plain_lane_s(kind: str, drafter: str, how: dict[str, float | bool]) -> None:
    plain = run(target(kind), PROMPT, settings(tokens=40))
    one = run(target(kind), PROMPT, dynamic(drafter, **how), models=twins(kind))  # type: ignore[arg-type]
    assert one.finished.reason == "length", one.finished.message
    assert one.tokens == plain.tokens
    assert min(lengths(one)) < 6


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "warm"])
def test_a_round_ends_behind_its_first_weak_draft(sampling: Sampling) -> None:
    """At temperature 1 too the q on record is the one that the rule looks at."""
    one = run(target(), PROMPT, dynamic("model:twin", stop_below=0.5, sampling=sampling), models=twins("llama"))
    ends = set()
    for verified, start in zip(one.verified, one.rounds, strict=True):
        sure = [float(row.q.max()) >= 0.5 for row in verified.rows[: verified.k]]
        room = 13 + 40 - start.position - 1
        assert all(sure[:-1])
        assert verified.k == min(6, room) or not sure[-1]
        ends.add(verified.k)
    assert {1, 2} <= ends


def test_one_threshold_means_the_same_at_every_temperature() -> None:
    """A sharp q looks sure whatever the drafter knows."""
    sharp = run(target(), PROMPT, dynamic("model:twin", stop_below=0.5, sampling=Sampling(temperature=0.01)),
                models=twins("llama"))
    greedy = run(target(), PROMPT, dynamic("model:twin", stop_below=0.5), models=twins("llama"))
    assert lengths(sharp) == lengths(greedy)


def test_lengths_follow_from_the_recorded_cost_and_rounds() -> None:
    one = run(target(), PROMPT, dynamic("model:twin", adaptive=True, sampling=WARM), models=twins("llama"))
    assert one.started.step_cost == COST
    chooser = Adaptive(COST)
    for end in one.rounds:
        assert end.drafted == min(chooser.next(6), 13 + 40 - end.position - 1)
        chooser.learn(end.accepted, end.tested, end.drafted)
    assert run(target(), PROMPT, settings("ngram")).started.step_cost == 0


@pytest.mark.parametrize("drafter", ["ngram", "layer-skip", "model:other"])
def test_the_cost_is_measured_once_and_leaves_no_trace(drafter: str) -> None:
    one, models = dynamic(drafter, adaptive=True), twins("llama")
    step_cost._measured.clear()
    first = step_cost.step_cost(target(), PROMPT, one, models)
    assert 0 < first < 20
    assert step_cost.step_cost(target(), PROMPT, one, models) == first
    other = msgspec.structs.replace(one, drafter=msgspec.structs.replace(one.drafter, gamma=2))
    assert step_cost.step_cost(target(), PROMPT, other, models) != 0
    assert len(step_cost._measured[target().hf]) == 2
    assert step_cost.same_cost(one, other)
    assert not step_cost.same_cost(one, settings("none"))


# --- What if


BOTH = [("layer-skip", True, 0.3), ("model:other", True, 0.2), ("model:twin", False, 0.5), ("ngram", True, 0.0)]


@pytest.mark.parametrize("sampling", [GREEDY, WARPED], ids=["greedy", "warped"])
@pytest.mark.parametrize(("drafter", "adaptive", "stop_below"), BOTH)
def test_no_change_repeats_the_original(drafter: str, adaptive: bool, stop_below: float, sampling: Sampling,
                                        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In half precision, from records and from a file, whatever a draft would cost now."""
    models = twins("llama") if drafter.startswith("model") else {}
    one = run(half(), PROMPT, dynamic(drafter, adaptive=adaptive, stop_below=stop_below, sampling=sampling),
              models=models)
    monkeypatch.setattr("engine.branch.step_cost", lambda *_, **__: 7.0)
    for number in rounds_of(one):
        kept_caches._kept.clear()  # each from nothing
        same(branched(half(), one, NoChange(round=number), models).records, one.records)
    with trace.Writer(tmp_path / "run.spectrace") as file:
        for record in one.records:
            file.write(record)
    read = Run(list(trace.read(tmp_path / "run.spectrace")))
    kept_caches._kept.clear()
    assert branched(half(), read, NoChange(round=3), models).tokens == one.tokens
    rows = round_rows(half(), one.records, 2, models)
    assert len(rows) == one.verified[2].k + 1
    assert all(row.identical for row in rows)


def test_changes_go_on_with_the_lengths_so_far() -> None:
    models = twins("llama")
    one = run(target(), PROMPT, dynamic("model:twin", adaptive=True, stop_below=0.2, sampling=WARM), models=models)
    number = next(end.round for end in one.rounds[3:] if end.drafted)
    other = (one.rounds[number].tokens[0] + 1) % 90
    for change in (OtherToken(round=number, index=0, token=other),
                   OtherDraw(round=number, purpose="accept", index=0, value=0.999999)):
        again = branched(target(), one, change, models)
        assert again.finished.reason == "length", again.finished.message
        chooser = length(True, COST, [(end.accepted, end.tested, end.drafted) for end in again.rounds[: number + 1]])
        assert again.rounds[number + 1].drafted <= chooser.next(6)
        same(branched(target(), again, NoChange(round=number + 2), models).records, again.records)


def test_a_branch_may_turn_it_on_and_off() -> None:
    models = twins("llama")
    fixed = dynamic("model:twin", sampling=WARM)
    one = run(target(), PROMPT, fixed, models=models)
    on = msgspec.structs.replace(fixed, drafter=msgspec.structs.replace(fixed.drafter, adaptive=True))
    again = branched(target(), one, OtherSettings(round=4, settings=on), models)
    assert again.started.step_cost == COST
    assert lengths(again)[:4] == lengths(one)[:4]
    assert len(set(lengths(again)[4:-1])) > 1
    off = branched(target(), again, OtherSettings(round=8, settings=fixed), models)
    assert set(lengths(off)[8:12]) == {6}
    made = History("x")
    for record in off.records:
        made.append(record)
    assert len(made.ends) == len(off.rounds)


# --- Settings


@pytest.mark.parametrize(("given", "why"), [
    ({"kind": "ngram", "stop_below": 0.3}, "no probabilities of its own"),
    ({"kind": "none", "stop_below": 0.3}, "no probabilities of its own"),
    ({"kind": "layer-skip", "stop_below": 1.0}, "from 0"),
    ({"kind": "none", "adaptive": True}, "drafts nothing"),
    ({"kind": "eagle", "tree": "top", "adaptive": True}, "tree"),
    ({"kind": "ngram", "adaptive": "yes"}, "true or false")])
def test_what_can_t_be_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        DrafterSettings(**given)  # type: ignore[arg-type]


def test_the_command_line_gives_them_to_the_lanes_that_can_use_them() -> None:
    _, args = commandline.parse(["compare", "--drafter", "ngram", "layer-skip", "--stop-below", "0.3", "--adaptive"])
    found = {name: run_settings(args, name).drafter for name in ("none", *args.drafter)}
    assert {name: (one.stop_below, one.adaptive) for name, one in found.items()} == {
        "none": (0.0, False), "ngram": (0.0, True), "layer-skip": (0.3, True)}
    for arguments in (["--drafter", "ngram", "--stop-below", "0.3"], ["--adaptive"], ["--stop-below", "0.3"]):
        _, args = commandline.parse(["record", "--out", "x", *arguments])
        with pytest.raises(SettingsError):
            run_settings(args, args.drafter)
    _, args = commandline.parse(["compare", "--drafter", "ngram", "--stop-below", "0.3"])
    with pytest.raises(SettingsError, match="prompt lookup has no probabilities"):
        run_settings(args, "ngram")
