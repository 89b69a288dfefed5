"""EAGLE checkpoints: ours and other packages', and how each becomes a head that is ready to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from engine.drafters import public_eagle_checkpoint, speculators_checkpoint
from engine.drafters.checkpoint import Checkpoint, fits
from engine.drafters.eagle_head import EagleHead, EagleShape, llama_config
from engine.errors import ModelError
from engine.models import Model
from engine.runner import text_config


@dataclass(frozen=True)
class Eagle:
    """Weights and what goes with them; shared by runs."""

    head: EagleHead
    embed: Callable[[torch.Tensor], torch.Tensor]
    """Ids → embeddings: the target's own, as a rule."""
    depths: tuple[int, ...]
    """Of the target's features (engine/features.py)."""
    about: str


_LAYOUTS = (speculators_checkpoint, public_eagle_checkpoint)
"""Other packages'."""


def examine(found: Checkpoint, target: Model) -> None:
    """Raises :class:`ModelError` or :class:`MismatchError` for a checkpoint that can't be used, as far as its
    config.json tells."""
    for layout in _LAYOUTS:
        if layout.is_one(found.config):
            layout.examine(found.config, target, found.name)
            return
    if found.foreign:
        kind = found.config.get("architectures") or found.config.get("model_type") or "nothing that has a name"
        raise ModelError(f"{found.name} is no EAGLE head that SpecScope can read (it holds {kind}); it reads its own, "
                         f"those of the package speculators, and {public_eagle_checkpoint.ARCHITECTURE}. A whole model "
                         f"drafts as model:{found.source or found.folder}.")
    found.check("eagle", target)


def read(found: Checkpoint, target: Model) -> Eagle:
    """Raises :class:`ModelError` or :class:`MismatchError` when the checkpoint can't be read or doesn't fit."""
    for layout in _LAYOUTS:
        if layout.is_one(found.config):
            said, head, embed = layout.read(found.config, found.tensors, target, found.name)
            return Eagle(head, embed, said.depths, said.about)
    found.check("eagle", target)
    return own(found, target)


def own(found: Checkpoint, target: Model) -> Eagle:
    """The output head isn't stored: it is the draft vocabulary's rows of the target's."""
    text, depths, ids = text_config(target.hf), found.wholes("depths"), found.ids(target.info.vocabulary)
    shape = EagleShape(llama_config(text, intermediate=found.whole("intermediate")), len(ids),
                       len(depths) * text.hidden_size, norm_features=True)
    shared = target.hf.get_output_embeddings().weight.detach()
    weights = {n: t for n, t in found.tensors.items() if n != "t2d"}
    weights["lm_head.weight"] = shared[ids.to(shared.device)].cpu()
    with torch.device("meta"):
        fits(EagleHead(shape), weights, found.name)
    head = EagleHead(shape)
    head.load_state_dict(weights)
    return Eagle(head.to(shared.device, shared.dtype).eval().requires_grad_(False), target.hf.get_input_embeddings(),
                 depths, f"one layer continues the target's features (trained on {found.trained_tokens:,} of its "
                 "tokens)")
