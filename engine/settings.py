"""What a person may set for a run: validated, frozen, plain data.

Units and ranges stand beside each field. Every constructor raises :class:`SettingsError` naming the field, the value
and the range, so that nothing out of range ever reaches a model.
"""

from __future__ import annotations

import math
import re
from typing import Literal, get_args

import msgspec

from engine import methods
from engine.errors import SettingsError

GREEDY_BELOW = 1e-5
"""Temperatures below this mean greedy decoding (argmax): dividing logits by less overflows float32."""

MAX_GAMMA = methods.MAX_GAMMA
MAX_SEED = 2**64 - 1

MAX_NODES = 64
"""Drafts of one round's tree at most."""

MAX_TEXTS = 16
"""Texts beside the prompt in which prompt lookup looks."""

DrafterKind = str
"""A name of :func:`engine.methods.kinds`."""

Match = Literal["latest", "earliest", "frequent"]
"""What is copied, if several tokens followed the same suffix."""


def _check(ok: bool, name: str, value: object, rule: str) -> None:
    if not ok:
        raise SettingsError(f"{name} is {value!r}, but it must be {rule}.")


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How logits become the distribution that is sampled from; the same for p, q and plain decoding."""

    temperature: float = 0.0
    """≥ 0; below :data:`GREEDY_BELOW` decoding is greedy."""
    top_k: int = 0
    """Keep the k most probable tokens (ties at the k-th kept); 0: off."""
    top_p: float = 1.0
    """Keep the smallest set with at least this mass, in (0, 1]; 1: off."""
    min_p: float = 0.0
    """Drop tokens below min_p × the largest probability, in [0, 1]; 0: off."""
    repetition_penalty: float = 1.0
    """0.01 … 100; logits of tokens already in the prefix are divided by it if positive, else multiplied; 1: off."""

    def __post_init__(self) -> None:
        _check(_number(self.temperature) and 0 <= self.temperature <= 1000, "temperature", self.temperature,
               "a number from 0 to 1000")
        _check(_integer(self.top_k) and self.top_k >= 0, "top-k", self.top_k, "a whole number, 0 (off) or more")
        _check(_number(self.top_p) and 0 < self.top_p <= 1, "top-p", self.top_p,
               "more than 0 and at most 1 (1 turns it off)")
        _check(_number(self.min_p) and 0 <= self.min_p <= 1, "min-p", self.min_p, "from 0 (off) to 1")
        _check(_number(self.repetition_penalty) and 0.01 <= self.repetition_penalty <= 100, "repetition penalty",
               self.repetition_penalty, "from 0.01 to 100 (1 turns it off)")

    @property
    def greedy(self) -> bool:
        return self.temperature < GREEDY_BELOW


class LookupText(msgspec.Struct, frozen=True, kw_only=True):
    """A text beside the prompt for prompt lookup, as engine/lookup_texts.py names it."""

    path: str
    """Absolute."""
    digest: str
    """SHA-256 of the file's bytes, in hexadecimal: another content makes other drafts."""


class DrafterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which drafter a lane uses. ``gamma`` None means the method's own default draft length."""

    kind: DrafterKind = "none"
    gamma: int | None = None
    """Draft length asked for in a round, 0 … 64; None: the method's default."""
    model: str = ""
    """For ``model``, and for ``draft``, ``eagle`` and ``medusa`` if it isn't the one that ships for the target: what
    the person named (folder, GGUF file, hub id)."""
    min_n: int = 1
    max_n: int = 32
    """For ``ngram``: suffix lengths tried, longest first; a longer match counts as one of ``max_n``. From 8 on the
    bound made no difference to the prompts below."""
    match: Match = "frequent"
    """For ``ngram``: which token is copied, if several followed the suffix: the one that did most often (if several
    did, the earliest of them), or that of the earliest or latest occurrence. The earliest is most often the text that
    is being edited or quoted, the latest the copy of it. Rounds for the 618 tokens of five code edits and the 579 of
    five quote-heavy answers (tests/prompts.py): frequent 148 and 93, earliest 148 and 96, latest 161 and 97."""
    texts: tuple[LookupText, ...] = ()
    """For ``ngram``: further texts to copy from, at most 16; they count as earlier than the prompt."""
    skip: tuple[int, ...] = ()
    """For ``layer-skip``: indices of the target's layers left out; empty: the method's default."""
    exit_layer: int = 0
    """For ``layer-skip``: all layers from this one on are left out (early exit), 1 …; 0: off."""
    stop_below: float = 0.0
    """For drafters with a distribution of their own: draft no further once its largest probability is below this, in
    [0, 1); 0: off. It is looked at before a token is drawn, so nothing that was seen is dropped; see
    drafters/confidence.py."""
    adaptive: bool = False
    """Choose the draft length anew each round, from what was accepted before and what drafting costs; ``gamma`` is the
    most. For chains; see length.py."""
    tree: Literal["", "top", "sampled"] = ""
    """For ``eagle`` and ``medusa``: draft a tree of ``gamma`` levels instead of a chain. ``top``: the most probable
    children (deterministic, q one-hot); ``sampled``: children drawn without replacement."""
    tree_top: int = 4
    """Children of a node at most, 1 … 16."""
    tree_nodes: int = 16
    """Drafts of a tree in all, 1 … 64."""
    gather: bool = False
    """Verify a tree with every node's ancestors gathered in the cache's order: bit-exact, at a price."""
    weights: str = ""
    """For ``draft``, ``eagle`` and ``medusa``: the digest of the weights that drafted, 12 hexadecimal digits; "" in
    older recordings. A race fills it in: which weights ``model`` means depends on the machine and changes there."""

    def __post_init__(self) -> None:
        _check(isinstance(self.kind, str) and methods.known(self.kind), "drafter", self.kind, spellings())
        _check(self.gamma is None or (_integer(self.gamma) and 0 <= self.gamma <= MAX_GAMMA), "gamma", self.gamma,
               f"a whole number from 0 to {MAX_GAMMA}")
        _check(self.kind != "model" or bool(self.model), "the draft model", self.model,
               "a folder, a .gguf file or a hub id, written model:ID")
        _check(_number(self.stop_below) and 0 <= self.stop_below < 1, "stop-below", self.stop_below,
               "from 0 (off) to less than 1")
        if self.stop_below and not methods.method(self.kind).draws:
            raise SettingsError(f"stop-below is {self.stop_below!r}, but {methods.method(self.kind).label.lower()} has "
                                "no probabilities of its own to be unsure by; leave it out, or choose a drafter that "
                                "draws.")
        _check(isinstance(self.adaptive, bool), "adaptive", self.adaptive, "true or false")
        if self.adaptive and (self.kind == "none" or self.tree):
            what = "plain decoding drafts nothing" if self.kind == "none" else "a tree's depth can't be adapted"
            raise SettingsError(f"adaptive is on, but {what}; leave it out.")
        _check(self.tree in ("", "top", "sampled"), "tree", self.tree, "top or sampled")
        _check(_integer(self.tree_top) and 1 <= self.tree_top <= 16, "tree-top", self.tree_top,
               "a whole number from 1 to 16")
        _check(_integer(self.tree_nodes) and 1 <= self.tree_nodes <= MAX_NODES, "tree-nodes", self.tree_nodes,
               f"a whole number from 1 to {MAX_NODES}")
        _check(_integer(self.min_n) and _integer(self.max_n) and 1 <= self.min_n <= self.max_n <= 32, "min_n..max_n",
               f"{self.min_n}..{self.max_n}", "whole numbers with 1 ≤ min_n ≤ max_n ≤ 32")
        _check(self.match in get_args(Match), "match", self.match, "latest, earliest or frequent")
        _check(len(self.texts) <= MAX_TEXTS and all(isinstance(one, LookupText) and one.path for one in self.texts),
               "texts", self.texts, f"at most {MAX_TEXTS} texts, each with a path")
        _check(all(_integer(i) and i >= 0 for i in self.skip), "skip", self.skip, "layer indices, 0 or more")
        _check(_integer(self.exit_layer) and self.exit_layer >= 0, "exit-layer", self.exit_layer,
               "a layer's index, 1 or more (0 turns it off)")
        _check(isinstance(self.weights, str) and re.fullmatch("([0-9a-f]{12})?", self.weights) is not None, "weights",
               self.weights, "the 12 hexadecimal digits of a digest, or nothing")
        if self.skip and self.exit_layer:
            raise SettingsError("skip and exit-layer both say which layers are left out; give one of them.")

    @property
    def label(self) -> str:
        """How the lane is named on screen and in tables."""
        name = methods.method(self.kind).label
        return f"{name}{' tree' if self.tree else ''}{f' {self.model}' if self.model else ''}"

    @classmethod
    def parse(cls, text: str, gamma: int | None = None) -> DrafterSettings:
        """A method's name as typed on the command line, such as ``none``, ``ngram`` or ``model:ID``."""
        kind, colon, model = text.partition(":")
        if not methods.known(kind) or (colon and not methods.method(kind).model):
            raise SettingsError(f"drafter is {text!r}, but it must be {spellings()}.")
        return cls(kind=kind, model=model, gamma=gamma)

    def spell(self) -> str:
        """The inverse of :meth:`parse`."""
        return f"{self.kind}:{self.model}" if self.model else self.kind


def spellings() -> str:
    """The names of all methods, in words."""
    *most, last = [f"{kind}:ID" if kind == "model" else kind for kind in methods.kinds()]
    return f"{', '.join(most)} or {last}"


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides one lane's output, besides the target and the prompt."""

    sampling: Sampling = Sampling()
    drafter: DrafterSettings = DrafterSettings()
    seed: int = 0
    """0 … 2⁶⁴−1; every random choice is a function of it (see draws.py)."""
    max_new_tokens: int = 128
    """Tokens to commit at most, ≥ 0."""
    stop: tuple[str, ...] = ()
    """Texts that end the run once they appear in the committed text; the text from there on is not shown."""
    ignore_eos: bool = False
    exact: bool = False
    """Pad every forward to one width, for devices or dtypes whose rows depend on the width (costs time)."""
    detail: bool = True
    """Record contrasts (p and q per position) and digests. Off only to measure what recording costs."""

    def __post_init__(self) -> None:
        _check(_integer(self.seed) and 0 <= self.seed <= MAX_SEED, "seed", self.seed,
               "a whole number from 0 to 2^64 - 1")
        _check(_integer(self.max_new_tokens) and 0 <= self.max_new_tokens <= 10_000_000, "max-new-tokens",
               self.max_new_tokens, "a whole number from 0 to 10000000")
        _check(all(isinstance(s, str) and s for s in self.stop), "stop", self.stop, "non-empty texts")
