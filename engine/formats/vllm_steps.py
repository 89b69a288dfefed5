"""vLLM's per-request counts (``--per-request-spec-decode-metrics detailed``), wherever a response carries them.

    {"model": "…", "usage": {…}, "metrics": {"speculative_decoding":
        {"per_step_accepted": [2, 0, …], "per_step_drafted": [3, 3, …], "num_spec_tokens": 3, …}}}

One response, a list of them, JSON lines, or a stream as it was received (``data: {…}``): each request becomes a lane.
Counts are all there is: no ids, texts, times or probabilities. A verification commits what it accepted and one token
more; the request's first token (the prefill's) and those of steps without drafts aren't in the counts, and a last step
may have been cut at the token limit, so the lane's length can differ from ``completion_tokens`` by them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from engine.formats.errors import FormatError
from engine.formats.foreign import ForeignLane, Guess, check_length
from engine.formats.format import Format, Sample
from engine.formats.lines import lines
from engine.records import Record, StopReason, Unknown
from engine.settings import MAX_GAMMA

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**40)]

UNKNOWN: tuple[Unknown, ...] = ("tokens", "q", "prompt")
LARGEST_FILE = 256 * 1024 * 1024
DEEPEST = 24
"""Objects and lists within each other; responses have a handful."""
REASONS: dict[object, tuple[StopReason, str]] = {
    "length": ("length", ""),
    "stop": ("stop", "vLLM says stop: an end token or a stop text."),
}


class Detail(msgspec.Struct):
    """``metrics.speculative_decoding``."""

    per_step_accepted: list[Whole]
    per_step_drafted: list[Whole]
    num_spec_tokens: Annotated[int, msgspec.Meta(ge=0, le=MAX_GAMMA)] | None = None


@dataclass(frozen=True)
class Request:
    place: str
    """For messages: the file, and the line or the number of the request in it."""
    detail: Detail
    response: dict[str, Any]
    """What carried it."""


def tells(sample: Sample) -> bool:
    return sample.head.lstrip()[:1] in (b"{", b"[", b"d") and any(
        b'"per_step_accepted"' in part or b'"speculative_decoding"' in part for part in (sample.head, sample.tail))


def read(path: Path) -> Iterator[Record]:
    run = uuid.uuid4().hex
    number = 0
    for place, value in _values(path):
        for response, found in _details(value, {}, place, 0):
            number += 1
            yield from _lane(run, number, Request(place, _checked(place, found), response))
    if not number:
        raise FormatError(f"{path} holds no per_step_accepted and per_step_drafted; start vLLM with "
                          "--per-request-spec-decode-metrics detailed and save its response again.")


def _lane(run: str, number: int, request: Request) -> Iterator[Record]:
    response, detail = request.response, request.detail
    name = _text(response.get("id"))
    lane = ForeignLane(
        run, str(number - 1), title=f"vLLM, request {name or number}", about="from vLLM's counts of a request",
        unknown=UNKNOWN if _text(response.get("model")) else (*UNKNOWN, "target"), gamma=detail.num_spec_tokens or 0,
        target=_text(response.get("model")))
    yield from lane.begin()
    for accepted, drafted in zip(detail.per_step_accepted, detail.per_step_drafted, strict=True):
        yield from lane.round([Guess()] * drafted, accepted)
    reason, message = REASONS.get(_finish_reason(response), ("stopped", "The counts end here; they don't say why."))
    usage = response.get("usage")
    completed = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if isinstance(completed, int) and completed != lane.totals.committed:
        message += (f" vLLM counts {completed} tokens; its verifications account for {lane.totals.committed}.")
    yield lane.finish(reason, message.strip())


def _checked(place: str, found: dict[str, Any]) -> Detail:
    try:
        detail = msgspec.convert(found, Detail)
    except msgspec.ValidationError as error:
        raise FormatError(f"{place} has speculative_decoding of another form ({error}); per_step_accepted and "
                          "per_step_drafted, lists of whole numbers, were expected.") from error
    accepted, drafted = detail.per_step_accepted, detail.per_step_drafted
    if len(accepted) != len(drafted):
        raise FormatError(f"{place} has {len(accepted)} entries in per_step_accepted and {len(drafted)} in "
                          "per_step_drafted; one of each for a step was expected.")
    for step, (a, d) in enumerate(zip(accepted, drafted, strict=True)):
        check_length(f"Step {step} of {place}", d)
        if a > d:
            raise FormatError(f"Step {step} of {place} accepts {a} of {d} drafts, more than there are.")
    return detail


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    """JSON values with their places: one for the whole file, or one a line."""
    if path.stat().st_size > LARGEST_FILE:
        raise FormatError(f"{path} is larger than {LARGEST_FILE >> 20} MB, too much for saved responses.")
    single: tuple[str, Any] | None = None
    try:
        single = str(path), msgspec.json.decode(path.read_bytes())
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        if not _one_a_line(path):
            raise FormatError(f"{path} isn't JSON ({error}); a response of vLLM, a list of them, or one a line was "
                              "expected.") from error
    except OSError as error:
        raise FormatError(f"{path} can't be read: {error.strerror or error}.") from error
    if single is not None:
        yield single
        return
    for number, line in lines(path):
        text = line.strip().removeprefix(b"data:").strip()
        if text == b"[DONE]" or text.startswith(b":"):
            continue
        place = f"line {number} of {path}"
        try:
            yield place, msgspec.json.decode(text)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise FormatError(f"{place[0].upper()}{place[1:]} isn't JSON ({error}); one response of vLLM a line was "
                              "expected.") from error


def _one_a_line(path: Path) -> bool:
    """Is the first line a whole value by itself?"""
    for _, line in lines(path):
        if line.startswith((b"data:", b":")):
            return True
        try:
            return isinstance(msgspec.json.decode(line), dict)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False
    return False


def _details(value: Any, response: dict[str, Any], place: str, depth: int) -> Iterator[tuple[dict[str, Any],
                                                                                         dict[str, Any]]]:
    """Every object with counts of steps, and the response around it."""
    if depth > DEEPEST:
        raise FormatError(f"{place} nests more than {DEEPEST} objects and lists; a response of vLLM was expected.")
    if isinstance(value, list):
        for one in value:
            yield from _details(one, response, place, depth + 1)
    elif isinstance(value, dict):
        if "metrics" in value or "usage" in value or "choices" in value:
            response = value
        if "per_step_accepted" in value or "per_step_drafted" in value:
            yield response, value
        elif "acceptance_histogram" in value and "num_spec_steps" in value:
            raise FormatError(f"{place} has the summary of a request but not its steps; start vLLM with "
                              "--per-request-spec-decode-metrics detailed.")
        else:
            for one in value.values():
                yield from _details(one, response, place, depth + 1)


def _finish_reason(response: dict[str, Any]) -> object:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = first.get("finish_reason") if isinstance(first, dict) else None
    return reason if isinstance(reason, str) else None


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


FORMAT = Format(
    "vllm", "vLLM's responses with per-request metrics (detailed): counts of each step, no tokens",
    (".json",), read=read, tells=tells)
