"""From parsed arguments to what the engine understands: settings and the prompt's text, checked."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from engine import lookup_texts, methods
from engine.errors import SpecScopeError
from engine.settings import DrafterSettings, RunSettings, Sampling

DEFAULT_PROMPT = "Explain in three sentences why the sky is blue."
LONGEST_PROMPT_FILE = 64 * 2**20


def prompt_text(args: argparse.Namespace) -> str:
    """The prompt as typed, or the content of ``--prompt-file``."""
    if args.prompt is not None:
        return str(args.prompt)
    if args.prompt_file is None:
        return DEFAULT_PROMPT
    path = Path(args.prompt_file)
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_PROMPT_FILE + 1)  # not by its size: a device has none and never ends
        if len(content) > LONGEST_PROMPT_FILE:
            raise SpecScopeError(f"The prompt file {path} is larger than 64 MB; give a shorter one.")
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecScopeError(f"The prompt file {path} is not UTF-8 text (byte {error.start}).") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        reason = getattr(error, "strerror", None) or error
        raise SpecScopeError(f"The prompt file {path} can't be read: {reason}.") from None


def drafter_settings(args: argparse.Namespace, spelled: str) -> DrafterSettings:
    """One ``--drafter`` with the options of its method."""
    parsed = msgspec.structs.replace(DrafterSettings.parse(spelled, args.gamma), **_dynamic(args, spelled))
    if parsed.kind == "ngram":
        given = {name: value for name in ("min_n", "max_n", "match") if (value := getattr(args, name)) is not None}
        return msgspec.structs.replace(parsed, **given, texts=lookup_texts.all_named(args.lookup_text))
    if parsed.kind == "layer-skip":
        return msgspec.structs.replace(parsed, skip=tuple(args.skip), exit_layer=args.exit_layer)
    return parsed


def _dynamic(args: argparse.Namespace, spelled: str) -> dict[str, object]:
    """The options of dynamic length and of trees. In a comparison they are for the lanes that can use them, as
    ``--skip`` is; where none can, the settings say why."""
    lanes = args.drafter if isinstance(args.drafter, list) else [args.drafter]
    given: dict[str, object] = {}
    for name, serves in (("stop_below", _draws), ("adaptive", _drafts), ("tree", _trees), ("tree_top", _trees),
                         ("tree_nodes", _trees), ("gather", _trees)):
        wanted = getattr(args, name) not in ((None, False) if name.startswith("tree") else (None, False, 0.0))
        if wanted and (serves(spelled) or (spelled in lanes and not any(map(serves, lanes)))):
            given[name] = getattr(args, name)
    return given


def _draws(spelled: str) -> bool:
    return methods.method(DrafterSettings.parse(spelled).kind).draws


def _trees(spelled: str) -> bool:
    return methods.method(DrafterSettings.parse(spelled).kind).trees


def _drafts(spelled: str) -> bool:
    return DrafterSettings.parse(spelled).kind != "none"


def run_settings(args: argparse.Namespace, spelled: str) -> RunSettings:
    """All settings of one lane."""
    return RunSettings(
        sampling=Sampling(temperature=args.temperature, top_k=args.top_k, top_p=args.top_p, min_p=args.min_p,
                          repetition_penalty=args.repetition_penalty),
        drafter=drafter_settings(args, spelled), seed=args.seed, max_new_tokens=args.max_new_tokens,
        stop=tuple(args.stop), ignore_eos=args.ignore_eos, exact=args.exact)
