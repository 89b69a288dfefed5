"""Windows are drawn offscreen, whoever starts the tests."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
