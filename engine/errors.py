"""Errors meant for a person: one plain sentence that says what, why and what to do."""

from __future__ import annotations


class SpecScopeError(Exception):
    """Something a person can mend. ``str(error)`` is the sentence to show; nothing else need be added.

    ``details`` holds what may be copied into a report (a cause's text, a path), never needed to understand it.
    """

    def __init__(self, sentence: str, *, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


class SettingsError(SpecScopeError):
    """A setting is out of its range; names the setting, the value and the range."""


class ModelError(SpecScopeError):
    """A model can't be found, loaded, or used for this (names the model and the reason)."""


class MismatchError(ModelError):
    """Target and drafter don't fit together (names the first thing that differs)."""


class NumericsError(SpecScopeError):
    """A model produced NaN or infinite logits (names model, position and dtype)."""


class CacheError(SpecScopeError):
    """A key-value cache isn't as long as it must be: a fault of the engine, never silent."""


class DraftError(SpecScopeError):
    """A drafter proposed what can't be verified (a tree whose parents don't come first): a fault of the drafter."""


class RuleError(SpecScopeError):
    """A person's own acceptance rule can't be found, raised an error, or returned what it must not."""


class Cancelled(SpecScopeError):
    """The person cancelled a long piece of work; not a failure."""
