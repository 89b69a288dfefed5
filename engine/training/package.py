"""A trained drafter as a folder that others can load: weights in bfloat16, config.json and a card for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from engine.drafters.checkpoint import CARD, CONFIG, FORMAT, WEIGHTS
from engine.models import Model
from engine.training.recipe import Recipe


def write(folder: Path, recipe: Recipe, target: Model, ids: torch.Tensor, training: dict[str, Any]) -> None:
    """Overwrites what is there. ``ids``: the draft vocabulary; ``training``: what it was trained on and how long."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: p.detach().to("cpu", torch.bfloat16).contiguous()
               for name, p in recipe.module.named_parameters() if p.requires_grad}
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


def add_report(folder: Path, report: dict[str, Any]) -> None:
    """Put held-out figures beside, and write the card."""
    config = {**json.loads((folder / CONFIG).read_text(encoding="utf-8")), "held_out": report}
    _write(folder, config)


def _write(folder: Path, config: dict[str, Any]) -> None:
    (folder / "config.new").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (folder / "config.new").replace(folder / CONFIG)
    (folder / CARD).write_text(card(config), encoding="utf-8")


def figure(value: float | None) -> str:
    """A dash where nothing was drafted."""
    return "–" if value is None else f"{value:.2f}"


WHAT = {
    "draft": "A few layers grown out of the target's own and distilled from it; its embedding and output head are the "
             "target's.",
    "eagle": "One decoder layer over the target's features and the next token's embedding, with its own outputs fed "
             "back while drafting and while training. The output head is the target's.",
    "medusa": "Residual heads on the target's last feature, each guessing one position ahead. The output head is the "
              "target's.",
}


def card(config: dict[str, Any]) -> str:
    """Markdown, from nothing but config.json."""
    t, target, method = config["training"], config["target"], config["method"]
    lines = [
        f"# {method}: a drafter for {target['name']}", "", WHAT[method], "",
        f"- Parameters of its own: {config['parameters']:,} (bfloat16)",
        f"- Target: {target['name']}, fingerprint `{target['fingerprint']}`; it guesses nonsense for any other",
        f"- Data: {t['answers']:,} answers of the target to prompts of its own kind (assets/prompts), "
        f"{t['answer_tokens']:,} tokens, at temperatures {', '.join(str(x) for x in t['temperatures'])}; held-out "
        "prompts share no template and no subject with them",
        f"- Draft vocabulary: {config['shape']['draft_vocabulary']:,} tokens, {t['coverage']:.1%} of the answers'",
        f"- Steps: {t['steps']:,} of about {t['batch_tokens']:,} tokens, learning rate {t['rate']:g}",
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
