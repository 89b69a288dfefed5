"""Renders the widgets to PNG files, in both themes at one and two device pixels a point, to be looked at.

    QT_QPA_PLATFORM=offscreen python -m tests.widgets.gallery FOLDER [NAME …]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QPoint, QSize
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication, QHBoxLayout, QVBoxLayout, QWidget

from app.store import LaneSpec, Store
from app.theme import Theme, load_fonts
from engine.records import RunFinished, Totals
from tests.widgets import fake_proof, fake_run
from tests.widgets.fake_run import DRAFT, LOOKUP, PLAIN, SKIP, WIDE
from tests.widgets.fake_trees import Growth
from widgets.acceptance_chart import AcceptanceChart
from widgets.check_table import CheckTable
from widgets.divergence_panel import DivergencePanel
from widgets.empty_state import EmptyState
from widgets.frequency_chart import FrequencyChart
from widgets.hover_card import HoverCard
from widgets.lane_card import LaneCard
from widgets.legend import Legend
from widgets.panel import Panel
from widgets.race_chart import RaceChart
from widgets.round_ribbon import RoundRibbon
from widgets.token_stream import TokenStream
from widgets.variation_chart import VariationChart

Scene = Callable[[Theme], QWidget]
SCENES: dict[str, tuple[Scene, QSize]] = {}


def scene(width: int, height: int) -> Callable[[Scene], Scene]:
    def keep(build: Scene) -> Scene:
        SCENES[build.__name__] = (build, QSize(width, height))
        return build
    return keep


def store_of(*methods: fake_run.Method, text: str = fake_run.CODE, **options: object) -> Store:
    store = Store()
    store.begin("run-1", [LaneSpec(m.lane, m.title, m.about, plain=m.gamma == 0) for m in methods])
    store.extend(fake_run.race(methods, text, **options))
    return store


def column(theme: Theme, *widgets: QWidget, margin: int = 16) -> QWidget:
    page = QWidget()
    layout = QVBoxLayout(page)
    layout.setContentsMargins(margin, margin, margin, margin)
    layout.setSpacing(theme.px(10))
    for widget in widgets:
        layout.addWidget(widget)
    return page


@scene(900, 420)
def stream_code(theme: Theme) -> QWidget:
    store = store_of(LOOKUP, finish=False)
    store.select("ngram", store.lane("ngram").cells[40].position)
    return column(theme, TokenStream(store, theme, "ngram"))


@scene(900, 420)
def stream_world(theme: Theme) -> QWidget:
    return column(theme, TokenStream(store_of(DRAFT, text=fake_run.WORLD, finish=False), theme, "draft"))


@scene(520, 360)
def stream_prose(theme: Theme) -> QWidget:
    stream = TokenStream(store_of(SKIP, text=fake_run.PROSE), theme, "skip")
    stream.set_prompt(True)
    return column(theme, stream)


@scene(900, 160)
def stream_stepping(theme: Theme) -> QWidget:
    store = store_of(LOOKUP, finish=False)
    records = list(store.records())[:100]
    while type(records[-1]).__name__ != "Judged":
        records.pop()
    store.begin("run-1", [LaneSpec("ngram", "Prompt lookup")])
    store.extend(records)
    return column(theme, TokenStream(store, theme, "ngram"))


@scene(1180, 130)
def ribbons(theme: Theme) -> QWidget:
    store = store_of(PLAIN, LOOKUP, SKIP, until=4.0)
    return column(theme, *(RoundRibbon(store, theme, lane.id) for lane in store.lanes))


@scene(1180, 130)
def ribbons_long(theme: Theme) -> QWidget:
    store = store_of(PLAIN, LOOKUP, WIDE, limit=900)
    return column(theme, *(RoundRibbon(store, theme, lane.id) for lane in store.lanes))


@scene(1180, 560)
def cards(theme: Theme) -> QWidget:
    store = store_of(PLAIN, LOOKUP, SKIP, until=5.0)
    return column(theme, *(LaneCard(store, theme, lane.id) for lane in store.lanes))


@scene(1000, 560)
def card_states(theme: Theme) -> QWidget:
    store = store_of(PLAIN, LOOKUP, SKIP, until=0.1)
    store.append(RunFinished(
        run="run-1", lane="skip", reason="error", text="", totals=Totals(),
        message="Layer skip can't run: layer 31 is to be left out, but the model has 30 layers (0 … 29). Choose layers "
                "from 0 to 29, or leave the choice to SpecScope.", details="SettingsError …"))
    return column(theme, *(LaneCard(store, theme, lane.id) for lane in store.lanes))


@scene(1180, 260)
def charts(theme: Theme) -> QWidget:
    store = store_of(PLAIN, LOOKUP, SKIP, DRAFT, until=4.4)
    page = QWidget()
    layout = QHBoxLayout(page)
    layout.addWidget(RaceChart(store, theme), 5)
    layout.addWidget(AcceptanceChart(store, theme), 3)
    return page


@scene(640, 260)
def charts_narrow(theme: Theme) -> QWidget:
    """Many positions in little room, and lanes that end beside each other."""
    store = store_of(PLAIN, replace(WIDE, gamma=14, skill=1.1), replace(DRAFT, skill=0.05), limit=120)
    page = QWidget()
    layout = QHBoxLayout(page)
    layout.addWidget(RaceChart(store, theme), 1)
    layout.addWidget(AcceptanceChart(store, theme), 1)
    return page


@scene(900, 260)
def race_close(theme: Theme) -> QWidget:
    """Lanes that end beside each other, all at the same number of tokens."""
    similar = [replace(SKIP, lane=f"skip{i}", title=f"Layer skip, γ {i + 1}", gamma=i + 1, step=0.03) for i in range(4)]
    return column(theme, RaceChart(store_of(PLAIN, *similar, LOOKUP), theme))


@scene(1180, 260)
def charts_empty(theme: Theme) -> QWidget:
    store = Store()
    page = QWidget()
    layout = QHBoxLayout(page)
    layout.addWidget(RaceChart(store, theme), 5)
    layout.addWidget(AcceptanceChart(store, theme), 3)
    return page


@scene(900, 60)
def legend(theme: Theme) -> QWidget:
    return column(theme, Legend(Store(), theme))


@scene(760, 300)
def empty(theme: Theme) -> QWidget:
    return column(theme, EmptyState(theme, "No lanes yet", "Add a way to draft on the left, then press Run.", "lanes",
                                    "Add a lane"))


@scene(1100, 700)
def hover(theme: Theme) -> QWidget:
    return hover_cards(theme, ("accepted", "rejected", "correction", "bonus"), 0.8)


@scene(1100, 700)
def hover_greedy(theme: Theme) -> QWidget:
    return hover_cards(theme, ("accepted", "rejected", "correction", "void"), 0.0)


def hover_cards(theme: Theme, kinds: tuple[str, ...], temperature: float) -> QWidget:
    page = QWidget()
    page.resize(1100, 700)
    for number, kind in enumerate(kinds):
        store = store_of(DRAFT, temperature=temperature)
        lane = store.lane("draft")
        card = HoverCard(store, theme, page)
        cell = next(cell for cell in lane.cells[1:] if cell.kind == kind)
        card.show_cell("draft", cell, page.mapToGlobal(QPoint(20 + number % 2 * 520, 20 + number // 2 * 340)))
    return page


@scene(980, 440)
def experiment_bent(theme: Theme) -> QWidget:
    return experiment(theme, (0.6, 0.4), (0.44, 0.56))


@scene(980, 440)
def experiment_right(theme: Theme) -> QWidget:
    return experiment(theme, fake_proof.MANY, fake_proof.MANY)


def experiment(theme: Theme, p: tuple[float, ...], truth: tuple[float, ...]) -> QWidget:
    """Observed as if drawn from ``truth``."""
    events = list(fake_proof.watch(p, truth, samples=10_000))
    page = QWidget()
    layout = QHBoxLayout(page)
    bars, curve = FrequencyChart(theme), VariationChart(theme)
    bars.show_sampled(events[-1])
    curve.show_points(fake_proof.points(events, p), bent=p != truth)
    layout.addWidget(bars, 3)
    layout.addWidget(curve, 2)
    return page


@scene(1180, 560)
def checks(theme: Theme) -> QWidget:
    table = CheckTable(theme)
    table.show_checks(fake_proof.CHECKS)
    table.tree.setCurrentItem(table.tree.topLevelItem(2).child(0))
    return column(theme, table)


@scene(1180, 560)
def difference_fault(theme: Theme) -> QWidget:
    return difference(theme, 0.0)


@scene(1180, 560)
def difference_near_tie(theme: Theme) -> QWidget:
    return difference(theme, 4.0)


def difference(theme: Theme, moved: float) -> QWidget:
    store = Store()
    store.begin("run-1", [LaneSpec(m.lane, m.title, m.about, plain=m.gamma == 0) for m in (PLAIN, LOOKUP)])
    store.extend(fake_proof.parting(moved))
    return column(theme, DivergencePanel(store, theme))


@scene(1280, 720)
def race_720(theme: Theme) -> QWidget:
    return whole_race(theme)


@scene(970, 470)
def cards_six(theme: Theme) -> QWidget:
    """As low as a small window makes them: one drafts trees, one has failed, one has a long name."""
    tree = Growth("tree", "eagle")
    long = replace(SKIP, title="Layer skip of a model with a name that no card can hold on its line")
    store = Store()
    lanes = (PLAIN, fake_run.DISTILLED, tree, fake_run.MEDUSA, LOOKUP, long)
    store.begin("run-1", [LaneSpec(m.lane, getattr(m, "title", "EAGLE tree"), getattr(m, "about", ""),
                                   plain=m is PLAIN) for m in lanes])
    store.extend(record for record in fake_run.race(lanes, until=2.2) if record.lane != "medusa")
    store.append(RunFinished(run="run-1", lane="medusa", reason="error", text="", totals=Totals(), details="details",
                             message="No medusa drafter ships with SpecScope for SmolLM2-135M-Instruct; train one: "
                             "python main.py train medusa --target builtin"))
    page = column(theme, *(LaneCard(store, theme, lane.id) for lane in store.lanes), margin=8)
    page.layout().setSpacing(theme.px(4))
    for card in page.findChildren(LaneCard):
        card.setFixedHeight(theme.px(70))
    return page


@scene(1920, 1080)
def race_1080(theme: Theme) -> QWidget:
    return whole_race(theme)


@scene(1920, 1080)
def race_hall(theme: Theme) -> QWidget:
    """As shown to a lecture hall."""
    return whole_race(Theme.load(theme.name, 1.5))


def whole_race(theme: Theme) -> QWidget:
    store = store_of(PLAIN, LOOKUP, SKIP, until=4.4)
    page = QWidget()
    layout = QVBoxLayout(page)
    layout.setContentsMargins(14, 12, 14, 12)
    layout.setSpacing(10)
    for lane in store.lanes:
        layout.addWidget(LaneCard(store, theme, lane.id), 3)
    row = QHBoxLayout()
    row.setSpacing(10)
    row.addWidget(RaceChart(store, theme), 5)
    row.addWidget(AcceptanceChart(store, theme), 3)
    layout.addLayout(row, 4)
    layout.addWidget(Legend(store, theme))
    return page


def render(page: QWidget, size: QSize, ratio: float) -> QPixmap:
    page.resize(size)
    page.show()
    for _ in range(3):
        QApplication.processEvents()
        for widget in page.findChildren(QWidget):
            if isinstance(widget, Panel):
                widget.refresh()
    QApplication.processEvents()
    pixmap = QPixmap(size * ratio)
    pixmap.setDevicePixelRatio(ratio)
    page.render(pixmap)
    page.close()
    page.deleteLater()
    return pixmap


def main(folder: Path, names: list[str]) -> None:
    application = QApplication([])
    load_fonts()
    folder.mkdir(parents=True, exist_ok=True)
    for variant in ("dark", "light"):
        theme = Theme.load(variant)
        theme.apply(application)
        for name, (build, size) in SCENES.items():
            if names and name not in names:
                continue
            for ratio in (1, 2):
                render(build(theme), size, ratio).save(str(folder / f"{name}_{variant}_{ratio}x.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
