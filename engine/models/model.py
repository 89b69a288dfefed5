"""A loaded model with its tokenizer: what the rest of the engine is handed. It never changes while runs use it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.errors import ModelError
from engine.records import TargetInfo
from engine.text import Detokenizer, TokenTable


@dataclass(frozen=True)
class Model:
    """Shared by all runs and threads: state belongs to the runs, and the tokenizer is only called under ``lock``."""

    hf: Any
    """The ``transformers`` PreTrainedModel, in eval mode, without gradients. Call it; its weights may be offloaded."""
    tokenizer: Any
    info: TargetInfo
    table: TokenTable = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    """One readable text per row of the embedding (see engine/text.py)."""
    eos: frozenset[int]
    """Ids that end generation; may be empty."""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    def encode(self, prompt: str, *, chat: bool) -> list[int]:
        """The prompt's ids, at least one, all within the vocabulary.

        ``chat``: through the chat template, as one message of the user, with the opening of the answer behind it.
        Else as it stands, with the tokenizer's usual special tokens. An empty prompt becomes BOS (or EOS) alone.
        Raises :class:`ModelError` where there is no chat template, or an id has no row in the embedding.
        """
        with self.lock:
            ids = self._chat(prompt) if chat else self._raw(prompt)
        if not ids:
            ids = [token for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
                   if token is not None][:1]
        if not ids:
            raise ModelError(f"The prompt is empty, and {self.info.name} has no token to begin a text with; write "
                             "something.")
        self.check_ids(ids)
        return ids

    def check_ids(self, ids: Sequence[int]) -> None:
        """Raises :class:`ModelError` if one has no row in the embedding: it must never reach the model."""
        for token in ids:
            if not 0 <= token < self.info.vocabulary:
                named = self.table.text(token)
                raise ModelError(f"Token {token} ({named}) is outside {self.info.name}'s vocabulary of "
                                 f"{self.info.vocabulary} tokens; its tokenizer and its weights don't belong together.")

    def detokenizer(self, after: Sequence[int] = ()) -> Detokenizer:
        """A fresh stream from ids to text, behind the ids ``after``."""
        return Detokenizer(self.table, after)

    def _chat(self, prompt: str) -> list[int]:
        if not getattr(self.tokenizer, "chat_template", None):
            raise ModelError(f"{self.info.name} has no chat template, so it can't take the prompt as a chat message; "
                             "switch to raw.")
        try:
            ids = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=True, return_dict=False)
        except Exception as error:  # templates are programs and may raise anything
            raise ModelError(f"{self.info.name}'s chat template failed on this prompt; switch to raw.",
                             details=str(error)) from error
        return [int(token) for token in ids]

    def _raw(self, prompt: str) -> list[int]:
        try:
            return [int(token) for token in self.tokenizer.encode(prompt, verbose=False)]
        except (TypeError, UnicodeError) as error:
            raise ModelError("The prompt holds something that is no text (half of a surrogate pair); remove it.",
                             details=str(error)) from error
