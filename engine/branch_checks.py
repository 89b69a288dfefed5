"""May this recording be gone on with, on this target, with this change? Each refusal says what, why and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import methods
from engine.debugger.what_if import AnyChange, NoChange, OtherDraw, OtherSettings, OtherToken
from engine.drafters.base import BY_HAND, RoundDraws
from engine.past import Past, ReplayError
from engine.records import RunStarted, TargetInfo
from engine.settings import RunSettings
from engine.transcript import Transcript

if TYPE_CHECKING:
    from engine.models import Model


def check_target(target: Model, started: RunStarted) -> None:
    """Raises :class:`ReplayError` unless this target, in this precision and on this kind of device, made the
    recording: another one has other logits, so even its beginning could not be had again."""
    theirs, ours = started.target, target.info
    if theirs.fingerprint != ours.fingerprint:
        other = "has the same name but other weights" if theirs.name == ours.name else f"is {ours.name}"
        raise ReplayError(f"This recording was made with {theirs.name}, and the model that is loaded {other} "
                          f"({ours.fingerprint} where {theirs.fingerprint} is needed); load "
                          f"{theirs.source or theirs.name} as the target.")
    if theirs.dtype != ours.dtype:
        raise ReplayError(f"This recording was made in {theirs.dtype}, but {ours.name} is loaded in {ours.dtype}, "
                          f"which rounds otherwise; load it in {theirs.dtype}.")
    if _kind(theirs) != _kind(ours):
        raise ReplayError(f"This recording was made on {theirs.device}, but {ours.name} is loaded on {ours.device}, "
                          f"which rounds otherwise; load it on {theirs.device}.")


def _kind(info: TargetInfo) -> str:
    """A device without its number: cuda:1 computes what cuda:0 does."""
    return " + ".join(part.split(":")[0] for part in info.device.split(" + "))


def check_change(target: Model, past: Past, change: AnyChange) -> None:
    """Raises :class:`ReplayError` unless the round can be gone on from, and has the place that is to be changed."""
    _check_origin(past)
    settings = change.settings if isinstance(change, OtherSettings) else past.started.settings
    if settings.drafter.tree and not methods.method(settings.drafter.kind).trees:
        raise ReplayError("This lane drafts trees, which its method doesn't do here, so it can't be gone on with; "
                          "change its settings to a drafter without a tree, or decode the prompt anew.")
    if isinstance(change, (NoChange, OtherSettings)):
        return
    if past.reached and past.now.is_tree:
        raise ReplayError(f"Round {past.round + 1} drafted a tree, in which no single draft, draw or verdict can be "
                          "changed; change the settings from there on, or choose a round without a tree.")
    drafted, number = past.drafted, past.round + 1
    if isinstance(change, OtherDraw) and change.purpose == "final":
        if not 0 <= change.index <= drafted or not past.reached:
            raise ReplayError(f"The draw behind {change.index} accepted drafts of round {number} was to be changed, "
                              f"but that round has {drafted} drafts so far; choose one of them, or let it go on first.")
    elif not 0 <= change.index < drafted:
        raise ReplayError(f"Draft {change.index + 1} of round {number} was to be changed, but that round has {drafted} "
                          "so far; choose one of them, or let it go on first.")
    if isinstance(change, OtherDraw):
        _check_draw(past, change)
    if isinstance(change, OtherToken) and not 0 <= change.token < target.info.vocabulary:
        raise ReplayError(f"Token {change.token} doesn't exist: {target.info.name} has the ids 0 to "
                          f"{target.info.vocabulary - 1}; choose one of them.")


def _check_draw(past: Past, change: OtherDraw) -> None:
    if not 0 <= change.value < 1:
        raise ReplayError(f"The draw is {change.value!r}, but it must be at least 0 and less than 1.")
    if past.started.settings.sampling.greedy:
        raise ReplayError("Greedy decoding makes no draws, so none can be changed; force a verdict, choose another "
                          "token, or raise the temperature.")
    if change.purpose == "draft" and past.now.drafted[change.index].draw is None:
        raise ReplayError(f"Draft {change.index + 1} of round {past.round + 1} was not drawn, so there is no draw to "
                          "change; put another token in its place.")


def check_goes_on(seq: Transcript, settings: RunSettings) -> None:
    """Raises :class:`ReplayError` when nothing can follow under these new settings."""
    if seq.ended is None:
        return
    why = {
        "length": f"has {len(seq.output)} tokens already, and the new settings allow at most "
                  f"{settings.max_new_tokens}; allow more, or branch earlier",
        "context": "fills the model's context together with the prompt; branch earlier",
        "eos": "has ended with an end token; have end tokens ignored, or branch earlier",
        "stop": "holds a stop text of the new settings already; leave that out, or branch earlier",
    }.get(seq.ended, "has ended; branch earlier")
    raise ReplayError(f"At that round the output {why}.")


def _check_origin(past: Past) -> None:
    """A branch's own beginning belongs to the lane it was copied from, with that lane's settings; and what was changed
    in its first own round can't be told from its settings."""
    origin = past.started.branch
    if origin is None or past.round > origin.round:
        return
    if past.round == origin.round and origin.lossless and _by_its_own_draws(past):
        return
    why = "is a copy" if past.round < origin.round else "is the one that was changed"
    raise ReplayError(f"Round {past.round + 1} of this branch {why}; branch off the lane it comes from "
                      f"({origin.lane}), or at a later round.")


def _by_its_own_draws(past: Past) -> bool:
    """Did the round use the draws of its seed, and the drafter's own tokens?"""
    if not past.reached:
        return True
    now, draws = past.now, RoundDraws(past.started.settings.seed, past.now.start)
    return (all(d.draw in (None, draws.draft(d.index)) and d.source != BY_HAND for d in now.drafted)
            and all(j.draw in (None, draws.accept(j.index)) for j in now.judged)
            and (now.committed is None or now.committed.final_draw in (None, draws.final(now.committed.accepted))))
