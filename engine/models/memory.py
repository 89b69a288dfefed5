"""What a run will need in memory, reckoned before anything is loaded, against what is free.

    weights   parameters × bytes each, counted on the meta device (no memory is used for that)
    KV cache  slots × layers × key-value heads × (key size + value size) × bytes each, per lane and model
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from engine.errors import ModelError
from engine.models import builtin, hub
from engine.models.describe import context_length, slot_bytes
from engine.models.device import choose_device, choose_dtype, free_memory, size
from engine.models.find import Place, find_local, read_config, refuse
from engine.models.progress import Reporter
from engine.models.quiet import BUILDING, quiet
from engine.rollback import bucket
from engine.settings import MAX_GAMMA, DrafterSettings


@dataclass(frozen=True)
class Need:
    """What one model needs, in bytes."""

    name: str
    weights: int
    slot: int = 0
    """Bytes of keys and values for one token."""
    caches: int = 0
    """How many lanes hold a cache of this model."""

    def cache(self, slots: int) -> int:
        """Bytes of all its caches at ``slots`` tokens each."""
        return self.slot * slots * self.caches


@dataclass(frozen=True)
class MemoryPlan:
    """The whole sum."""

    device: str
    needs: tuple[Need, ...]
    slots: int
    """Tokens each cache has room for."""
    free: int
    """Bytes that can be allocated on ``device`` now."""

    @property
    def weights(self) -> int:
        return sum(need.weights for need in self.needs)

    @property
    def cache(self) -> int:
        return sum(need.cache(self.slots) for need in self.needs)

    @property
    def total(self) -> int:
        return self.weights + self.cache

    @property
    def fits(self) -> bool:
        return self.total <= self.free

    def sentence(self) -> str:
        """The arithmetic, e.g. "SmolLM2: weights 269 MB + KV 23.6 MB (512 slots × 46.1 kB) = 293 MB; free on cpu:
        4.1 GB."""
        parts = []
        for need in self.needs:
            part = f"{need.name}: weights {size(need.weights)}"
            if need.caches and self.slots:
                times = f"{need.caches} × " if need.caches > 1 else ""
                part += (f" + KV {size(need.cache(self.slots))} ({times}{self.slots} slots × {size(need.slot)})")
            parts.append(part)
        return f"{'; '.join(parts)} = {size(self.total)}; free on {self.device}: {size(self.free)}."

    def check(self) -> None:
        """Raises :class:`ModelError` with the arithmetic when it can't fit."""
        if not self.fits:
            raise ModelError(f"Not enough memory: {self.sentence()[:-1]}, {size(self.total - self.free)} too little; "
                             "choose a smaller model, a 16-bit dtype or fewer new tokens, or close other programs.")


def estimate(target: str, drafters: Sequence[DrafterSettings] = (DrafterSettings(),), *, prompt_tokens: int,
             max_new_tokens: int, dtype: str = "auto", device: str = "auto", revision: str | None = None,
             trust_remote_code: bool = False) -> MemoryPlan:
    """What one run will need: the target, and a lane for each of ``drafters``.

    Every lane holds a cache of the target; a draft model's lane one of the draft model too, and a layer-skip lane a
    second one of the target (at most). Reads configurations only (a hub id's config.json may be downloaded).
    Raises :class:`ModelError` for models that can't be found or used at all.
    """
    where = choose_device(device)
    gammas = [MAX_GAMMA if lane.gamma is None else lane.gamma for lane in drafters if lane.kind != "none"]
    length = prompt_tokens + max_new_tokens
    caches = {target: len(drafters) + sum(lane.kind == "layer-skip" for lane in drafters)}
    for lane in drafters:
        if lane.kind == "model":
            caches[lane.model] = caches.get(lane.model, 0) + 1
    needs = []
    with quiet(Reporter()):
        for source, count in caches.items():
            asked = revision if source == target else None
            name, folder, config, weights = _peek(source, asked, code=trust_remote_code)
            refuse(name, config)
            if source == target:  # a run ends at the target's context, whatever was asked for
                length = min(length, context_length(config.get_text_config(decoder=True)))
            kind = choose_dtype(dtype, config, where)
            need = weights_need(name, config, kind, folder=folder, stored=weights, code=trust_remote_code)
            needs.append(Need(name, need.weights, slot_bytes(config, kind), count))
    free, label = free_memory(where), str(where)
    if device == "auto" and where.type == "cuda" and sum(need.weights for need in needs) > free:
        others = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
        free, label = sum(free_memory(d) for d in [*others, torch.device("cpu")]), "all GPUs and the CPU"
    return MemoryPlan(label, tuple(needs), slots_needed(length, max(gammas, default=0)), free)


def slots_needed(length: int, gamma: int) -> int:
    """Room that a lane's cache grows to, in tokens: prompt and output, one round's drafts and the newest token."""
    return bucket(length + gamma + 1)


def weights_need(name: str, config: Any, dtype: torch.dtype, *, folder: Path | None, stored: int | None = None,
                 code: bool = False) -> Need:
    """The weights' bytes: counted on the meta device, or, for a checkpoint that is quantised in its files, the files'
    own size (``stored``, or summed up in ``folder``)."""
    if getattr(config, "quantization_config", None) is not None and folder is not None:
        files = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        if stored or files:
            return Need(name, stored or files)
    try:
        with BUILDING, torch.device("meta"):
            empty = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=code)
    except Exception as error:
        raise ModelError(f"{name} can't be built from its config.json; the file may be broken, or need a package that "
                         "isn't installed.", details=f"{type(error).__name__}: {error}") from error
    return Need(name, sum(p.numel() for p in empty.parameters()) * dtype.itemsize)


def _peek(source: str, revision: str | None, *, code: bool) -> tuple[str, Path | None, Any, int | None]:
    """Name, folder, configuration and, where the hub tells, the size in bytes of the weight files."""
    if source == "builtin":
        return builtin.NAME, None, transformers.AutoConfig.for_model(**builtin.CONFIG), None
    place, stored = find_local(source), None
    if place is None:
        folder, stored = hub.peek(source, revision=revision)
        place = Place(folder, None, source, source)
    config = read_config(place, code=code)
    if place.gguf is not None and hasattr(config, "quantization_config"):
        del config.quantization_config  # it is expanded on loading
    return place.name, place.folder, config, stored
