"""GGUF files, read through transformers: weights are taken out of their quantised form once, on reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import torch
import transformers
from transformers import modeling_gguf_pytorch_utils as transformers_gguf

from engine.models.progress import Reporter
from engine.models.quiet import Bar


def read_config(folder: Path, name: str) -> Any:
    """The configuration written in the file's header (seconds: the vocabulary stands there too, and is read)."""
    return transformers.AutoConfig.from_pretrained(folder, gguf_file=name, local_files_only=True)


def read_model(folder: Path, name: str, *, config: Any, dtype: torch.dtype, attention: str, report: Reporter) -> Any:
    """The model on the CPU with its weights in ``dtype``, no longer marked as quantised: they aren't any more."""
    with mock.patch.object(transformers_gguf, "tqdm", lambda *args, **kwargs: Bar(report, *args, **kwargs)):
        hf = transformers.AutoModelForCausalLM.from_pretrained(
            folder, config=config, gguf_file=name, dtype=dtype, attn_implementation=attention, local_files_only=True)
    hf.hf_quantizer = None
    hf.is_quantized = False
    if hasattr(hf, "quantization_method"):
        del hf.quantization_method
    if hasattr(hf.config, "quantization_config"):
        del hf.config.quantization_config
    return hf


def read_tokenizer(folder: Path, name: str) -> Any:
    """The tokenizer written in the file, with its chat template."""
    return transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name, local_files_only=True)


def convert(file: Path, into: Path, *, report: Reporter) -> None:
    """Write the model of a GGUF file as safetensors in bfloat16, with its tokenizer, to the folder ``into``."""
    folder, name = file.parent, file.name
    report("Reading the model's header")
    config = read_config(folder, name)
    report("Reading the model's vocabulary")
    tokenizer = read_tokenizer(folder, name)
    report("Reading the model's weights")
    hf = read_model(folder, name, config=config, dtype=torch.float32, attention="eager", report=report)
    hf.to(torch.bfloat16).save_pretrained(into)
    tokenizer.save_pretrained(into)
