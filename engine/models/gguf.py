"""GGUF files, read through transformers: weights are taken out of their quantised form once, on reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

from engine.models.progress import Reporter


def read_config(folder: Path, name: str) -> Any:
    """The configuration written in the file's header (seconds: transformers reads the vocabulary too)."""
    return transformers.AutoConfig.from_pretrained(folder, gguf_file=name, local_files_only=True)


def read_model(folder: Path, name: str, *, dtype: torch.dtype, attention: str) -> Any:
    """The model on the CPU with its weights in ``dtype``, no longer marked as quantised: they aren't any more."""
    hf = transformers.AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, dtype=dtype, attn_implementation=attention, local_files_only=True)
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


def convert(file: Path, into: Path, *, title: str, report: Reporter) -> None:
    """Write the model of a GGUF file as safetensors in bfloat16, with its tokenizer, to the folder ``into``."""
    report("Reading the model's vocabulary")
    tokenizer = read_tokenizer(file.parent, file.name)
    report("Reading the model's weights")
    hf = read_model(file.parent, file.name, dtype=torch.float32, attention="eager")
    report("Writing the model")
    hf.config._name_or_path = title
    hf.to(torch.bfloat16).save_pretrained(into)
    tokenizer.save_pretrained(into)
