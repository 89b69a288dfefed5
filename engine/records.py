"""What happened in a run, event by event: frozen, plain data that everything else passes around.

A run of one lane is the sequence

    RunStarted  Prefilled  ( Drafted*  Verified  Judged*  Committed )*  RunFinished

with :class:`Vocabulary` records wherever token ids appear for the first time. Arrays are small, read-only numpy
arrays (never tensors, never whole vocabulary rows). Seconds are floats of wall time on the lane's own device.
``round`` and ``index`` count from 0; ``position`` is an index into prompt + output.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.settings import MAX_GAMMA, RunSettings

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
DraftIndex = Annotated[int, msgspec.Meta(ge=0, le=MAX_GAMMA)]
"""Bounds are checked where records come from outside: a trace may hold anything."""
Parent = Annotated[int, msgspec.Meta(ge=-1, le=MAX_GAMMA)]
Token = Annotated[int, msgspec.Meta(ge=-1, le=2**40)]
UNKNOWN_TOKEN = -1
"""In a lane imported from a format that tells no ids."""

StopReason = Literal["eos", "stop", "length", "context", "stopped", "error"]
FinalKind = Literal["correction", "bonus", "plain", "none"]


class Contrast(msgspec.Struct, frozen=True, gc=False):
    """p against q at one position, over the union of the tops of both and every drafted or committed token there.

    In a greedy run both are the softmax at temperature 1 of the (penalised) logits, for showing only.
    """

    ids: NDArray[np.int32]
    """Token ids, by falling p (ties: lower id)."""
    p: NDArray[np.float32]
    q: NDArray[np.float32]
    """Same order as ``ids``; empty where there was no proposal (the bonus row, plain decoding)."""
    p_rest: float
    """1 − Σ p over ``ids``."""
    q_rest: float
    p_entropy: float
    """Nats."""
    q_entropy: float
    overlap: float | None
    """Σ min(p, q) over the whole vocabulary: the chance that a draft from q is accepted; None where there was no q."""


class Timings(msgspec.Struct, frozen=True):
    """Seconds of one round, by phase."""

    draft: Seconds
    verify: Seconds
    judge: Seconds
    record: Seconds
    """Reducing p and q to contrasts and digests: the price of watching."""
    commit: Seconds

    @property
    def total(self) -> float:
        return self.draft + self.verify + self.judge + self.record + self.commit


class TargetInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the run's target was."""

    name: str
    parameters: int
    layers: int
    vocabulary: int
    context: int
    """Longest prompt + output the model allows, in tokens."""
    dtype: str
    device: str
    fingerprint: str
    """Digest of config and weights' headers: tells one checkpoint from another."""
    source: str = ""
    slot_bytes: Count = 0
    """Bytes of keys and values that one token takes in all layers; 0: unknown."""
    generation_notes: tuple[str, ...] = ()
    """What the checkpoint's generation_config asks for that isn't applied silently (a repetition penalty, say)."""


class Exactness(msgspec.Struct, frozen=True, kw_only=True):
    """Do a position's logits depend on which round computed them, on this model, device and dtype? Measured."""

    invariant: bool
    """Rows of every width used in this run were bit-identical to those of single steps."""
    padded: bool
    """All forwards were padded to one width to make it so."""
    width_checked: int
    """Widths 1 … this were compared."""
    width_limit: int
    """The largest width up to which all rows were bit-identical (≤ width_checked)."""
    row_difference: float
    """Largest |difference| of a logit between widths, over the widths that differed; 0 when none did."""
    sentence: str
    """The verdict for a person, e.g. "bit-exact here (widths 1 to 11 compared)"."""
    one_size: bool = False
    """Rows depend on the size of the cache too, so all caches of a run get one size from its start."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a branch comes from: its records before ``round`` are copies of that lane's."""

    lane: str
    round: Count
    change: str
    """What is different, in words; "" for nothing."""
    lossless: bool
    """False when a verdict was forced: then the output is no longer the target's."""


Unknown = Literal["target", "settings", "seconds", "tokens", "texts", "p", "q", "draws", "rows", "slots", "prompt"]
"""What a lane that was imported from another format doesn't know. Its fields hold zeros, empty texts, None or
:data:`UNKNOWN_TOKEN` then, and no one may show them as figures."""


class Record(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Common to all: which run, which lane. A late record of a stopped run is recognised by ``run`` and dropped."""

    run: str
    lane: str


class RunStarted(Record, frozen=True, tag=True, kw_only=True):
    title: str
    """The lane's name on screen, e.g. "Prompt lookup"."""
    about: str
    """How this method guesses, in one line."""
    gamma: Count
    """Draft length asked for, after the method's default is filled in; 0 for plain decoding."""
    settings: RunSettings
    target: TargetInfo
    exactness: Exactness
    prompt: tuple[int, ...]
    prompt_text: str
    machine: str
    version: str
    started: str
    """Local time, ISO 8601."""
    slots: Count = 0
    """The size that the target's cache had from the start; 0: it grew."""
    branch: Origin | None = None
    unknown: tuple[Unknown, ...] = ()
    eos: tuple[int, ...] = ()
    """Token ids that end a text, ascending; empty in recordings that don't tell."""
    step_cost: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    """What one more draft was measured to cost, in forwards of the target: with an adaptive length the draft lengths
    follow from it and the rounds before; 0: not measured."""


class Prefilled(Record, frozen=True, tag=True, kw_only=True):
    """The prompt, all but its last token, is in the caches."""

    tokens: Count
    target_seconds: Seconds
    drafter_seconds: Seconds


class Vocabulary(Record, frozen=True, tag=True, kw_only=True):
    """Readable texts of token ids, sent before the first record that uses them."""

    texts: dict[int, str]


class Drafted(Record, frozen=True, tag=True, kw_only=True):
    """The drafter proposed one token."""

    round: Count
    index: DraftIndex
    position: Count
    token: Token
    text: str
    q: float | None
    """q(token): 1 for prompt lookup and its like; in a greedy run of a model the softmax at temperature 1; None:
    unknown."""
    draw: float | None
    """The draw that chose it; None for a deterministic proposal."""
    seconds: Seconds
    source: str = ""
    """Where the guess came from, e.g. "3-gram at 17"."""
    parent: Parent | None = None
    """In a tree the index of the draft that it continues, −1: the newest committed token. None: the draft before it,
    as in a chain. ``position`` tells its depth."""


class Verified(Record, frozen=True, tag=True, kw_only=True):
    """One forward of the target over the newest token and the k drafts: k + 1 rows.

    Row 0 was computed after the newest token, row i + 1 after draft i and those before it (in a tree: its ancestors);
    it is usable only if all of them were accepted. So draft i is judged by row i, in a tree by row ``parent`` + 1.
    """

    round: Count
    k: Count
    width: Count
    """Positions computed, padding included."""
    seconds: Seconds
    rows: tuple[Contrast, ...]
    """k + 1 of them, or none when the run records no detail."""
    gaps: tuple[float, ...]
    """Difference of the two largest logits of each row (after the repetition penalty)."""
    digests: tuple[int, ...]
    """64-bit digest of each row's raw logits: equal digests mean bit-identical rows."""


class Judged(Record, frozen=True, tag=True, kw_only=True):
    """One draft token was tested. In a tree the children of a node are tested one after another, up to the one that is
    accepted; then those of that one. ``p`` is then what earlier siblings' rejections left of it, renormalised, and
    ``q`` the child's own."""

    round: Count
    index: DraftIndex
    position: Count
    token: Token
    text: str
    accepted: bool
    p: float | None
    """None, as for ``q`` and ``best``: unknown."""
    q: float | None
    draw: float | None
    """u of the test u·q(y) < p(y); None when greedy."""
    best: int | None
    """The target's argmax at this position."""


class Committed(Record, frozen=True, tag=True, kw_only=True):
    """The round's end: these tokens now belong to the output."""

    round: Count
    position: Count
    """Of the first committed token."""
    tokens: tuple[int, ...]
    texts: tuple[str, ...]
    """What each token adds to the text; characters are never split or repeated (a token may add "")."""
    accepted: Count
    """How many of ``tokens`` are accepted drafts."""
    tested: Count
    drafted: Count
    final: FinalKind
    """What the last token is: a correction, a bonus, a plain step, or none when the run ended on an accepted draft."""
    final_draw: float | None
    """None when greedy or final is none."""
    residual_mass: float | None
    """Σ max(p − q, 0) at the rejection; None unless final is a correction of a sampled run."""
    residual_empty: bool
    """The residual's mass was 0 (p equals q up to rounding), so the correction was drawn from p."""
    gaps: tuple[float, ...]
    """Per committed token: difference of the two largest logits of its row."""
    digests: tuple[int, ...]
    """Per committed token: digest of the raw logits row it was judged or drawn by."""
    seconds: Timings
    target_slots: Count
    """KV slots in use after the cut."""
    drafter_slots: Count
    p: tuple[float, ...] = ()
    """Per committed token: p(token) in its row."""
    path: tuple[DraftIndex, ...] = ()
    """In a tree the indices of the accepted drafts, from the root down; empty in a chain, whose first ones they are."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """A lane's figures so far. The properties are the formulas of the glossary."""

    rounds: Count = 0
    committed: Count = 0
    drafted: Count = 0
    tested: Count = 0
    accepted: Count = 0
    prefill: Seconds = 0.0
    draft: Seconds = 0.0
    verify: Seconds = 0.0
    other: Seconds = 0.0
    """Judge, record and commit."""

    @property
    def decode_seconds(self) -> float:
        return self.draft + self.verify + self.other

    @property
    def total_seconds(self) -> float:
        return self.prefill + self.decode_seconds

    @property
    def acceptance_rate(self) -> float | None:
        """α = accepted drafts / tested drafts."""
        return self.accepted / self.tested if self.tested else None

    @property
    def draft_utilisation(self) -> float | None:
        """Accepted drafts / drafted tokens. Not α."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def mean_committed_length(self) -> float | None:
        """E[m] = committed tokens / rounds."""
        return self.committed / self.rounds if self.rounds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Committed tokens / decode seconds, prefill aside."""
        return self.committed / self.decode_seconds if self.decode_seconds > 0 else None

    def plus(self, record: Record) -> Totals:
        """These totals after one more record of the same lane."""
        if isinstance(record, Prefilled):
            return msgspec.structs.replace(self, prefill=self.prefill + record.target_seconds + record.drafter_seconds)
        if isinstance(record, Committed):
            s = record.seconds
            return msgspec.structs.replace(
                self, rounds=self.rounds + 1, committed=self.committed + len(record.tokens),
                drafted=self.drafted + record.drafted, tested=self.tested + record.tested,
                accepted=self.accepted + record.accepted, draft=self.draft + s.draft, verify=self.verify + s.verify,
                other=self.other + s.judge + s.record + s.commit)
        return self


class RunFinished(Record, frozen=True, tag=True, kw_only=True):
    reason: StopReason
    message: str
    """For ``error``: the sentence that says what, why and what to do. Else empty or a short remark."""
    text: str
    """The whole output, cut at the stop string if one ended it."""
    totals: Totals
    details: str = ""


AnyRecord = (RunStarted | Prefilled | Vocabulary | Drafted | Verified | Judged | Committed | RunFinished)
