"""Conditions about one token: its id, its text, or that it would end the text."""

from __future__ import annotations

from typing import Literal

from engine.debugger.condition import COMMITTED, DRAFTED, JUDGED, Condition, Kinds, require, require_count
from engine.debugger.patterns import found, pattern
from engine.debugger.scene import Scene
from engine.debugger.token_words import quoted
from engine.records import Committed, Drafted, Judged, Record

Role = Literal["drafted", "committed", "rejected"]
Match = Literal["is", "contains", "pattern"]
_ROLES: dict[Role, Kinds] = {"drafted": DRAFTED, "committed": COMMITTED, "rejected": JUDGED}


def _tokens(role: Role, record: Record) -> tuple[tuple[int, str], ...]:
    """Those a record brings in a role, with what each adds to the text."""
    match record:
        case Drafted() if role == "drafted":
            return ((record.token, record.text),)
        case Judged(accepted=False) if role == "rejected":
            return ((record.token, record.text),)
        case Committed() if role == "committed":
            return tuple(zip(record.tokens, record.texts, strict=False))
    return ()


class TokenId(Condition, frozen=True, tag="token-id"):
    role: Role = "committed"
    token: int = 0
    shown: str = ""
    """The token's text when it was chosen, for the words only."""

    def __post_init__(self) -> None:
        require_count("token id", self.token, 0)
        require(len(self.shown) <= 200, "the token's text", self.shown[:40], "200 characters at most")

    @property
    def words(self) -> str:
        return f"{self.role} token = " + (f"{quoted(self.shown)} ({self.token})" if self.shown else f"#{self.token}")

    @property
    def kinds(self) -> Kinds:
        return _ROLES[self.role]

    def holds(self, scene: Scene, record: Record) -> bool:
        return any(token == self.token for token, _ in _tokens(self.role, record))


class TokenText(Condition, frozen=True, tag="token-text"):
    """Held against a token's own text and what it adds to the output. "is" overlooks spaces around it."""

    role: Role = "committed"
    match: Match = "is"
    text: str = ""

    def __post_init__(self) -> None:
        require(0 < len(self.text) <= 200, "text", self.text[:40], "1 to 200 characters")
        if self.match == "pattern":
            pattern(self.text)

    @property
    def words(self) -> str:
        verb = {"is": "=", "contains": "contains", "pattern": "matches"}[self.match]
        return f"{self.role} token {verb} " + (f"/{self.text}/" if self.match == "pattern" else quoted(self.text))

    @property
    def kinds(self) -> Kinds:
        return _ROLES[self.role]

    def holds(self, scene: Scene, record: Record) -> bool:
        if "texts" in scene.unknown:
            return False
        texts = scene.history.texts
        return any(self._fits(text) or (token in texts and texts[token] != text and self._fits(texts[token]))
                   for token, text in _tokens(self.role, record))

    def _fits(self, text: str) -> bool:
        if self.match == "is":
            return text == self.text or text.strip() == self.text
        return self.text in text if self.match == "contains" else found(self.text, text)


class EosDrafted(Condition, frozen=True, tag="eos"):
    """An end-of-text token is drafted; it ends the run only if it is accepted."""

    fires_on = DRAFTED

    @property
    def words(self) -> str:
        return "end of text drafted"

    def holds(self, scene: Scene, record: Record) -> bool:
        return isinstance(record, Drafted) and record.token in scene.eos
