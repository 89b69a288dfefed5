"""One round's judgement where a tree was drafted. The walk down the tree reads one number a test back from the device;
all else comes with one transfer, as for chains (rounds.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

from engine.contrast import digests
from engine.drafters.base import Draft, RoundDraws
from engine.rounds import Facts, Judge, Rows, gaps, whole
from engine.runner import Stopwatch, as_ids, fetch
from engine.sampling import best, runner_up
from engine.tree import Tree
from engine.tree_contrast import reduce_tree, tree_contrasts
from engine.verify_tree import Draw, TreeVerdict, judge_tree_greedy, judge_tree_sampled

SampledTreeRule = Callable[
    [torch.Tensor, Sequence[torch.Tensor | None], Sequence[int], Tree, Draw, Draw], TreeVerdict]
"""p, q, drafts, tree, accept draws, final draws: see :func:`engine.verify_tree.judge_tree_sampled`."""

GreedyTreeRule = Callable[
    [Sequence[int], torch.Tensor, Sequence[torch.Tensor | None], Sequence[int], Tree], TreeVerdict]
"""Winners, p, q, drafts, tree: see :func:`engine.verify_tree.judge_tree_greedy`."""


class TreeJudge(Judge):
    """Judges trees, and chains as :class:`Judge` does. ``sampled_tree`` and ``greedy_tree`` are the rules; a proof puts
    others in their place."""

    sampled_tree: SampledTreeRule = staticmethod(judge_tree_sampled)
    greedy_tree: GreedyTreeRule = staticmethod(judge_tree_greedy)

    @torch.inference_mode()
    def __call__(self, logits: torch.Tensor, drafts: Sequence[Draft], tree: Tree, draws: RoundDraws, watch: Stopwatch
                 ) -> Facts:
        """Judge ``logits`` (n + 1, V). Raises :class:`NumericsError` when a row is NaN or infinite."""
        if tree.is_chain:
            return super().__call__(logits, drafts, tree, draws, watch)
        begin = watch.mark()
        greedy, detail = self.warper.greedy, self.settings.detail
        tokens, scores, p, _ = self.tree_rows(logits, drafts, tree)
        q = [None if draft.q is None else whole(draft, p.shape[1]) for draft in drafts]
        winners = best(scores)
        ids, argmaxes = (found.tolist() for found in fetch(tokens, winners))

        def accept_draw(draft: int) -> float:
            return draws.accept(tree.depths[draft], tree.numbers[draft])

        verdict = self.greedy_tree(argmaxes, p, q, ids, tree) if greedy else self.sampled_tree(
            p, q, ids, tree, accept_draw, draws.final)
        ends_at = verdict.path[-1] + 1 if verdict.path else 0
        judged_by = torch.tensor([parent + 1 for parent in tree.parents], device=p.device)
        q_draft = torch.stack([p.new_ones(()) if one is None else one[i] for one, i in zip(q, ids, strict=True)])
        reduced_at = watch.mark()
        found = {"drafts": tokens, "p_draft": p[judged_by, tokens].double(), "q_draft": q_draft.double(),
                 "final": verdict.final, "p_final": p[ends_at, verdict.final], "mass": verdict.mass,
                 "top": scores.gather(1, winners[:, None])[:, 0]}
        if detail:
            reduced = reduce_tree(p, q, tokens, tree, ends_at, verdict.final, scores if greedy else None)
            second = runner_up(scores, winners, reduced["ids"] if greedy else None)
            found |= {**reduced, "second": second, "digests": digests(logits)}
        reduced_by = watch.mark()
        host = dict(zip(found, fetch(*found.values()), strict=True))
        began = time.perf_counter()
        rows = tree_contrasts(host, self.entropies(host, p), tree, ends_at) if detail else ()
        host_seconds = time.perf_counter() - began
        self.check(host, draws.start)
        p_row, p_test = host["p_draft"].tolist(), host["p_draft"].tolist()
        accept_draws: list[float | None] = [None] * len(tree)
        for test in verdict.tests:
            p_test[test.draft], accept_draws[test.draft] = test.p, test.draw
        return Facts(
            drafts=ids, tree=tree, path=verdict.path, tested=tuple(test.draft for test in verdict.tests), p=p_test,
            q=host["q_draft"].tolist(), final=int(host["final"]), mass=float(host["mass"]),
            committed_p=[*(p_row[i] for i in verdict.path), float(host["p_final"])], best=argmaxes, rows=rows,
            gaps=gaps(host["top"], host["second"]) if detail else [],
            digests=host["digests"].tolist() if detail else [], accept_draws=accept_draws,
            final_draw=None if greedy else draws.final(len(verdict.path)),
            judge_seconds=watch.between(begin, reduced_at),
            record_seconds=watch.between(reduced_at, reduced_by) + host_seconds, drawn_as_tree=True)

    def tree_rows(self, logits: torch.Tensor, drafts: Sequence[Draft], tree: Tree) -> Rows:
        """``logits`` (n + 1, V). Without q, of which each draft has its own."""
        tokens = as_ids([draft.token for draft in drafts], logits.device)
        scores = self.warper.scores(logits, self.seen.tree_rows(tokens.tolist(), tree) if self.seen else None)
        return Rows(tokens, scores, self.warper.distribution(scores), None)
