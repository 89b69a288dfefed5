"""Load a model: find it, see that it can be used and fits, read its weights and its tokenizer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
import transformers

from engine.errors import ModelError, SpecScopeError
from engine.models import gguf
from engine.models.describe import describe, eos_ids, vocabulary_size
from engine.models.device import choose_device, choose_dtype, free_memory
from engine.models.find import Place, find, read_config, refuse
from engine.models.memory import MemoryPlan, weights_need
from engine.models.model import Model
from engine.models.progress import Progress, Reporter
from engine.models.quiet import BUILDING, quiet
from engine.text import TokenTable


def load(source: str, *, dtype: str = "auto", device: str = "auto", revision: str | None = None,
         trust_remote_code: bool = False, progress: Callable[[Progress], None] | None = None,
         cancelled: Callable[[], bool] | None = None) -> Model:
    """Load ``builtin``, a folder, a .gguf file or a hub id.

    ``dtype``: auto, float32, bfloat16 or float16; ``device``: auto, cpu, cuda or cuda:N (see device.py for auto). With
    ``device`` auto, a model that is too large for the first GPU is spread over all of them and the CPU. ``revision``:
    branch, tag or commit of a hub id. ``trust_remote_code`` lets the model's own Python code run on this computer.

    Raises :class:`ModelError` for whatever is wrong with the model, :class:`SettingsError` for a dtype or device that
    doesn't exist, and :class:`Cancelled` once ``cancelled()`` is true.
    """
    report = Reporter(progress, cancelled)
    where = choose_device(device)
    with quiet(report):
        place = find(source, revision=revision, code=trust_remote_code, report=report)
        stage = f"Loading {place.name}"
        report(stage)
        config = read_config(place, code=trust_remote_code)
        refuse(place.name, config)
        kind = choose_dtype(dtype, config, where)
        spread = _spread(place, config, kind, where, may_spread=device == "auto", code=trust_remote_code)
        with BUILDING:
            hf = _weights(place, config, kind, "auto" if spread else where, code=trust_remote_code, report=report)
        report(stage)
        tokenizer = _tokenizer(place, code=trust_remote_code)
        lock = threading.RLock()
        table = TokenTable.of(tokenizer, lock)
        texts = tuple(table.text(token) for token in range(vocabulary_size(hf)))
        return Model(hf, tokenizer, describe(place, hf), table, texts, eos_ids(hf), lock)


def _spread(place: Place, config: Any, dtype: torch.dtype, device: torch.device, *, may_spread: bool,
            code: bool) -> bool:
    """Must the weights be spread over several devices? Raises :class:`ModelError` if they fit nowhere."""
    need = weights_need(place.name, config, dtype, folder=place.folder, code=code)
    room = free_memory(device)
    if device.type == "cuda" and may_spread and need.weights > room:
        everywhere = free_memory(torch.device("cpu")) + sum(
            free_memory(torch.device("cuda", index)) for index in range(torch.cuda.device_count()))
        MemoryPlan("all GPUs and the CPU", (need,), 0, everywhere).check()
        return True
    MemoryPlan(str(device), (need,), 0, room).check()
    return False


def _weights(place: Place, config: Any, dtype: torch.dtype, where: torch.device | str, *, code: bool,
             report: Reporter) -> Any:
    """The model in eval mode, without gradients, on its device(s)."""
    from engine import attention

    name = attention.NAME if attention.supported(config) else "eager"
    try:
        if place.gguf is not None:
            hf = gguf.read_model(place.folder, place.gguf, config=config, dtype=dtype, attention=name, report=report)
            if isinstance(where, torch.device):
                hf.to(where)
        else:
            placed = {} if where == torch.device("cpu") else {"device_map": where if where == "auto" else {"": where}}
            hf, notes = transformers.AutoModelForCausalLM.from_pretrained(
                place.folder, config=config, dtype=dtype, attn_implementation=name, use_safetensors=True,
                local_files_only=True, trust_remote_code=code, output_loading_info=True, **placed)
            _check_all_there(place, notes)
    except SpecScopeError:
        raise
    except torch.OutOfMemoryError as error:
        raise ModelError(f"{place.name} doesn't fit into the memory of {where}; choose a smaller model, another dtype, "
                         "or cpu.", details=str(error)) from error
    except Exception as error:  # a broken file, a missing package, code of the model's own: all end here
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
        raise ModelError(f"{place.name} couldn't be loaded ({first}); its files may be broken, or need a package that "
                         "isn't installed.", details=f"{type(error).__name__}: {error}") from error
    return hf.eval().requires_grad_(False)


def _check_all_there(place: Place, notes: dict[str, Any]) -> None:
    """transformers fills weights that a checkpoint lacks with random numbers; such a model must not run."""
    lacking = sorted({str(key) for key in notes.get("missing_keys") or ()}
                     | {str(key[0] if isinstance(key, tuple) else key) for key in notes.get("mismatched_keys") or ()})
    if lacking:
        raise ModelError(f"{place.name} lacks {len(lacking)} of its weights, {lacking[0]} for one; it is no whole "
                         "causal language model, or its files don't belong to its config.json.",
                         details="\n".join(lacking[:50]))


def _tokenizer(place: Place, *, code: bool) -> Any:
    try:
        if place.gguf is not None:
            return gguf.read_tokenizer(place.folder, place.gguf)
        return transformers.AutoTokenizer.from_pretrained(
            place.folder, local_files_only=True, trust_remote_code=code)
    except Exception as error:
        raise ModelError(f"{place.name} has no tokenizer that can be read; put its tokenizer.json beside its weights.",
                         details=f"{type(error).__name__}: {error}") from error
