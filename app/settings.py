"""What is remembered from one start to the next, in one INI file. A broken one is set aside, never a reason to fail."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from PySide6.QtCore import QByteArray, QSettings

from app.setup import Setup
from engine.errors import SpecScopeError


def config_folder() -> Path:
    """SPECSCOPE_CONFIG names another folder (tests, kiosks)."""
    if folder := os.environ.get("SPECSCOPE_CONFIG"):
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_config_dir("specscope", appauthor=False))


class Settings:
    """Typed access to the file. Every value is checked when read: whatever doesn't fit counts as not there."""

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder or config_folder()) / "specscope.ini"
        self.notice = ""
        """What a person should know about the state of the file; empty when all is well."""
        self._ini = self._open()

    def _open(self) -> QSettings:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise OSError("it is a folder")
        except OSError as error:
            self.notice = f"Settings can't be kept in {self.path} ({error.strerror or error}); this time they are lost."
            return QSettings(os.devnull, QSettings.Format.IniFormat)
        ini = QSettings(str(self.path), QSettings.Format.IniFormat)
        ini.allKeys()
        if ini.status() == QSettings.Status.NoError:
            return ini
        del ini
        aside = self.path.with_suffix(".broken")
        try:
            os.replace(self.path, aside)
            self.notice = f"The settings file was damaged; it is now {aside.name}, and the settings start afresh."
        except OSError:
            self.notice = f"The settings file {self.path} can't be read; this time the settings are not kept."
            return QSettings(os.devnull, QSettings.Format.IniFormat)
        return QSettings(str(self.path), QSettings.Format.IniFormat)

    # --- values -------------------------------------------------------------------------------------------------------

    def text(self, key: str, default: str = "") -> str:
        value = self._ini.value(key, default)
        return value if isinstance(value, str) else default

    def flag(self, key: str, default: bool) -> bool:
        value = self.text(key, str(default)).lower()
        return value == "true" if value in ("true", "false") else default

    def state(self, key: str) -> QByteArray:
        """A geometry or splitter state as Qt made it; empty when unknown (Qt then keeps its defaults)."""
        value = self._ini.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def put(self, key: str, value: str | bool | QByteArray) -> None:
        self._ini.setValue(key, str(value).lower() if isinstance(value, bool) else value)

    def save(self) -> None:
        self._ini.sync()

    # --- the form -----------------------------------------------------------------------------------------------------

    def setup(self) -> Setup | None:
        """What the form held last; None at the first start or when it can't be understood."""
        text = self.text("form/setup")
        if not text:
            return None
        try:
            return msgspec.json.decode(text, type=Setup)
        except (msgspec.MsgspecError, SpecScopeError, UnicodeError, RecursionError):
            self.notice = "What the form held last time couldn't be read, so it starts with the defaults."
            return None

    def put_setup(self, setup: Setup) -> None:
        self.put("form/setup", msgspec.json.encode(setup).decode())
