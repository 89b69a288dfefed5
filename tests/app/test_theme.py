"""The theme: every role in both variants, legible, and told apart by the colour-blind too."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QFontInfo, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.theme import ASSETS, Theme, load_fonts

VARIANTS = ("dark", "light")
KINDS = ("accepted", "rejected", "void", "correction", "bonus", "pending", "plain", "prompt")

# How the three kinds of dichromats see linear RGB (Machado, Oliveira, Fernandes 2009, severity 1).
VISION = {
    "normal": np.eye(3),
    "protan": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                        [-0.003882, -0.048116, 1.051998]]),
    "deutan": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                        [-0.011820, 0.042940, 0.968881]]),
    "tritan": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                        [0.004733, 0.691367, 0.303900]]),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: QColor) -> np.ndarray:
    c = np.array([colour.redF(), colour.greenF(), colour.blueF()])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a: QColor, b: QColor) -> float:
    """WCAG 2."""
    low, high = sorted(float((XYZ @ linear(c))[1]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(colour: QColor, vision: str) -> np.ndarray:
    xyz = XYZ @ np.clip(VISION[vision] @ linear(colour), 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.fixture(scope="module", params=VARIANTS)
def theme(request: pytest.FixtureRequest, qapp: QApplication) -> Theme:
    return Theme.load(request.param)


def test_both_variants_know_the_same_roles() -> None:
    variants = json.loads((ASSETS / "themes" / "specscope.json").read_text())["variants"]
    assert set(variants["dark"]) == set(variants["light"])


def test_texts_are_legible_on_their_grounds(theme: Theme) -> None:
    for ground, texts in {
        "window": ("text", "dim", "strong", "link", "good", "warning", "danger"),
        "panel": ("text", "dim", "strong", "link", "good", "warning", "danger"),
        "raised": ("text", "dim", "strong"), "sunken": ("text", "dim"), "hover": ("text", "strong"),
        "button": ("button_text",), "selection": ("selection_text",),
    }.items():
        for text in texts:
            ratio = contrast(theme.colour(text), theme.colour(ground))
            assert ratio >= 4.5, f"{theme.name}: {text} on {ground} is {ratio:.1f}"
    for kind in KINDS:
        ratio = contrast(theme.colour(f"{kind}_text"), theme.colour(f"{kind}_wash"))
        assert ratio >= 4.5, f"{theme.name}: {kind} is {ratio:.1f}"


def test_signs_stand_out_from_the_panel(theme: Theme) -> None:
    for role in ("accepted", "rejected", "correction", "bonus", "focus", "p", "q", "residual"):
        ratio = contrast(theme.colour(role), theme.colour("panel"))
        assert ratio >= 2.7, f"{theme.name}: {role} is {ratio:.1f}"


def test_lanes_are_legible_and_told_apart_by_colour_and_shape(theme: Theme) -> None:
    looks = [theme.lane_look(i) for i in range(6)]
    assert len({look.shape for look in looks}) == 6
    for look in looks:
        assert contrast(look.colour, theme.colour("panel")) >= 4.5
    for a, b in itertools.combinations(looks, 2):
        assert np.linalg.norm(lab(a.colour, "normal") - lab(b.colour, "normal")) > 30
        for vision in VISION:  # the shape is the sign; colours still shouldn't coincide
            assert np.linalg.norm(lab(a.colour, vision) - lab(b.colour, vision)) > 7
    for look, kind in itertools.product(looks[1:], ("accepted", "rejected", "correction", "bonus")):
        assert np.linalg.norm(lab(look.colour, "normal") - lab(theme.colour(kind), "normal")) > 25
    assert theme.lane_look(6).colour == theme.lane_look(1).colour


def test_each_kind_of_token_has_a_sign_besides_its_colour(theme: Theme) -> None:
    signs = [theme.sign(kind) for kind in ("accepted", "rejected", "correction", "bonus", "pending", "plain")]
    assert len(set(signs)) == len(signs)


def test_a_colour_handed_out_is_a_copy(theme: Theme) -> None:
    before = theme.colour("text").name()
    theme.colour("text").setRed(1)
    assert theme.colour("text").name() == before


def test_icons_are_ours_and_take_the_themes_colour(theme: Theme) -> None:
    names = sorted(path.stem for path in (ASSETS / "icons").glob("*.svg"))
    assert {"play", "pause", "stop", "step", "step-back", "round", "plus", "close", "drag", "chevron-down", "ghost",
            "eye", "sun", "moon", "copy", "search", "warning"} <= set(names)
    for name in names:
        source = (ASSETS / "icons" / f"{name}.svg").read_text()
        assert "currentColor" in source
        assert not re.search(r"#[0-9a-fA-F]{3,6}", source)
        image = theme.pixmap(name, "danger", 24, 2.0).toImage()
        assert image.width() == 48
        painted = [image.pixelColor(x, y) for x in range(48) for y in range(48)]
        solid = [c for c in painted if c.alpha() == 255]
        assert solid, name
        assert solid[0].name() == theme.colour("danger").name()
    assert not theme.icon("play").isNull()


def test_fonts_are_the_shipped_ones_and_figures_do_not_dance(theme: Theme) -> None:
    load_fonts()
    assert QFontInfo(theme.font("body")).family() == "Inter"
    assert QFontInfo(theme.font("token")).family() == "JetBrains Mono"
    figures = QFontMetricsF(theme.font("big_figure"))
    widths = [figures.horizontalAdvance(digit) for digit in "0123456789"]
    assert max(widths) - min(widths) < 0.1
    code = QFontMetricsF(theme.font("token"))
    assert code.horizontalAdvance("!=") == 2 * code.horizontalAdvance("=")
    assert code.horizontalAdvance("0") % 1 == 0
    for licence in ("OFL-Inter.txt", "OFL-JetBrainsMono.txt"):
        assert "SIL OPEN FONT LICENSE" in (ASSETS / "fonts" / licence).read_text()


def test_scale_makes_everything_bigger(theme: Theme) -> None:
    big = Theme.load(theme.name, scale=2.0)
    assert big.font("body").pixelSize() == 2 * theme.font("body").pixelSize()
    assert big.font("token").pixelSize() == 30
    assert big.px(10) == 20


def test_palette_and_style_sheet(theme: Theme, qapp: QApplication) -> None:
    palette = theme.palette()
    assert palette.color(QPalette.ColorRole.Window) == theme.colour("window")
    assert palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Text) == theme.colour("disabled")
    sheet = theme.style_sheet()
    assert "@" not in sheet
    assert not re.search(r"\{\d+\}", sheet)
    theme.apply(qapp)
    assert qapp.palette().color(QPalette.ColorRole.Window) == theme.colour("window")


@pytest.mark.usefixtures("_fonts")
def test_what_is_worn_is_not_put_on_again(qapp: QApplication, qtbot: QtBot) -> None:
    changes: list[QEvent.Type] = []

    class Watched(QWidget):
        def changeEvent(self, event: QEvent) -> None:
            changes.append(event.type())

    widget = Watched()
    qtbot.addWidget(widget)
    widget.show()
    Theme.load("dark", 1.25).apply(qapp)  # whatever was worn before
    for scale in (1.0, 1.5, 1.0):
        for name in ("light", "dark"):
            changes.clear()
            Theme.load(name, scale).apply(qapp)
            assert QEvent.Type.StyleChange in changes, (name, scale)
            assert qapp.palette().color(QPalette.ColorRole.Window) == Theme.load(name).colour("window")
            assert qapp.font().pixelSize() == Theme.load(name, scale).font("body").pixelSize()
            changes.clear()
            Theme.load(name, scale).apply(qapp)
            assert changes == []


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(ValueError, match="known are dark, light"):
        Theme.load("mauve")
