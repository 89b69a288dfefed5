"""The command line: says what can be asked, and opens the one command that was asked for.

Nothing heavy is imported here: ``--help`` and bad arguments answer before torch, Qt or transformers are touched.
Each command's module is imported only when it runs.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from engine import __version__

COMMANDS = {
    "fetch": "put the built-in model into the cache",
    "record": "decode one lane into a trace file",
    "compare": "decode with several drafters against plain decoding",
    "convert": "bring a trace from one format into another",
    "train": "make a drafter for a target out of the target's own answers",
    "calibrate": "find the layers that layer skip should leave out of a target",
    "prove": "show that the output is still the target's, or where a rule bends it",
}
DEFAULT_COMPARED = ("ngram", "layer-skip")
EXIT_FAULT = 2
EXIT_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """argparse whose complaint is one plain sentence (its own prints the whole usage first)."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_FAULT, f"{self.prog}: {message.removeprefix('argument ')}. Try {self.prog} --help\n")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _text(text: str) -> str:
    """A text that can be encoded: the shell may hand over any bytes, and tokenizers take only Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("the text is not valid UTF-8") from None
    return text


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, such as 1600x900") from None
    if not (320 <= width <= 16_384 and 240 <= height <= 16_384):
        raise argparse.ArgumentTypeError(f"{text} is out of range, 320x240 to 16384x16384")
    return width, height


def _seconds(text: str) -> float:
    value = _number(text)
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is out of range, 0 to 3600 seconds")
    return value


def _minutes(text: str) -> float:
    value = _number(text)
    if not 0 <= value <= 1440:
        raise argparse.ArgumentTypeError(f"{text} is out of range, 0 to 1440 minutes")
    return value


def _layers(text: str) -> tuple[int, ...]:
    return tuple(_whole(part) for part in text.replace(",", " ").split())


def add_model_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Which target, and where it runs."""
    models = parser.add_argument_group("models")
    models.add_argument("--target", metavar="T", type=_text, default=None,
                        help="builtin (default), a folder, a .gguf file or a Hugging Face hub id")
    models.add_argument("--revision", metavar="REV", type=_text, default=None, help="branch, tag or commit on the hub")
    models.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto")
    models.add_argument("--device", metavar="DEV", type=_text, default="auto", help="auto, cpu, cuda or cuda:N (auto)")
    models.add_argument("--trust-remote-code", action="store_true",
                        help="run Python code that comes with a hub model; only for sources you trust")
    return models


def _drafters() -> str:
    """What may be named, those of installed packages among them."""
    from engine import methods
    from engine.settings import spellings

    trained = [f"{kind}:ID" for kind in methods.kinds() if _takes_checkpoint(kind)]
    return (f"{spellings()} (drafters of installed packages are listed too); for model: ID is a folder, a .gguf file "
            f"or a hub id; {', '.join(trained)}: another checkpoint than the target's own, ID is a folder or a hub id"
            ).replace("%", "%%")


def _takes_checkpoint(kind: str) -> bool:
    """Was it trained for one target, so that another checkpoint of it may be named?"""
    from engine import methods

    return methods.own(kind) and bool(methods.method(kind).model) and not methods.method(kind).needs_model


def add_drafters_option(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--drafter", metavar="D", type=_text, nargs="+", action="extend", default=None,
                       help=f"{_drafters()}; repeatable")


def add_proof_options(parser: argparse.ArgumentParser) -> None:
    add_drafters_option(add_model_options(parser))
    proof = parser.add_argument_group("proof")
    proof.add_argument("--gamma", metavar="N", type=_whole, default=None,
                       help="draft length asked for in a round (each method's own default)")
    proof.add_argument("--rule", metavar="MODULE:FUNCTION", type=_text, default=None,
                       help="judge by your own function(p, q, token, draw) instead, and say where it bends the output; "
                            "see docs/proof.md")
    length = proof.add_mutually_exclusive_group()
    length.add_argument("--quick", dest="quick", action="store_true", default=True, help="about two minutes (default)")
    length.add_argument("--full", dest="quick", action="store_false",
                        help="larger cases, more samples, and every wrong rule against every check")


def add_train_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("method", metavar="METHOD", type=_text, help="draft, eagle or medusa")
    add_model_options(parser)
    group = parser.add_argument_group("training")
    group.add_argument("--out", metavar="FOLDER", type=_text, default=None,
                       help="where the drafter goes (the cache, where lanes for this target find it before the one "
                            "that ships)")
    group.add_argument("--work", metavar="FOLDER", type=_text, default=None,
                       help="where answers, features and checkpoints are kept: a stopped run goes on (the cache)")
    group.add_argument("--prompts", metavar="N", type=_whole, default=None,
                       help="prompts of each kind (300; 0 where answers ship, which N are added to)")
    group.add_argument("--asked", metavar="N", type=_whole, default=None,
                       help="questions that the target asks itself (2000; 0 where answers ship, which N are added to)")
    group.add_argument("--from", dest="start", metavar="DRAFTER", type=_text, default="",
                       help="begin with the weights of a drafter for this target: a folder or a hub id")
    group.add_argument("--answer-tokens", metavar="N", type=_whole, default=160, help="longest answer (160)")
    group.add_argument("--steps", metavar="N", type=_whole, default=1500, help="training steps (1500)")
    group.add_argument("--rate", metavar="R", type=_number, default=None,
                       help="the highest learning rate (eagle and medusa 0.01, draft 0.004); lower, with --from, "
                            "goes on gently")
    group.add_argument("--no-measure", dest="measure", action="store_false", default=True,
                       help="leave out the held-out figures at the end")


def add_convert_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", type=_text, nargs="?", help="a trace, or a file of another program")
    parser.add_argument("target", metavar="OUT", type=_text, nargs="?",
                        help="what to write; its suffix tells the format")
    parser.add_argument("--from", dest="from_format", metavar="F", type=_text, default=None,
                        help="the format of IN (told by its content)")
    parser.add_argument("--to", dest="to_format", metavar="F", type=_text, default=None,
                        help="the format of OUT (told by its suffix)")
    parser.add_argument("--lane", metavar="ID", type=_text, default=None, help="only this lane (all)")
    parser.add_argument("--list", action="store_true", help="tell all formats, and which are read and written")


def add_run_options(parser: argparse.ArgumentParser, *, many_drafters: bool) -> None:
    """The options that every decoding command shares. Ranges are checked by ``engine.settings``, in one place."""
    from app.options import DEFAULT_PROMPT

    models = add_model_options(parser)
    if many_drafters:
        add_drafters_option(models)
    else:
        models.add_argument("--drafter", metavar="D", type=_text, default="none", help=f"{_drafters()} (none)")
    models.add_argument("--exact", action="store_true",
                        help="pad every forward to one width where rows depend on it (costs time)")

    prompt = parser.add_argument_group("prompt")
    source = prompt.add_mutually_exclusive_group()
    source.add_argument("--prompt", metavar="TEXT", type=_text, default=None, help=f"what to answer ({DEFAULT_PROMPT})")
    source.add_argument("--prompt-file", metavar="FILE", type=_text, default=None, help="read the prompt from a file")
    form = prompt.add_mutually_exclusive_group()
    form.add_argument("--chat", dest="chat", action="store_true", default=None,
                      help="as a user's message, in the model's chat template (default where there is one)")
    form.add_argument("--raw", dest="chat", action="store_false", default=None, help="as it is, to be continued")

    sampling = parser.add_argument_group("decoding")
    sampling.add_argument("--gamma", metavar="N", type=_whole, default=None,
                          help="draft length asked for in a round (each method's own default)")
    sampling.add_argument("--adaptive", action="store_true",
                          help="choose the draft length anew each round by what was accepted; --gamma is the most")
    sampling.add_argument("--stop-below", metavar="X", type=_number, default=0.0,
                          help="a round's drafting ends after the first draft where the drafter's largest probability "
                               "is below this (0: off); in a tree, nothing is drafted behind such a node")
    sampling.add_argument("--tree", choices=("top", "sampled"), default=None,
                          help="eagle, medusa: draft a tree instead of a chain, of the most probable children or of "
                               "drawn ones; other lanes draft as usual")
    sampling.add_argument("--tree-top", metavar="N", type=_whole, default=None,
                          help="with --tree: children of a node at most (4)")
    sampling.add_argument("--tree-nodes", metavar="N", type=_whole, default=None,
                          help="with --tree: drafts of a tree in all (16)")
    sampling.add_argument("--gather", action="store_true",
                          help="with --tree: verify it bit-exactly, each node's ancestors gathered in the cache's "
                               "order (slower)")
    sampling.add_argument("--temperature", metavar="X", type=_number, default=0.0, help="0 is greedy (0)")
    sampling.add_argument("--top-k", metavar="N", type=_whole, default=0, help="0 is off (0)")
    sampling.add_argument("--top-p", metavar="X", type=_number, default=1.0, help="1 is off (1)")
    sampling.add_argument("--min-p", metavar="X", type=_number, default=0.0, help="0 is off (0)")
    sampling.add_argument("--repetition-penalty", metavar="X", type=_number, default=1.0, help="1 is off (1)")
    sampling.add_argument("--seed", metavar="N", type=_whole, default=0)
    sampling.add_argument("--max-new-tokens", metavar="N", type=_whole, default=128, help="(128)")
    sampling.add_argument("--stop", metavar="TEXT", type=_text, action="append", default=[],
                          help="end once this text appears; repeatable")
    sampling.add_argument("--ignore-eos", action="store_true", help="decode past the model's end token")

    methods = parser.add_argument_group("drafters")
    methods.add_argument("--min-n", metavar="N", type=_whole, default=None, help="ngram: shortest suffix looked up")
    methods.add_argument("--max-n", metavar="N", type=_whole, default=None, help="ngram: longest suffix looked up")
    methods.add_argument("--match", choices=("latest", "earliest", "frequent"), default=None,
                         help="ngram: which occurrence is continued, or what followed most often (frequent)")
    methods.add_argument("--lookup-text", metavar="FILE", type=_text, action="append", default=[],
                         help="ngram: copy from this text too, such as a document or an earlier answer; repeatable")
    methods.add_argument("--skip", metavar="LAYERS", type=_layers, default=(),
                         help="layer-skip: layers left out, such as 10,11,12 (as calibrated, or every fifth)")
    methods.add_argument("--exit-layer", metavar="N", type=_whole, default=0,
                         help="layer-skip: leave out all layers from this one on")


def _window_parser() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {name:<10}{about}" for name, about in COMMANDS.items())
    parser = _Parser(
        prog="specscope", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="See, debug and prove speculative decoding, with real models.\n"
                    "Without a command, the window opens.",
        epilog=f"commands (each has its own --help):\n{commands}")
    parser.add_argument("--version", action="version", version=f"SpecScope {__version__}")
    parser.add_argument("--target", metavar="T", type=_text, default=None,
                        help="builtin, a folder, a .gguf file or a Hugging Face hub id")
    parser.add_argument("--drafter", metavar="D", type=_text, nargs="+", action="extend", default=None,
                        help=f"{_drafters()}; one lane each")
    parser.add_argument("--prompt", metavar="TEXT", type=_text, default=None, help="start with this prompt at once")
    parser.add_argument("--trace", metavar="FILE", type=_text, default=None,
                        help="play a recording, or another program's file (see convert --list)")
    parser.add_argument("--perspective", choices=("race", "debug", "lab", "learn"), default=None)
    parser.add_argument("--theme", choices=("dark", "light"), default=None)
    parser.add_argument("--screenshot", metavar="FILE", type=_text, default=None,
                        help="save a picture of the window as PNG, then leave")
    parser.add_argument("--size", metavar="WxH", type=_size, default=None, help="size of the window")
    parser.add_argument("--after", metavar="SECONDS", type=_seconds, default=None,
                        help="when to take the picture (4)")
    return parser


def _command_parser(name: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=f"specscope {name}", allow_abbrev=False, description=f"{COMMANDS[name].capitalize()}.")
    parser.add_argument("--json", action="store_true", help="end with one JSON object on standard output")
    if name == "fetch":
        return parser
    if name == "prove":
        add_proof_options(parser)
        return parser
    if name == "calibrate":
        add_model_options(parser)
        parser.add_argument("--minutes", metavar="M", type=_minutes, default=5.0,
                            help="how long to search; decoding with the best sets takes half as long again (5)")
        return parser
    if name == "train":
        add_train_options(parser)
        return parser
    if name == "convert":
        add_convert_options(parser)
        return parser
    if name == "record":
        parser.add_argument("--out", metavar="FILE", type=_text, required=True,
                            help="the trace to write (.spectrace; .spectrace.zst or .gz compresses it)")
    if name == "compare":
        parser.add_argument("--out", metavar="FILE", type=_text, default=None,
                            help="write the race to a trace as well (.spectrace; .spectrace.zst or .gz compresses it)")
    add_run_options(parser, many_drafters=name == "compare")
    return parser


def parse(argv: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """The command asked for ("window" when none is) and its arguments. Leaves by SystemExit on help or bad ones."""
    if argv and argv[0] in COMMANDS:
        parser = _command_parser(argv[0])
        args = parser.parse_args(argv[1:])
        if argv[0] == "convert" and not args.list and args.target is None:
            parser.error("IN and OUT are needed: a file to convert, and the one to write (or --list)")
        if argv[0] not in ("fetch", "convert") and args.target is None:
            args.target = "builtin"
        if argv[0] == "compare" and args.drafter is None:
            args.drafter = list(DEFAULT_COMPARED)
        return argv[0], args
    if argv and not argv[0].startswith("-"):
        _window_parser().error(f"{argv[0]!r} is not a command; there are {', '.join(COMMANDS)}")
    return "window", _window_parser().parse_args(argv)


def refuse_early(args: argparse.Namespace) -> None:
    """In the window a lane that can't run fails alone, once its turn comes. Whoever typed a command would wait for
    plain decoding to end before being told: what is wrong whatever the target is said before anything is loaded.

    Raises :class:`SettingsError` for trees where no lane drafts them, :class:`ModelError` for a trained drafter's
    folder that isn't there.
    """
    from engine import methods
    from engine.errors import ModelError, SettingsError
    from engine.settings import DrafterSettings

    spelled: list[str] = [args.drafter] if isinstance(args.drafter, str) else args.drafter or []
    lanes = [DrafterSettings.parse(one) for one in spelled]
    tree = getattr(args, "tree", None)
    if tree and not any(methods.own(one.kind) and methods.method(one.kind).trees for one in lanes):
        names = list(dict.fromkeys(one.spell() for one in lanes))
        who = f"{names[0]} drafts" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} draft"
        raise SettingsError(f"tree is {tree!r}, but {who} no trees; leave --tree out, or choose eagle or medusa.")
    for lane in lanes:
        if lane.model and _takes_checkpoint(lane.kind) and not _may_be_there(lane.model):
            raise ModelError(f"{lane.model} is neither a folder nor a hub id, so no {lane.kind} drafter can be loaded "
                             "from it.")


def _may_be_there(checkpoint: str) -> bool:
    """Is it a folder, or spelled as a hub id? They are told apart as in engine/drafters/checkpoint.py, which imports
    torch."""
    on_hub = len(Path(checkpoint).parts) == 2 and "/" in checkpoint and not checkpoint.startswith((".", "/", "~"))
    return on_hub or os.path.isdir(os.path.expanduser(checkpoint))


def _open(command: str, args: argparse.Namespace) -> int:
    module = importlib.import_module("app.desktop" if command == "window" else f"app.commands.{command}")
    run: Callable[[argparse.Namespace], int | None] = module.run
    return run(args) or 0


def _say(sentence: str) -> None:
    print(" ".join(sentence.split()), file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """The whole program; returns its exit status. A person never sees a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        command, args = parse(sys.argv[1:] if argv is None else argv)
        if command in ("record", "compare", "prove"):
            refuse_early(args)
        return _open(command, args)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left (a pager, head); closing stdout again at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from app.mishaps import explain

        _say(explain(error))
        return EXIT_FAULT
