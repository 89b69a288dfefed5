"""The table of methods, packages that add to it, and docs/drafters.md's example, installed, run and proved."""

from __future__ import annotations

import importlib
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import torch

from app import commandline
from app.options import run_settings
from engine import methods, trace
from engine.debugger.what_if import NoChange, OtherToken
from engine.drafters.base import BY_HAND, RoundDraws
from engine.errors import ModelError, SettingsError
from engine.methods import MAX_GAMMA
from engine.proof.enumeration import enumerate_sequences
from engine.proof.rig import Rig, of_tables
from engine.proof.tables import Case, looked_up, wandering
from engine.records import RunFinished
from engine.sampling import choose
from engine.settings import DrafterSettings, RunSettings
from tests.engine import tiny
from tests.engine.branching import FEW, branched, same
from tests.engine.support import PROMPT, WARM, lanes, run, settings, target

DOCS = Path(__file__).resolve().parents[2] / "docs" / "drafters.md"
Install = Callable[..., None]


def block(language: str) -> str:
    """The one block in this language in the docs."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


def forget() -> None:
    methods._points.cache_clear()
    methods._outside.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution with one module and one entry point where Python finds it."""
    names: list[str] = []

    def put(code: str, kind: str = "odd", module: str = "", value: str = "") -> None:
        module = module or f"odd_drafter_{len(names)}"
        names.append(module)
        (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[{methods.GROUP}]\n{kind} = {value or module}\n", encoding="utf-8")
        forget()

    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield put
    monkeypatch.undo()
    for name in names:
        sys.modules.pop(name, None)
    forget()


@pytest.fixture
def bigram(install: Install) -> None:
    project = tomllib.loads(block("toml"))
    ((kind, module),) = project["project"]["entry-points"][methods.GROUP].items()
    assert project["tool"]["setuptools"]["py-modules"] == [module]
    install(block("python"), kind, module)


# Our own

def test_every_method_of_ours_is_complete() -> None:
    for kind in ("none", "ngram", "layer-skip", "model", "draft", "eagle", "medusa"):
        one = methods.method(kind)
        assert methods.own(kind)
        assert methods.known(kind)
        assert one.kind == kind
        assert one.label
        assert one.guess
        assert one.module.startswith("engine.drafters.")
        assert 0 <= one.gamma <= MAX_GAMMA
        assert (one.gamma == 0) == (kind == "none")
        assert not one.needs_model or one.model
        assert f"`{kind}" in DOCS.read_text(encoding="utf-8"), "docs/drafters.md tells of each"
    assert set(methods.kinds()) >= {"none", "ngram"}


@pytest.mark.parametrize("kind", ["none", "ngram", "layer-skip", "model"])
def test_a_method_s_module_is_imported_when_it_is_used(kind: str) -> None:
    assert callable(methods.maker(kind))


def test_an_unknown_name_says_what_there_is() -> None:
    assert not methods.known("magic")
    for ask in (methods.method, methods.maker):
        with pytest.raises(ModelError, match="'magic'; there are none, ngram, layer-skip"):
            ask("magic")
    with pytest.raises(SettingsError, match="none, ngram, layer-skip"):
        DrafterSettings(kind="magic")
    with pytest.raises(SettingsError, match="drafter is 'ngram:x'"):
        DrafterSettings.parse("ngram:x")


# A package's

def test_the_example_is_short() -> None:
    assert len(block("python").splitlines()) < 60


def test_an_installed_method_is_there_by_name(bigram: None) -> None:
    assert methods.kinds()[-1] == "bigram"
    assert methods.known("bigram")
    assert not methods.own("bigram")
    one = methods.method("bigram")
    assert (one.label, one.guess, one.gamma, one.model) == ("Bigrams", "counts which token followed which", 3, "")
    assert DrafterSettings.parse("bigram").label == "Bigrams"
    assert DrafterSettings.parse("bigram").spell() == "bigram"
    with pytest.raises(SettingsError, match="drafter is 'bigram:x'"):
        DrafterSettings.parse("bigram:x")
    with pytest.raises(SettingsError, match="medusa or bigram"):
        DrafterSettings.parse("trigram")


def test_the_command_line_knows_it(bigram: None, capsys: pytest.CaptureFixture[str]) -> None:
    args = commandline.parse(["compare", "--drafter", "bigram", "ngram"])[1]
    assert [run_settings(args, spelled).drafter.kind for spelled in args.drafter] == ["bigram", "ngram"]
    for command in ("compare", "record", "prove"):
        with pytest.raises(SystemExit):
            commandline.parse([command, "--help"])
        assert "bigram" in capsys.readouterr().out


def test_compare_with_it(bigram: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny.save_tiny(tmp_path / "model", "llama")
    assert commandline.main(["compare", "--target", str(folder), "--drafter", "bigram", "--device", "cpu", "--json",
                             "--max-new-tokens", "40", "--prompt", "The dog runs on and on and on."]) == 0
    plain, ours = json.loads(capsys.readouterr().out)["lanes"]
    assert ours["drafter"] == "bigram"
    assert ours["drafted"] > 0
    assert ours["identical_to_plain"]
    assert ours["tokens"] == plain["tokens"]


def test_the_example_is_lossless_when_greedy(bigram: None) -> None:
    plain, ours, short = lanes(target(), PROMPT, [settings(tokens=60), settings("bigram", tokens=60),
                                                  settings("bigram", gamma=None, tokens=60)])
    assert plain.tokens == ours.tokens == short.tokens
    assert ours.mixed
    assert short.started.gamma == 3
    assert (ours.started.title, ours.started.about) == ("Bigrams", "counts which token followed which")


def test_the_example_s_drafts_are_drawn_from_the_q_that_it_tells(bigram: None) -> None:
    one = run(target(), PROMPT, settings("bigram", tokens=60, sampling=WARM))
    assert one.drafted
    for draft in one.drafted:
        assert draft.draw is not None
        assert draft.q > 0


@dataclass(frozen=True)
class Bigrams(Case):
    """A world in which the example drafts."""

    def rig(self) -> Rig:
        world = RunSettings(sampling=self.sampling, max_new_tokens=self.tokens, drafter=DrafterSettings(kind="ngram"),
                            detail=False)
        made = sys.modules["specscope_bigram"].Bigrams(self.vocabulary, self.sampling.greedy, torch.device("cpu"))
        return of_tables(looked_up(self.p), None, self.vocabulary, self.prompt, world, gamma=self.gamma, drafter=made)


def test_the_example_s_output_is_the_target_s_counted_out(bigram: None) -> None:
    """P(sequence) by enumeration of the real loop, against the product of the target's probabilities."""
    methods.maker("bigram")
    case = Bigrams("bigrams", wandering(3, 3), gamma=2, tokens=3, prompt=(0, 1, 0, 2, 0, 1, 1, 0))
    torch.set_default_dtype(torch.float64)
    try:
        found = enumerate_sequences(case).probabilities
    finally:
        torch.set_default_dtype(torch.float32)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    assert len(found) == 27
    for sequence, mass in found.items():
        expected, context = 1.0, case.prompt
        for token in sequence:
            expected *= float(looked_up(case.p)(context).softmax(0)[token])
            context = (*context, token)
        assert mass == pytest.approx(expected, abs=1e-12), sequence


@pytest.mark.parametrize("sampling", [settings().sampling, FEW], ids=["greedy", "warm"])
def test_a_branch_of_the_example(bigram: None, sampling: object) -> None:
    one = run(target(), PROMPT, settings("bigram", tokens=40, sampling=sampling))  # type: ignore[arg-type]
    same(branched(target(), one, NoChange(round=len(one.rounds) // 2)).records, one.records)
    where = next(r for r in one.rounds if r.drafted > 1)
    changed = branched(target(), one, OtherToken(round=where.round, index=0, token=41))
    first = next(d for d in changed.drafted if d.round == where.round)
    assert (first.token, first.source) == (41, BY_HAND)


@dataclass(frozen=True)
class Chosen(RoundDraws):
    """A person puts a token in the first draft's place."""

    token: int

    def instead(self, index: int) -> int | None:
        return None if index else self.token


@pytest.mark.parametrize(("token", "q"), [(2, [0.0, 0.5, 0.5]), (0, [1.0, 0.0, 0.0])], ids=["drawable", "never drawn"])
@pytest.mark.parametrize("greedy", [True, False])
def test_a_token_by_hand_keeps_the_example_s_q_where_that_gives_it_a_chance(bigram: None, greedy: bool, token: int,
                                                                           q: list[float]) -> None:
    methods.maker("bigram")
    made = sys.modules["specscope_bigram"].Bigrams(3, greedy, torch.device("cpu"))
    draft = next(made.propose((0, 1, 0, 2, 0), 1, Chosen(0, 5, token)))
    assert (draft.token, draft.draw, draft.source) == (token, None, BY_HAND)
    assert draft.q.tolist() == q


# Broken ones

PARTS = {"prefill": "    def prefill(self, tokens): pass\n", "cut": "    def cut(self, length): pass\n",
         "propose": "    def propose(self, tokens, count, draws): return iter(())\n", "slots": "    slots = 0\n",
         "about": "    about = 'odd'\n"}
HEAD = "import torch\nfrom engine.drafters.base import Draft\n"
MAKE = "def make(settings, target, runner, models): return Odd()\n"


def odd(*, head: str = "", without: str = "", **other: str) -> str:
    """The code of a drafter, some of it missing or other."""
    parts = {name: part for name, part in {**PARTS, **other}.items() if name != without}
    return f"{HEAD}{head}class Odd:\n{''.join(parts.values())}{MAKE}"


def proposing(*drafts: str) -> str:
    return odd(propose="    def propose(self, tokens, count, draws):\n" + "".join(
        f"        yield {draft}\n" for draft in drafts))


def failed() -> RunFinished:
    """What ends a lane with the broken drafter, beside a plain one that must not care."""
    plain, lane = lanes(target(), PROMPT, [settings(gamma=None), settings("odd", gamma=None)])
    assert plain.finished.reason == "length"
    assert plain.tokens == run(target(), PROMPT, settings()).tokens
    assert lane.finished.reason == "error", lane.tokens
    assert "odd" in lane.finished.message
    assert "\n" not in lane.finished.message
    assert len(lane.finished.message) < 1000
    msgspec.json.encode(lane.finished)
    return lane.finished


def test_a_sound_one_passes(install: Install) -> None:
    install(odd())
    assert run(target(), PROMPT, settings("odd")).tokens == run(target(), PROMPT, settings()).tokens
    assert methods.method("odd").guess == "as the package's odd does"


BROKEN = [
    ("import nowhere_at_all\n", "can't be loaded: .* failed"),
    ("def make(:\n", "can't be loaded"),
    ("raise SystemError('no')\n", "can't be loaded"),
    ("import sys\nsys.exit(1)\n", "can't be loaded"),  # a script, not a module
    ("x = 1\n", r"has no make\(\)"),
    ("make = 3\n", r"has no make\(\)"),
    (f"gamma = 0\n{odd()}", "its gamma is 0, but a draft length is a whole number from 1 to 64"),
    (f"gamma = 'many'\n{odd()}", "its gamma is 'many'"),
    (f"gamma = 65\n{odd()}", "its gamma is 65"),
    ("def make(settings): return None\n", r"failed in make\(\): TypeError"),
    ("def make(*others): return None\n", r"a NoneType, has no prefill\(\) and no propose\(\)"),
    (odd(without="propose"), r"an? Odd, has no propose\(\);"),
    (odd(without="cut"), r"has no cut\(\);"),
    (odd(without="slots"), "has no slots;"),
    (odd(without="about"), "has no about;"),
    (odd(prefill="    def prefill(self): pass\n"), r"failed in prefill\(\): TypeError"),
    (odd(propose="    def propose(self, tokens, count, draws): return None\n"), r"failed in propose\(\): TypeError"),
    (odd(propose="    def propose(self, tokens, count, draws):\n        yield 1 / 0\n"),
     r"failed in propose\(\): ZeroDivisionError: division by zero"),
    (odd(cut="    def cut(self, length): raise KeyError('x')\n"), r"failed in cut\(\): KeyError"),
    (proposing("7"), "7 is no Draft"),
    (proposing("Draft('a', None)"), "its token is 'a'"),
    (proposing("Draft(True, None)"), "its token is True"),
    (proposing("Draft(99999, None)"), "its token is 99999, but the target has 352"),
    (proposing("Draft(-1, None)"), "its token is -1"),
    (proposing("Draft(torch.tensor([1]), None)"), "1 dimensions"),
    (proposing("Draft(torch.tensor(1.0), None)"), "float32"),
    (proposing("Draft(1, None, parent=-1)"), "part of a tree"),
    (proposing("Draft(1, torch.ones(9))"), "no tensor of 352 probabilities"),
    (proposing("Draft(1, torch.ones(352))"), "is no distribution"),
    (proposing("Draft(1, torch.full((352,), float('nan')))"), "is no distribution"),
    (proposing("Draft(1, torch.eye(352)[2])"), "gives token 1 no chance"),
    (proposing("Draft(1, None)", "Draft(1, torch.eye(352)[1])"), "some drafts of a round have a q"),
    (proposing("Draft(1, torch.eye(352)[1].to_sparse())"), "no tensor of 352 probabilities"),
    (proposing("Draft(1, torch.ones(352, device='meta'))"), "no tensor of 352 probabilities"),
    (proposing("Draft(torch.tensor(7, device='meta'), None)"), "not one int64 with a value"),
    (proposing("Draft(10 ** 5000, None)"), "its token is of the type int, but the target has 352"),
    (proposing("'x' * 5_000_000"), "'xxx.* is no Draft"),
    (proposing("Draft(1, None, torch.tensor(0.5))"), r"its draw is tensor\(0.5000\), not a number from 0 to below 1"),
    (proposing("Draft(1, None, float('nan'))"), "its draw is nan"),
    (proposing("Draft(1, None, 1.0)"), "its draw is 1.0"),
    (proposing("Draft(1, None, -0.1)"), "its draw is -0.1"),
    (proposing("Draft(1, None, True)"), "its draw is True"),
    (proposing("Draft(1, None, 'half')"), "its draw is 'half'"),
    (proposing("Draft(1, None, 0.5, None)"), "its source is None, not a text"),
    (proposing("Draft(1, None, 0.5, b'x')"), "its source is b'x'"),
    (proposing("Draft(1, None, 0.5, ['x' * 5_000_000])"), r"its source is \['xxx"),
    (proposing("exec('raise SystemExit(3)')"), r"failed in propose\(\): SystemExit: 3"),
    (proposing("exec('raise GeneratorExit')"), r"failed in propose\(\): GeneratorExit"),
    (proposing("exec('raise ValueError(\\'x\\' * 5_000_000)')"), r"failed in propose\(\): ValueError: xxx"),
    (proposing("exec('raise ValueError(\\'\\\\ud800 \\\\n \\\\n more\\')')"), r"propose\(\): ValueError: \? more"),
    (odd(head="class Mute(Exception):\n    def __str__(self): return 1 / 0\n",
         prefill="    def prefill(self, tokens): raise Mute\n"), r"prefill\(\): Mute: its message can't be read, Zero"),
    (odd(about="    about = property(lambda self: 1 / 0)\n"), "odd failed in about: ZeroDivisionError"),
    (odd(about="    about = b'zz'\n"), "its about is b'zz', not a line of text"),
    (odd(slots="    slots = property(lambda self: 1 / 0)\n"), "odd failed in slots: ZeroDivisionError"),
    (odd(slots="    slots = None\n"), "odd failed in slots: TypeError"),
    (odd(slots="    slots = float('inf')\n"), "odd failed in slots: TypeError"),
    (odd(slots="    slots = -5\n"), "it uses -5 slots"),
    (odd(slots="    slots = 2 ** 70\n"), r"it uses \d+ slots, but there are \d+ tokens"),
]
"""The code, and what its lane says."""


@pytest.mark.parametrize(("code", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_a_broken_one_ends_its_lane_in_words(install: Install, code: str, said: str) -> None:
    install(code)
    assert re.search(said, failed().message)


def test_one_that_proposes_too_much_or_spoils_its_tokens_does_no_harm(install: Install) -> None:
    install(odd(propose="    def propose(self, tokens, count, draws):\n        list(tokens).clear()\n"
                        "        while True: yield Draft(5, None)\n"))
    one = run(target(), PROMPT, settings("odd", tokens=20))
    assert one.tokens == run(target(), PROMPT, settings(tokens=20)).tokens
    assert max(r.drafted for r in one.rounds) == 4


def test_a_q_that_is_written_again_was_copied(install: Install) -> None:
    """Drafts that are judged after the round's last one."""
    code = """    def propose(self, tokens, count, draws):
        for i in range(count):
            q = torch.full((352,), 1 / 352)
            token = torch.tensor(7)
            yield Draft(token, q, 0.5)
            {then}
"""
    install(odd(propose=code.format(then="q[:], token[()] = float('nan'), 400")), kind="odd")
    install(odd(propose=code.format(then="pass")), kind="even")
    spoilt, sound = lanes(target(), PROMPT, [settings("odd", sampling=WARM), settings("even", sampling=WARM)])
    assert spoilt.finished.reason == "length", spoilt.finished.message
    assert spoilt.tokens == sound.tokens
    assert [(d.token, d.q) for d in spoilt.drafted] == [(d.token, d.q) for d in sound.drafted]


def test_what_a_package_says_is_made_fit_for_a_trace(install: Install, tmp_path: Path) -> None:
    """Numbers of numpy too."""
    install(odd(head="import numpy\n", about="    about = 'x' * 2_000_000\n", slots="    slots = True\n",
                propose="    def propose(self, tokens, count, draws):\n"
                        "        yield Draft(5, None, numpy.float32(0.5), '\\ud800' + 'y' * 2_000_000)\n"))
    one = run(target(), PROMPT, settings("odd"))
    assert one.finished.reason == "length", one.finished.message
    assert (one.started.about[:3], len(one.started.about)) == ("xxx", 300)
    assert {(type(d.draw), d.draw, d.source[:3], len(d.source)) for d in one.drafted} == {(float, 0.5, "?yy", 300)}
    with trace.Writer(tmp_path / "it.spectrace") as writer:
        for record in one.records:
            writer.write(record)
    assert len(list(trace.read(tmp_path / "it.spectrace"))) == len(one.records)


def test_an_object_in_a_module_may_be_the_method(install: Install) -> None:
    install(odd() + "class Way:\n    label = 'By object'\n    make = staticmethod(make)\n", module="holder",
            value="holder:Way")
    assert methods.method("odd").label == "By object"
    assert run(target(), PROMPT, settings("odd", tokens=5)).finished.reason == "length"


def test_our_names_can_t_be_taken(install: Install) -> None:
    install("raise SystemError('taken')\n", kind="ngram")
    assert methods.kinds().count("ngram") == 1
    assert methods.method("ngram").module == "engine.drafters.ngram"
    assert callable(methods.maker("ngram"))


def test_a_method_that_has_gone_is_refused_by_name(install: Install) -> None:
    install(odd())
    one = settings("odd")
    forget()
    methods._points()
    assert methods.known("odd")
    sys.path.pop(0)
    forget()
    assert not methods.known("odd")
    lane = run(target(), PROMPT, one)
    assert lane.finished.reason == "error"
    assert "No way to draft is called 'odd'" in lane.finished.message


def test_choosing_is_what_the_docs_say() -> None:
    q = torch.tensor([0.25, 0.5, 0.25])
    assert [int(choose(q, u)) for u in (0.0, 0.49, 0.5, 0.8)] == [1, 1, 0, 2]
