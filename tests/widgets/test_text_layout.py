"""Lines of tokens: newlines and indentation kept, words kept whole, and the same however the tokens came."""

from __future__ import annotations

import pytest

from app.store import Cell, LaneSpec, Store
from tests.widgets import fake_run
from tests.widgets.fake_run import LOOKUP, lane_records
from widgets.text_layout import NEWLINE, TextLayout, line_of

WIDTH = 10.0


def measure(text: str) -> float:
    return WIDTH * sum(2 if ord(c) > 0x2E80 else 1 for c in text)


def layout(width: int = 80, **switches: bool) -> TextLayout:
    made = TextLayout(measure, WIDTH)
    for name, value in switches.items():
        setattr(made, name, value)
    made.reset(width * WIDTH)
    return made


def cells(*texts: str, kind: str = "accepted") -> list[Cell]:
    return [Cell(i, text, text, kind, 0, i, i) for i, text in enumerate(texts)]  # type: ignore[arg-type]


def shown(made: TextLayout) -> list[str]:
    return ["".join(f.text for f in line.fragments) for line in made.lines]


def synced(texts: list[Cell], width: int = 80, **switches: bool) -> TextLayout:
    made = layout(width, **switches)
    assert made.sync(texts, len(texts))
    return made


def test_newlines_and_indentation_stay() -> None:
    made = synced(cells("def", " f", "():\n", "    ", "return", " 1", "\n\n", "x"))
    assert shown(made) == ["def f():" + NEWLINE, "    return 1" + NEWLINE, NEWLINE, "x"]
    assert made.lines[1].fragments[1].x == 4 * WIDTH


def test_tokens_with_text_on_two_lines_are_on_both() -> None:
    made = synced(cells("a\n  b"))
    assert shown(made) == ["a" + NEWLINE, "  b"]
    assert {f.cell for line in made.lines for f in line.fragments} == {0}
    assert line_of(made.lines, 0) == 0


def test_words_of_several_tokens_are_not_cut() -> None:
    made = synced(cells("the", " mus", "eum", " open", "ed", " its", " do", "ors"), width=12)
    assert shown(made) == ["the museum", " opened", " its doors"]


def test_continued_lines_hang_in() -> None:
    made = synced(cells("    ", "aaaa", " bbbb", " cccc"), width=13)
    assert [line.wrapped for line in made.lines] == [False, True]
    assert made.lines[1].fragments[0].x == 6 * WIDTH


def test_a_token_longer_than_the_line_is_cut_into_characters() -> None:
    made = synced(cells("x" * 50), width=20)
    assert "".join(shown(made)) == "x" * 50
    assert all(line.right <= 20 * WIDTH for line in made.lines)


def test_cjk_breaks_anywhere_and_is_two_wide() -> None:
    made = synced(cells(*"推测解码每轮提交多个标记"), width=10)
    assert len(made.lines) > 1
    assert all(line.right <= 10 * WIDTH for line in made.lines)
    assert "".join(shown(made)) == "推测解码每轮提交多个标记"


def test_ghosts_never_break_a_line_and_can_be_hidden() -> None:
    ghosts = cells("a", "b\n        c", "d")
    ghosts[1].kind = "rejected"
    assert shown(synced(ghosts)) == [f"ab{NEWLINE}  cd"]
    assert shown(synced(ghosts, ghosts=False)) == ["ad"]


def test_the_prompt_is_shown_on_request() -> None:
    both = [*cells("Say\thello.\n", kind="prompt"), *cells("hello")]
    assert shown(synced(both)) == ["hello"]
    assert shown(synced(both, prompt=True)) == ["Say\thello." + NEWLINE, "hello"]


def test_tabs_lead_to_the_next_stop() -> None:
    made = synced(cells("ab", "\t", "c"))
    assert made.lines[0].fragments[2].x == 4 * WIDTH


@pytest.mark.parametrize(("text", "label", "expected"), [
    ("", "<|im_end|>", "<|im_end|>"), ("", "⟨E4⟩", ""), ("\x07", "⟨07⟩", "⟨07⟩")])
def test_tokens_without_visible_text_are_there_all_the_same(text: str, label: str, expected: str) -> None:
    made = synced([Cell(0, text, label, "accepted", 0, 0, 0)])
    fragment = made.lines[0].fragments[0]
    assert fragment.text == expected
    assert fragment.width > 0


@pytest.mark.parametrize("width", [14, 37, 90])
@pytest.mark.parametrize("text", [fake_run.CODE, fake_run.PROSE, fake_run.WORLD])
@pytest.mark.parametrize("ghosts", [True, False])
def test_layout_record_by_record_equals_layout_at_once(width: int, text: str, ghosts: bool) -> None:
    store = Store()
    store.begin("run-1", [LaneSpec("ngram", "Prompt lookup")])
    lane = store.lane("ngram")
    assert lane is not None
    growing = layout(width, ghosts=ghosts)
    for record in lane_records(LOOKUP, text):
        store.append(record)
        growing.sync(lane.cells, lane.settled)
    at_once = layout(width, ghosts=ghosts)
    at_once.sync(lane.cells, lane.settled)
    in_parts = layout(width, ghosts=ghosts)
    while not in_parts.sync(lane.cells, lane.settled, budget=7):
        pass
    places = [[(f, line.wrapped) for f in line.fragments] for line in at_once.lines]
    assert [[(f, line.wrapped) for f in line.fragments] for line in growing.lines] == places
    assert [[(f, line.wrapped) for f in line.fragments] for line in in_parts.lines] == places


def test_line_of_finds_every_shown_cell() -> None:
    store = Store()
    store.begin("run-1", [LaneSpec("ngram", "Prompt lookup")])
    store.extend(lane_records(LOOKUP))
    lane = store.lane("ngram")
    assert lane is not None
    made = layout(40)
    made.sync(lane.cells, lane.settled)
    for cell in range(1, len(lane.cells)):
        line = line_of(made.lines, cell)
        assert line is not None
        assert any(f.cell == cell for f in made.lines[line].fragments)
        assert line == 0 or not any(f.cell == cell for f in made.lines[line - 1].fragments)
    assert line_of(made.lines, 0) is None  # the prompt is hidden
