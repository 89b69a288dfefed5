"""Answers that ship for a target."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.models import Model
from engine.training import shipped
from engine.training.answers import Answer
from tests.engine.support import target

SOME = [Answer("chat", (1, 2), 0.0, (3, 4, 5)), Answer("code", (9,), 0.7, ())]


def test_they_come_back_for_their_own_target_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "PATH", tmp_path / "answers.jsonl.zst")
    model = target()
    assert shipped.shipped(model) == []
    shipped.write(shipped.PATH, model, SOME)
    assert shipped.shipped(model) == SOME
    other = msgspec.structs.replace(model.info, fingerprint="other")
    assert shipped.shipped(Model(hf=model.hf, tokenizer=model.tokenizer, info=other, table=model.table,
                                 texts=model.texts, eos=model.eos)) == []
