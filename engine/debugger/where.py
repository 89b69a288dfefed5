"""The condition that a person writes as an expression."""

from __future__ import annotations

from functools import lru_cache

from engine.debugger import expressions
from engine.debugger.condition import COMMITTED, JUDGED, Condition, Kinds
from engine.debugger.expressions import Expression
from engine.debugger.facts import POSITION_NAMES, ROUND_NAMES, TEXT_NAMES, Facts
from engine.debugger.scene import FINAL, Scene
from engine.records import Committed, Judged, Record


class Where(Condition, frozen=True, tag="where"):
    """An expression over ``facts``. One that speaks of a position is asked at each judged draft and each correction,
    bonus or plain token (not at the correction of a draft that it held for); any other where a round ends. One that
    can't be computed there doesn't hold."""

    text: str = ""

    def __post_init__(self) -> None:
        _compiled(self.text)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    @property
    def kinds(self) -> Kinds:
        return JUDGED | COMMITTED if _compiled(self.text).names & POSITION_NAMES else COMMITTED

    def holds(self, scene: Scene, record: Record) -> bool:
        place = scene.place_of(record)
        try:
            return _compiled(self.text).holds(Facts(scene, FINAL if place is None else place))
        except expressions.ExpressionError:
            return False

    def fires(self, scene: Scene, record: Record) -> bool:
        if not self.holds(scene, record):
            return False
        rejected = scene.judged[-1] if scene.judged and isinstance(record, Committed) else None
        return rejected is None or rejected.accepted or Judged not in self.kinds or not self.holds(scene, rejected)


@lru_cache(maxsize=256)
def _compiled(text: str) -> Expression:
    """Raises :class:`ExpressionError`."""
    return expressions.compile(text, ROUND_NAMES, TEXT_NAMES)
