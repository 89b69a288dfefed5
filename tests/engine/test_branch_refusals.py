"""What can't be branched is refused in words; faults while restoring are noticed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from engine import kept_caches
from engine.branch import branch
from engine.debugger.what_if import AnyChange, Forced, NoChange, OtherDraw, OtherSettings, OtherToken
from engine.drafters.model import ModelDrafter
from engine.errors import CacheError, Cancelled, ModelError
from engine.models import Model
from engine.past import ReplayError
from engine.records import RunStarted
from engine.runner import Runner
from tests.engine.branching import FEW, branched, half, history, same
from tests.engine.support import PROMPT, VOCABULARY, Run, run, settings, target, wrap
from tests.engine.test_decode import twins


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    kept_caches._kept.clear()


def refusal(model: Model, one: Run, change: AnyChange, models: Mapping[str, Model] | None = None) -> str:
    with pytest.raises(ReplayError) as found:
        branch(model, one.records, change, run="r", lane="b", models=models)
    return str(found.value)


def edited(one: Run, **fields: Any) -> Run:
    return Run([msgspec.structs.replace(r, **fields) if isinstance(r, RunStarted) else r for r in one.records])


def test_what_does_not_fit_is_refused_in_words() -> None:
    model = target()
    one = run(model, PROMPT, settings("ngram", sampling=FEW, tokens=20))
    now, rounds = history(one).round(0), len(one.rounds)
    assert "1 to" in refusal(model, one, NoChange(round=rounds + 1))
    assert "1 to" in refusal(model, one, NoChange(round=-1))
    assert f"has {now.k} so far" in refusal(model, one, Forced(round=0, index=now.k, accept=True))
    assert "so far" in refusal(model, one, OtherToken(round=0, index=-1, token=3))
    assert "so far" in refusal(model, one, OtherDraw(round=0, purpose="final", index=now.k + 1, value=0.5))
    assert "has 0 drafts so far" in refusal(model, one, OtherDraw(round=rounds, purpose="final", index=0, value=0.5))
    for value in (1.0, -0.1, float("nan"), float("inf")):
        assert "less than 1" in refusal(model, one, OtherDraw(round=0, purpose="accept", index=0, value=value))
    assert "was not drawn" in refusal(model, one, OtherDraw(round=0, purpose="draft", index=0, value=0.5))
    for token in (-1, VOCABULARY):
        assert f"0 to {VOCABULARY - 1}" in refusal(model, one, OtherToken(round=0, index=0, token=token))
    allowed = OtherSettings(round=5, settings=settings("ngram", tokens=3))
    assert "allow at most 3" in refusal(model, one, allowed)
    text = "".join(text for r in one.rounds[:4] for text in r.texts)
    stopping = OtherSettings(round=5, settings=settings("ngram", tokens=30, stop=(text[2:4],)))
    assert "stop text" in refusal(model, one, stopping)
    greedy = run(model, PROMPT, settings("ngram", tokens=20))
    assert "Greedy decoding makes no draws" in refusal(
        model, greedy, OtherDraw(round=0, purpose="accept", index=0, value=0.5))
    assert "has not begun" in refusal(model, Run([]), NoChange(round=0))
    assert "prompt yet" in refusal(model, Run(one.records[:2]), NoChange(round=0))


def test_another_target_is_refused_in_words() -> None:
    one, no = run(target(), PROMPT, settings("model:twin"), models=twins("llama")), NoChange(round=1)
    assert "the same name but other weights" in refusal(
        target(), edited(one, target=msgspec.structs.replace(one.started.target, fingerprint="other")), no)
    assert "is elsewhere" in refusal(wrap(target().hf, name="elsewhere"), one, no)
    assert "load it in float32" in refusal(half(), one, no)
    assert "load it on cuda:0" in refusal(
        target(), edited(one, target=msgspec.structs.replace(one.started.target, device="cuda:0")), no)
    assert "prompt and target" in refusal(target(), edited(one, unknown=("seconds", "target", "prompt")), no)
    with pytest.raises(ModelError, match="twin has not been loaded"):
        branch(target(), one.records, no, run="r", lane="b")
    list(branch(target(), edited(one, unknown=("seconds",)).records, no, run="r", lane="b", models=twins("llama")))


def test_a_branch_s_copied_or_changed_rounds_belong_to_the_original() -> None:
    one = run(target(), PROMPT, settings("ngram", sampling=FEW, tokens=20))
    changed = branched(target(), one, OtherDraw(round=2, purpose="final", index=0, value=0.5))
    assert "is a copy; branch off the lane it comes from (0)" in refusal(target(), changed, NoChange(round=1))
    assert "was changed" in refusal(target(), changed, NoChange(round=2)).replace("is the one that was", "was")
    same(branched(target(), changed, NoChange(round=3)).records[2:], changed.records[2:])


def test_a_cache_that_was_not_restored_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = run(target(), PROMPT, settings("model:other", tokens=40), models=twins("llama"))
    monkeypatch.setattr(ModelDrafter, "resume", lambda self, tokens, width: None)
    with pytest.raises(CacheError, match="drafter's cache"):
        branched(target(), one, NoChange(round=4), twins("llama"))
    monkeypatch.undo()
    forward = Runner.forward
    monkeypatch.setattr(Runner, "forward",
                        lambda self, tokens, **how: forward(self, [t * 0 + 5 for t in tokens], **how))
    with pytest.raises(CacheError, match="of the target's cache holds id"):
        branched(target(), one, NoChange(round=4), twins("llama"))


def test_it_can_be_called_off() -> None:
    one = run(target(), PROMPT, settings("ngram", tokens=20))
    with pytest.raises(Cancelled):
        branched(target(), one, NoChange(round=3), cancelled=lambda: True)


def test_errors_in_its_own_rounds_are_its_last_record(monkeypatch: pytest.MonkeyPatch) -> None:
    one = run(target(), PROMPT, settings("ngram", tokens=20))
    live = branch(target(), one.records, NoChange(round=3), run="r", lane="b")
    first = next(live)
    forward = Runner.forward
    monkeypatch.setattr(Runner, "forward", lambda self, tokens, **how: forward(self, tokens) * float("nan"))
    failed = Run([first, *live])
    assert failed.finished.reason == "error"
    assert "NaN" in failed.finished.message
    assert len(failed.rounds) == 3
