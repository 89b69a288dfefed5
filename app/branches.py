"""The branches of the run on screen: which lanes are some, and which one is under way."""

from __future__ import annotations

from collections.abc import Container, Iterator


class Branches(Container[str]):
    def __init__(self) -> None:
        self._lanes: set[str] = set()
        self.under_way = ""
        """Be it paused: there is none beside it."""

    def __contains__(self, lane: object) -> bool:
        return lane in self._lanes

    def begin(self, original: str, numbers: Iterator[int], taken: Container[str]) -> str:
        """Another one, under way from now on; its id, which is none of those ``taken``: a recording may hold branches
        too."""
        names = (f"{original}.{number}" for number in numbers)
        self.under_way = next(name for name in names if name not in taken)
        self._lanes.add(self.under_way)
        return self.under_way

    def end(self, lane: str) -> bool:
        """True: it was the one under way."""
        if lane != self.under_way:
            return False
        self.under_way = ""
        return True
