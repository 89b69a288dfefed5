"""Stop drafting where the drafter itself is unsure: dynamic draft length by confidence.

As in transformers' ``assistant_confidence_threshold`` and in Mamou et al., "Dynamic Speculation Lookahead Accelerates
Speculative Decoding of Large Language Models" (2024), with one difference that exactness needs: confidence is the
largest probability of the row, which is known before a token is drawn from it, never the drawn token's own. The draft
whose row is weak is still made, since its forward is paid for already, and is the round's last: nothing is dropped, and
a round with room has at least one draft.

The row is the softmax at temperature 1 of the drafter's scores (behind the repetition penalty), greedy or not. After
temperature, top-k or top-p it would look sure wherever the sampling is sharp, and one threshold would mean something
else in every run.
"""

from __future__ import annotations

import torch


def confident(scores: torch.Tensor, stop_below: float) -> bool:
    """May a drafter go on behind the draft that it is about to draw from ``scores`` (V,), its logits there?
    ``stop_below``: :attr:`engine.settings.DrafterSettings.stop_below`; 0 says yes without looking.

    Every drafter with a distribution of its own asks this before it draws, and stops behind the draft if the answer is
    no::

        going = confident(scores[0], self.stop_below)
        ... draw, yield Draft(...)
        if not going:
            return

    Any rule on earlier tokens and undrawn rows is sound; one that looks at a drawn token and takes it back changes q.
    Reads one number back from the device: on a GPU a synchronisation a draft.
    """
    if not stop_below:
        return True
    return bool((scores.amax(-1) - scores.logsumexp(-1)).exp() >= stop_below)
