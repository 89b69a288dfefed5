"""Making drafters: the data, the losses against what really happens while drafting, and the whole way on a tiny model.
"""

from __future__ import annotations

import copy
import errno
import json
import math
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from app import commandline
from engine.drafters import eagle, medusa
from engine.drafters.base import RoundDraws
from engine.drafters.eagle_checkpoint import Eagle
from engine.drafters.medusa_heads import MedusaHeads
from engine.errors import Cancelled, MismatchError, ModelError
from engine.features import NORMED
from engine.models import Model
from engine.models.progress import Reporter
from engine.runner import Runner
from engine.settings import DrafterSettings, RunSettings, Sampling
from engine.training import answers as making
from engine.training import medusa as training_medusa
from engine.training import package
from engine.training import recipe as recipes
from engine.training import train as training
from engine.training.answers import Answer, Task, answers, read, write
from engine.training.asked import LONGEST, MARK, SHORTEST, asked, frame, keep
from engine.training.batches import TrainingBatch, batches, collate, pieces
from engine.training.dataset import Dataset, Sample, depths_for, extend
from engine.training.eagle import ChainAttention
from engine.training.fit import KEPT, Fit, Plan
from engine.training.measured import Measured
from engine.training.recipe import METHODS, recipe
from engine.training.teacher import SPREAD, Teacher, coverage, draft_vocabulary, head_loss
from engine.training.train import Options, is_kept_back, train, workplace
from tests.engine import tiny
from tests.engine.support import VOCABULARY, lanes, target, wrap

DEPTHS = depths_for(3)
IDS = torch.arange(0, VOCABULARY, 2)


def some_answers(count: int = 6) -> list[Answer]:
    chance = random.Random(4)
    return [Answer("chat", tuple(chance.randrange(VOCABULARY) for _ in range(chance.randrange(2, 7))), 0.0,
                   tuple(chance.randrange(VOCABULARY) for _ in range(chance.randrange(3, 12)))) for _ in range(count)]


def dataset(folder: Path, count: int = 6) -> Dataset:
    extend(folder, target(), some_answers(count), DEPTHS)
    return Dataset(folder, len(DEPTHS) * 32)


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_a_batch_answers_as_single_runs_do(rows: int) -> None:
    """Rows begin and end on their own; a greedy answer is the one that the sequence alone would give."""
    model = wrap(target().hf, eos=frozenset({3, 50}))
    chance = random.Random(1)
    tasks = [Task("chat", tuple(chance.randrange(VOCABULARY) for _ in range(chance.randrange(1, 30))), 0.0)
             for _ in range(9)]
    found = list(answers(model, tasks, max_new_tokens=20, rows=rows))
    assert sorted(a.prompt for a in found) == sorted(t.prompt for t in tasks)
    for answer in found:
        (alone,) = lanes(model, answer.prompt, [RunSettings(max_new_tokens=20)])
        assert list(answer.tokens) == alone.tokens


def test_warm_answers_vary_and_repeat_by_seed() -> None:
    tasks = [Task("chat", (5, 9, 7), 1.0)] * 6
    one, again, other = ([a.tokens for a in answers(target(), tasks, max_new_tokens=8, seed=seed)]
                         for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) > 1


def test_sampling_follows_the_distribution() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, -50.0]]).repeat(20_000, 1)
    found = making.sample(logits, torch.full((20_000,), 1.0), torch.Generator().manual_seed(0))
    share = torch.bincount(found, minlength=4) / 20_000
    assert torch.allclose(share, logits[0].softmax(-1), atol=0.02)
    assert making.sample(logits, torch.zeros(20_000), torch.Generator()).eq(2).all()


def test_answers_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    wanted = some_answers(3)
    list(write(path, iter(wanted)))
    with path.open("a") as file:
        file.write('{"kind":"chat","prompt":[1,2')
    assert read(path) == wanted
    list(write(path, iter(some_answers(5)[3:])))
    assert read(path) == some_answers(5)


def test_features_are_what_a_run_has(tmp_path: Path) -> None:
    """The rows beside each token are the hidden states that a runner keeps for a drafter, up to bfloat16."""
    data = dataset(tmp_path)
    for sample in data.sequences:
        runner = Runner(target().hf)
        runner.tap(DEPTHS)
        runner.forward(list(sample.tokens))
        assert runner.features is not None
        kept = data.features[sample.at : sample.at + len(sample.tokens)].float()
        assert torch.allclose(kept, runner.features.rows(0, len(sample.tokens)), rtol=0.02, atol=0.02)


def test_features_go_on_where_they_stopped(tmp_path: Path) -> None:
    dataset(tmp_path, 4)
    with (tmp_path / "features.bin").open("ab") as file:
        file.write(b"left by a killed run")
    with (tmp_path / "index.jsonl").open("a") as file:
        file.write('{"kind":"chat"')
    whole = dataset(tmp_path / "whole")
    again = dataset(tmp_path, 6)
    assert again.sequences == whole.sequences
    assert torch.equal(again.features, whole.features)


def test_an_epoch_has_every_sample_once(tmp_path: Path) -> None:
    samples = dataset(tmp_path, 40).sequences
    seen = [s for batch in batches(samples, 60, 1) for s in batch]
    assert sorted(s.at for s in seen) == sorted(s.at for s in samples)
    assert [s.at for s in seen] != [s.at for b in batches(samples, 60, 2) for s in b]
    assert all(len(b) == 1 or len(b) * max(len(s.tokens) for s in b) <= 60 for b in batches(samples, 60, 1))


@pytest.mark.parametrize("length", [4, 8, 40])
def test_pieces_have_every_place_of_an_answer_once(length: int, tmp_path: Path) -> None:
    data, ahead = dataset(tmp_path, 20), 2
    cut = pieces(data.sequences, length, ahead, 1)
    learned = [s.at + place for s in cut for place in range(len(s.tokens) - ahead) if place + ahead >= s.begin]
    assert sorted(learned) == [s.at + place for s in data.sequences
                               for place in range(max(0, s.begin - ahead), len(s.tokens) - ahead)]
    assert all(0 < len(s.tokens) <= length for s in cut)
    whole = torch.zeros(len(data.features), dtype=torch.int64)
    for s in data.sequences:
        whole[s.at : s.at + len(s.tokens)] = torch.tensor(s.tokens)
    assert all(s.tokens == tuple(whole[s.at : s.at + len(s.tokens)].tolist()) for s in cut)
    assert cut != pieces(data.sequences, length, ahead, 2)


def test_the_draft_vocabulary_holds_what_answers_use() -> None:
    samples = [Sample("chat", 0.0, 2, (300, 301, 9, 9, 9, 20, 20, 31), 0)]
    ids = draft_vocabulary(samples, 2, VOCABULARY)
    assert ids.tolist() == [9, 20]
    assert coverage(samples, ids) == pytest.approx(5 / 6)
    assert draft_vocabulary(samples, 6, VOCABULARY).tolist() == [0, 1, 2, 9, 20, 31]


def test_the_heads_loss_and_its_gradient() -> None:
    """Half cross entropy, half the probability that a draft is accepted, as autograd finds them over whole logits."""
    torch.manual_seed(0)
    hidden = torch.randn(700, 16, requires_grad=True)
    head, p = torch.randn(40, 16), torch.randn(700, 40).softmax(-1)
    loss = head_loss(hidden, head, p)
    (gradient,) = torch.autograd.grad(3 * loss, hidden)
    log_q = torch.log_softmax(hidden @ head.T, -1)
    overlap = torch.minimum(p, log_q.exp()).sum(-1)
    plain = (-SPREAD * (p * log_q).sum(-1) - (1 - SPREAD) * overlap.log()).mean()
    (expected,) = torch.autograd.grad(3 * plain, hidden)
    assert torch.allclose(loss, plain, atol=1e-5)
    assert torch.allclose(gradient, expected, atol=1e-6)


def test_the_teacher_is_the_target(tmp_path: Path) -> None:
    """p of a position is the target's own, over the draft vocabulary."""
    data = dataset(tmp_path)
    sample = data.sequences[0]
    rows = data.features[sample.at : sample.at + len(sample.tokens), -32:].float()
    logits = Runner(target().hf).forward(list(sample.tokens))[:, IDS]
    assert DEPTHS[-1] == NORMED
    assert torch.allclose(Teacher(target().hf, IDS).distribution(rows), logits.softmax(-1), atol=0.02)


class Told(RoundDraws):
    """Drafts are those of a text."""

    text: tuple[int, ...] = ()

    def instead(self, index: int) -> int | None:
        return self.text[self.start + index]


def test_a_trained_depth_is_a_drafting_step() -> None:
    """What the loss computes for depth j at a position is what the drafter computes for its draft j there."""
    model = target()
    made = recipe("eagle", model, IDS, DEPTHS)
    torch.manual_seed(1)
    head = made.module
    with torch.no_grad():
        for p in head.parameters():
            if p.ndim == 2:
                p.normal_(0, 0.3)
    chance = random.Random(2)
    text = tuple(chance.randrange(VOCABULARY) for _ in range(24))
    runner = Runner(model.hf)
    features = runner.tap(DEPTHS)
    runner.forward(list(text))
    teacher = Teacher(model.hf, IDS)
    place = torch.arange(len(text) - 2)[None]
    hidden = head.fuse(features.rows(0, len(text) - 2)[None])  # type: ignore[operator]
    embeds = teacher.embed(torch.tensor(text[1:-1])[None])
    attend, trained = ChainAttention(len(text) - 2, place.device), []
    with torch.no_grad():
        for _ in range(4):
            hidden = head(hidden, embeds, place, attend)
            trained.append(torch.nn.functional.linear(head.norm(hidden), teacher.head)[0].softmax(-1))  # type: ignore[operator]
            hidden = torch.nn.functional.pad(hidden, (0, 0, 1, 0))[:, :-1]
    head.lm_head = torch.nn.Linear(32, len(IDS), bias=False)
    head.lm_head.weight = torch.nn.Parameter(teacher.head, requires_grad=False)
    head.d2t.copy_(IDS - torch.arange(len(IDS)))  # type: ignore[operator]
    asked = RunSettings(drafter=DrafterSettings(kind="eagle", model="here"), sampling=Sampling(temperature=1.0))
    for start in (5, 11, 18):
        fresh = Runner(model.hf)
        drafter = eagle.EagleDrafter(Eagle(head, model.hf.get_input_embeddings(), DEPTHS, ""), fresh, asked)  # type: ignore[arg-type]
        fresh.prefill(text[: start - 1])
        drafter.prefill(text[: start - 1])
        draws = Told(0, start)
        object.__setattr__(draws, "text", text)
        for depth, draft in enumerate(drafter.propose(text[:start], 4, draws)):
            assert draft.q is not None
            assert torch.allclose(draft.q[IDS], trained[depth][start - 2 + depth], atol=1e-5), (start, depth)


def test_a_trained_head_is_a_drafting_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the loss computes for head i behind a text is what the drafter computes for its draft i there."""
    model = target()
    made = recipe("medusa", model, IDS, DEPTHS)
    heads, teacher = cast(MedusaHeads, made.module), Teacher(model.hf, IDS)
    torch.manual_seed(1)
    for p in heads.parameters():
        torch.nn.init.normal_(p, 0.0, 0.3)
    heads.d2t.copy_(IDS - torch.arange(len(IDS)))
    chance = random.Random(2)
    text = tuple(chance.randrange(VOCABULARY) for _ in range(24))
    runner = Runner(model.hf)
    features = runner.tap(DEPTHS)
    p = runner.forward(list(text))[:, IDS].softmax(-1)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def caught(rows: torch.Tensor, head: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
        seen.append((torch.nn.functional.linear(rows, head).softmax(-1), want))
        return head_loss(rows, head, want)

    monkeypatch.setattr(training_medusa, "head_loss", caught)
    asked = RunSettings(drafter=DrafterSettings(kind="medusa", model="here"), sampling=Sampling(temperature=1.0))
    for start in (5, 11, 18):
        seen.clear()
        with torch.no_grad():
            made.loss(TrainingBatch(torch.tensor(text)[None], features.rows(0, len(text))[None], torch.tensor([start]),
                                    torch.tensor([len(text)])), teacher)
        fresh = Runner(model.hf)
        drafter = medusa.MedusaDrafter(medusa.Medusa(heads, teacher.head, model.hf.get_input_embeddings(), ""), fresh,
                                       asked)
        fresh.prefill(text[: start - 1])
        for i, draft in enumerate(drafter.propose(text[:start], 4, RoundDraws(0, start))):
            q, want = seen[i]
            assert draft.q is not None
            assert torch.allclose(draft.q[IDS], q[0], atol=1e-5), (start, i)
            assert torch.allclose(want[0], p[start - 1 + i], atol=1e-5), (start, i)
        assert len(seen) == 4


@pytest.mark.parametrize("method", METHODS)
def test_training_learns_and_goes_on_exactly(method: str, tmp_path: Path) -> None:
    """The loss on what it learns from falls; a run that is stopped and begun again ends with the same weights."""
    data, teacher = dataset(tmp_path / "data"), Teacher(target().hf, IDS)

    def once(steps: int, folder: Path, until: int) -> tuple[Fit, list[float]]:
        torch.manual_seed(0)
        made = recipe(method, target(), IDS, DEPTHS)
        with torch.no_grad():  # the draft of three layers would begin as the target itself
            for p in made.module.parameters():
                if p.requires_grad and p.ndim == 2:
                    p.add_(torch.randn_like(p), alpha=0.2)
        fit = Fit(made.module, Plan(steps, made.rate), folder)

        def epoch(number: int) -> Iterator[TrainingBatch]:
            return (collate(data, one) for one in batches(data.sequences, 40, number))

        done = [fit.done]
        losses = []
        for step in fit.run(epoch, lambda b: made.loss(b, teacher), stop=lambda: done[0] >= until):
            done[0] = step.number
            losses.append(step.loss)
        return fit, losses

    whole, losses = once(24, tmp_path / "whole", 24)
    assert sum(losses[-4:]) < sum(losses[:4])
    assert once(24, tmp_path / "parts", 10)[0].done == 10
    parts, rest = once(24, tmp_path / "parts", 24)
    assert (parts.done, len(rest)) == (24, 14)
    for a, b in zip(whole.module.parameters(), parts.module.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def plan(method: str, folder: Path, **others: Any) -> Options:
    return Options(method, folder / "out", folder / "work", **{"prompts": 1, "asked": 0, "max_new_tokens": 4,
                                                               "steps": 2, **others})


def test_a_loss_that_is_not_finite_stops_training(tmp_path: Path) -> None:
    """The weights, the checkpoint and the drafter that is there stay as they were before the step."""
    batch = TrainingBatch(*[torch.zeros(1)] * 4)
    for number, spoiling in enumerate((math.nan, math.inf, 0.0)):
        fit = Fit(torch.nn.Linear(4, 4), Plan(10), tmp_path / str(number))

        def loss(batch: TrainingBatch, fit: Fit = fit, spoiling: float = spoiling) -> torch.Tensor:
            found = fit.module(torch.ones(4)).float().square().sum()
            if fit.done < 6:
                return found
            return found * spoiling if spoiling else (found * 0).sqrt()  # the last: only its gradient is no number

        steps = fit.run(lambda epoch: iter([batch]), loss)
        for _ in range(4):
            next(steps)
        fit.keep()
        assert [next(steps).number for _ in range(2)] == [5, 6]
        before = [p.detach().clone() for p in fit.module.parameters()]
        with pytest.raises(ModelError, match=r"stopped at step 7: the loss or its gradient isn't finite.*float32"):
            next(steps)
        assert all(torch.equal(a, b) for a, b in zip(before, fit.module.parameters(), strict=True))
        assert Fit(torch.nn.Linear(4, 4), Plan(10), tmp_path / str(number)).done == 4


def test_weights_that_are_not_finite_are_never_kept(tmp_path: Path) -> None:
    model = target()
    made = recipe("medusa", model, IDS, DEPTHS)
    fit = Fit(made.module, Plan(10), tmp_path / "work")
    fit.keep()
    said = {"answers": 1, "answer_tokens": 1, "temperatures": [0.0], "coverage": 1.0, "steps": 0, "batch_tokens": 1,
            "rate": 0.1}
    package.write(tmp_path / "out", made, model, IDS, said)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with torch.no_grad():
        next(p for p in made.module.parameters() if p.requires_grad).view(-1)[0] = math.nan
    with pytest.raises(ModelError, match=r"weights are no longer finite; the last good checkpoint is kept"):
        fit.keep()
    with pytest.raises(ModelError, match=r"isn't written to .*out: its weights aren't finite"):
        package.write(tmp_path / "out", made, model, IDS, said)
    assert kept == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    spoilt = {name: torch.full_like(t, math.nan) for name, t in load_file(tmp_path / "work" / KEPT).items()}
    save_file(spoilt, tmp_path / "work" / KEPT, metadata={"format": "pt", "done": "3"})
    with pytest.raises(ModelError, match="can't go on from"):
        Fit(made.module, Plan(10), tmp_path / "work")


def test_features_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    """Before any step, and nothing of them is listed."""
    sick = copy.deepcopy(target().hf)
    sick.model.layers[1].mlp.down_proj.weight[0, 0] = math.nan
    with pytest.raises(ModelError, match=r"features that are NaN or infinite .*--dtype float32"):
        train(wrap(sick), plan("medusa", tmp_path), Reporter())
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "work" / "features" / "index.jsonl").read_text() == ""


def test_agreement_counts_hits_and_overlap(tmp_path: Path) -> None:
    """A drafter that is the target agrees with it nearly everywhere (features are bfloat16)."""
    data = dataset(tmp_path)
    teacher = Teacher(target().hf, IDS)
    measured, heads = Measured(), Measured()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        recipe("draft", target(), IDS, DEPTHS).loss(collate(data, data.sequences), teacher, measured=measured)
        recipe("medusa", target(), IDS, DEPTHS).loss(collate(data, data.sequences), teacher, measured=heads)
    assert measured.rows[0] == sum(len(s.tokens) - s.begin for s in data.sequences)
    assert measured.greedy[0] > 0.9 < measured.sampled[0]
    assert list(heads.rows) == [0, 1, 2, 3]
    assert heads.rows[0] > heads.rows[3] > 0
    assert heads.greedy[0] < 0.5


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_tiny(tmp_path_factory.mktemp("small"), "llama")


@pytest.mark.parametrize("method", METHODS)
def test_the_whole_way(method: str, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From prompts to a folder that a lane loads, in two goes."""
    shared = tmp_path / "work"
    common = ["train", method, "--target", str(small), "--dtype", "float32", "--prompts", "4", "--asked", "0",
              "--answer-tokens", "6", "--work", str(shared), "--out", str(tmp_path / method), "--json"]
    assert commandline.main([*common, "--steps", "2", "--no-measure"]) == 0
    first = (shared / "answers.jsonl").read_text()
    assert commandline.main([*common, "--steps", "4", "--rate", "0.001"]) == 0
    assert (shared / "answers.jsonl").read_text() == first
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [one["temperature"] for one in said["held_out"]["figures"]] == [0.0, 1.0]
    card = (tmp_path / method / "card.md").read_text()
    assert "Held-out figures" in card
    trained = json.loads((tmp_path / method / "config.json").read_text())["training"]
    assert (trained["steps"], trained["rate"]) == (4, 0.001)
    assert commandline.main(["compare", "--target", str(small), "--dtype", "float32", "--drafter",
                             f"{method}:{tmp_path / method}", "--prompt", "hello", "--max-new-tokens", "8"]) == 0


def test_a_work_folder_is_for_one_target_and_one_training(tmp_path: Path) -> None:
    plan = Options("medusa", tmp_path / "out", tmp_path / "work", prompts=1, asked=0, max_new_tokens=4, steps=1)
    train(target(), plan, Reporter())
    with pytest.raises(ModelError, match="holds the work for tiny, not for other"):
        train(wrap(target("qwen2").hf, name="other"), plan, Reporter())
    with workplace(target(), tmp_path / "work", DEPTHS), pytest.raises(ModelError, match="Another training is at work"):
        train(target(), plan, Reporter())
    (tmp_path / "work" / "medusa" / "checkpoint.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="go on from"):
        train(target(), plan, Reporter())


def test_nothing_to_learn_from_is_said(tmp_path: Path) -> None:
    plan = Options("medusa", tmp_path / "out", tmp_path / "work", prompts=1, asked=0, max_new_tokens=tiny.CONTEXT,
                   steps=1)
    with pytest.raises(ModelError, match="nothing to learn from: no prompt leaves tiny room"):
        train(target(), plan, Reporter())
    with pytest.raises(ModelError, match=r"nothing to learn from: tiny is asked nothing .*\(--prompts, --asked\)"):
        train(target(), replace(plan, work=tmp_path / "other", prompts=0), Reporter())
    train(target(), replace(plan, max_new_tokens=4), Reporter())
    train(target(), replace(plan, prompts=0), Reporter())  # answers that are there are enough


def test_answers_that_are_all_kept_back_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "is_kept_back", lambda sample: True)
    with pytest.raises(ModelError, match="nothing to learn from: the few answers are all kept back"):
        train(target(), plan("medusa", tmp_path), Reporter())


def test_answers_shorter_than_a_chain_are_learned_from(tmp_path: Path) -> None:
    """No row is left at the later depths."""
    extend(tmp_path, target(), [Answer("chat", (5, 9, 7), 0.0, (3, 4))], DEPTHS)
    data = Dataset(tmp_path, len(DEPTHS) * 32)
    for method in METHODS:
        made, teacher = recipe(method, target(), IDS, DEPTHS), Teacher(target().hf, IDS)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = made.loss(collate(data, data.sequences), teacher)
        assert torch.isfinite(loss)


class Chat:
    """A tokenizer whose template puts ids before a message and behind it, and that knows no word."""

    all_special_ids = (3, 50)

    def __init__(self, behind: tuple[int, ...]) -> None:
        self.behind = behind

    def decode(self, ids: list[int]) -> str:
        return "".join(chr(0x4E00 + i) if i < VOCABULARY else MARK for i in ids)

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return [ord(c) - 0x4E00 for c in text]


def chatting(behind: tuple[int, ...]) -> Model:
    model = wrap(target().hf, eos=frozenset({3, 50}))
    object.__setattr__(model, "tokenizer", Chat(behind))
    object.__setattr__(model, "encode", lambda text, *, chat: [7, 8, VOCABULARY, *behind])
    return model


def test_a_target_asks_itself() -> None:
    """Questions stand between the template's parts, have ended, and come only once."""
    model = chatting((3, 9))
    assert frame(model) == ((7, 8), (3, 9))
    found = list(asked(model, 20, seed=1))
    assert len(set(found)) == 20
    for prompt in found:
        assert (prompt[:2], prompt[-2:]) == ((7, 8), (3, 9))
        assert not {3, 50} & set(prompt[2:-2])
        assert SHORTEST <= len(prompt) - 4 < LONGEST
    assert not set(asked(model, 5, seed=1, known=set(found))) & set(found)


def test_a_message_that_nothing_ends_is_not_asked() -> None:
    assert frame(chatting((9, 3))) is None
    assert list(asked(chatting(()), 5)) == []


def test_questions_are_kept(tmp_path: Path) -> None:
    model, path = chatting((3, 9)), tmp_path / "asked.jsonl"
    some = keep(path, model, 4, 0, lambda done, total: None)
    more = keep(path, model, 7, 0, lambda done, total: None)
    assert (len(some), len(more), more[:4]) == (4, 7, some)
    assert len(path.read_text().splitlines()) == 7


def test_training_begins_with_a_drafters_weights(tmp_path: Path) -> None:
    """With no step to go, the weights are those of the drafter that it began from; the card says so."""
    model = target()
    first = Options("medusa", tmp_path / "first", tmp_path / "one", prompts=1, asked=0, max_new_tokens=4, steps=2)
    train(model, first, Reporter())
    second = replace(first, out=tmp_path / "second", work=tmp_path / "two", start=str(first.out), steps=0)
    train(model, second, Reporter())
    one, two = (load_file(plan.out / "model.safetensors") for plan in (first, second))
    assert all(torch.equal(one[name], two[name]) for name in one)
    said = json.loads((second.out / "config.json").read_text())["training"]
    assert (said["steps"], said["begun_from"]["steps"]) == (0, 2)
    assert "begun from a drafter of 2" in (second.out / "card.md").read_text()
    with pytest.raises(MismatchError, match="a drafter of the method medusa, not draft"):
        train(model, replace(second, method="draft"), Reporter())


def test_all_answers_to_a_prompt_are_kept_back_or_neither() -> None:
    one, other = (Sample("chat", t, 3, (5, 9, 7, *rest), 0) for t, rest in ((0.0, (1, 2)), (1.0, (8,))))
    assert is_kept_back(one) == is_kept_back(other)
    found = [is_kept_back(Sample("chat", 0.0, 2, (i, i + 1), 0)) for i in range(4000)]
    assert 50 < sum(found) < 200


def test_the_curve_and_the_steps_survive_stopping(tmp_path: Path) -> None:
    model = target()
    plan = Options("draft", tmp_path / "out", tmp_path / "work", prompts=1, asked=0, max_new_tokens=4, steps=2)
    train(model, plan, Reporter())
    train(model, replace(plan, steps=3), Reporter())
    train(model, plan, Reporter())
    said = json.loads((tmp_path / "out" / "config.json").read_text())["training"]
    assert said["steps"] == 3
    assert [point["step"] for point in said["curve"]] == [2, 3]


def test_what_cannot_be_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(["train", "ngram"]) == 2
    assert "'ngram' can't be trained; there are draft, eagle, medusa" in capsys.readouterr().err
    assert commandline.main(["train", "eagle", "--steps", "0"]) == 2
    assert "steps is 0, but it must be 1 or more" in capsys.readouterr().err
    assert commandline.main(["train", "eagle", "--rate", "0"]) == 2
    assert "rate is 0, but it must be over 0" in capsys.readouterr().err


def test_cancelling_keeps_what_was_made(tmp_path: Path) -> None:
    model = target()
    plan = Options("medusa", tmp_path / "out", tmp_path / "work", prompts=4, asked=0, max_new_tokens=4, steps=2)
    count = [0]

    def cancelled() -> bool:
        count[0] += 1
        return count[0] > 5

    with pytest.raises(Cancelled):
        train(model, plan, Reporter(None, cancelled))
    kept = read(tmp_path / "work" / "answers.jsonl")
    assert len(kept) >= 4
    train(model, replace(plan), Reporter())
    assert read(tmp_path / "work" / "answers.jsonl")[: len(kept)] == kept


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a training was at work; copied, since tests damage it."""
    folder = tmp_path_factory.mktemp("worked")
    train(target(), plan("medusa", folder), Reporter())
    return folder


@pytest.mark.parametrize(("name", "content", "said"), [
    ("target.json", b"", "target.json is damaged: it can't be read; delete it"),
    ("target.json", b"[]", "target.json is damaged: it can't be read; delete it"),
    ("answers.jsonl", b"nonsense\n", "answers.jsonl is damaged: its line 1 can't be read; delete it"),
    ("answers.jsonl", b'{"kind":1}\n', "answers.jsonl is damaged: its line 1 can't be read; delete it"),
    ("answers.jsonl", b"\xff\n", "answers.jsonl is damaged: its line 1 can't be read; delete it"),
    ("answers.jsonl", b'{"kind":"chat","prompt":[1],"temperature":0.0,"tokens":[9999]}\n', "tokens that tiny doesn't"),
    ("asked.jsonl", b"{}\n", "asked.jsonl is damaged: its line 1 can't be read; delete it"),
    ("features/index.jsonl", b"nonsense\n", "index.jsonl is damaged: its line 1 can't be read; delete .*features,"),
    ("features/index.jsonl", b'{"kind":"a","temperature":0,"at":7,"begin":1,"tokens":[1,2]}\n', "don't follow"),
    ("features/index.jsonl", b'{"kind":"a","temperature":0,"at":0,"begin":1,"tokens":[1,9999]}\n', "that tiny doesn't"),
    ("features/features.bin", b"", "features.bin is damaged: it is shorter than index.jsonl says; delete .*features,"),
    ("features/features.bin", None, "features.bin is damaged: it is shorter than index.jsonl says; delete .*features,"),
    ("vocabulary.json", b"", "vocabulary.json is damaged: it can't be read; delete it"),
    ("vocabulary.json", b"{}", "vocabulary.json is damaged: it can't be read; delete it"),
    ("vocabulary.json", b"[]", "vocabulary.json is damaged: it isn't a list of different tokens of tiny"),
    ("vocabulary.json", b"[1, 99999]", "vocabulary.json is damaged: it isn't a list of different tokens of tiny"),
    ("vocabulary.json", b"[-1, 2]", "vocabulary.json is damaged: it isn't a list of different tokens of tiny"),
    ("vocabulary.json", b"[2, 2]", "vocabulary.json is damaged: it isn't a list of different tokens of tiny"),
    ("medusa/curve.json", b"", "curve.json is damaged: it can't be read; delete it"),
    ("medusa/curve.json", b"{}", "curve.json is damaged: it can't be read; delete it"),
    ("medusa/curve.json", b'[{"step": 1}]', "curve.json is damaged: it can't be read; delete it"),
])
def test_a_damaged_file_of_the_work_is_named(name: str, content: bytes | None, said: str, worked: Path, tmp_path: Path
                                             ) -> None:
    """Nothing else is changed, and what to delete helps."""
    work = tmp_path / "work"
    shutil.copytree(worked / "work", work)
    path = work / name
    damage = path.read_bytes()[:-1] if content is None else content
    path.write_bytes(damage)
    with pytest.raises(ModelError, match=said) as caught:
        train(target(), plan("medusa", tmp_path), Reporter())
    assert str(path) in str(caught.value)
    assert path.read_bytes() == damage, "changed, perhaps filled up with zeros"
    assert not (tmp_path / "out").exists()
    if f"delete {work / 'features'}," in str(caught.value):
        shutil.rmtree(work / "features")
    else:
        path.unlink()
    train(target(), plan("medusa", tmp_path), Reporter())


@pytest.mark.parametrize("name", ["target.json", "vocabulary.json", "medusa/curve.json"])
def test_a_full_disk_leaves_no_half_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What couldn't be written whole isn't there; with room again, the same command goes on."""
    real = Path.write_text

    def full(path: Path, text: str, **others: Any) -> int:
        if path.name.startswith(Path(name).name):
            real(path, text[: len(text) // 2], **others)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, text, **others)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        train(target(), plan("medusa", tmp_path), Reporter())
    monkeypatch.setattr(Path, "write_text", real)
    assert not (tmp_path / "work" / name).exists()
    train(target(), plan("medusa", tmp_path), Reporter())
    before = (tmp_path / "work" / "target.json").stat().st_mtime_ns
    train(target(), plan("medusa", tmp_path), Reporter())
    assert (tmp_path / "work" / "target.json").stat().st_mtime_ns == before, "written again, though nothing changed"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inner", [None, 48])
def test_a_target_that_names_its_sizes_otherwise_is_trained_for(method: str, inner: int | None, tmp_path: Path) -> None:
    """GPT-2 has no ``intermediate_size``: its layers are four times as wide as the hidden size, or ``n_inner``."""
    hf = tiny.model("gpt2", vocabulary=VOCABULARY)
    if inner:
        settings = copy.deepcopy(hf.config)
        settings.n_inner = inner
        hf = transformers.GPT2LMHeadModel(settings).eval().requires_grad_(False)
    model = wrap(hf)
    train(model, plan(method, tmp_path), Reporter())
    shape = json.loads((tmp_path / "out" / "config.json").read_text())["shape"]
    assert method != "eagle" or shape["intermediate"] == (inner or 4 * 32) * 4 // 3
    asked = [RunSettings(drafter=DrafterSettings(kind=method, model=str(tmp_path / "out")), max_new_tokens=8)]
    plain = lanes(model, [5, 9, 7], [RunSettings(max_new_tokens=8)])[0]
    assert lanes(model, [5, 9, 7], asked)[0].tokens == plain.tokens


@pytest.mark.parametrize("fault", [AttributeError, RuntimeError])
def test_what_cannot_be_trained_is_said_before_any_data_is_made(
        fault: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> torch.Tensor:
        raise fault("no such part")

    monkeypatch.setattr(recipes, "eagle_loss", broken)
    with pytest.raises(ModelError, match=r"No eagle drafter can be made for tiny.*; try draft or medusa"):
        train(target(), plan("eagle", tmp_path), Reporter())
    with pytest.raises(ModelError, match="nowhere"):
        train(target(), plan("medusa", tmp_path, start=str(tmp_path / "nowhere")), Reporter())
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_said_before_any_data_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a person's own")
    for flag, change in (("--out", {"out": tmp_path / "file"}), ("--out", {"out": tmp_path / "file" / "below" / "it"}),
                         ("--work", {"work": tmp_path / "file"}), ("--work", {"work": tmp_path / "file" / "below"})):
        with pytest.raises(ModelError, match=rf"file is a file, so .* can't be a folder; .*{flag}"):
            train(target(), replace(plan("medusa", tmp_path), **change), Reporter())  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
