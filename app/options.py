"""From parsed arguments to what the engine understands: settings and the prompt's text, checked."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

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
    parsed = DrafterSettings.parse(spelled, args.gamma)
    if parsed.kind == "ngram":
        given = {name: value for name in ("min_n", "max_n", "match") if (value := getattr(args, name)) is not None}
        return msgspec.structs.replace(parsed, **given)
    if parsed.kind == "layer-skip":
        return msgspec.structs.replace(parsed, skip=tuple(args.skip))
    return parsed


def run_settings(args: argparse.Namespace, spelled: str) -> RunSettings:
    """All settings of one lane."""
    return RunSettings(
        sampling=Sampling(temperature=args.temperature, top_k=args.top_k, top_p=args.top_p, min_p=args.min_p,
                          repetition_penalty=args.repetition_penalty),
        drafter=drafter_settings(args, spelled), seed=args.seed, max_new_tokens=args.max_new_tokens,
        stop=tuple(args.stop), ignore_eos=args.ignore_eos, exact=args.exact)
