"""What is remembered comes back; what is broken is set aside."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from app.settings import Settings
from app.setup import Setup
from engine.settings import DrafterSettings, Sampling

FULL = Setup(
    target="owner/name", revision="v1", dtype="float32", device="cuda:1", gamma=7,
    prompt="Zeile\n\"zwei\" ✅ 中文; a=b", chat=False,
    sampling=Sampling(temperature=0.8, top_k=40, top_p=0.9, min_p=0.05, repetition_penalty=1.1),
    seed=2**63, max_new_tokens=99, stop=("END", "\n\n"), exact=True,
    drafters=(DrafterSettings(kind="ngram", gamma=3, min_n=2, max_n=5, match="earliest"),
              DrafterSettings(kind="layer-skip", skip=(1, 2)), DrafterSettings(kind="model", model="a/b")))


def test_round_trip(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    settings.put_setup(FULL)
    settings.put("view/theme", "light")
    settings.put("view/ghosts", False)
    settings.put("window/geometry", QByteArray(b"\x00\x01geometry"))
    settings.save()
    again = Settings(tmp_path)
    assert again.setup() == FULL
    assert again.text("view/theme") == "light"
    assert again.flag("view/ghosts", True) is False
    assert again.state("window/geometry") == QByteArray(b"\x00\x01geometry")
    assert again.notice == ""


def test_first_start(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    assert settings.setup() is None
    assert settings.flag("x", True) is True
    assert settings.state("y").isEmpty()


@pytest.mark.parametrize("content", [
    b"\x00\xff\xfe broken \x80", b"[form\nsetup=", b"=\n=\n[[]]", b"A" * 100_000, b"[form]\nsetup=@ByteArray(\x80)\n"])
def test_broken_files_never_hurt(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "specscope.ini").write_bytes(content)
    settings = Settings(tmp_path)
    assert settings.setup() is None
    settings.put("view/theme", "light")
    settings.save()
    assert Settings(tmp_path).text("view/theme") == "light"


@pytest.mark.parametrize("value", [
    "{", "[]", '{"seed": -1}', '{"sampling": {"temperature": "hot"}}', '{"drafters": [{"kind": "magic"}]}',
    '{"drafters": [{"kind": "ngram", "min_n": 9, "max_n": 2}]}', "[" * 5000])
def test_a_form_that_cannot_be_understood(tmp_path: Path, value: str) -> None:
    settings = Settings(tmp_path)
    settings.put("form/setup", value)
    assert settings.setup() is None
    assert "defaults" in settings.notice


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    settings = Settings(tmp_path / "file")
    assert "can't be kept" in settings.notice
    settings.put("view/theme", "light")
    settings.save()
