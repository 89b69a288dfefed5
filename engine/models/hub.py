"""Models from the Hugging Face hub: only the files we need, only safetensors, into the hub's own cache."""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import errors as hub_errors

from engine.errors import ModelError, SpecScopeError
from engine.models.progress import Reporter
from engine.models.quiet import Bar

SMALL_FILES = frozenset({
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model",
    "vocab.json", "vocab.txt", "merges.txt", "special_tokens_map.json", "added_tokens.json", "spiece.model",
    "tekken.json", "chat_template.json", "chat_template.jinja", "model.safetensors.index.json",
})
"""All that says what a model is, without its weights."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
"""File name endings of pickled weights: opening one can run any code, so SpecScope never does."""


def download(repo: str, *, revision: str | None, code: bool, report: Reporter,
             examine: Callable[[Path], None]) -> Path:
    """The folder in the hub's cache that holds ``repo`` at ``revision``, fetched as far as it is missing.

    ``examine`` is given the folder once all but the weights are there, and may refuse the model by raising. ``code``:
    fetch the repository's Python files too. Without a network, or in offline mode, a complete cached copy will do.

    Raises :class:`ModelError` for whatever can go wrong, :class:`Cancelled` when the person cancels.
    """
    with _sentences(repo, revision):
        try:
            sizes, commit = _listing(repo, revision)
        except (hub_errors.OfflineModeIsEnabled, *_unreachable()) as error:
            return _cached(repo, revision, examine, error)
        weights = choose_weights(repo, sizes)
        small = [name for name in sizes if name in SMALL_FILES or (name.endswith((".py", ".tiktoken")) and code)]
        total = sum(sizes[name] for name in [*small, *weights])
        before = 0
        folder = Path()
        # config.json by the revision's name, so that the cache learns which commit that is (offline mode needs it).
        for name in [*sorted(small, key=lambda name: name != "config.json"), *weights]:
            if weights and name == weights[0]:
                examine(folder)
            asked = revision if name == "config.json" else commit
            folder = Path(_fetch(repo, name, asked, _bar(report, f"Downloading {repo}", before, total))).parent
            before += sizes[name]
            report(f"Downloading {repo}", before, total, "bytes")
        return folder


def peek(repo: str, *, revision: str | None) -> tuple[Path, int | None]:
    """The folder with config.json of ``repo``, and the bytes of its weights (None where only the cache is at hand)."""
    with _sentences(repo, revision):
        try:
            sizes, _ = _listing(repo, revision)
        except (hub_errors.OfflineModeIsEnabled, *_unreachable()) as error:
            return _cached(repo, revision, lambda _: None, error), None
        weights = choose_weights(repo, sizes)
        folder = Path(_fetch(repo, "config.json", revision, None)).parent
        return folder, sum(sizes[name] for name in weights)


def choose_weights(name: str, files: Mapping[str, int]) -> list[str]:
    """The safetensors files to load among ``files``. Raises :class:`ModelError` where there is nothing we can load."""
    if "config.json" in files and "model.safetensors" in files:
        return ["model.safetensors"]
    shards = sorted(file for file in files if re.fullmatch(r"model-\d+-of-\d+\.safetensors", file))
    if "config.json" in files and shards and "model.safetensors.index.json" in files:
        return shards
    if "adapter_config.json" in files:
        raise ModelError(f"{name} holds an adapter, not a whole model; merge it into its base model first.")
    if any(file.endswith(PICKLES) for file in files):
        raise ModelError(f"{name} holds only pickled weights (.bin or .pt), which can run any code when opened, so "
                         "SpecScope doesn't; choose a model that is published as safetensors.")
    if any(file.endswith(".gguf") for file in files):
        raise ModelError(f"{name} holds only GGUF files; download one of them and open that file.")
    raise ModelError(f"{name} holds no model: there is no config.json with model.safetensors beside it.")


def complete(folder: Path) -> bool:
    """Are all the weights that the folder speaks of there?"""
    if (folder / "model.safetensors").exists():
        return True
    try:
        index = json.loads((folder / "model.safetensors.index.json").read_text())
        return all((folder / shard).exists() for shard in set(index["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError):
        return False


def _endpoint() -> str | None:
    """Read now, not when the library was imported."""
    return os.environ.get("HF_ENDPOINT") or None


def _unreachable() -> tuple[type[Exception], ...]:
    """What the hub's client raises when there is no network; which HTTP library it uses depends on its version."""
    library = importlib.import_module(hub_errors.HfHubHTTPError.__bases__[0].__module__.partition(".")[0])
    return library.TransportError, ConnectionError, hub_errors.LocalEntryNotFoundError


def _listing(repo: str, revision: str | None) -> tuple[dict[str, int], str]:
    """Top-level files with their sizes in bytes, and the commit that ``revision`` means now."""
    info = huggingface_hub.HfApi(endpoint=_endpoint()).model_info(repo, revision=revision, files_metadata=True)
    sizes = {file.rfilename: int(file.size or 0) for file in info.siblings or [] if "/" not in file.rfilename}
    return sizes, str(info.sha)


def _fetch(repo: str, name: str, revision: str | None, bar: type[Bar] | None) -> str:
    return str(huggingface_hub.hf_hub_download(
        repo, name, revision=revision, endpoint=_endpoint(), tqdm_class=bar or _bar(Reporter(), "", 0, None)))


def _bar(report: Reporter, stage: str, before: int, total: int | None) -> type[Bar]:
    """A bar class for one file, which counts on from the ``before`` bytes of the files already there."""

    class FileBar(Bar):
        def __init__(self, *args: Any, desc: str = "", **others: Any) -> None:
            super().__init__(report, *args, desc=desc, **others)
            # The hub's fast transfer draws two bars, one of bytes received, one of bytes written: count one.
            self._counts = not desc.endswith("reconstructing file")

        def update(self, n: float | None = 1) -> None:
            self.n += int(n or 0)
            if self._counts:
                report(stage, before + self.n, total, "bytes")

    return FileBar


def _cached(repo: str, revision: str | None, examine: Callable[[Path], None], why: Exception) -> Path:
    """The cached copy, if it is whole; else a sentence that says what to do."""
    config = huggingface_hub.try_to_load_from_cache(repo, "config.json", revision=revision)
    if isinstance(config, str) and complete(Path(config).parent):
        examine(Path(config).parent)
        return Path(config).parent
    state = "is only partly" if isinstance(config, str) else "isn't"
    if isinstance(why, hub_errors.OfflineModeIsEnabled):
        raise ModelError(f"{repo} {state} in the local cache, and offline mode is on (HF_HUB_OFFLINE); turn it off "
                         "once to download the model.") from why
    raise ModelError(f"{repo} {state} in the local cache, and the hub can't be reached; check the network, or give "
                     "a local folder.", details=str(why)) from why


@contextmanager
def _sentences(repo: str, revision: str | None) -> Iterator[None]:
    """Turns the hub client's errors into sentences for a person."""
    at = f" at revision {revision}" if revision else ""
    try:
        yield
    except SpecScopeError:
        raise
    except hub_errors.GatedRepoError as error:
        raise ModelError(f"{repo} is gated: accept its terms on its hub page, then set HF_TOKEN to a token of your "
                         "account.", details=str(error)) from error
    except hub_errors.RepositoryNotFoundError as error:
        raise ModelError(f"There is no model {repo} on the hub, or it is private; check the name, or set HF_TOKEN to "
                         "a token that may read it.", details=str(error)) from error
    except hub_errors.RevisionNotFoundError as error:
        raise ModelError(f"{repo} has no revision {revision}; name a branch, a tag or a commit of it.",
                         details=str(error)) from error
    except hub_errors.HFValidationError as error:
        raise ModelError(f"{repo!r} is not a hub id; write OWNER/NAME, a folder, a .gguf file, or builtin.",
                         details=str(error)) from error
    except hub_errors.HfHubHTTPError as error:
        raise ModelError(f"The hub answered {error.response.status_code} for {repo}{at}; try again later.",
                         details=str(error)) from error
    except _unreachable() as error:
        raise ModelError(f"The download of {repo} broke off; check the network and start again: it goes on where it "
                         "stopped.", details=str(error)) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ModelError(f"The disk is full: {repo} doesn't fit into the hub's cache; free some space.",
                             details=str(error)) from error
        raise ModelError(f"{repo}{at} could not be downloaded ({type(error).__name__}); try again.",
                         details=str(error)) from error
