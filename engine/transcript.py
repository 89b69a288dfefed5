"""The committed sequence of one run, its text, and the rules that end it.

Only committed tokens get here, so a drafted end-of-sequence token counts only once accepted, and nothing is ever
appended behind the token that ended the run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engine.records import StopReason
from engine.settings import RunSettings
from engine.text import Detokenizer, StopStrings


def limit(prompt_length: int, settings: RunSettings, context: int) -> int:
    """Tokens that prompt and output may have in all."""
    return min(prompt_length + settings.max_new_tokens, context)


class Transcript:
    """Prompt and output. ``ended`` is the reason once the run is over."""

    def __init__(self, prompt: Sequence[int], settings: RunSettings, *, context: int, eos: Collection[int],
                 detokenizer: Detokenizer) -> None:
        self.tokens: list[int] = list(prompt)
        self.prompt_length = len(prompt)
        self.text = ""
        self.ended: StopReason | None = None
        self._eos = frozenset() if settings.ignore_eos else frozenset(eos)
        self._limit = limit(self.prompt_length, settings, context)
        self._limit_reason: StopReason = "length" if context >= self.prompt_length + settings.max_new_tokens \
            else "context"
        self._detokenizer = detokenizer
        self._stops = StopStrings(settings.stop)
        if len(self.tokens) >= self._limit:
            self.ended = self._limit_reason

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def output(self) -> list[int]:
        return self.tokens[self.prompt_length :]

    def room(self, gamma: int) -> int:
        """Drafts that the next round may make: each round commits up to one more, and the limit is never overshot."""
        return min(gamma, self._limit - len(self.tokens) - 1)

    def commit(self, tokens: Sequence[int]) -> list[str]:
        """Append tokens until one ends the run; returns the text that each appended token adds."""
        added: list[str] = []
        for token in tokens:
            self.tokens.append(token)
            piece, before = self._detokenizer.push(token), len(self.text)
            self.text += piece
            self.ended = self._reason(token, piece)
            added.append(self.text[before:])  # without what a stop text took back
            if self.ended:
                break
        if self.ended and self.ended != "stop":
            rest = self._detokenizer.finish()
            self.text += rest
            added[-1] += rest
        return added

    def resume(self, tokens: Sequence[int]) -> None:
        """Behind the prompt: take in what an earlier run committed. Only the last of it may have ended the run, by
        the settings of this one; a stop text that is already there does too."""
        reason: StopReason | None = self.ended
        for token in tokens:
            self.tokens.append(token)
            piece = self._detokenizer.push(token)
            self.text += piece
            reason = self._reason(token, piece)
        self.ended = reason
        if reason and reason != "stop" and tokens:
            self.text += self._detokenizer.finish()

    def _reason(self, token: int, piece: str) -> StopReason | None:
        stop_at = self._stops.push(piece)
        if token in self._eos:
            return "eos"
        if stop_at is not None:
            self.text = self.text[:stop_at]
            return "stop"
        return self._limit_reason if len(self.tokens) >= self._limit else None
