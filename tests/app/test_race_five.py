"""A race of all five from one action: six cards in a small window, each with its figures and how it guesses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.setup import FIVE
from app.window import Window
from engine import methods
from engine.trace import read
from tests.app.fake_workshop import FakeWorkshop
from widgets.lane_card import LaneCard

DEMO = Path(__file__).parents[2] / "assets" / "demo" / "code-edit.spectrace.gz"
MakeWindow = Callable[..., Window]
MISSING = ("No eagle drafter ships with SpecScope for this target; train one: python main.py train eagle --target "
           "builtin, which takes long enough for a sentence that no card can hold on one line of this window")


def raced(window: Window, qtbot: QtBot, width: int, height: int) -> None:
    window.resize(width, height)
    window.actions_list["run.five"].trigger()
    qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=20_000)
    qtbot.waitUntil(lambda: all(card._figures[0].value for card in window.race.cards))


def lanes_scroll(window: Window) -> QScrollArea:
    area = window.race._stack.widget(0)
    assert isinstance(area, QScrollArea)
    return area


def shown_whole(widget: QWidget) -> bool:
    return widget.visibleRegion().boundingRect() == widget.rect()


def figures_whole(card: LaneCard) -> bool:
    """None is cut by a neighbour that wants more than there is."""
    return all(figure.width() >= figure.sizeHint().width() and shown_whole(figure)
               for figure in card._figures if figure.isVisible())


@pytest.mark.parametrize("faults", [{}, {"eagle": MISSING}], ids=["all", "one fails"])
def test_six_cards_fit_a_small_window(make_window: MakeWindow, qtbot: QtBot, faults: dict[str, str]) -> None:
    window = make_window(FakeWorkshop(limit=40, lane_faults=faults))
    raced(window, qtbot, 1280, 720)
    area = lanes_scroll(window)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
    assert [row.kind for row in window.form.lanes.rows] == list(FIVE)
    assert len(window.race.cards) == 6
    for card in window.race.cards:
        assert shown_whole(card)
        assert card._about.visibleRegion().boundingRect().width() >= 80
        assert card._about.height() < 1.5 * card._about.fontMetrics().height()
        assert all(not figure.visibleRegion().isEmpty() for figure in card._figures[3:])
    assert window.race.race_chart.height() >= 112


def test_six_cards_fit_it_too_while_a_recording_plays(make_window: MakeWindow, qtbot: QtBot) -> None:
    """With the transport bar below, and above them what recording it is, at its end with a button to play it again."""
    window = make_window(FakeWorkshop(limit=40))
    raced(window, qtbot, 1280, 720)
    window.conductor._play(list(window.store.records()), Path("six.spectrace"))
    window.conductor.pause()
    bar = window.race.recording_bar
    for over in (False, True):
        if over:
            window.conductor.proceed()
            qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=20_000)
        qtbot.waitUntil(lambda over=over: bar._replay.isVisible() is over)  # type: ignore[misc]
        assert shown_whole(bar)
        assert shown_whole(window.foot)
        assert len(window.race.cards) == 6
        qtbot.waitUntil(lambda: all(map(shown_whole, window.race.cards)))
        for card in window.race.cards:
            assert shown_whole(card.ribbon)
            about = card._about
            qtbot.waitUntil(lambda about=about: about.fontMetrics().horizontalAdvance(  # type: ignore[misc]
                about._whole) <= about.width())
            assert figures_whole(card)
            assert card.ribbon.height() >= 10
            assert card._body.height() >= card.stream._painter.line_height
            assert shown_whole(card._body)
        assert shown_whole(window.race.race_chart)
        assert window.race.race_chart.height() >= 112
        assert shown_whole(window.race.legend)


@pytest.mark.parametrize("part", [0.3, 1.0], ids=["on its way", "at its end"])
def test_the_first_recording_fits_it(make_window: MakeWindow, qtbot: QtBot, part: float) -> None:
    """With figures as long as real ones are: a speed of three digits, eight tokens a round."""
    window = make_window(FakeWorkshop())
    window.resize(1280, 720)
    records = list(read(DEMO))
    window.conductor._play(records, DEMO)
    window.conductor.pause()
    window.conductor.go(int(part * len(records)))
    qtbot.waitUntil(lambda: len(window.race.cards) == 3)
    qtbot.waitUntil(lambda: lanes_scroll(window).verticalScrollBar().maximum() == 0)
    for card in window.race.cards:
        qtbot.waitUntil(lambda card=card: shown_whole(card) and figures_whole(card))  # type: ignore[misc]
        assert card._about._whole


def test_each_card_says_how_it_guesses(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(limit=12, lane_faults={"medusa": "No medusa drafter ships."}))
    raced(window, qtbot, 1280, 720)
    about = {lane.settings.drafter.kind: card._about.accessibleName()
             for lane, card in zip(window.form.setup.lanes(), window.race.cards, strict=True)}
    assert all(about.values())
    assert about["medusa"] == methods.method("medusa").guess  # it never began


def test_the_form_and_the_menus_offer_it(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(limit=8))
    action = window.actions_list["run.five"]
    assert window.form.lanes.five_button.defaultAction() is action
    assert window.actions_list.declaration("run.five").menu == "Run"
    assert not action.shortcut().isEmpty()
    prompt = window.form.setup.prompt
    window.form.lanes.five_button.click()
    assert window.form.setup.prompt == prompt
    assert window.store.lanes[0].plain
    qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=20_000)
    assert {lane.status for lane in window.store.lanes} == {"finished"}
    window.form.prompt.edit.setPlainText("")
    action.trigger()
    assert window.conductor.phase == "over"
    assert "empty" in window.notice.sentence


def test_few_lanes_keep_their_room(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(limit=8))
    window.resize(1280, 720)
    window.run_or_continue()
    qtbot.waitUntil(lambda: window.conductor.phase == "over", timeout=20_000)
    assert all(card.height() >= 126 for card in window.race.cards)
    raced(window, qtbot, 1920, 1080)
    area = lanes_scroll(window)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
    assert all(card.height() >= 126 for card in window.race.cards)


def test_for_an_audience_too(make_window: MakeWindow, qtbot: QtBot) -> None:
    window = make_window(FakeWorkshop(limit=8))
    raced(window, qtbot, 1280, 720)
    window.actions_list["view.present"].trigger()
    area = lanes_scroll(window)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
