"""Which layers to leave out: found on models where the answer is known, kept, and used by whatever drafts."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from app import commandline
from app.commands import calibrate as command
from engine import kept_caches, trace
from engine.calibrate import run as whole
from engine.calibrate import store
from engine.calibrate.agreement import acceptance_rate, agreements, committed_length, winners
from engine.calibrate.costs import Costs, measure
from engine.calibrate.search import Search, Skip, Tried, judged
from engine.calibrate.store import Calibration
from engine.calibrate.texts import Text
from engine.calibrate.trial import measured
from engine.debugger.what_if import NoChange, OtherSettings
from engine.drafters.layer_skip import default_skip, exit_at, spelled, thinned
from engine.errors import ModelError, SettingsError, SpecScopeError
from engine.models import Model
from engine.settings import DrafterSettings
from tests.engine import tiny
from tests.engine.branching import branched, same
from tests.engine.support import PROMPT, Run, run, settings, target, wrap

CHEAP = Costs(widths=(1.0,) * 9, fixed=0.1, layer=0.1)
"""A layer is a tenth of a forward of nine layers; verification costs the same at every width."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "cache"))
    kept_caches._kept.clear()


def useless(layers: int, idle: Iterable[int]) -> Any:
    """A llama some of whose layers add nothing to what passes through them."""
    hf = copy.deepcopy(tiny.model("llama", vocabulary=352, layers=layers))
    with torch.no_grad():
        for index in idle:
            hf.model.layers[index].self_attn.o_proj.weight.zero_()
            hf.model.layers[index].mlp.down_proj.weight.zero_()
    return hf


def texts_of(model: Model) -> list[Text]:
    out = []
    for first in range(4):
        prompt = (*PROMPT, 70 + first)
        out.append(Text(prompt, tuple(run(model, prompt, settings(tokens=16)).tokens)))
    return out


def calibrated(model: Model, **others: Any) -> Calibration:
    info = model.info
    given: dict[str, Any] = {
        "target": info.name, "fingerprint": info.fingerprint, "dtype": info.dtype,
        "device": "cpu", "layers": info.layers, "skip": (0, 2), "gamma": 5, "alpha": 0.5, "step_cost": 0.4,
        "predicted": 1.1, "measured": 1.05, "machine": "here", "made": "now"}
    return Calibration(**{**given, **others})


# --- Agreement is acceptance


@pytest.mark.parametrize(("kind", "skip"), [("llama", (1,)), ("gemma2", (3, 4)), ("gpt2", (2,))])
def test_agreement_on_the_target_s_text_is_what_decoding_accepts(kind: str, skip: Skip) -> None:
    """The walk over yeses and noes has the rounds of the real loop; sliding windows too."""
    model = target(kind, layers=5)
    texts = texts_of(model)
    agreed = agreements(thinned(model.hf, skip), texts, winners(model.hf, texts))
    for gamma in (1, 3):
        lanes = [run(model, one.prompt, settings("layer-skip", skip=skip, gamma=gamma, tokens=16)) for one in texts]
        ends = [end for lane in lanes for end in lane.rounds]
        accepted, tested = sum(end.accepted for end in ends), sum(end.tested for end in ends)
        assert acceptance_rate(agreed, gamma) == accepted / tested
        assert committed_length(agreed, gamma) == sum(len(end.tokens) for end in ends) / len(ends)


def test_the_walk_by_hand() -> None:
    agreed = [[True, True, False, True], [False]]
    assert committed_length(agreed, 2) == 5 / 3  # 2 + bonus, the last one alone; the single one alone
    assert acceptance_rate(agreed, 2) == 1.0
    assert committed_length(agreed, 3) == 5 / 3  # a draft at the last place has no room
    assert acceptance_rate(agreed, 3) == 2 / 3
    assert acceptance_rate([[False]], 3) == 0.0


def test_a_speed_up_is_told_for_the_draft_length_that_suits_the_set() -> None:
    always, never = [[True] * 40], [[False] * 40]
    costs = Costs(widths=(1.0,) * 9, fixed=0.0, layer=0.1)
    assert judged((0,), always, costs, 2) == Tried((0,), 1.0, 0.1, 7, pytest.approx(8 / 1.7))
    assert judged((0,), never, costs, 2).gamma == 1


# --- The search


def fake(good: dict[int, float], layers: int = 9) -> Search:
    """α falls with each layer left out, by its own factor."""
    def judge(skip: Skip) -> Tried:
        alpha = 1.0
        for layer in skip:
            alpha *= good.get(layer, 0.5)
        cost = CHEAP.step(layers - len(skip))
        speeds = {g: sum(alpha**i for i in range(g + 1)) / (1 + g * cost) for g in range(1, 9)}
        gamma = max(speeds, key=lambda g: speeds[g])
        return Tried(skip, alpha, cost, gamma, speeds[gamma])

    return Search(layers, judge, lambda: True)


def test_it_finds_the_layers_that_are_not_needed() -> None:
    search = fake({2: 1.0, 3: 1.0, 5: 1.0, 7: 1.0})
    search.run()
    assert search.best.skip == (2, 3, 5, 7)


def test_it_weighs_acceptance_against_cost() -> None:
    search = fake({1: 0.99, 4: 0.97, 6: 0.3, 8: 0.99})
    search.run()
    assert search.best.skip == (1, 4, 8)
    assert search.best.predicted == max(one.predicted for one in search.found.values())


def test_an_early_exit_is_found_where_the_last_layers_are_idle() -> None:
    search = fake(dict.fromkeys(range(2, 9), 1.0))
    search.run()
    assert search.best.skip == (2, 3, 4, 5, 6, 7, 8)


def test_without_time_the_first_set_is_still_tried() -> None:
    search = fake({})
    search.go_on = lambda: False
    search.run(first=[(4,)])
    assert list(search.found) == [(4,)]


def test_an_idle_layer_of_a_real_model_is_found() -> None:
    model = wrap(useless(6, idle=[2, 4]))
    texts = texts_of(model)
    theirs = winners(model.hf, texts)
    costs = Costs(widths=(1.0,) * 9, fixed=0.1, layer=0.15)
    search = Search(6, lambda skip: judged(skip, agreements(thinned(model.hf, skip), texts, theirs), costs, 6),
                    lambda: True)
    search.run()
    assert search.found[2,].alpha == search.found[4,].alpha == search.found[2, 4].alpha == 1
    assert search.best.skip == (2, 4)


def test_costs_are_measured_in_turns() -> None:
    costs = measure(target(layers=6).hf, 6, PROMPT)
    assert len(costs.widths) == 9
    assert min(costs.widths) > 0
    assert costs.fixed >= 0
    assert costs.layer > 0
    assert costs.step(2) < costs.step(6)
    assert costs.round(6, 2) > 1


def test_the_trial_ends_with_the_time_but_not_before_one_prompt() -> None:
    model, seen = target(layers=5), list[int]()
    sets = [Tried((1,), 0.5, 0.8, 2, 1.0), Tried((3,), 0.5, 0.8, 1, 1.0)]
    found = measured(model, sets, [PROMPT, PROMPT, PROMPT], 8, check=lambda: seen.append(1), go_on=lambda: False)
    alone = len(seen)
    assert [one.skip for one in found] == [(1,), (3,)]
    assert all(one.measured and one.measured > 0 for one in found)
    measured(model, sets, [PROMPT] * 3, 8, check=lambda: seen.append(1))
    assert 8 < alone < (len(seen) - alone) / 2


# --- What is kept


def test_what_is_written_is_read() -> None:
    model = target(layers=5)
    assert store.read(model.info) == (None, "")
    path = store.write(calibrated(model), model.info)
    assert store.read(model.info) == (calibrated(model), "")
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(("content", "why"), [
    (b"", "damaged"), (b"{", "damaged"), (b"[]", "damaged"), (b"\xff\xfe", "damaged"), (b"{}", "damaged"),
    (b'{"format": "x"}', "damaged"), (b" " * (1 << 21), "damaged")])
def test_a_corrupt_file_is_ignored_with_a_reason(content: bytes, why: str) -> None:
    model = target(layers=5)
    path = store.place(model.info)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    found, said = store.read(model.info)
    assert found is None
    assert why in said
    one = run(model, PROMPT, settings("layer-skip"))
    assert one.started.settings.drafter.skip == default_skip(5)
    assert "ignored: it is damaged" in one.started.about
    path.unlink()
    path.mkdir()
    assert store.read(model.info)[0] is None
    assert "can't be read" in store.read(model.info)[1]


@pytest.mark.parametrize(("given", "why"), [
    ({"fingerprint": "other"}, "another model"), ({"dtype": "bfloat16"}, "another model"),
    ({"device": "cuda"}, "another model"), ({"layers": 6}, "another model"), ({"format": 2}, "another version"),
    ({"skip": ()}, "doesn't have"), ({"skip": (0, 9)}, "doesn't have"), ({"skip": (2, 1)}, "doesn't have"),
    ({"skip": (0, 1, 2, 3, 4)}, "doesn't have"), ({"skip": (-1, 2)}, "doesn't have"), ({"gamma": 0}, "out of range"),
    ({"gamma": 65}, "out of range")])
def test_a_foreign_file_is_ignored_with_a_reason(given: dict[str, Any], why: str) -> None:
    model = target(layers=5)
    store.write(calibrated(model, **given), model.info)
    found, said = store.read(model.info)
    assert found is None
    assert why in said


def test_each_target_dtype_and_device_has_its_own() -> None:
    info = target().info
    others = [msgspec.structs.replace(info, fingerprint="b/../c"), msgspec.structs.replace(info, dtype="bfloat16"),
              msgspec.structs.replace(info, device="cuda:0")]
    places = [store.place(one) for one in (info, *others)]
    assert len(set(places)) == 4
    assert {one.parent for one in places} == {places[0].parent}
    assert store.place(msgspec.structs.replace(info, device="cuda:1")) == places[3]


def test_a_folder_that_can_t_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPECSCOPE_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="can't be written"):
        store.write(calibrated(target(layers=5)), target(layers=5).info)


# --- In runs


def test_a_run_uses_it_and_its_recording_names_the_layers(tmp_path: Path) -> None:
    """So the recording drafts the same where there is another calibration, or none."""
    model = target(layers=5)
    store.write(calibrated(model), model.info)
    one = run(model, PROMPT, settings("layer-skip", gamma=None))
    named = one.started.settings.drafter
    assert (named.skip, named.gamma, one.started.gamma) == ((0, 2), 5, 5)
    assert "2 of its 5 layers left out, as calibrated: 0, 2" in one.started.about
    assert one.tokens == run(model, PROMPT, settings()).tokens
    with trace.Writer(tmp_path / "run.spectrace") as file:
        for record in one.records:
            file.write(record)
    store.write(calibrated(model, skip=(1, 3)), model.info)
    read = Run(list(trace.read(tmp_path / "run.spectrace")))
    again = branched(model, read, NoChange(round=3))
    assert again.tokens == one.tokens
    assert [end.accepted for end in again.rounds] == [end.accepted for end in one.rounds]
    assert again.started.settings == one.started.settings
    assert "as calibrated" not in again.started.about
    fresh = branched(model, one, OtherSettings(round=2, settings=settings("layer-skip")))
    assert fresh.started.settings.drafter.skip == (1, 3)


def test_what_the_person_asks_for_comes_first() -> None:
    model = target(layers=5)
    store.write(calibrated(model), model.info)
    assert run(model, PROMPT, settings("layer-skip", gamma=2)).started.gamma == 2
    named = run(model, PROMPT, settings("layer-skip", skip=(3,), gamma=None)).started
    assert (named.settings.drafter.skip, named.gamma) == ((3,), 3)
    assert named.about.endswith("1 of its 5 layers left out: 3")


def test_recordings_from_before_there_were_calibrations_repeat() -> None:
    """They don't name the layers: every fifth were left out."""
    model = target(layers=8)
    one = run(model, PROMPT, settings("layer-skip"))
    old = [msgspec.structs.replace(r, settings=settings("layer-skip")) if r is one.started else r for r in one.records]
    store.write(calibrated(model, skip=(1, 2)), model.info)
    again = branched(model, Run(old), NoChange(round=4))
    assert [end.tokens for end in again.rounds] == [end.tokens for end in one.rounds]
    assert [end.accepted for end in again.rounds] == [end.accepted for end in one.rounds]


def test_an_early_exit_leaves_out_all_layers_from_one_on() -> None:
    model = target(layers=5)
    asked = msgspec.structs.replace(settings("layer-skip"), drafter=DrafterSettings(kind="layer-skip", exit_layer=2))
    one = run(model, PROMPT, asked)
    assert one.started.settings.drafter == DrafterSettings(kind="layer-skip", skip=(2, 3, 4))
    assert one.started.about == "the first 2 of the target's 5 layers"
    same(branched(model, one, NoChange(round=3)).records, one.records)
    far = msgspec.structs.replace(asked, drafter=DrafterSettings(kind="layer-skip", exit_layer=5))
    ended = run(model, PROMPT, far).finished
    assert ended.reason == "error"
    assert "choose one of 1 to 4" in ended.message
    assert exit_at(0, 5) == ()
    with pytest.raises(SettingsError, match="both"):
        DrafterSettings(kind="layer-skip", skip=(1,), exit_layer=2)
    with pytest.raises(SettingsError, match="exit-layer"):
        DrafterSettings(kind="layer-skip", exit_layer=-1)


def test_layers_are_spelled_as_a_person_does() -> None:
    assert [spelled(one) for one in ((3,), (3, 4), (3, 4, 5, 9), (0, 2, 3, 5, 6, 7))] == [
        "3", "3, 4", "3–5, 9", "0, 2, 3, 5–7"]


# --- The command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved target two of whose layers are idle; and little work to do."""
    hf = useless(6, idle=[2, 4])
    hf.save_pretrained(tmp_path / "tiny")
    tiny.tokenizer().save_pretrained(tmp_path / "tiny")
    for name, value in (("TEXTS", 3), ("TOKENS", 12), ("TRIALS", 1), ("TRIAL_TOKENS", 12)):
        monkeypatch.setattr(whole, name, value)
    return tmp_path / "tiny"


def test_the_command_from_end_to_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(["calibrate", "--target", str(folder), "--minutes", "0.02", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kept = json.loads(Path(found["path"]).read_text())
    assert tuple(kept["skip"]) == tuple(found["best"]["skip"])
    assert found["best"]["measured"] is not None
    assert found["default"]["measured"] is not None
    assert found["verdict"].startswith("Layer skip ")
    alone = {tuple(one["skip"]): one["alpha"] for one in found["tried"]}
    assert alone.get((2,), 1) == alone.get((4,), 1) == 1
    assert commandline.main(["calibrate", "--target", str(folder), "--minutes", "0"]) == 0
    said = capsys.readouterr().out
    assert "layers left out" in said
    assert "(default)" in said
    assert "Kept in" in said
    assert commandline.main(["record", "--out", str(folder / "run.spectrace"), "--target", str(folder), "--drafter",
                             "layer-skip", "--prompt", "The quick", "--max-new-tokens", "8", "--json"]) == 0
    started = next(r for r in trace.read(folder / "run.spectrace") if hasattr(r, "exactness"))
    again = json.loads(Path(found["path"]).read_text())
    assert started.settings.drafter.skip == tuple(again["skip"])


def test_ctrl_c_keeps_nothing(folder: Path, capsys: pytest.CaptureFixture[str],
                              monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(whole, "measured", interrupted)
    assert commandline.main(["calibrate", "--target", str(folder), "--minutes", "0.02"]) == 130
    assert "nothing was kept" in capsys.readouterr().err
    assert not list((folder.parent / "cache").rglob("*.json"))


def test_what_can_t_be_calibrated_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.save_tiny(tmp_path / "one", "llama", layers=1)
    assert commandline.main(["calibrate", "--target", str(tmp_path / "one"), "--minutes", "0"]) == 2
    assert "one layer" in capsys.readouterr().err
    with pytest.raises(SpecScopeError, match="cancelled"):
        whole.calibrate(target(), minutes=0, cancelled=lambda: True)


@pytest.mark.parametrize("minutes", ["-1", "x", "2000"])
def test_minutes_are_checked_before_anything_is_loaded(minutes: str) -> None:
    with pytest.raises(SystemExit):
        commandline.parse(["calibrate", "--minutes", minutes])


def test_the_table_says_what_was_tried() -> None:
    best, default = Tried((1,), 0.9, 0.6, 3, 1.2, 1.15), Tried((4,), 0.5, 0.6, 1, 0.9, 0.88)
    rest = tuple(Tried((i,), 0.5, 0.6, 1, 0.8) for i in range(5, 30))
    model = target(layers=5)
    costs = Costs(widths=(0.05,) * 9, fixed=0.001, layer=0.002)
    report = whole.Report(calibrated(model, skip=(1,)), costs, (best, *rest, default), default, 3.0)
    lines = command.table(report).splitlines()
    assert lines[2].split() == ["1", "0.90", "0.60", "3", "1.20×", "1.15×"]
    assert lines[-2].startswith("4 (default)")
    assert lines[-1] == "and 14 sets more, predicted below"
    assert whole.verdict(report).startswith("Layer skip pays here: 1.15× without layer 1 of 5")
    slow = whole.Report(calibrated(model, skip=(4,)), costs, (default, *rest), default, 3.0)
    assert not slow.pays
    assert "doesn't pay here" in whole.verdict(slow)
    assert "saves 4.0%" in whole.verdict(slow)
