"""A trained drafter as a folder that others can load: weights in bfloat16, config.json and a card for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from engine.drafters.checkpoint import CARD, CONFIG, FORMAT, WEIGHTS, load
from engine.errors import ModelError
from engine.models import Model
from engine.training.fit import finite
from engine.training.notes import put
from engine.training.recipe import Recipe


def write(folder: Path, recipe: Recipe, target: Model, ids: torch.Tensor, training: dict[str, Any]) -> None:
    """Overwrites what is there. ``ids``: the draft vocabulary; ``training``: what it was trained on and how long.
    Raises :class:`ModelError`, and leaves what is there, if the weights aren't finite."""
    weights = {name: p.detach().to("cpu", torch.bfloat16).contiguous()
               for name, p in recipe.module.named_parameters() if p.requires_grad}
    if not finite(weights.values()):
        raise ModelError(f"The trained {recipe.method} drafter isn't written to {folder}: its weights aren't finite, "
                         "so it could draft nothing; train in another folder (--work), with --dtype float32.")
    folder.mkdir(parents=True, exist_ok=True)
    known = torch.zeros(target.info.vocabulary, dtype=torch.bool)
    known[ids] = True
    weights |= {"d2t": ids.cpu() - torch.arange(len(ids)), "t2d": known}
    save_file(weights, folder / "weights.new", metadata={"format": "pt"})
    (folder / "weights.new").replace(folder / WEIGHTS)  # a lane may be reading the old ones
    _write(folder, {
        "specscope_format": FORMAT, "method": recipe.method, "licence": "Apache-2.0",
        "target": {"name": target.info.name, "fingerprint": target.info.fingerprint},
        "shape": recipe.shape, "parameters": sum(p.numel() for p in recipe.module.parameters() if p.requires_grad),
        "training": training})


def begin(recipe: Recipe, target: Model, source: str) -> dict[str, Any]:
    """Give the recipe's network the weights of a drafter for the same target, made by the same recipe; its draft
    vocabulary may be another, since the output head is the target's. Returns how that one was trained, without its
    curve. Raises :class:`ModelError` if it doesn't fit."""
    found = load(recipe.method, target, source)
    found.check(recipe.method, target)
    parameters = {name: p for name, p in recipe.module.named_parameters() if p.requires_grad}
    for name, p in parameters.items():
        if name not in found.tensors or found.tensors[name].shape != p.shape:
            raise ModelError(f"The training can't begin from {source}: its network has another shape than the one "
                             f"that is trained ({name} doesn't fit); leave out --from.")
    with torch.no_grad():
        for name, p in parameters.items():
            p.copy_(found.tensors[name])
    training: dict[str, Any] = found.config.get("training", {})
    return {key: value for key, value in training.items() if key != "curve"}


def add_report(folder: Path, report: dict[str, Any]) -> None:
    """Put held-out figures beside, and write the card."""
    config = {**json.loads((folder / CONFIG).read_text(encoding="utf-8")), "held_out": report}
    _write(folder, config)


def _write(folder: Path, config: dict[str, Any]) -> None:
    put(folder / CONFIG, json.dumps(config, indent=2) + "\n")
    put(folder / CARD, card(config))


def figure(value: float | None) -> str:
    """A dash where nothing was drafted."""
    return "–" if value is None else f"{value:.2f}"


WHAT = {
    "draft": "A few layers grown out of the target's own and distilled from it; its embedding and output head are the "
             "target's.",
    "eagle": "One decoder layer over the target's features and the next token's embedding, with its own outputs fed "
             "back while drafting and while training. The output head is the target's.",
    "medusa": "Residual heads on the target's last feature and the newest token's embedding, each guessing one "
              "position ahead. Embedding and output head are the target's.",
}


def card(config: dict[str, Any]) -> str:
    """Markdown, from nothing but config.json."""
    t, target, method = config["training"], config["target"], config["method"]
    lines = [
        f"# {method}: a drafter for {target['name']}", "", WHAT[method], "",
        f"- Parameters of its own: {config['parameters']:,} (bfloat16)",
        f"- Target: {target['name']}, fingerprint `{target['fingerprint']}`; it guesses nonsense for any other",
        f"- Data: {t['answers']:,} answers of the target to prompts (assets/prompts, and questions that it "
        f"asked itself), {t['answer_tokens']:,} tokens, at temperatures "
        f"{', '.join(str(x) for x in t['temperatures'])}; held-out prompts share no template and no fill with those of "
        "assets/prompts",
        f"- Draft vocabulary: {config['shape']['draft_vocabulary']:,} tokens, {t['coverage']:.1%} of the answers'",
        f"- Steps: {_steps(t)}",
        f"- Licence: {config['licence']}", "",
    ]
    report = config.get("held_out")
    if not report:
        return "\n".join([*lines, "No held-out figures were measured.", ""])
    lines += [f"## Held-out figures ({report['prompts']} chat prompts, {report['tokens']} tokens at most, "
              f"γ = {report['gamma']}, {report['dtype']})", "",
              "| T | α | α by position | c | predicted | measured |", "| ---: | ---: | --- | ---: | ---: | ---: |"]
    for one in report["figures"]:
        lines.append(f"| {one['temperature']:g} | {figure(one['alpha'])} | "
                     f"{' '.join(map(figure, one['alpha_by_position']))} | {figure(one['cost_ratio'])} | "
                     f"{figure(one['predicted'])}× | {figure(one['measured'])}× |")
    return "\n".join([*lines, "", f"Measured on {report['machine']}; lanes alternated by round in one run.", ""])


def _steps(training: dict[str, Any]) -> str:
    """Of this training and of those that it began from."""
    said = (f"{training['steps']:,} of about {training['batch_tokens']:,} tokens, out of "
            f"{training['answer_tokens']:,} of answers, learning rate {training['rate']:g}")
    before = training.get("begun_from")
    return f"{said}; begun from a drafter of {_steps(before)}" if before else said
