"""What the form holds: everything that decides a race, as one frozen value that can be remembered and compared."""

from __future__ import annotations

import msgspec

from app.orders import LaneChoice, ModelChoice
from engine.settings import DrafterSettings, RunSettings, Sampling

PLAIN_LANE = "0"

FIVE = ("draft", "eagle", "medusa", "ngram", "layer-skip")
"""The five families of ways to draft, each with what ships for the built-in target."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    target: str = "builtin"
    revision: str = ""
    """Of a hub model; empty: its default branch."""
    dtype: str = "auto"
    device: str = "auto"
    drafters: tuple[DrafterSettings, ...] = (
        DrafterSettings(kind="ngram"), DrafterSettings(kind="layer-skip"))
    """The lanes under plain decoding, in order. ``gamma`` None: the one below."""
    gamma: int | None = None
    """For all lanes that don't say otherwise; None: each method's own default."""
    prompt: str = ""
    chat: bool = True
    sampling: Sampling = Sampling()
    seed: int = 0
    max_new_tokens: int = 128
    stop: tuple[str, ...] = ()
    exact: bool = False

    def __post_init__(self) -> None:
        self.lanes()  # raises what the settings say of values out of range: a Setup can always be run

    def model(self, trust_remote_code: bool = False) -> ModelChoice:
        """Trust is a person's decision of the moment, so it isn't part of what is remembered."""
        return ModelChoice(source=self.target, revision=self.revision or None, dtype=self.dtype, device=self.device,
                           trust_remote_code=trust_remote_code)

    def lanes(self) -> tuple[LaneChoice, ...]:
        """Plain decoding first, then the drafters in their order."""
        drafters = [DrafterSettings()]
        drafters += [msgspec.structs.replace(d, gamma=self.gamma) if d.gamma is None else d for d in self.drafters]
        return tuple(LaneChoice(PLAIN_LANE if i == 0 else str(i), self._run(drafter))
                     for i, drafter in enumerate(drafters))

    def _run(self, drafter: DrafterSettings) -> RunSettings:
        return RunSettings(sampling=self.sampling, drafter=drafter, seed=self.seed,
                           max_new_tokens=self.max_new_tokens, stop=self.stop, exact=self.exact)


def five(setup: Setup) -> Setup:
    """The same with one lane of each family, on the built-in target."""
    return msgspec.structs.replace(setup, target="builtin", revision="",
                                   drafters=tuple(DrafterSettings(kind=kind) for kind in FIVE))
