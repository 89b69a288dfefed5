"""Writes tests/data/speculators: small EAGLE-3 checkpoints of the PyPI package ``speculators``, and what that package
computes with them. Not a test: run by hand, in an environment of its own, since the package pins an older transformers:

    python -m venv /tmp/speculators
    /tmp/speculators/bin/pip install speculators==0.9.0
    /tmp/speculators/bin/python -m tests.engine.make_speculators_checkpoint tests/data/speculators

The target is ``tiny.model("llama", vocabulary=352, layers=7)``, which tests make again from its seed. One folder a
variant holds the checkpoint as the package saved it (without the embedding where it is the target's: the package then
takes it from the target, and it would be most of the file), and beside it VARIANT.safetensors:

    features  (T, depths × H)  the target's states at the checkpoint's depths, positions 0 … T − 1
    ids       (T + 1,)         the tokens there, and one more
    embeds    (T, H)           the embeddings of ids[1:], to tell another target from another head
    logits    (3, T, draft vocabulary)  after 1, 2 and 3 steps of the layer from each position, the true tokens fed in

All numbers are float32. The public layout ("plain") is read by the package through its own converter.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from speculators import SpeculatorsConfig, VerifierConfig
from speculators.convert.eagle.eagle3_converter import Eagle3Converter
from speculators.models.eagle3 import Eagle3DraftModel, Eagle3SpeculatorConfig
from speculators.proposals.greedy import GreedyTokenProposalConfig
from transformers import LlamaConfig, Qwen3Config

from tests.engine import tiny

LAYERS, VOCABULARY, TOKENS, STEPS = 7, 352, 14, 3
NAME = "specscope/tiny-llama"
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": tiny.CONTEXT,
}
VARIANTS: dict[str, dict[str, Any]] = {
    # what the converters of older checkpoints write
    "bare": {"layer": LlamaConfig(**SIZES), "draft": 64, "aux": [1, 3, 5]},
    # the residual from the normalised state; the embedding and the raw last state among the features; all of the
    # target's tokens; an embedding of its own
    "residual": {"layer": LlamaConfig(**SIZES | {"rms_norm_eps": 1e-3, "hidden_act": "gelu"}), "draft": VOCABULARY,
                 "aux": [0, 3, 7], "embedding": True, "norm_before_residual": True},
    # what the package trains unless told otherwise, with all biases, no grouped heads, wider heads, scaled positions
    "trained": {"layer": LlamaConfig(**SIZES | {
                    "num_key_value_heads": 4, "head_dim": 16, "attention_bias": True, "mlp_bias": True,
                    "rope_parameters": {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0,
                                        "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                        "original_max_position_embeddings": 16}}),
                "draft": 64, "aux": [2, 6], "norm_before_fc": True, "norm_output": True,
                "norm_before_residual": True},
    # the other kind of layer, which normalises queries and keys
    "qwen3": {"layer": Qwen3Config(**SIZES | {
                  "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 2.0,
                                      "original_max_position_embeddings": 32}}),
              "draft": 64, "aux": [5, 1, 4], "fc_norm": True},
}
PLAIN = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "draft_vocab_size": 64, "rope_theta": 5000.0,
    "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "torch_dtype": "float32", "hidden_act": "silu", **SIZES,
}
"""The layout that the authors of EAGLE-3 began. It names no depths: they are 2, L/2 and L − 3."""


def features(depths: list[int], ids: torch.Tensor) -> torch.Tensor:
    """(T, depths × H). The last layer's output is taken raw: transformers' own list holds it normalised."""
    model, raw = tiny.model("llama", vocabulary=VOCABULARY, layers=LAYERS), []
    hook = model.model.layers[-1].register_forward_hook(lambda _m, _a, out: raw.append(out))
    states = model(ids[None], output_hidden_states=True).hidden_states
    hook.remove()
    return torch.cat([(raw[0] if depth == LAYERS else states[depth])[0] for depth in depths], -1)


def fill(model: torch.nn.Module, seed: int) -> None:
    """Random weights that make every one of them matter."""
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=dice)
            if "norm" in name:
                weight.copy_(1 + 0.3 * noise)
            elif weight.ndim == 1:
                weight.copy_(0.3 * noise)
            else:
                weight.copy_(noise * (2.0 if "lm_head" in name else 1.0) / weight.shape[1] ** 0.5)


def maps(seed: int, size: int) -> dict[str, torch.Tensor]:
    """``size`` of the target's tokens, as the package maps them."""
    kept = torch.randperm(VOCABULARY, generator=torch.Generator().manual_seed(seed))[:size].sort().values
    mask = torch.zeros(VOCABULARY, dtype=torch.bool)
    mask[kept] = True
    return {"d2t": kept - torch.arange(size), "t2d": mask}


def variant(folder: Path, verifier: Path, seed: int, options: dict[str, Any]) -> None:
    layer, embedding = options.pop("layer"), options.pop("embedding", False)
    config = Eagle3SpeculatorConfig(
        transformer_layer_config=layer, draft_vocab_size=options.pop("draft"),
        eagle_aux_hidden_state_layer_ids=options.pop("aux"),
        speculators_config=SpeculatorsConfig(
            algorithm="eagle3", proposal_methods=[GreedyTokenProposalConfig()], default_proposal_method="greedy",
            verifier=VerifierConfig.from_pretrained(str(verifier))), **options)
    model = Eagle3DraftModel(config)
    fill(model, seed)
    model.load_vocab_mappings(**maps(seed, config.draft_vocab_size))
    model.save_pretrained(folder)
    (folder / "config.py").unlink()  # its own code, which nobody reads here
    if not embedding:
        without(folder, "embed_tokens.weight")


def without(folder: Path, name: str) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def plain(folder: Path, like: Path) -> None:
    """The weights of another variant under the public layout's names."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(PLAIN, indent=2) + "\n")
    weights = load_file(like / "model.safetensors")
    save_file({name.replace("layers.0.", "midlayer."): one for name, one in weights.items()},
              folder / "model.safetensors")


def reference(folder: Path, out: Path) -> None:
    """What the package makes of the checkpoint in ``folder``."""
    config = Eagle3SpeculatorConfig.from_pretrained(str(folder))
    config.transformer_layer_config._attn_implementation = "eager"  # the other one works in blocks of 128
    model = Eagle3DraftModel.from_pretrained(str(folder), config=config).float().eval()
    if "embed_tokens.weight" not in load_file(folder / "model.safetensors"):
        # It means to do so itself, but tells a missing embedding by NaN, which fresh memory holds only by chance.
        model._load_verifier_weights(overwrite_embed_tokens=True)
    ids = torch.randint(2, VOCABULARY, (TOKENS + 1,), generator=torch.Generator().manual_seed(7))
    states, rows = features(model.config.eagle_aux_hidden_state_layer_ids, ids[:-1]), list[torch.Tensor]()
    model.lm_head.register_forward_hook(lambda _m, _a, logits: rows.append(logits[0]))
    with torch.no_grad():
        embeds = model.embed_tokens(ids[1:])
        model(states[None], ids[None, 1:], torch.zeros(1, TOKENS, dtype=torch.long), ttt_steps=STEPS)
    save_file({"features": states.contiguous(), "ids": ids, "embeds": embeds, "logits": torch.stack(rows)}, out)


def main(out: Path) -> None:
    torch.set_num_threads(1)
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        verifier = tiny.save_tiny(Path(name) / "target", "llama", vocabulary=VOCABULARY, layers=LAYERS)
        for seed, (kind, options) in enumerate(VARIANTS.items()):
            variant(out / kind, verifier, seed, dict(options))
            reference(out / kind, out / f"{kind}.safetensors")
        plain(out / "plain", out / "bare")
        Eagle3Converter().convert(out / "plain", Path(name) / "converted", str(verifier), validate=False)
        reference(Path(name) / "converted", out / "plain.safetensors")
        for kind in VARIANTS:
            config = out / kind / "config.json"
            config.write_text(config.read_text().replace(str(verifier), NAME) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
