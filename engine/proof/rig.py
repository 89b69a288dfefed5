"""One lane as separate parts: the loop, judgement, drafters and transcript of a real run, on models or on tables.

A proof builds a :class:`Rig`, a wrong rule exchanges one part of it, and the loop never knows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from engine import drafters
from engine.decode import decode
from engine.drafters.base import Drafter, RoundDraws
from engine.drafters.model import ModelDrafter
from engine.drafters.plain import NoDrafter
from engine.invariance import exactness
from engine.length import length
from engine.models import Model
from engine.proof.tree_drafter import TreeDrafter
from engine.race import cache_size
from engine.records import Record
from engine.runner import Runner, Stopwatch
from engine.sampling import Warper
from engine.scribe import Scribe
from engine.settings import RunSettings
from engine.text import Detokenizer
from engine.transcript import Transcript
from engine.tree import ROOT, Tree
from engine.tree_rounds import TreeJudge

STEP_COST = 0.3
"""Of a draft, for adaptive lengths: a number is as good as a measured one, and repeats."""

Logits = Callable[[tuple[int, ...]], torch.Tensor]
"""A language model as mathematics has it: all tokens so far → (V,) logits of the next one."""


class TableRunner(Runner):
    """A :class:`Runner` whose rows are looked up. Its "cache" is the list of tokens it has taken in, so that a cut that
    forgets too little or too much shows in its rows, as it does in a real cache."""

    def __init__(self, logits: Logits, vocabulary: int, *, dtype: torch.dtype = torch.float64) -> None:
        self.logits = logits
        self.vocabulary = vocabulary
        self.device = torch.device("cpu")
        self.dtype = dtype
        self.pad_to = 1
        self.forwards = 0
        self.tokens: list[int] = []
        self._rows: dict[tuple[int, ...], torch.Tensor] = {}

    @property
    def length(self) -> int:
        return len(self.tokens)

    @property
    def ids(self) -> list[int]:
        return self.tokens

    def remember(self) -> None:
        """Its cache is its ids."""

    def stopwatch(self) -> Stopwatch:
        return Stopwatch(self.device)

    def prefill(self, tokens: Sequence[int]) -> None:
        self.tokens += tokens

    def forward(self, tokens: Sequence[int | torch.Tensor], *, rows: int = 0, tree: Tree | None = None
                ) -> torch.Tensor:
        self.forwards += 1
        tree, start = tree or Tree.chain(len(tokens) - 1), self.length
        self.tokens += map(int, tokens)
        found = []
        for node in range(ROOT, len(tree)):
            key = tuple(self.tokens[i] for i in (*range(start + 1), *(start + 1 + above for above in tree.path(node))))
            if key not in self._rows:
                self._rows[key] = self.logits(key)
            found.append(self._rows[key])
        return torch.stack(found[-rows:] if rows else found)

    def keep(self, slots: Sequence[int], to: int) -> None:
        self.tokens[to : to + len(slots)] = [self.tokens[slot] for slot in slots]
        self.cut(to + len(slots))

    def cut(self, to: int) -> int:
        forgotten = max(0, len(self.tokens) - to)
        del self.tokens[to:]
        return forgotten


@dataclass
class Rig:
    """The parts of one lane. ``run()`` may be called once: the parts have state."""

    target: Runner
    drafter: Drafter
    judge: TreeJudge
    seq: Transcript
    settings: RunSettings
    gamma: int
    texts: Sequence[str]
    draws_of: Callable[[int, int], RoundDraws] = RoundDraws

    def run(self) -> Iterator[Record]:
        log = Scribe("proof", "0", self.texts, sampled=not self.settings.sampling.greedy)
        return decode(self.target, self.drafter, self.seq, self.judge, log, self.settings, self.gamma,
                      draws_of=self.draws_of, length=length(self.settings.drafter.adaptive, STEP_COST))


def of_models(target: Model, prompt: Sequence[int], settings: RunSettings,
              models: Mapping[str, Model] | None = None) -> Rig:
    """A lane on real models, as a race makes it; only a draft model's tree is the proof's own (tree_drafter.py)."""
    check = exactness(target.hf, drafters.most_drafts(settings) + 1)
    runner = Runner(target.hf, slots=cache_size(target, prompt, check, [settings]), gather=settings.drafter.gather)
    seq = Transcript(prompt, settings, context=target.info.context, eos=target.eos,
                     detokenizer=target.detokenizer(prompt))
    method = settings.drafter
    if method.kind == "model" and method.tree:
        drafter: Drafter = TreeDrafter(Runner((models or {})[method.model].hf), Warper(settings.sampling), method)
    else:
        drafter = drafters.make(settings, target, runner, models or {})
    return Rig(runner, drafter, TreeJudge(runner, settings, target.info.name), seq, settings,
               drafters.draft_length(settings), target.texts)


def of_tables(p: Logits, q: Logits | None, vocabulary: int, prompt: Sequence[int], settings: RunSettings, *, gamma: int,
              eos: Collection[int] = (), drafter: Drafter | None = None, dtype: torch.dtype = torch.float64) -> Rig:
    """A lane on tables: ``p`` is the target, and ``q`` the draft model, or else ``drafter`` proposes."""
    runner = TableRunner(p, vocabulary, dtype=dtype)
    if q is not None and settings.drafter.tree:
        drafter = TreeDrafter(TableRunner(q, vocabulary, dtype=dtype), Warper(settings.sampling), settings.drafter)
    if drafter is None:
        drafter = NoDrafter() if q is None else ModelDrafter(
            TableRunner(q, vocabulary, dtype=dtype), Warper(settings.sampling), vocabulary=vocabulary,
            device=runner.device, stop_below=settings.drafter.stop_below)
    texts = [f"⟨{token}⟩" for token in range(vocabulary)]
    seq = Transcript(prompt, settings, context=1 << 30, eos=eos, detokenizer=_Spelled(texts))
    return Rig(runner, drafter, TreeJudge(runner, settings, "table"), seq, settings, gamma, texts)


class _Spelled(Detokenizer):
    """Tokens of a table, spelled one by one."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def push(self, token: int) -> str:
        return self.texts[token]

    def finish(self) -> str:
        return ""
