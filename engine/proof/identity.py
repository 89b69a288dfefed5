"""Greedy identity, forward counts, cache contents, and the target as its own draft model: claims about whole lanes.

Every function makes its own lanes; ``spoil`` is done to each lane under test before it runs, never to what it is
compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from engine import checks
from engine.divergence import first_divergence
from engine.invariance import exactness
from engine.models.progress import Reporter
from engine.models.quiet import quiet
from engine.proof import rows, subjects
from engine.proof.report import Cancelled, Check
from engine.proof.rig import Rig
from engine.proof.subjects import Subject
from engine.proof.trial import (
    GREEDY,
    WARM,
    Checks,
    Found,
    Output,
    Spoil,
    label,
    lane,
    start_up,
    tolerance,
    tried,
    watched,
)
from engine.records import Committed, Prefilled, Verified
from engine.runner import Runner
from engine.settings import DrafterSettings, Sampling

SELF_GAMMA = 4
FEW = 3
"""Faults that are told; then a run needn't go on."""

FIRST = "tiny llama"
"""Whose runs are long in the quick form, too."""


def greedy_against_generate(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None
                            ) -> Iterator[Check]:
    """In float32 every lane's ids are those of transformers' ``generate``. Nothing for other dtypes, whose rounding
    differs from one kernel to another."""
    if subject.target.hf.dtype != torch.float32:
        return
    tokens = _amount(subject, quick, small=(40, 400), large=(12, 128))
    expected = generated(subject, tokens)
    for method in subject.methods:
        def trial(method: DrafterSettings = method) -> Found:
            out = Output.of(lane(subject, method, tokens, spoil), cancelled)
            return _same(out, expected, tolerance(start_up(subject, method), torch.float32, 32.0))

        yield tried("greedy identity", f"{subject.name}, {label(method)}, like generate",
                    "greedy output is that of transformers' generate, token by token", "tokens", "the same ids", trial)


def greedy_against_plain(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None
                         ) -> Iterator[Check]:
    """Every lane is the plain lane: ids and, bit for bit, logits where rows are invariant; elsewhere it may part at a
    near-tie only."""
    tokens = _amount(subject, quick, small=(40, 400), large=(16, 128))
    plain = Output.of(lane(subject, DrafterSettings(), tokens), cancelled)
    for method in subject.methods[1:]:
        verdict = start_up(subject, method)

        def trial(method: DrafterSettings = method, exact: bool = verdict.invariant,
                  bound: float = verdict.row_difference) -> Found:
            out = Output.of(lane(subject, method, tokens, spoil), cancelled)
            found = _same(out, plain.tokens, bound, plain.gaps)
            pairs = zip(out.digests, plain.digests, strict=False)
            other = next((i for i, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
            if not exact or other is None:
                return found
            return Found(False, f"logits differ at token {other}", len(out.tokens), found.details)

        yield tried("greedy identity", f"{subject.name}, {label(method)}, like plain",
                    "greedy output is the plain lane's", "tokens",
                    "the same ids and bits" if verdict.invariant else "the same ids, but for near-ties", trial)


def forward_counts(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None
                   ) -> Iterator[Check]:
    """A round costs one forward of the target, and of the drafter's model as many as it drafted tokens."""
    for method in subject.methods:
        for sampling in (GREEDY, WARM):
            def trial(method: DrafterSettings = method, sampling: Sampling = sampling) -> Found:
                tokens = _amount(subject, quick, small=(16, 300), large=(5, 64))
                rig = lane(subject, method, tokens, spoil, sampling=sampling)
                return _counted(rig, cancelled)

            yield tried("counts", f"{subject.name}, {label(method)}, {_how(sampling)}",
                        "a round costs one forward of the target and one of the draft model a drafted token", "rounds",
                        "exactly", trial)


def cache_contents(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None
                   ) -> Iterator[Check]:
    """Between rounds both caches hold committed tokens only, each in its slot."""
    for method in subject.methods:
        for sampling in (GREEDY, WARM):
            def trial(method: DrafterSettings = method, sampling: Sampling = sampling) -> Found:
                tokens = _amount(subject, quick, small=(16, 300), large=(5, 64))
                rig = lane(subject, method, tokens, spoil, sampling=sampling)
                check, count = checks.watch(rig.target, rig.drafter), 0
                for record in watched(rig, cancelled):
                    if isinstance(record, Committed):
                        check(rig.seq.tokens)
                        count += 1
                return Found(count > 0, "every slot as committed", count)

            yield tried("caches", f"{subject.name}, {label(method)}, {_how(sampling)}",
                        "between rounds both caches hold the committed tokens, each in its slot", "rounds",
                        "no other id", trial)


def same_model(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None) -> Iterator[Check]:
    """The target as its own draft model is never refused: a cache or position off by one would show as decay."""
    twice = Subject(subject.name, subject.target, subject.prompt, {"itself": subject.target}, subject.small)
    method = DrafterSettings(kind="model", model="itself", gamma=SELF_GAMMA)
    rounds = _amount(subject, quick, small=(300 if subject.name == FIRST else 60, 300), large=(8, 300))
    fewer = min(rounds, 60) if quick else rounds
    verdict = start_up(twice, method)

    def greedy() -> Found:
        bound = tolerance(verdict, subject.target.hf.dtype, 32.0)
        return _accepted(lane(twice, method, rounds * (SELF_GAMMA + 1), spoil), 2 * bound, cancelled)

    def sampled() -> Found:
        rig = lane(twice, method, fewer * (SELF_GAMMA + 1), spoil, sampling=WARM)
        _pad(rig)
        return _accepted(rig, 0.0, cancelled)

    yield tried("same model", f"{subject.name}, greedy", "every draft of the target's own is accepted, "
                f"{rounds} rounds long", "rounds",
                "α = 1" if verdict.invariant else "α = 1, but for near-ties", greedy)
    yield tried("same model", f"{subject.name}, {_how(WARM)}", f"p and q are the same, and every draft is accepted, "
                f"{fewer} rounds long", "rounds", "α = 1, overlap at least 1 − 1e-6", sampled)


KINDS: tuple[Checks, ...] = (greedy_against_generate, greedy_against_plain, rows.invariance, rows.verify_rows,
                             cache_contents, forward_counts, same_model)
"""All there are."""

NUMERIC: tuple[Checks, ...] = (greedy_against_plain, rows.invariance, rows.verify_rows)
"""Those that another dtype may change."""


def on(subject: Subject, *, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None,
       kinds: Sequence[Checks] = KINDS) -> Iterator[Check]:
    """All checks of whole lanes and rows, on one subject. Ends early when cancelled."""
    exactness(subject.target.hf, subject.width)  # measured once, for all widths below it too
    try:
        for kind in kinds:
            yield from kind(subject, quick=quick, cancelled=cancelled, spoil=spoil)
    except InterruptedError:
        return


def on_tiny_models(*, quick: bool, cancelled: Cancelled, spoil: Spoil | None = None) -> Iterator[Check]:
    """The same on tiny models of every kind of cache, and in half precision what that may change."""
    for kind in subjects.KINDS:
        yield from on(subjects.tiny(kind), quick=quick, cancelled=cancelled, spoil=spoil)
    for kind in subjects.KINDS[: 1 if quick else None]:
        yield from on(subjects.tiny(kind, dtype=torch.bfloat16), quick=quick, cancelled=cancelled, spoil=spoil,
                      kinds=NUMERIC)


@torch.inference_mode()
def generated(subject: Subject, tokens: int) -> list[int]:
    """transformers' own greedy output. Whatever else the checkpoint asks for (a penalty, say) is switched off."""
    hf = subject.target.hf
    ids = torch.tensor([subject.prompt], device=Runner(hf).device)
    with quiet(Reporter()):
        out = hf.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False, num_beams=1,
                          repetition_penalty=1.0, no_repeat_ngram_size=0, suppress_tokens=None, bad_words_ids=None,
                          min_length=0, min_new_tokens=None, eos_token_id=None, pad_token_id=0)
    return [int(token) for token in out[0, len(subject.prompt) :]]


def _same(out: Output, expected: list[int], row_difference: float, gaps: list[float] | None = None) -> Found:
    """``gaps``: the reference's; without them the lane's own serve, which are the same up to the first difference."""
    parted = first_divergence(out.tokens, expected, gaps or out.gaps, row_difference, ended=True)
    if parted is None:
        return Found(True, "the same", len(out.tokens))
    return Found(parted.near_tie, parted.sentence, len(out.tokens),
                 [f"token {parted.index}: {parted.token}, expected {parted.plain_token}"])


def _counted(rig: Rig, cancelled: Cancelled) -> Found:
    helper: Runner | None = getattr(rig.drafter, "runner", None)
    rounds, wrong = 0, list[str]()
    target = drafter = 0
    for record in watched(rig, cancelled):
        if not isinstance(record, (Prefilled, Committed)):
            continue
        ours, theirs = rig.target.forwards - target, helper.forwards - drafter if helper else 0
        target, drafter = rig.target.forwards, helper.forwards if helper else 0
        if isinstance(record, Committed):
            rounds += 1
            due = record.drafted if helper else 0
            if rig.settings.drafter.tree:  # its draft model computes level by level
                theirs = due = 0
            if (ours, theirs) != (1, due):
                wrong.append(f"round {record.round}: {ours} of the target, {theirs} of the draft model; 1 and {due} "
                             "were due")
    return Found(rounds > 0 and not wrong, f"{len(wrong)} of {rounds} rounds differ", rounds, wrong[:FEW])


def _accepted(rig: Rig, near: float, cancelled: Cancelled) -> Found:
    """``near``: a rejection is excused where the two best logits are no further apart (greedy only)."""
    tested = accepted = excused = rounds = 0
    least, faults = 1.0, list[str]()
    gaps: tuple[float, ...] = ()
    for record in watched(rig, cancelled):
        if isinstance(record, Verified):
            gaps = record.gaps
            least = min([least, *(row.overlap for row in record.rows if row.overlap is not None)])
        elif isinstance(record, Committed):
            rounds += 1
            tested += record.tested
            accepted += record.accepted
            if len(faults) == FEW:
                break
            if record.accepted < record.tested:
                tie = rig.settings.sampling.greedy and abs(gaps[record.accepted]) <= near
                excused += tie
                if not tie:
                    faults.append(f"round {record.round}: draft {record.accepted} of {record.drafted} rejected, gap "
                                  f"{gaps[record.accepted]:.3g}")
    alpha = accepted / tested if tested else 0.0
    said = f"α = {alpha:.6g}" + (f", {excused} near-ties" if excused else "")
    if not rig.settings.sampling.greedy:
        said += f", overlap at least 1 − {1 - least:.2g}"
        faults += [f"smallest overlap {least:.9f}"] if least < 1 - 1e-6 else []
    return Found(tested > 0 and not faults, said, rounds, faults)


def _pad(rig: Rig) -> None:
    """Every forward at one width, on a cache of one size, the target's and the drafter's: then their rows are the same
    bits."""
    for runner in (rig.target, getattr(rig.drafter, "runner", None)):
        if isinstance(runner, Runner):
            runner.pad_to = SELF_GAMMA + 1
            runner.cache.reserve(rig.target.cache.capacity)


def _amount(subject: Subject, quick: bool, *, small: tuple[int, int], large: tuple[int, int]) -> int:
    return (small if subject.small else large)[0 if quick else 1]


def _how(sampling: Sampling) -> str:
    return "greedy" if sampling.greedy else "sampled"
