"""How each fact is read off a scene, at one place in it. None: not known (yet, or in this recording)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from engine.debugger.operations import Value
from engine.debugger.scene import FINAL, Scene
from engine.records import UNKNOWN_TOKEN, Committed, Drafted, Judged, Timings, Totals

# --- of one token -----------------------------------------------------------------------------------------------------


def draft_of(scene: Scene, place: int) -> Drafted | Judged | None:
    if 0 <= place < len(scene.drafted):
        return scene.drafted[place]
    return judged_of(scene, place)


def judged_of(scene: Scene, place: int) -> Judged | None:
    if scene.is_tree:
        return next((judged for judged in scene.judged if judged.index == place), None)
    return scene.judged[place] if 0 <= place < len(scene.judged) else None


def final_of(scene: Scene, place: int) -> Committed | None:
    """The round's end, when the token looked at is its correction, bonus or plain token."""
    if place != FINAL or scene.committed is None or scene.committed.final == "none":
        return None
    return scene.committed


def position_of(scene: Scene, place: int) -> int | None:
    final = final_of(scene, place)
    if final is not None:
        return final.position + len(final.tokens) - 1
    draft = draft_of(scene, place)
    return draft.position if draft is not None else None


def token_of(scene: Scene, place: int) -> Value:
    position = position_of(scene, place)
    return position - scene.prompt + 1 if position is not None else None


def place_of(scene: Scene, place: int) -> Value:
    """The position, unless the prompt that it counts from isn't known."""
    return None if "prompt" in scene.unknown else position_of(scene, place)


def id_of(scene: Scene, place: int) -> int | None:
    """A file may tell the drafts' ids and not those of corrections and bonuses."""
    final, draft = final_of(scene, place), draft_of(scene, place)
    if final is not None:
        token = final.tokens[-1] if final.tokens else UNKNOWN_TOKEN
    else:
        token = draft.token if draft is not None else UNKNOWN_TOKEN
    return token if token != UNKNOWN_TOKEN else None


def text_of(scene: Scene, place: int) -> Value:
    final = final_of(scene, place)
    if "texts" in scene.unknown:
        return None
    if final is not None:
        return final.texts[-1] if final.texts else None
    draft = draft_of(scene, place)
    return draft.text if draft is not None else None


def token_text_of(scene: Scene, place: int) -> Value:
    token = id_of(scene, place)
    own = scene.history.texts.get(token) if token is not None else None
    return text_of(scene, place) if own is None else own


def in_row_of(scene: Scene, place: int, of_q: bool) -> float | None:
    """p or q of the token looked at, from its row."""
    row, token = scene.row(place), id_of(scene, place)
    if row is None or token is None:
        return None
    values, found = row.q if of_q else row.p, np.flatnonzero(row.ids == token)
    return float(values[found[0]]) if len(found) and found[0] < len(values) else None


def p_of(scene: Scene, place: int) -> float | None:
    judged = judged_of(scene, place)
    if judged is not None:
        return judged.p
    final = final_of(scene, place)
    if final is not None and final.p:
        return final.p[-1]
    return in_row_of(scene, place, of_q=False)


def q_of(scene: Scene, place: int) -> float | None:
    draft = judged_of(scene, place) or draft_of(scene, place)
    return draft.q if draft is not None else in_row_of(scene, place, of_q=True)


def ratio_of(scene: Scene, place: int) -> float | None:
    p, q = p_of(scene, place), q_of(scene, place)
    return p / q if p is not None and q else None


def draw_of(scene: Scene, place: int) -> float | None:
    final = final_of(scene, place)
    if final is not None:
        return final.final_draw
    judged = judged_of(scene, place)
    return judged.draw if judged is not None else None


def margin_of(scene: Scene, place: int) -> float | None:
    judged = judged_of(scene, place)
    if judged is None or judged.draw is None:
        return None
    ratio = ratio_of(scene, place)
    return ratio - judged.draw if ratio is not None else None


def best_of(scene: Scene, place: int) -> Value:
    judged = judged_of(scene, place)
    if judged is not None:
        return judged.best
    row = scene.row(place)
    return int(row.ids[0]) if row is not None and len(row.ids) else None


def overlap_of(scene: Scene, place: int) -> float | None:
    row = scene.row(place)
    return row.overlap if row is not None and len(row.q) else None


def entropy_of(scene: Scene, place: int) -> Value:
    row = scene.row(place)
    return row.p_entropy if row is not None else None


def gap_of(scene: Scene, place: int) -> Value:
    if place == FINAL and final_of(scene, place) is None:
        return None
    number, gaps = scene.row_number(place), scene.verified.gaps if scene.verified is not None else ()
    return gaps[number] if 0 <= number < len(gaps) else None


def fate_of(scene: Scene, place: int) -> Value:
    final = final_of(scene, place)
    if final is not None:
        return final.final
    judged = judged_of(scene, place)
    if judged is not None:
        return "accepted" if judged.accepted else "rejected"
    if draft_of(scene, place) is None:
        return None
    return "void" if scene.committed is not None or rejected_of(scene) else "pending"


def source_of(scene: Scene, place: int) -> Value:
    return (scene.drafted[place].source or None) if 0 <= place < len(scene.drafted) else None


# --- of the round -----------------------------------------------------------------------------------------------------


def gamma_of(scene: Scene, place: int) -> Value:
    return scene.started.gamma if scene.started is not None and "settings" not in scene.unknown else None


def tested_of(scene: Scene) -> int:
    return scene.committed.tested if scene.committed is not None else len(scene.judged)


def rejected_of(scene: Scene) -> int:
    """In a chain 0 or 1: nothing is tested behind the first. In a tree siblings are."""
    if scene.committed is not None:
        return scene.committed.tested - scene.committed.accepted
    return sum(not judged.accepted for judged in scene.judged)


def void_of(scene: Scene, place: int) -> Value:
    return scene.k - tested_of(scene) if scene.committed is not None or rejected_of(scene) else 0


def committed_text_of(scene: Scene, place: int) -> Value:
    return "".join(scene.committed.texts) if scene.committed is not None and "texts" not in scene.unknown else None


def drafted_text_of(scene: Scene, place: int) -> Value:
    """Of all drafts so far. A file may tell how many there were, and not which."""
    if scene.round is None or "texts" in scene.unknown or len(scene.drafted) < scene.k:
        return None
    return "".join(draft.text for draft in scene.drafted)


def overlap_min_of(scene: Scene, place: int) -> Value:
    known = [overlap for judged in scene.judged
             if (overlap := overlap_of(scene, judged.index)) is not None and math.isfinite(overlap)]
    return min(known) if known else None


def eos_of(scene: Scene, place: int) -> Value:
    if not scene.eos:
        return None
    if any(draft.token in scene.eos for draft in scene.drafted):
        return True
    return None if any(draft.token == UNKNOWN_TOKEN for draft in scene.drafted) else False


def at_end(value: Callable[[Committed], Value]) -> Callable[[Scene, int], Value]:
    """Something that only the round's end tells."""
    return lambda scene, place: value(scene.committed) if scene.committed is not None else None


def spent(part: Callable[[Timings], float], so_far: Callable[[Scene], float | None] = lambda scene: None,
          unit: float = 1e3) -> Callable[[Scene, int], Value]:
    def of(scene: Scene, place: int) -> Value:
        if "seconds" in scene.unknown:
            return None
        seconds = part(scene.committed.seconds) if scene.committed is not None else so_far(scene)
        return unit * seconds if seconds is not None else None
    return of


def drafting(scene: Scene) -> float | None:
    return sum(draft.seconds for draft in scene.drafted) if scene.drafted else None


def verifying(scene: Scene) -> float | None:
    return scene.verified.seconds if scene.verified is not None else None


def both(scene: Scene) -> float | None:
    return (drafting(scene) or 0.0) + (verifying(scene) or 0.0) if scene.round is not None else None


# --- of the run -------------------------------------------------------------------------------------------------------


def so_far(of: Callable[[Totals], Value], timed: bool = False) -> Callable[[Scene, int], Value]:
    return lambda scene, place: None if timed and "seconds" in scene.unknown else of(scene.totals)


def clock_of(scene: Scene, place: int) -> Value:
    if "seconds" in scene.unknown:
        return None
    under_way = both(scene) if scene.committed is None else None
    return scene.totals.total_seconds + (under_way or 0.0)
