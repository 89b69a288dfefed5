"""The inspector's states, to be looked at: ``python -m tests.widgets.gallery_inspector FOLDER [NAME …]``."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QWidget

from app.theme import Theme
from engine.debugger.full_row import FullRow
from engine.debugger.history import Moment
from engine.debugger.inspection import inspect
from tests.widgets import fake_rows
from tests.widgets.gallery import main, scene
from widgets.inspector import Inspector


def shown(theme: Theme, moment: Moment, index: int | None = None) -> Inspector:
    inspector = Inspector(theme)
    inspector.show_inspection(inspect(moment, index))
    return inspector


def framed(inspector: Inspector, margin: int = 8) -> QWidget:
    from tests.widgets.gallery import column

    return column(inspector.theme, inspector, margin=margin)  # type: ignore[arg-type]


@functools.cache
def warm(drafter: str = "layer-skip", vocabulary: int = 352) -> list[Moment]:
    """The finished rounds of a real run of a tiny model."""
    from engine.debugger.history import History
    from engine.settings import Sampling
    from tests.engine.support import PROMPT, run, settings, target

    history = History("0")
    for record in run(target(vocabulary=vocabulary), PROMPT, settings(
            drafter, tokens=60, sampling=Sampling(temperature=1.0), seed=11)).records:
        history.append(record)
    return [history.at(end + 1) for end in history.ends]


@scene(776, 536)
def inspector_rejected(theme: Theme) -> QWidget:
    return framed(shown(theme, fake_rows.moment(fake_rows.a_round())))


@scene(576, 436)
def inspector_small(theme: Theme) -> QWidget:
    inspector = shown(theme, fake_rows.moment(fake_rows.a_round()))
    inspector.choices.bar.try_value(0.86)
    return framed(inspector)


@scene(576, 436)
def inspector_accepted_log(theme: Theme) -> QWidget:
    inspector = shown(theme, fake_rows.moment(fake_rows.a_round(accepted=2)), 1)
    inspector.log.setChecked(True)
    inspector.formula.gauge.try_value(0.8)
    return framed(inspector)


@scene(776, 536)
def inspector_world(theme: Theme) -> QWidget:
    inspector = shown(theme, fake_rows.moment(fake_rows.a_round(words=fake_rows.WORLD)))
    inspector.bars._set_current(3)
    return framed(inspector)


@scene(656, 476)
def inspector_greedy(theme: Theme) -> QWidget:
    return framed(shown(theme, fake_rows.moment(fake_rows.a_round(greedy=True))))


@scene(656, 476)
def inspector_bonus(theme: Theme) -> QWidget:
    return framed(shown(theme, fake_rows.moment(fake_rows.a_round(accepted=3))))


@scene(656, 476)
def inspector_drafting(theme: Theme) -> QWidget:
    return framed(shown(theme, fake_rows.moment(fake_rows.a_round(), 5)))


@scene(656, 476)
def inspector_judged(theme: Theme) -> QWidget:
    """Rejected, but the correction isn't drawn yet."""
    return framed(shown(theme, fake_rows.moment(fake_rows.a_round(), 1)))


@scene(656, 476)
def inspector_one_hot(theme: Theme) -> QWidget:
    return framed(shown(theme, fake_rows.moment(fake_rows.a_round(one_hot=True))))


@scene(656, 476)
def inspector_void(theme: Theme) -> QWidget:
    inspector = shown(theme, fake_rows.moment(fake_rows.a_round()), 2)
    inspector.set_may_branch(False, "this recording’s model is not loaded")
    return framed(inspector)


@scene(656, 476)
def inspector_empty(theme: Theme) -> QWidget:
    return framed(Inspector(theme))


@scene(656, 476)
def inspector_unfound(theme: Theme) -> QWidget:
    inspector = shown(theme, fake_rows.moment(fake_rows.a_round()))
    inspector.query.setText("zebra")
    return framed(inspector)


@scene(776, 536)
def inspector_real(theme: Theme) -> QWidget:
    found = next(m for m in warm() if m.round.rejected_at is not None)  # type: ignore[union-attr]
    return framed(shown(theme, found))


@scene(776, 536)
def inspector_full(theme: Theme) -> QWidget:
    inspector = shown(theme, fake_rows.moment(fake_rows.a_round()))
    rows = np.random.default_rng(2).dirichlet(np.full(5000, 0.02), 2).astype(np.float32)
    inspector.show_full_row(FullRow(0, 1, rows[0], rows[1], [f" w{i}" for i in range(5000)]))
    inspector.query.setText("w12")
    return framed(inspector)


@scene(1900, 1100)
def inspector_hall(theme: Theme) -> QWidget:
    return framed(shown(Theme.load(theme.name, 2.0), fake_rows.moment(fake_rows.a_round())), 16)


if __name__ == "__main__":
    names = sys.argv[2:]
    from tests.widgets.gallery import SCENES

    main(Path(sys.argv[1]), names or [name for name in SCENES if name.startswith("inspector")])
