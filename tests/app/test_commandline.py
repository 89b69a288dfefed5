"""The command line's contract: light help, one plain sentence for every fault, no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app import commandline, mishaps
from app.options import DEFAULT_PROMPT, prompt_text, run_settings
from engine.drafters import checkpoint
from engine.errors import SpecScopeError
from engine.settings import DrafterSettings

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "PySide6", "transformers", "numpy", "pyqtgraph")
IMPORTED = f"""
import json, sys
from app.commandline import main
try:
    status = main(sys.argv[1:])
except SystemExit as leaving:
    status = leaving.code
print(json.dumps([status, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def run(*arguments: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code] if code else [sys.executable, "main.py"]
    return subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", [
    ["--help"], ["fetch", "--help"], ["record", "--help"], ["compare", "--help"], ["--version"],
    ["record"], ["compare", "--gamma", "x"], ["paint"], ["--theme", "pink"], ["--size", "12"]])
def test_help_and_bad_arguments_touch_nothing_heavy(arguments: list[str]) -> None:
    done = run(*arguments, code=IMPORTED)
    status, heavy = json.loads(done.stdout.splitlines()[-1])
    assert heavy == []
    asked = bool({"--help", "--version"} & set(arguments))
    assert status == (0 if asked else 2)
    if not asked:
        assert len(done.stderr.splitlines()) == 1
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [
    ["record", "--out", "x.spectrace", "--temperature", "-1"],
    ["record", "--out", "x.spectrace", "--temperature", "nan"],
    ["record", "--out", "x.spectrace", "--drafter", "magic"],
    ["record", "--out", "x.spectrace", "--drafter", "model:"],
    ["record", "--out", "x.spectrace", "--seed", "-1"],
    ["compare", "--gamma", "65"],
    ["compare", "--drafter", "ngram", "--top-p", "0"],
    ["compare", "--prompt-file", "/nowhere/at/all"],
    ["record", "--out", "x.spectrace", "--drafter", "ngram", "--lookup-text", "/nowhere/at/all"],
    ["compare", "--lookup-text", "/dev/zero"],
    ["record", "--out", "x.spectrace", "--drafter", "ngram", "--tree", "top"],
    ["record", "--out", "x.spectrace", "--drafter", "eagle:/nowhere/at/all"],
    ["prove", "--drafter", "medusa:~/nowhere/at/all"],
    ["compare", "--stop", ""]])
def test_values_out_of_range_end_in_a_sentence(arguments: list[str], capfd: pytest.CaptureFixture[str],
                                               tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert commandline.main(arguments) == 2
    said = capfd.readouterr().err
    assert len(said.splitlines()) == 1
    assert said.endswith(".\n")
    assert list(tmp_path.glob("*.spectrace")) == []


@pytest.mark.parametrize(("arguments", "why"), [
    (["--drafter", "eagle:/no/such/folder"], "/no/such/folder is neither a folder nor a hub id, so no eagle drafter"),
    (["--drafter", "ngram", "draft:./none"], "./none is neither a folder nor a hub id"),
    (["--drafter", "ngram", "--tree", "top"], "tree is 'top', but ngram drafts no trees"),
    (["--tree", "sampled"], "ngram and layer-skip draft no trees")])
def test_what_no_target_could_mend_is_refused_before_anything_is_loaded(arguments: list[str], why: str) -> None:
    done = run("compare", *arguments, code=IMPORTED)
    assert json.loads(done.stdout.splitlines()[-1]) == [2, []]
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_may_still_be_had_is_not_refused(tmp_path: Path) -> None:
    for drafters in (["eagle", "ngram"], ["eagle:some/heads", "medusa"], [f"draft:{tmp_path}", "eagle"]):
        commandline.refuse_early(commandline.parse(["compare", "--tree", "top", "--drafter", *drafters])[1])


@pytest.mark.parametrize("source", ["a/b", "./a", "../b", "~/a", "/a", "/a/b", "a", "a/b/c", "."])
def test_a_folder_is_told_from_a_hub_id_as_the_engine_does(source: str) -> None:
    assert commandline._may_be_there(source) == (checkpoint.on_hub(source) or Path(source).expanduser().is_dir())


def test_help_says_what_is_answered_and_what_may_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        commandline.parse(["compare", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert f"({DEFAULT_PROMPT})" in said
    assert "draft:ID, eagle:ID, medusa:ID" in said


def test_every_option_of_a_command_is_in_the_docs() -> None:
    told = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    for name in commandline.COMMANDS:
        for action in commandline._command_parser(name)._actions:
            for option in action.option_strings:
                assert option == "-h" or f"`{option}" in told, f"{name} {option}"


def test_every_option_reaches_the_settings() -> None:
    command, args = commandline.parse([
        "compare", "--drafter", "ngram", "layer-skip", "--drafter", "model:a/b", "--gamma", "5", "--temperature", "0.7",
        "--top-k", "40", "--top-p", "0.9", "--min-p", "0.05", "--repetition-penalty", "1.1", "--seed", "3",
        "--max-new-tokens", "9", "--stop", "END", "--stop", "\n\n", "--exact", "--min-n", "2", "--max-n", "5",
        "--match", "earliest", "--skip", "3,4", "--raw", "--json"])
    assert command == "compare"
    assert args.drafter == ["ngram", "layer-skip", "model:a/b"]
    assert (args.target, args.chat, args.json, args.device, args.dtype) == ("builtin", False, True, "auto", "auto")
    first, second, third = (run_settings(args, spelled) for spelled in args.drafter)
    assert first.drafter == DrafterSettings(kind="ngram", gamma=5, min_n=2, max_n=5, match="earliest")
    assert second.drafter == DrafterSettings(kind="layer-skip", gamma=5, skip=(3, 4))
    assert third.drafter == DrafterSettings(kind="model", gamma=5, model="a/b")
    assert (first.sampling.temperature, first.sampling.top_k, first.sampling.top_p) == (0.7, 40, 0.9)
    assert (first.sampling.min_p, first.sampling.repetition_penalty) == (0.05, 1.1)
    assert (first.seed, first.max_new_tokens, first.stop, first.exact) == (3, 9, ("END", "\n\n"), True)


def test_defaults() -> None:
    assert commandline.parse([])[0] == "window"
    assert commandline.parse(["compare"])[1].drafter == ["ngram", "layer-skip"]
    args = commandline.parse(["record", "--out", "x"])[1]
    assert (args.drafter, args.chat, args.gamma, args.prompt) == ("none", None, None, None)
    assert run_settings(args, args.drafter) == run_settings(args, "none")


def test_texts_to_look_up_in(tmp_path: Path) -> None:
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for file in files:
        file.write_text(f"In {file.name}.")
    args = commandline.parse(["compare", *(part for file in files for part in ("--lookup-text", str(file)))])[1]
    looking, skipping = (run_settings(args, spelled).drafter for spelled in args.drafter)
    assert [text.path for text in looking.texts] == [str(file) for file in files]
    assert looking.texts[0].digest != looking.texts[1].digest
    assert skipping.texts == ()


def test_prompts_from_files(tmp_path: Path) -> None:
    args = commandline.parse(["record", "--out", "x", "--prompt-file", str(tmp_path / "p")])[1]
    (tmp_path / "p").write_bytes("中文 ✅".encode())
    assert prompt_text(args) == "中文 ✅"
    (tmp_path / "p").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecScopeError, match="not UTF-8"):
        prompt_text(args)
    args.prompt_file = "zero\0byte"
    with pytest.raises(SpecScopeError, match="can't be read"):
        prompt_text(args)


def test_bytes_that_are_no_text(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        commandline.main(["record", "--out", "x", "--prompt", "a\udcff"])
    assert leaving.value.code == 2
    assert "not valid UTF-8" in capfd.readouterr().err


def test_what_nobody_foresaw(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def broken(command: str, args: object) -> int:
        raise ZeroDivisionError("seven\nlines")

    monkeypatch.setattr(commandline, "_open", broken)
    assert commandline.main(["fetch"]) == 2
    said = capfd.readouterr().err
    assert said.splitlines() == [said.strip()]
    assert "ZeroDivisionError: seven lines" in said
    assert "ZeroDivisionError" in mishaps.log_path().read_text()
    assert str(mishaps.log_path()) in said


def test_interrupted_quietly(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupt(command: str, args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(commandline, "_open", interrupt)
    assert commandline.main(["fetch"]) == 130
    assert capfd.readouterr().err == ""


def test_no_display(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert commandline.main([]) == 2
    assert "no display" in capfd.readouterr().err
    monkeypatch.setenv("DISPLAY", ":987")
    assert commandline.main([]) == 2
    said = capfd.readouterr().err
    assert "doesn't answer" in said or "library is missing" in said


@pytest.mark.parametrize("content", [None, b"no header", b""])
def test_a_picture_of_a_recording_that_cannot_be_played(tmp_path: Path, content: bytes | None) -> None:
    file, picture = tmp_path / "race.spectrace", tmp_path / "race.png"
    if content is not None:
        file.write_bytes(content)
    done = run("--trace", str(file), "--screenshot", str(picture))
    assert done.returncode == 2
    assert "race.spectrace" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not picture.exists()
