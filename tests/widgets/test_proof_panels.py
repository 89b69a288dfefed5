"""Frequencies, total variation, checks and differences: what they say, in both themes and all sizes."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.store import LaneSpec, Store
from app.theme import Theme
from tests.widgets import fake_proof
from tests.widgets.fake_run import LOOKUP, PLAIN, SKIP
from widgets.check_table import CheckTable
from widgets.divergence_panel import DivergencePanel
from widgets.frequency_chart import FrequencyChart
from widgets.variation_chart import VariationChart

P, BENT = (0.6, 0.4), (0.44, 0.56)


def show(qtbot: QtBot, widget: QWidget, width: int = 700, height: int = 420) -> None:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    for _ in range(3):
        QApplication.processEvents()


def store_of(moved: float = 0.0, temperature: float = 0.0) -> Store:
    store = Store()
    store.begin("run-1", [LaneSpec(m.lane, m.title, m.about, plain=m.gamma == 0) for m in (PLAIN, LOOKUP)])
    store.extend(fake_proof.parting(moved, temperature))
    return store


def test_bars_are_as_high_as_the_numbers_say(qtbot: QtBot, theme: Theme) -> None:
    chart = FrequencyChart(theme)
    show(qtbot, chart)
    chart.show_sampled(None)
    assert chart.bars() == []
    *_, last = fake_proof.watch(P, BENT, samples=10_000)
    chart.show_sampled(last)
    (target_b, observed_b), (target_a, observed_a) = chart.bars()
    assert target_b.height() / target_a.height() == pytest.approx(1.5)
    assert observed_a.height() / target_a.height() == pytest.approx(last.counts[1] / last.samples / 0.4)
    assert observed_b.left() > target_b.right()
    assert chart._bent == {0, 1}
    told = chart.explain(QPointF(target_a.center().x(), 200))
    assert "A\ntarget’s p = 0.400000" in told
    assert f"{last.counts[1]:,} ÷ 10,000" in told
    assert chart.explain(QPointF(0, 0)) == ""
    assert "A 0.5" in chart.accessibleName()


def test_whiskers_stay_within_the_chart(qtbot: QtBot, theme: Theme) -> None:
    chart = FrequencyChart(theme)
    show(qtbot, chart)
    for event in fake_proof.watch(fake_proof.MANY, fake_proof.MANY, samples=40, every=2):
        chart.show_sampled(event)
        assert all(bar.top() >= chart._plot().top() - 1 for pair in chart.bars() for bar in pair)
        assert not chart.grab().isNull()
    assert chart._bent == frozenset()


def test_the_curve_has_its_names_clear_of_it(qtbot: QtBot, theme: Theme) -> None:
    chart = VariationChart(theme)
    show(qtbot, chart)
    events = list(fake_proof.watch(P, BENT, samples=10_000))
    chart.show_points([])
    assert not chart._observed.isVisible()
    chart.show_points(fake_proof.points(events, P), bent=True)
    x, y = chart._observed.getData()
    assert len(x) <= 200
    assert (x[0], x[-1]) == pytest.approx((1.699, 4.0), abs=1e-3)
    label = chart._labels["observed"]
    assert label.pos().y() >= y[x > 3.2].max()
    assert "observed 0.1" in label.toPlainText()
    assert [text for _, text in chart._plot.plotItem.getAxis("bottom")._tickLevels[0]] == ["10", "100", "1,000",
                                                                                             "10,000"]
    chart._hover(QPointF(3.0, 0))
    assert "1,000 samples" in chart._figures.toPlainText()
    chart._hover(None)
    assert not chart._figures.isVisible()


def test_checks_stay_where_they_are_as_more_come(qtbot: QtBot, theme: Theme) -> None:
    table = CheckTable(theme)
    show(qtbot, table, 1000)
    table.show_checks(fake_proof.CHECKS[:2])
    assert table.tree.topLevelItemCount() == 1
    table.tree.setCurrentItem(table.tree.topLevelItem(0).child(1))
    assert table.details.toPlainText().startswith("✓ passed: prompt lookup, γ 3")
    table.show_checks(fake_proof.CHECKS)
    assert table.tree.topLevelItemCount() == 4
    assert table.details.toPlainText().startswith("✓ passed: prompt lookup, γ 3")
    table.tree.setCurrentItem(table.tree.topLevelItem(2).child(0))
    assert "seed 1234" in table.details.toPlainText()
    table.show_checks(fake_proof.CHECKS[2:3])
    assert table.tree.topLevelItemCount() == 1
    assert table.details.toPlainText() == ""
    assert len(table.as_text().splitlines()) == 2


def test_two_lanes_side_by_side(qtbot: QtBot, theme: Theme) -> None:
    panel = DivergencePanel(store_of(moved=4.0), theme)
    show(qtbot, panel, 1100, 600)
    panel.refresh()
    assert panel._sign.text() == "≈"
    assert "Near-tie. They differ from token 12 on" in panel._sentence.text()
    assert "other" in panel._sides[1]._context.toPlainText()
    assert "gap of the two best logits" in panel._sides[0]._gap.text()
    assert sum(chosen for *_, chosen in panel._sides[0]._rows._lines) == 1
    panel.choose("ngram", "ngram")
    panel.refresh()
    assert "Identical: 60 tokens" in panel._sentence.text()


def test_it_follows_a_run_and_another(qtbot: QtBot, theme: Theme) -> None:
    whole = store_of()
    store = Store()
    panel = DivergencePanel(store, theme)
    panel.PAUSE = 0.0
    show(qtbot, panel, 1100, 600)
    panel.refresh()
    assert panel._pages.currentIndex() == 0
    store.begin("run-1", [LaneSpec("plain", "Plain decoding", plain=True), LaneSpec("ngram", "Prompt lookup")])
    panel.refresh()
    assert "Both lanes must have begun" in panel._sentence.text()
    store.extend(whole.records())
    panel.refresh()
    assert panel._sign.text() == "≠"
    store.begin("run-1", [LaneSpec("skip", "Layer skip")])
    panel.refresh()
    assert panel._pages.currentIndex() == 0
    store.begin("run-1", [LaneSpec("plain", "Plain decoding", plain=True), LaneSpec("ngram", "Prompt lookup")])
    store.extend(store_of(temperature=0.8).records())
    panel.refresh()
    assert "different tokens are expected" in panel._sentence.text()
    assert SKIP.title not in [panel._pickers[0].itemText(i) for i in range(panel._pickers[0].count())]


@pytest.mark.parametrize("size", [(420, 260), (900, 420), (2400, 1300)])
def test_all_paint_in_all_sizes(qtbot: QtBot, theme: Theme, light: Theme, size: tuple[int, int]) -> None:
    for look in (theme, light):
        bars, curve, table = FrequencyChart(look), VariationChart(look), CheckTable(look)
        events = list(fake_proof.watch(fake_proof.MANY, fake_proof.MANY, samples=1_000))
        bars.show_sampled(events[-1])
        curve.show_points(fake_proof.points(events, fake_proof.MANY))
        table.show_checks(fake_proof.CHECKS)
        panel = DivergencePanel(store_of(), look)
        widgets: tuple[Any, ...] = (bars, curve, table, panel)
        for widget in widgets:
            show(qtbot, widget, *size)
            if widget is panel:
                panel.refresh()
            assert not widget.grab().isNull()
        for widget in widgets:
            widget.set_theme(light if look is theme else theme)
            assert not widget.grab().isNull()
