"""The looks, all from one file (assets/themes/specscope.json): colours by meaning, fonts, signs; dark and light.

Widgets ask for roles ("accepted_text", "dim", "big_figure"), never for colours, so that one meaning looks the same
everywhere and both variants follow.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from app.style_sheet import style_sheet

ASSETS = Path(__file__).resolve().parent.parent / "assets"
ICON_SIZES = (16, 20, 24, 32, 48, 64)


@dataclass(frozen=True)
class LaneLook:
    """A lane's colour, and a shape as its second sign."""

    colour: QColor
    shape: str


class Theme:
    """One variant of the theme file at one scale. Immutable: another look is another Theme."""

    def __init__(self, variant: str, scale: float, data: dict[str, Any]) -> None:
        self.name = variant
        self.dark = variant == "dark"
        self.scale = scale
        """1 at a desk; 1.25 … 2 in a lecture hall."""
        values: dict[str, Any] = data["variants"][variant]
        self._colours = {role: QColor(value) for role, value in values.items() if role != "lanes"}
        self._lanes = [LaneLook(QColor(colour), shape)
                       for colour, shape in zip(values["lanes"], data["shapes"], strict=True)]
        self._signs: dict[str, str] = data["signs"]
        self._fonts = {role: _font(spec, data["fonts"], scale) for role, spec in data["roles"].items()}
        self._pixmaps: dict[tuple[str, str, int, float], QPixmap] = {}
        self._icons: dict[tuple[str, str], QIcon] = {}

    @classmethod
    def load(cls, name: str = "dark", scale: float = 1.0) -> Theme:
        data = _theme_file()
        if name not in data["variants"]:
            raise ValueError(f"there is no theme {name!r}; known are {', '.join(data['variants'])}")
        return cls(name, scale, data)

    # What widgets ask for

    def colour(self, role: str) -> QColor:
        """A copy, so that nobody can bend the theme."""
        return QColor(self._colours[role])

    def roles(self) -> list[str]:
        return list(self._colours)

    def lane_look(self, index: int) -> LaneLook:
        """0 is plain decoding's grey; drafters cycle through the others."""
        return self._lanes[0 if index == 0 else 1 + (index - 1) % (len(self._lanes) - 1)]

    def sign(self, kind: str) -> str:
        """The second sign of a kind of token, for the colour-blind: underline, strike, turn, plus, outline or none."""
        return self._signs[kind]

    def font(self, role: str) -> QFont:
        return QFont(self._fonts[role])

    def px(self, pixels: float) -> int:
        """A length at this scale."""
        return round(pixels * self.scale)

    def icon(self, name: str, role: str = "text") -> QIcon:
        icon = self._icons.get((name, role))
        if icon is None:
            icon = QIcon()
            for size in ICON_SIZES:
                icon.addPixmap(self.pixmap(name, role, size), QIcon.Mode.Normal)
                icon.addPixmap(self.pixmap(name, "disabled", size), QIcon.Mode.Disabled)
            self._icons[name, role] = icon
        return icon

    def pixmap(self, name: str, role: str, size: int, ratio: float = 1.0) -> QPixmap:
        """An icon drawn crisply at ``size`` logical pixels on a screen with this device pixel ratio."""
        key = (name, role, size, ratio)
        pixmap = self._pixmaps.get(key)
        if pixmap is None:
            source = _icon_source(name).replace("currentColor", self._colours[role].name())
            renderer = QSvgRenderer(QByteArray(source.encode()))
            pixmap = QPixmap(round(size * ratio), round(size * ratio))
            pixmap.fill(Qt.GlobalColor.transparent)
            painter = QPainter(pixmap)
            renderer.render(painter, QRectF(0, 0, pixmap.width(), pixmap.height()))
            painter.end()
            pixmap.setDevicePixelRatio(ratio)
            self._pixmaps[key] = pixmap
        return pixmap

    # What the application asks for

    def palette(self) -> QPalette:
        palette = QPalette()
        every = {
            "Window": "window", "WindowText": "text", "Base": "sunken" if self.dark else "panel",
            "AlternateBase": "panel" if self.dark else "window", "Text": "text", "Button": "raised",
            "ButtonText": "text", "BrightText": "strong", "ToolTipBase": "raised", "ToolTipText": "text",
            "PlaceholderText": "dim", "Highlight": "selection", "HighlightedText": "selection_text",
            "Link": "link", "LinkVisited": "link", "Light": "hover", "Midlight": "raised", "Mid": "line",
            "Dark": "line", "Shadow": "sunken", "Accent": "focus",
        }
        for role, colour in every.items():
            palette.setColor(QPalette.ColorRole[role], self._colours[colour])
        for role in ("WindowText", "Text", "ButtonText"):
            palette.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole[role], self._colours["disabled"])
        return palette

    def style_sheet(self) -> str:
        return style_sheet(self)

    def apply(self, application: QApplication) -> None:
        """Dress the application, unless it wears this already: a style and a sheet that are set anew polish every
        widget once more, which would be most of a window's start. Call :func:`load_fonts` first, once."""
        worn = f"{self.name} {self.scale}"
        if application.property("theme") == worn:
            return
        application.setStyle("Fusion")
        application.setPalette(self.palette())
        application.setFont(self.font("body"))
        application.setStyleSheet(self.style_sheet())
        application.setProperty("theme", worn)


def load_fonts() -> None:
    """Make the shipped fonts known to Qt; once, after the QApplication exists. Chinese comes from the system."""
    for path in sorted((ASSETS / "fonts").glob("*.[ot]tf")):
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            raise OSError(f"the font {path} can't be read")


@cache
def _theme_file() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((ASSETS / "themes" / "specscope.json").read_text(encoding="utf-8"))
    return data


@cache
def _icon_source(name: str) -> str:
    return (ASSETS / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def _font(spec: dict[str, Any], families: dict[str, list[str]], scale: float) -> QFont:
    pixels = spec["pixels"] * scale
    snap = spec.get("snap", 1)
    # JetBrains Mono is 0.6 em wide: at a multiple of 5 pixels each character is a whole number of pixels wide.
    size = max(snap, round(pixels / snap) * snap)
    font = QFont(families[spec["family"]])
    font.setPixelSize(size)
    font.setWeight(QFont.Weight(spec["weight"]))
    if "spacing" in spec:
        font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, spec["spacing"])
    if spec["family"] == "mono":
        font.setFixedPitch(True)
        for ligatures in ("calt", "liga"):  # "!=" must look like the two characters it is
            font.setFeature(QFont.Tag(ligatures), 0)
    else:
        font.setFeature(QFont.Tag("tnum"), 1)  # figures that change must not dance
    return font
