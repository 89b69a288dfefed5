"""Trained drafters on disk: a folder with ``config.json`` and ``model.safetensors``, made for one target.

Those that ship with SpecScope are in assets/drafters/, one folder a method. A drafter trained for another target loads
without an error and guesses nonsense, so the target's fingerprint is part of it and is checked. Which weights a folder
holds can change, so a run names them by a digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from engine.errors import MismatchError, ModelError
from engine.models import Model, hub
from engine.models.builtin import cache_root
from engine.models.progress import Reporter

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "drafters"
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "card.md"
FORMAT = 1
PRECISE = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
"""Weights are of these."""
DIGITS = 12
"""Of a digest, hexadecimal."""

_TOLD = frozenset({"training", "held_out"})
"""What config.json says for people: no part of what drafts."""


@dataclass(frozen=True)
class Checkpoint:
    """One trained drafter, read."""

    source: str
    """What the person named, or "": the one for the target."""
    folder: Path
    config: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    """None yet while config.json is examined."""

    @property
    def name(self) -> str:
        """For messages."""
        return named(self.source, self.folder)

    @property
    def foreign(self) -> bool:
        """Written by another package."""
        return "specscope_format" not in self.config

    def check(self, method: str, target: Model) -> None:
        """Raises :class:`MismatchError` unless it is one of ours, of this method and made for this target."""
        name = self.name
        if self.foreign:
            raise ModelError(f"{name} is no drafter that SpecScope can read: its {CONFIG} is in another layout.")
        written = self.config["specscope_format"]
        if type(written) is not int or written != FORMAT:
            raise ModelError(f"{name} was written by another version of SpecScope (format {written!r}, not {FORMAT}); "
                             "train it again.")
        if self.config.get("method") != method:
            raise MismatchError(f"{name} is a drafter of the method {self.config.get('method')}, not {method}.")
        made = self.config.get("target")
        if not isinstance(made, dict) or not {"name", "fingerprint"} <= set(made):
            raise self.damaged("it doesn't say which target it was made for")
        if made["fingerprint"] != target.info.fingerprint:
            raise MismatchError(
                f"{name} was trained for {made['name']}, but the target is {target.info.name} with other weights, and "
                f"it would only guess nonsense; train one: python main.py train {method} --target "
                f"{target.info.source or target.info.name}", details=f"made for the fingerprint {made['fingerprint']}, "
                f"the target's is {target.info.fingerprint}")

    def damaged(self, why: str) -> ModelError:
        return ModelError(f"{self.name} is damaged: {why}; train or fetch it again.")

    def whole(self, name: str) -> int:
        """A size from config.json. Raises :class:`ModelError` where it is missing or nonsense."""
        value = self._shape(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 24:
            raise self.damaged(f"its {CONFIG} says {value!r} for {name}")
        return value

    def wholes(self, name: str) -> tuple[int, ...]:
        """A list of layers or depths from config.json. Raises as :meth:`whole` does."""
        values = self._shape(name)
        if not isinstance(values, list) or not values or not all(type(v) is int and -1 <= v < 1 << 16 for v in values):
            raise self.damaged(f"its {CONFIG} says {values!r} for {name}")
        return tuple(values)

    def _shape(self, name: str, missing: Any = None) -> Any:
        """What config.json says of the network's shape, unchecked."""
        shape = self.config.get("shape")
        return shape.get(name, missing) if isinstance(shape, dict) else missing

    def flag(self, name: str) -> bool:
        """Whether config.json says so; what is older than the flag says nothing, which is no. Raises as :meth:`whole`
        does."""
        value = self._shape(name, False)
        if not isinstance(value, bool):
            raise self.damaged(f"its {CONFIG} says {value!r} for {name}")
        return value

    def ids(self, vocabulary: int) -> torch.Tensor:
        """(draft vocabulary,) int64: the target's id of each draft id, ascending. Raises :class:`ModelError` unless
        they are different ones of ``vocabulary``: q would be over other tokens than those drawn."""
        d2t = self.tensors.get("d2t")
        size = self.whole("draft_vocabulary")
        if d2t is None or d2t.dtype != torch.int64 or d2t.shape != (size,):
            raise self.damaged(f"its map d2t should hold {size} whole numbers")
        ids = torch.arange(size) + d2t.clamp(-1, vocabulary)  # lest a sum runs over
        if bool((ids.diff() <= 0).any()) or not 0 <= int(ids[0]) <= int(ids[-1]) < vocabulary:
            raise self.damaged(f"its map d2t doesn't name {size} different ones of {vocabulary} tokens")
        return ids

    @property
    def trained_tokens(self) -> int:
        """Of the target's answers, for showing; 0 where it isn't told."""
        training = self.config.get("training")
        tokens = training.get("answer_tokens") if isinstance(training, dict) else 0
        return tokens if isinstance(tokens, int) else 0


Examine = Callable[[Checkpoint], None]
"""May refuse a drafter by its config.json, by raising; there are no tensors yet."""


def named(source: str, folder: Path) -> str:
    """A drafter in a message, at the beginning of a sentence."""
    if source:
        return source
    if folder.parent == SHIPPED:
        return f"The {folder.name} drafter that ships with SpecScope"
    return f"The {folder.name} drafter in {folder}"


def load(method: str, target: Model, source: str, examine: Examine = lambda found: None) -> Checkpoint:
    """The checkpoint in a folder or hub id ``source``; "": the one for the target. Raises :class:`ModelError` when it
    can't be found or read; whether it fits the target is another question."""
    return read(find(method, target, source, examine), source)


def read(folder: Path, source: str) -> Checkpoint:
    """Raises as :func:`load` does."""
    name = named(source, folder)
    config, files = _config(folder, name), _weights(folder, name)
    try:
        tensors = {name: tensor for file in files for name, tensor in load_file(file).items()}
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{name} can't be read: its weights are damaged.", details=str(error)) from error
    return Checkpoint(source, folder, config, tensors)


def digest(folder: Path) -> str:
    """:data:`DIGITS` hexadecimal digits that tell a drafter from one that drafts otherwise: of its weights, and of what
    its config.json says that they are. Raises :class:`ModelError` where there is no drafter."""
    config = {key: value for key, value in _config(folder, str(folder)).items() if key not in _TOLD}
    found = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for file in _weights(folder, str(folder)):
        try:
            now = file.stat()
            found.update(_content(file, (now.st_ino, now.st_mtime_ns, now.st_size)))
        except OSError as error:
            raise ModelError(f"{file} can't be read.", details=str(error)) from error
    return found.hexdigest()[:DIGITS]


@lru_cache(maxsize=64)
def _content(file: Path, state: tuple[int, ...]) -> bytes:
    """The digest of a file's bytes. ``state``: what changes when it is written, so that it is read once."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()


def trained(method: str, fingerprint: str) -> Path:
    """Where ``train`` puts a drafter for a target, unless told otherwise: lanes find it by themselves, before the one
    that ships."""
    return cache_root() / "drafters" / fingerprint / method


def there_is(method: str, target: Model) -> bool:
    """Does a drafter of this method ship for the target, or was one trained here? Reads a config.json at most."""
    try:
        find(method, target, "", lambda found: found.check(method, target))
    except ModelError:
        return False
    return True


def find(method: str, target: Model, source: str, examine: Examine = lambda found: None, *, weights: str = "",
         report: Reporter | None = None) -> Path:
    """The folder that ``source`` means, examined; a hub id's is downloaded where it isn't here. "": what was trained
    here for the target, or else what ships; the one of them whose digest is ``weights``, if one is. Raises
    :class:`ModelError` when there is none."""
    def looked_at(found: Checkpoint) -> None:
        try:
            examine(found)
        except RecursionError as error:  # its words hold what config.json says, nested deeply
            raise ModelError(f"{found.name} can't be read: its {CONFIG} is nested too deeply.") from error

    if on_hub(source):
        folder = _from_hub(source, looked_at, report or Reporter())
    elif source:
        here = _folder(source)
        if here is None:
            raise ModelError(f"{source} is neither a folder nor a hub id, so no {method} drafter can be loaded from "
                             "it.")
        folder = here
    else:
        both = trained(method, target.info.fingerprint), SHIPPED / method
        there = [one for one in both if (one / CONFIG).exists()]
        if not there:
            raise ModelError(f"No {method} drafter ships with SpecScope for {target.info.name}; train one: python "
                             f"main.py train {method} --target {target.info.source or target.info.name}")
        folder = next((one for one in there if weights and _has(one, weights)), there[0])
    looked_at(_announced(folder, source))
    return folder


def on_hub(source: str) -> bool:
    """Does it name a repository, not a folder here?"""
    return (len(Path(source).parts) == 2 and "/" in source and not source.startswith((".", "/", "~"))
            and _folder(source) is None)


def _folder(source: str) -> Path | None:
    """The folder here that a person named; None where there is none, or can be none of such a name."""
    try:
        folder = Path(source).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long, of a person who isn't known here, no text
        return None


_fetched: dict[str, Path] = {}
"""Where hub ids are. The hub is asked once a process: lanes that are compared, or gone on with, draft with the same."""


def _from_hub(source: str, examine: Examine, report: Reporter) -> Path:
    """``examine`` is asked before the weights come."""
    if source not in _fetched or not (_fetched[source] / CONFIG).exists():
        _fetched[source] = hub.download(source, revision=None, code=False, report=report,
                                        examine=lambda folder: examine(_announced(folder, source)))
    return _fetched[source]


def _has(folder: Path, weights: str) -> bool:
    try:
        return digest(folder) == weights
    except ModelError:
        return False


def _announced(folder: Path, source: str) -> Checkpoint:
    return Checkpoint(source, folder, _config(folder, named(source, folder)), {})


def _config(folder: Path, name: str) -> dict[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("not an object")
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{name} can't be read: its {CONFIG} is missing or broken.", details=str(error)) from error
    return config


def _weights(folder: Path, name: str) -> list[Path]:
    files = [folder / WEIGHTS] if (folder / WEIGHTS).exists() else sorted(folder.glob("*.safetensors"))
    if not files:
        found = ", ".join(sorted(path.name for path in folder.iterdir())[:6]) or "nothing"
        raise ModelError(f"{name} has no .safetensors file (there is {found}); SpecScope reads no other format, since "
                         "pickled weights can run code.")
    return files


def fill(module: torch.nn.Module, tensors: dict[str, torch.Tensor], name: str) -> None:
    """Put ``tensors`` into a module's parameters and buffers of the same names, in the module's dtype. Raises
    :class:`ModelError` as :func:`fits` does."""
    fits(module, tensors, name)
    module.load_state_dict(tensors)


def fits(module: torch.nn.Module, tensors: dict[str, torch.Tensor], name: str) -> None:
    """Raises :class:`ModelError` naming what is missing, unknown, of another shape, quantised, NaN or infinite. The
    module may lie on the device "meta", where it costs nothing: config.json may announce any size."""
    own = module.state_dict()
    missing, unknown = sorted(set(own) - set(tensors)), sorted(set(tensors) - set(own))
    if missing or unknown:
        what = f"{missing[0]} is missing" if missing else f"{unknown[0]} is not known"
        raise ModelError(f"{name} doesn't have the weights that its config.json announces: {what}.",
                         details=f"missing: {missing}\nunknown: {unknown}")
    for key, tensor in tensors.items():
        if own[key].shape != tensor.shape:
            raise ModelError(f"{name} doesn't have the weights that its config.json announces: {key} has the shape "
                             f"{tuple(tensor.shape)} where {tuple(own[key].shape)} belongs.")
        if own[key].is_floating_point() and tensor.dtype not in PRECISE:
            raise ModelError(f"{name} has weights that SpecScope can't compute with ({key} is "
                             f"{str(tensor.dtype).removeprefix('torch.')}); they should be bfloat16 or float32.")
        if not torch.isfinite(tensor).all():
            raise ModelError(f"{name} has weights that are NaN or infinite ({key}), so it would draft nothing; its "
                             "training or its download went wrong: train or fetch it again.")
