"""Making a drafter, from prompts to a folder that loads: answers, features, training, held-out figures.

Everything lies in a work folder as it is made, so a run that was stopped goes on where it was: answers and features
are only ever added to, the network's checkpoint replaces the one before. Answers and features serve all methods.
"""

from __future__ import annotations

import json
import math
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import filelock
import torch

from engine.errors import ModelError
from engine.models import Model
from engine.models.progress import Reporter
from engine.race import machine
from engine.runner import text_config
from engine.settings import DrafterSettings
from engine.training import package
from engine.training.answers import Answer, Task, answers, read, spelled, write
from engine.training.asked import KIND, keep
from engine.training.batches import TrainingBatch, batches, collate
from engine.training.dataset import Dataset, Sample, depths_for, extend
from engine.training.fit import Fit, Plan, spoilt
from engine.training.lines import whole
from engine.training.measured import Measured
from engine.training.notes import damaged, note, put
from engine.training.prompts import prompts
from engine.training.recipe import Recipe, recipe, rehearse
from engine.training.report import Held, held_out, together
from engine.training.shipped import shipped, ships
from engine.training.teacher import Teacher, coverage, draft_vocabulary

TEMPERATURES = (0.0, 1.0, 0.0, 0.7, 0.0)
"""Of the prompts' answers, in turn: greedy ones matter most. A prompt has one answer: what drafters lacked was
variety of prompts, which a second answer doesn't add."""
PROMPTS = 300
"""Of each kind, unless answers ship for the target."""
ASKED = 2000
"""Questions of the target's own, likewise."""
LONGEST_PROMPT = 420
"""Tokens: longer ones cost more than they teach."""
KEPT_BACK = 40
"""One prompt in so many is only measured on while training."""
CURVE_EVERY = 200
"""Steps between two points of the learning curve."""
MEASURED_ON = 100
"""Answers kept back that a point is measured on, at most: enough for two digits, and seconds rather than minutes."""


@dataclass(frozen=True)
class Options:
    method: str
    """draft, eagle or medusa."""
    out: Path
    """Where the drafter goes."""
    work: Path
    """Where answers, features and checkpoints are kept."""
    prompts: int | None = None
    """Of each kind; None: the answers that ship for the target, and where none do :data:`PROMPTS`."""
    asked: int | None = None
    """Questions that the target asks itself; None: as with ``prompts``, :data:`ASKED`."""
    start: str = ""
    """A drafter for this target whose weights the network begins with; a folder or hub id."""
    max_new_tokens: int = 160
    """Of an answer."""
    steps: int = 1100
    rate: float | None = None
    """The highest learning rate; None: the method's."""
    batch_tokens: int = 2000
    draft_vocabulary: int = 8192
    seed: int = 0


@dataclass(frozen=True)
class Point:
    """Of the learning curve, on answers kept back: shares accepted had all drafts before been, by place."""

    step: int
    loss: float
    greedy: list[float]
    sampled: list[float]


def train(target: Model, options: Options, report: Reporter,
          curve: Callable[[Point], None] = lambda point: None) -> Path:
    """The drafter's folder. Raises :class:`ModelError` for a target that can't be trained for, :class:`Cancelled` when
    the person cancels: what was made until then is kept."""
    if getattr(target.tokenizer, "chat_template", None) is None:
        raise ModelError(f"{target.info.name} has no chat template, so it can't answer the prompts that drafters learn "
                         "from; choose an instruction-tuned target.")
    for folder, flag in ((options.out, "--out"), (options.work, "--work")):
        check_folder(folder, flag)
    depths = depths_for(target.info.layers)
    rehearse(options.method, target, depths,
             lambda made: package.begin(made, target, options.start) if options.start else None)
    with workplace(target, options.work, depths):
        data = make_data(target, options, depths, report)
        kept_back = [s for s in data.sequences if is_kept_back(s)]
        kept_back = random.Random(0).sample(kept_back, min(len(kept_back), MEASURED_ON))
        learned = [s for s in data.sequences if not is_kept_back(s)]
        if not learned:
            raise nothing_to_learn(target, data, options)
        ids = vocabulary(learned, target, options)
        torch.manual_seed(options.seed)
        made = recipe(options.method, target, ids, depths)
        made = replace(made, rate=options.rate if options.rate is not None else made.rate)
        before = package.begin(made, target, options.start) if options.start else None
        steps, points = fit(made, data, learned, kept_back, Teacher(target.hf, ids), options, report, curve)
        package.write(options.out, made, target, ids, {
            "answers": len(learned), "answer_tokens": sum(len(s.tokens) - s.begin for s in learned),
            "temperatures": sorted({s.temperature for s in learned}), "coverage": coverage(learned, ids),
            "steps": steps, "batch_tokens": options.batch_tokens, "rate": made.rate, "seed": options.seed,
            "begun_from": before, "curve": [asdict(point) for point in points]})
    return options.out


def check_folder(folder: Path, flag: str) -> None:
    """Raises :class:`ModelError` if ``folder`` can't be made since a file is in its way."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise ModelError(f"{place} is a file, so {folder} can't be a folder; choose another place ({flag}).")


def nothing_to_learn(target: Model, data: Dataset, options: Options) -> ModelError:
    """Why: with none asked there is no answer, few may all be kept back, long ones don't fit."""
    if data.sequences:
        why = "the few answers are all kept back to measure on; ask for more (--prompts, --asked)"
    elif options.prompts == 0 and not whole(options.work / "asked.jsonl", tuple[int, ...]):
        why = (f"{target.info.name} is asked nothing (no prompts, and no questions of its own); ask for some "
               "(--prompts, --asked)")
    else:
        why = (f"no prompt leaves {target.info.name} room for an answer of {options.max_new_tokens} tokens; ask for "
               "shorter ones (--answer-tokens)")
    return ModelError(f"There is nothing to learn from: {why}.")


@contextmanager
def workplace(target: Model, folder: Path, depths: Sequence[int]) -> Iterator[None]:
    """One training at a time in a work folder, and for one target: its answers and features are no one else's. Raises
    :class:`ModelError` otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            mine = {"target": target.info.name, "fingerprint": target.info.fingerprint, "depths": list(depths)}
            path = folder / "target.json"
            if not path.exists():
                put(path, json.dumps(mine) + "\n")
            elif (theirs := note(path, dict[str, Any])) != mine:
                raise ModelError(f"{folder} holds the work for {theirs.get('target', 'another target')}, not for "
                                 f"{target.info.name} as it is here; choose another folder (--work).")
            yield
    except filelock.Timeout:
        raise ModelError(f"Another training is at work in {folder}; wait for it, or choose another folder "
                         "(--work).") from None


def is_kept_back(sample: Sample) -> bool:
    """By its prompt alone, so that more answers never make one of them known that was not, and both answers to a prompt
    go the same way."""
    return zlib.crc32(repr(sample.tokens[: sample.begin]).encode()) % KEPT_BACK == 0


def vocabulary(learned: Sequence[Sample], target: Model, options: Options) -> torch.Tensor:
    """The draft vocabulary: chosen once for a work folder, since what was trained is about it."""
    path = options.work / "vocabulary.json"
    if not path.exists():
        size = min(options.draft_vocabulary, target.info.vocabulary)
        ids = draft_vocabulary(learned, size, target.info.vocabulary)
        put(path, json.dumps(ids.tolist()) + "\n")
    kept: list[int] = note(path, list[int])
    if not kept or kept != sorted(set(kept)) or not 0 <= kept[0] <= kept[-1] < target.info.vocabulary:
        raise damaged(path, f"it isn't a list of different tokens of {target.info.name}, in order")
    return torch.tensor(kept)


def make_data(target: Model, options: Options, depths: Sequence[int], report: Reporter) -> Dataset:
    """Answers that are missing, then features that are missing."""
    path = options.work / "answers.jsonl"
    if not path.exists():
        put(path, "".join(spelled(answer) + "\n" for answer in shipped(target)))
    done = read(path)
    if any(not 0 <= token < target.info.vocabulary for a in done for token in (*a.prompt, *a.tokens)):
        raise damaged(path, f"it holds tokens that {target.info.name} doesn't have")
    wanted = tasks(target, options, report)
    left = Counter((a.kind, a.prompt, a.temperature) for a in done)
    todo = []
    for task in wanted:
        key = (task.kind, task.prompt, task.temperature)
        if left[key]:
            left[key] -= 1
        else:
            todo.append(task)
    found: Iterator[Answer] = write(path, answers(target, todo, max_new_tokens=options.max_new_tokens,
                                                  seed=options.seed + len(done)))
    for number, answer in enumerate(found, len(wanted) - len(todo) + 1):
        done.append(answer)
        report("The target answers", number, len(wanted), "answers")
    folder = options.work / "features"
    extend(folder, target, done, depths, lambda at, total: report("Computing features", at, total, "answers"))
    return Dataset(folder, len(depths) * text_config(target.hf).hidden_size)


def tasks(target: Model, options: Options, report: Reporter) -> list[Task]:
    """One answer a prompt, the templates' kinds in turn, then what the target asks itself. Prompts that leave it no
    room are left out."""
    ready = ships(target)
    per_kind, own = (wish if wish is not None else 0 if ready else usual
                     for wish, usual in ((options.prompts, PROMPTS), (options.asked, ASKED)))
    room = min(LONGEST_PROMPT, target.info.context - options.max_new_tokens)
    found = [(p.kind, tuple(target.encode(p.text, chat=True))) for p in prompts("train", per_kind, seed=options.seed)]
    found += [(KIND, prompt) for prompt in keep(
        options.work / "asked.jsonl", target, own, options.seed,
        lambda done, total: report("The target asks", done, total, "questions"))]
    return [Task(kind, ids, TEMPERATURES[number % len(TEMPERATURES)])
            for number, (kind, ids) in enumerate(found) if len(ids) <= room]


def fit(made: Recipe, data: Dataset, learned: Sequence[Sample], kept_back: Sequence[Sample], teacher: Teacher,
        options: Options, report: Reporter, curve: Callable[[Point], None]) -> tuple[int, list[Point]]:
    """Train, and measure on the answers kept back now and then. Returns the steps done and the learning curve, earlier
    runs' in the same folder included."""
    device = teacher.head.device
    made.module.to(device)

    def epoch(number: int) -> Iterator[TrainingBatch]:
        seed = options.seed + number
        for samples in batches(made.cut(learned, seed), options.batch_tokens, seed):
            yield collate(data, samples).to(device)

    def point(step: int) -> Point:
        measured = Measured()
        with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
            losses = [float(made.loss(collate(data, samples).to(device), teacher, measured=measured))
                      for samples in batches(kept_back, 2 * options.batch_tokens, 0)]
        return Point(step, sum(losses) / max(1, len(losses)), measured.greedy, measured.sampled)

    path = options.work / options.method / "curve.json"
    points: list[Point] = note(path, list[Point]) if path.exists() else []
    run = Fit(made.module, Plan(options.steps, made.rate), options.work / options.method)
    for step in run.run(epoch, lambda batch: made.loss(batch, teacher, share=run.done / options.steps)):
        report(f"Training the {made.method} drafter", step.number, options.steps, "steps")
        if step.number % CURVE_EVERY == 0 or step.number == options.steps:
            points = [one for one in points if one.step < step.number] + [point(step.number)]
            if not math.isfinite(points[-1].loss):
                raise spoilt(step.number, "the loss on the answers kept back isn't finite", run.folder)
            put(path, json.dumps([asdict(one) for one in points]) + "\n")
            curve(points[-1])
    return run.done, points


def measure(target: Model, options: Options, report: Reporter, *, chat: int = 8, tokens: int = 96,
            gamma: int = 4) -> dict[str, Any]:
    """Held-out figures of the drafter in ``options.out``, written into its config.json and card.

    α by position at T 0 and 1, cost ratio, predicted and measured speed-up, on ``chat`` held-out chat prompts.
    """
    drafter = DrafterSettings(kind=options.method, model=str(options.out), gamma=gamma)
    chosen = [p for p in prompts("held_out", 4 * chat, seed=options.seed, kinds=("chat",))
              if len(target.encode(p.text, chat=True)) + tokens + gamma < target.info.context][:chat]
    if not chosen:
        raise ModelError(f"The trained drafter is in {options.out}, but it can't be measured: no held-out prompt fits "
                         f"into the {target.info.context} tokens that {target.info.name} takes.")
    figures = []
    for temperature in (0.0, 1.0):
        found = held_out(target, [drafter], chosen, temperature=temperature, max_new_tokens=tokens,
                         progress=lambda at, total: report("Measuring on held-out prompts", at, total, "prompts"))
        one = together(lanes[0] for lanes in found.values())
        if one.unfinished:
            raise ModelError(f"The trained drafter can't be measured: {one.unfinished}")
        figures.append({"temperature": temperature, **_figures(one)})
    said = {"prompts": len(chosen), "tokens": tokens, "gamma": gamma, "dtype": target.info.dtype,
            "machine": machine(), "figures": figures}
    package.add_report(options.out, said)
    return said


def _figures(one: Held) -> dict[str, Any]:
    return {"alpha": one.alpha, "alpha_by_position": one.by_position, "tested": one.totals.tested,
            "mean_committed_length": one.totals.mean_committed_length, "cost_ratio": one.cost_ratio,
            "predicted": one.predicted, "measured": one.measured}
