"""The names that watches, conditions and filters may use, each with what it means and how it comes about.

A fact is about one token of a round (``position``), about a ``round`` as far as it has happened, about the ``run`` up
to the end of its last finished round, or about the very ``moment``. A filter over finished rounds and a breakpoint know
all but the last. Rounds, drafts and output tokens are counted from 1, as on screen; positions from 0. What isn't known
(yet, or in this recording) is None: see ``operations`` for what an expression makes of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.debugger import readings as read
from engine.debugger.history import History, Moment
from engine.debugger.operations import Value
from engine.debugger.scene import Scene

About = Literal["position", "round", "run", "moment"]


@dataclass(frozen=True)
class Fact:
    name: str
    about: About
    meaning: str
    formula: str
    """Empty for what is simply recorded."""
    of: Callable[[Scene, int], Value]
    text: bool = False
    """Is its value a text? Else it is a number, or true or false."""


class Facts(Mapping[str, Value]):
    """All facts at one place of a scene, worked out when asked for."""

    def __init__(self, scene: Scene, place: int) -> None:
        self.scene = scene
        self.place = place

    def __getitem__(self, name: str) -> Value:
        value = FACTS[name].of(self.scene, self.place)
        return None if isinstance(value, float) and not math.isfinite(value) else value

    def __iter__(self) -> Iterator[str]:
        return iter(FACTS)

    def __len__(self) -> int:
        return len(FACTS)


def of_moment(moment: Moment, place: int | None = None) -> Facts:
    """For a watch list. ``place``: the draft of the moment's round that is selected, or ``FINAL``."""
    scene = Scene.at(moment)
    return Facts(scene, scene.deciding if place is None else place)


def of_round(history: History, number: int) -> Facts:
    """For a filter of finished rounds; ``number`` counts from 0. Facts of a position are those of the last judged."""
    scene = Scene.of_round(history, number)
    return Facts(scene, scene.deciding)


_ALL = (
    Fact("draft", "position", "which draft of its round it is, from 1; unknown for a token that wasn't drafted", "",
         lambda scene, place: place + 1 if read.draft_of(scene, place) is not None else None),
    Fact("token", "position", "which token of the output it is, or would be, from 1", "position − prompt + 1",
         read.token_of),
    Fact("position", "position", "its place in prompt and output, from 0", "", read.place_of),
    Fact("id", "position", "its token id", "", read.id_of),
    Fact("token_text", "position", "its own text in the vocabulary", "", read.token_text_of, text=True),
    Fact("fate", "position", "accepted, rejected, void, pending, correction, bonus or plain", "", read.fate_of,
         text=True),
    Fact("p", "position", "the target's probability of it", "p(y)", read.p_of),
    Fact("q", "position", "the drafter's probability of it", "q(y)", read.q_of),
    Fact("ratio", "position", "the threshold that its draw is held against", "p(y) / q(y)", read.ratio_of),
    Fact("draw", "position", "the number in [0, 1) that decided on it, or chose a correction, bonus or plain token",
         "accepted when u·q(y) < p(y)", read.draw_of),
    Fact("u", "position", "the same as draw", "", read.draw_of),
    Fact("margin", "position", "how far its draw was below the threshold; negative: above, so rejected",
         "p(y) / q(y) − u", read.margin_of),
    Fact("best", "position", "id of the target's most probable token there", "argmax p", read.best_of),
    Fact("overlap", "position", "the chance that a draft from q is accepted there", "Σ min(p, q)", read.overlap_of),
    Fact("entropy", "position", "how undecided the target is there, in nats", "−Σ p·ln p", read.entropy_of),
    Fact("gap", "position", "the lead of the target's best token over the next", "largest logit − second largest",
         read.gap_of),
    Fact("source", "position", "where the guess came from, e.g. \"3-gram at 17\"", "", read.source_of,
         text=True),
    Fact("round", "round", "which round, from 1", "",
         lambda scene, place: scene.round + 1 if scene.round is not None else None),
    Fact("gamma", "round", "draft length γ asked for", "", read.gamma_of),
    Fact("k", "round", "tokens drafted", "", lambda scene, place: scene.k),
    Fact("tested", "round", "drafts tested: up to and including the first rejection", "accepted + rejected",
         lambda scene, place: read.tested_of(scene)),
    Fact("accepted", "round", "drafts accepted", "", lambda scene, place: (
        scene.committed.accepted if scene.committed is not None else read.tested_of(scene) - read.rejected_of(scene))),
    Fact("rejected", "round", "drafts rejected: 0 or 1", "", lambda scene, place: read.rejected_of(scene)),
    Fact("void", "round", "drafts never tested, since an earlier one was rejected or the run ended", "k − tested",
         read.void_of),
    Fact("committed", "round", "tokens that the round added to the output", "",
         read.at_end(lambda end: len(end.tokens))),
    Fact("text", "round", "what the round added to the output: known once it has ended", "", read.committed_text_of,
         text=True),
    Fact("drafted_text", "round", "what was drafted in it, kept or not", "", read.drafted_text_of, text=True),
    Fact("final", "round", "what its last token is: correction, bonus, plain or none", "",
         read.at_end(lambda end: end.final), text=True),
    Fact("final_draw", "round", "the draw that chose the last token", "", read.at_end(lambda end: end.final_draw)),
    Fact("residual_mass", "round", "the mass that the correction was drawn from", "Σ max(p − q, 0) = 1 − overlap",
         read.at_end(lambda end: end.residual_mass)),
    Fact("overlap_min", "round", "the smallest overlap of its tested positions", "min Σ min(p, q)",
         read.overlap_min_of),
    Fact("eos", "round", "an end-of-text token was drafted", "", read.eos_of),
    Fact("seconds", "round", "what it took", "draft + verify + judge + record + commit",
         read.spent(lambda spent: spent.total, read.both, 1.0)),
    Fact("ms", "round", "what it took, in milliseconds", "draft + verify + judge + record + commit",
         read.spent(lambda spent: spent.total, read.both)),
    Fact("draft_ms", "round", "drafting, in milliseconds", "", read.spent(lambda spent: spent.draft, read.drafting)),
    Fact("verify_ms", "round", "the target's forward, in milliseconds", "",
         read.spent(lambda spent: spent.verify, read.verifying)),
    Fact("judge_ms", "round", "judging, in milliseconds", "", read.spent(lambda spent: spent.judge)),
    Fact("record_ms", "round", "reducing p and q to records, in milliseconds: the price of watching", "",
         read.spent(lambda spent: spent.record)),
    Fact("commit_ms", "round", "committing and cutting the caches back, in milliseconds", "",
         read.spent(lambda spent: spent.commit)),
    Fact("alpha", "run", "acceptance rate α so far", "accepted / tested drafts",
         read.so_far(lambda t: t.acceptance_rate)),
    Fact("utilisation", "run", "draft utilisation so far (not α)", "accepted / drafted tokens",
         read.so_far(lambda t: t.draft_utilisation)),
    Fact("mean_length", "run", "mean committed length E[m] so far", "committed tokens / rounds",
         read.so_far(lambda t: t.mean_committed_length)),
    Fact("tokens_per_second", "run", "pace so far, prefill aside", "committed tokens / decode seconds",
         read.so_far(lambda t: t.tokens_per_second, timed=True)),
    Fact("output", "run", "tokens committed so far, the prompt aside", "", read.so_far(lambda t: t.committed)),
    Fact("clock", "run", "seconds on the lane's own clock, prefill included", "", read.clock_of),
    Fact("phase", "moment", "the step just taken: started, prefill, draft, verify, judge, commit or finished", "",
         lambda scene, place: scene.phase, text=True),
)

FACTS: dict[str, Fact] = {fact.name: fact for fact in _ALL}
WATCH_NAMES = frozenset(FACTS)
ROUND_NAMES = frozenset(name for name, fact in FACTS.items() if fact.about != "moment")
"""For filters of finished rounds, and for breakpoints."""
TEXT_NAMES = frozenset(name for name, fact in FACTS.items() if fact.text)
POSITION_NAMES = frozenset(name for name, fact in FACTS.items() if fact.about == "position")
