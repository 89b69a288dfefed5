"""From what a person names (builtin, a folder, a .gguf file, a hub id) to a folder with a model in it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers

from engine.errors import ModelError
from engine.models import builtin, gguf, hub
from engine.models.progress import Reporter
from engine.models.refuse import refusal


@dataclass(frozen=True)
class Place:
    """A model on this disk."""

    folder: Path
    gguf: str | None
    """The file to read in ``folder``; None: safetensors."""
    name: str
    """For a person: "SmolLM2-135M-Instruct"."""
    source: str
    """What was asked for."""


def find(source: str, *, revision: str | None, code: bool, report: Reporter) -> Place:
    """Bring the model to this disk, as far as it isn't there. A model that can't be used is refused before its weights
    are downloaded. Raises :class:`ModelError` and :class:`Cancelled`."""
    if source == "builtin":
        return Place(builtin.ensure(report).path, None, builtin.NAME, source)
    local = find_local(source)
    if local is not None:
        return local

    def examine(folder: Path) -> None:
        refuse(source, read_config(Place(folder, None, source, source), code=code))

    return Place(hub.download(source, revision=revision, code=code, report=report, examine=examine), None, source,
                 source)


def find_local(source: str) -> Place | None:
    """The folder or file ``source`` names, or None if it must be a hub id. Raises :class:`ModelError` for a path that
    isn't there or holds nothing that we load."""
    path = Path(source).expanduser()
    if path.is_dir():
        files = {file.name: file.stat().st_size for file in path.iterdir() if file.is_file()}
        ggufs = [name for name in files if name.endswith(".gguf")]
        if len(ggufs) == 1 and "config.json" not in files:
            return Place(path, ggufs[0], Path(ggufs[0]).stem, source)
        hub.choose_weights(str(path), files)
        return Place(path, None, path.resolve().name, source)
    if path.is_file():
        if path.suffix == ".gguf":
            return Place(path.parent, path.name, path.stem, source)
        if path.suffix in hub.PICKLES:
            raise ModelError(f"{source} is a pickle, which can run any code when opened, so SpecScope doesn't; use a "
                             "folder with safetensors, or a .gguf file.")
        raise ModelError(f"{source} is neither a folder nor a .gguf file; name the folder that holds config.json and "
                         "model.safetensors.")
    looks_like_a_path = source.startswith((".", "~", os.sep)) or source.endswith(".gguf") or "\\" in source
    if looks_like_a_path or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", source):
        raise ModelError(f"There is no folder or file {source}; name a folder, a .gguf file, a hub id (OWNER/NAME), or "
                         "builtin.")
    return None


def read_config(place: Place, *, code: bool) -> Any:
    """The model's configuration (``transformers``). Raises :class:`ModelError` for one that can't be understood."""
    if place.gguf is not None:
        return _understood(place, lambda: gguf.read_config(place.folder, str(place.gguf)))
    try:
        written = json.loads((place.folder / "config.json").read_text())
        kind = written["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{place.name}: its config.json can't be read or names no model_type; the download may be "
                         "broken.", details=str(error)) from error
    if kind not in transformers.CONFIG_MAPPING and not (written.get("auto_map") and code):
        if written.get("auto_map"):
            raise ModelError(f"{place.name} needs Python code from its own repository, which would run on this "
                             "computer with your rights; if you trust its authors, allow it with trust_remote_code.")
        raise ModelError(f"{place.name} is of the kind {kind!r}, which transformers {transformers.__version__} doesn't "
                         "know; a newer version may.")
    return _understood(place, lambda: transformers.AutoConfig.from_pretrained(
        place.folder, local_files_only=True, trust_remote_code=code))


def _understood(place: Place, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception as error:
        raise ModelError(f"{place.name}: its configuration can't be used ({_first_line(error)}).",
                         details=str(error)) from error


def refuse(name: str, config: Any) -> None:
    """Raises :class:`ModelError` when :func:`refusal` has a reason."""
    reason = refusal(config)
    if reason is not None:
        raise ModelError(f"{name} can't be used: {reason}; choose another model.")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__
