"""Is every lane the plain lane, with the built-in model? ``python -m tests.exactness`` (or ``make exactness``).

bfloat16: ids and, by digest, every logit of every committed position, bit for bit, wherever the start-up check holds.
float32: ids, against transformers' own ``generate``. Prompt lookup, layer skip, a draft model that is a layer-pruned
copy of the target, the trained drafters, and a gathered tree.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from engine import models
from engine.divergence import first_divergence
from engine.drafters.layer_skip import thinned
from engine.models import Model
from engine.settings import DrafterSettings, RunSettings
from tests.engine.support import Run, builtin, lanes
from tests.prompts import PROMPTS, Prompt

PRUNED = "pruned"
PRUNED_LAYERS = {4, 9, 14, 19, 25, 27}
DRAFTERS = (DrafterSettings(), DrafterSettings(kind="ngram"),
            DrafterSettings(kind="layer-skip"),
            DrafterSettings(kind="model", model=PRUNED, gamma=3),
            DrafterSettings(kind="draft"), DrafterSettings(kind="eagle"), DrafterSettings(kind="medusa"),
            DrafterSettings(kind="eagle", tree="top", gather=True))


@dataclass
class Outcome:
    """One prompt decoded by one drafter."""

    prompt: Prompt
    drafter: str
    run: Run
    same: bool
    why: str


def pruned_copy(target: Model, folder: Path) -> Path:
    """A draft model on disk: the target without six of its layers."""
    thin = thinned(target.hf, PRUNED_LAYERS)
    config = thin.config.to_dict() | {"num_hidden_layers": thin.config.num_hidden_layers}
    kept = [i for i in range(target.hf.config.num_hidden_layers) if i not in PRUNED_LAYERS]
    names = {f"model.layers.{old}.": f"model.layers.{new}." for new, old in enumerate(kept)}
    state = {}
    for name, weight in target.hf.state_dict().items():
        if name.startswith("model.layers."):
            prefix = ".".join(name.split(".")[:3]) + "."
            if prefix not in names:
                continue
            name = names[prefix] + name.removeprefix(prefix)
        state[name] = weight
    fresh = type(target.hf)(type(target.hf.config).from_dict(config)).to(target.hf.dtype)
    fresh.load_state_dict(state)
    fresh.save_pretrained(folder)
    target.tokenizer.save_pretrained(folder)
    return folder


def decode(target: Model, pruned: Model, prompt: Prompt, tokens: int) -> list[Run]:
    """All lanes of one race, greedy."""
    ids = target.encode(prompt.text, chat=True)
    return lanes(target, ids, [RunSettings(drafter=d, max_new_tokens=tokens) for d in DRAFTERS],
                 models={PRUNED: pruned})


def bit_for_bit(target: Model, pruned: Model, prompts: Iterable[Prompt], tokens: int) -> Iterator[Outcome]:
    """Lanes against the plain lane: ids, and digests where rows are invariant here; else near-ties only."""
    for prompt in prompts:
        plain, *others = decode(target, pruned, prompt, tokens)
        for settings, run in zip(DRAFTERS[1:], others, strict=True):
            yield Outcome(prompt, settings.kind, run, *_judge(run, plain))


def _judge(run: Run, plain: Run) -> tuple[bool, str]:
    if run.tokens == plain.tokens and run.digests == plain.digests:
        return True, "ids and logits are the same"
    if run.started.exactness.invariant:
        pairs = enumerate(zip(run.digests, plain.digests, strict=False))
        at = next((i for i, (ours, theirs) in pairs if ours != theirs), len(run.tokens))
        return False, f"parts at token {at}, though rows are invariant here"
    if run.tokens == plain.tokens:
        return True, "ids are the same (rows aren't invariant here)"
    gaps = [g for r in plain.rounds for g in r.gaps]
    parted = first_divergence(run.tokens, plain.tokens, gaps, run.started.exactness.row_difference, ended=True)
    assert parted is not None
    return parted.near_tie, parted.sentence


def against_generate(target: Model, pruned: Model, prompts: Iterable[Prompt], tokens: int) -> Iterator[Outcome]:
    """Every lane, plain too, against transformers' generate."""
    for prompt in prompts:
        ids = target.encode(prompt.text, chat=True)
        expected = target.hf.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), max_new_tokens=tokens,
            do_sample=False, pad_token_id=0)[0, len(ids) :].tolist()
        for settings, run in zip(DRAFTERS, decode(target, pruned, prompt, tokens), strict=True):
            same = run.tokens == expected
            yield Outcome(prompt, settings.kind, run, same, f"ids {'as' if same else 'differ from'} generate()")


def check(target: Model, prompts: Sequence[Prompt], tokens: int) -> Iterator[Outcome]:
    """The check of the dtype that it was loaded in."""
    dtype = target.info.dtype
    with tempfile.TemporaryDirectory() as folder:
        pruned = models.load(str(pruned_copy(target, Path(folder))), dtype=dtype, device="cpu")
        yield from (bit_for_bit if dtype == "bfloat16" else against_generate)(target, pruned, prompts, tokens)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--dtype", choices=("bfloat16", "float32"), nargs="+", default=["bfloat16", "float32"])
    args = parser.parse_args()
    failures = 0
    for dtype in args.dtype:
        passed, total, committed, judged = 0, 0, 0, {}
        for outcome in check(builtin(dtype), PROMPTS[: args.prompts], args.tokens):
            total += 1
            passed += outcome.same
            committed += len(outcome.run.tokens)
            tested, accepted = judged.get(outcome.drafter, (0, 0))
            totals = outcome.run.finished.totals
            judged[outcome.drafter] = (tested + totals.tested, accepted + totals.accepted)
            print(f"  {dtype} {outcome.drafter}: {outcome.why} — {outcome.prompt.text[:48]!r}", flush=True)
        print(f"{dtype}: {passed} of {total} lanes the same, {committed} tokens; tested and accepted drafts: "
              + ", ".join(f"{name} {t}/{a}" for name, (t, a) in judged.items() if t))
        failures += total - passed
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
