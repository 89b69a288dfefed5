"""What was found for a target, kept in the user's cache folder beside the models: one small file a target, dtype and
kind of device. A file that can't be read, or isn't about this target, is ignored, and the reason told."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import msgspec

from engine.errors import ModelError
from engine.models.builtin import cache_root
from engine.records import TargetInfo

FORMAT = 1
LARGEST = 1 << 20
"""Bytes."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The set of layers to leave out of one target."""

    format: int = FORMAT
    target: str
    """Its name, for a person."""
    fingerprint: str
    dtype: str
    device: str
    """Without a number: cuda:1 is as quick as cuda:0."""
    layers: int
    skip: tuple[int, ...]
    gamma: int
    """The draft length that goes with it."""
    alpha: float
    step_cost: float
    predicted: float
    measured: float | None
    """Speed-ups over plain decoding."""
    machine: str
    made: str
    """Local time, ISO 8601."""


def device_kind(device: str) -> str:
    return " + ".join(part.split(":")[0] for part in device.split(" + "))


def place(info: TargetInfo) -> Path:
    name = "-".join((info.fingerprint, info.dtype, device_kind(info.device)))
    return cache_root() / "calibrations" / f"{re.sub('[^A-Za-z0-9.]+', '-', name)}.json"


def write(found: Calibration, info: TargetInfo) -> Path:
    """In one step, so that nobody reads half of it. Raises :class:`ModelError` when it can't be written."""
    path = place(info)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise ModelError(f"The calibration can't be written to {path} ({error.strerror or error}); check the folder's "
                         "permissions, or set SPECSCOPE_CACHE to another folder.") from error
    return path


def read(info: TargetInfo) -> tuple[Calibration | None, str]:
    """What is kept for this target, or None and why not; "" where there simply is nothing."""
    path = place(info)
    try:
        with path.open("rb") as file:
            found = msgspec.json.decode(file.read(LARGEST + 1), type=Calibration)
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"it can't be read: {error.strerror or error}"
    except ValueError:  # msgspec's errors are; so are bad UTF-8 and a file cut off
        return None, "it is damaged"
    why = _foreign(found, info)
    return (None, why) if why else (found, "")


def _foreign(found: Calibration, info: TargetInfo) -> str:
    if found.format != FORMAT:
        return "another version wrote it"
    wanted = info.fingerprint, info.dtype, device_kind(info.device), info.layers
    if (found.fingerprint, found.dtype, found.device, found.layers) != wanted:
        return "it is about another model"
    skip = found.skip
    if not 0 < len(skip) < info.layers or list(skip) != sorted(set(skip)) or not 0 <= skip[0] <= skip[-1] < info.layers:
        return "it names layers that the target doesn't have"
    return "" if 1 <= found.gamma <= 64 else "its draft length is out of range"
