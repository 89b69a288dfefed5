"""What can be tried in the Lab, in words: sources, rules, numbers of samples. Known before torch is."""

from __future__ import annotations

from dataclasses import dataclass

from app.orders import Rule, Source

RIGHT = Rule("right", "The right rule", "Accept with probability min(1, p/q); after a rejection draw from what p has "
                                        "more than q.")
REDRAW = Rule("redraw-from-p", "Redraw from p", "After a rejection the token is drawn from p, not from the residual: "
                                                "what the drafter overrates comes up too often.")
"""The wrong rule that teaches most, ready before the engine has told of the others."""
SAMPLES = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class SourceChoice:
    source: Source
    title: str
    about: str


SOURCES = (
    SourceChoice("two tokens", "Two tokens", "The target gives A 0.4 and B 0.6, the drafter A 0.8 and B 0.2. No model "
                                             "is needed."),
    SourceChoice("quiz", "Quiz", "The target gives A 0.3 and B 0.7, the drafter A 0.6 and B 0.4. No model is needed."),
    SourceChoice("layer-skip", "Real model, layer skip",
                 "The first token of the target’s answer to the prompt in Race, at temperature 1, top-k 50; the target "
                 "with layers left out drafts it."),
    SourceChoice("ngram", "Real model, prompt lookup",
                 "The first token of the target’s answer to the prompt in Race, at temperature 1, top-k 50; prompt "
                 "lookup copies its draft, so q is one-hot."),
)
DEFAULT_PROMPT = "Write one sentence about a lighthouse."


def source_choice(source: Source) -> SourceChoice:
    return next(choice for choice in SOURCES if choice.source == source)
