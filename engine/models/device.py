"""Where a model runs and in which number format."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import psutil
import torch

from engine.errors import ModelError, SettingsError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(text: str) -> torch.device:
    """``auto`` (cuda:0 if there is one, else cpu), ``cpu``, ``cuda`` or ``cuda:N``.

    Raises :class:`SettingsError` for other texts and :class:`ModelError` for a GPU that isn't there.
    """
    if text == "auto":
        text = "cuda" if torch.cuda.is_available() else "cpu"
    match = re.fullmatch(r"cpu|cuda(?::(\d{1,3}))?", text)
    if match is None:
        raise SettingsError(f"device is {text!r}, but it must be auto, cpu, cuda or cuda:N.")
    if text == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ModelError(f"The device {text} was asked for, but PyTorch sees no CUDA GPU here; use cpu or auto.")
    index = int(match[1] or 0)
    if index >= torch.cuda.device_count():
        raise ModelError(f"The device {text} was asked for, but there are only {torch.cuda.device_count()} GPUs here, "
                         f"cuda:0 to cuda:{torch.cuda.device_count() - 1}.")
    return torch.device("cuda", index)


def choose_dtype(text: str, config: Any, device: torch.device) -> torch.dtype:
    """``auto``, ``float32``, ``bfloat16`` or ``float16``.

    ``auto`` on a CPU: bfloat16 if the CPU multiplies matrices in it natively, else float32. On CUDA: the checkpoint's
    own (bfloat16 if it doesn't say), or float16 in place of a bfloat16 the GPU doesn't know.
    """
    if text in DTYPES:
        return DTYPES[text]
    if text != "auto":
        raise SettingsError(f"dtype is {text!r}, but it must be auto, {', '.join(DTYPES)}.")
    if device.type == "cpu":
        return torch.bfloat16 if native_bfloat16() else torch.float32
    own = getattr(config, "dtype", None)
    dtype = own if isinstance(own, torch.dtype) and own in DTYPES.values() else torch.bfloat16
    if dtype == torch.bfloat16 and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16
    return dtype


def native_bfloat16() -> bool:
    """Does this CPU multiply bfloat16 matrices in hardware (AMX, AVX512-BF16, or Arm's BF16)? Emulated, it is slow."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        try:
            return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
        except (AttributeError, RuntimeError):  # a PyTorch built without oneDNN
            return False
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(probe() for name in probes if (probe := getattr(torch.cpu, name, None)) is not None)


def free_memory(device: torch.device) -> int:
    """Bytes that could be allocated on ``device`` now."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return min(int(psutil.virtual_memory().available), _control_group_room())


def _control_group_room() -> int:
    """Bytes left under this process's control group (a container's limit); huge where there is none."""
    unlimited = 2**62
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit == "max":
            return unlimited
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        cached = re.search(r"^inactive_file (\d+)$", Path("/sys/fs/cgroup/memory.stat").read_text(), re.MULTILINE)
        return max(0, int(limit) - used + (int(cached[1]) if cached else 0))
    except (OSError, ValueError):
        return unlimited


def size(count: int) -> str:
    """Bytes for a person: "269 MB", "1.4 GB" (powers of 1000)."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            value = count / scale
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{count} bytes"
