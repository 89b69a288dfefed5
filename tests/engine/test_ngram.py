"""Prompt lookup: what it copies, how far, from where; and that it never changes the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st

from engine import lookup_texts, methods, trace
from engine.branch import branch
from engine.debugger.what_if import NoChange, OtherToken
from engine.drafters.base import BY_HAND, Draft, RoundDraws
from engine.drafters.ngram import PromptLookup, worth
from engine.drafters.suffix_automaton import Follower
from engine.errors import SettingsError
from engine.settings import DrafterSettings, LookupText, Match, RunSettings, Sampling
from tests.engine.branching import FEW, branched, same
from tests.engine.support import GREEDY, PROMPT, WARM, Run, lanes, run, settings, target
from tests.engine.test_suffix_automaton import searched

MATCHES: list[Match] = ["frequent", "earliest", "latest"]


def drafts(tokens: list[int], count: int = 31, *, drafter: PromptLookup | None = None,
           draws: RoundDraws | None = None, **of: object) -> list[Draft]:
    drafter = drafter or PromptLookup(**{"min_n": 1, "max_n": 32, "match": "frequent", **of})  # type: ignore[arg-type]
    drafter.prefill(tokens[:-1])
    return list(drafter.propose(tokens, count, draws or RoundDraws(0, len(tokens))))


def copied(tokens: list[int], count: int = 31, **of: object) -> list[int]:
    return [int(one.token) for one in drafts(tokens, count, **of)]


@dataclass(frozen=True)
class Changed(RoundDraws):
    tokens: Mapping[int, int] = field(default_factory=dict)

    def instead(self, index: int) -> int | None:
        return self.tokens.get(index)


def test_which_token_is_copied_if_several_followed() -> None:
    text = [1, 2, 7, 1, 2, 8, 1, 2, 8, 1, 2, 9, 1, 2]
    assert copied(text, 1) == [8]
    assert copied(text, 1, match="earliest") == [7]
    assert copied(text, 1, match="latest") == [9]
    tie = [1, 2, 8, 1, 2, 7, 1, 2]
    assert copied(tie, 1) == [8]  # the earlier of two that are as frequent


@pytest.mark.parametrize("match", MATCHES)
def test_it_copies_into_what_it_is_itself_producing(match: Match) -> None:
    assert copied([9, 1, 2, 3, 1, 2, 3], 10, match=match) == [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]
    assert copied([9, 5, 5], 6, match=match) == [5] * 6


def test_the_longest_suffix_decides_up_to_its_bound() -> None:
    text = [1, 2, 3, 7, 5, 2, 3, 8, 6, 2, 3, 8, 1, 2, 3]
    assert copied(text, 1) == [7]
    assert copied(text, 1, max_n=2) == [8]
    assert copied(text, 1, min_n=3) == [7]
    assert copied(text, 1, min_n=4) == []


def test_a_weak_match_is_worth_few_drafts_and_a_long_one_many() -> None:
    begin = list(range(100, 150))
    assert len(copied([*begin, 999, 100])) == worth(1) == 8
    assert len(copied([*begin, 999, 100, 101])) == worth(2) == 12
    assert len(copied([*begin, 999, *begin[:7]])) == 31 < worth(7)
    assert len(copied([*begin, 999, *begin[:7]], 5)) == 5
    assert methods.method("ngram").gamma == 31  # forwards of 32: bit-exact up to there (design.md, section 4)


def test_it_says_where_a_draft_comes_from() -> None:
    text = [1, 2, 7, 1, 2, 8, 5, 1, 2, 8, 6, 1, 2]
    (one,) = drafts(text, 1)
    assert one.source == "2 tokens matched at 3, followed so 2 of 3 times"
    (latest,) = drafts(text, 1, match="latest")
    assert latest.source == "2 tokens matched at 7, followed so 2 of 3 times"
    first, second = drafts([4, 6, 5, 4], 2)
    assert (first.source, second.source) == ("1 token matched at 0", "2 tokens matched at 0")
    (other,) = drafts([3], 1, texts=[("a.txt", [9, 9]), ("b.txt", [1, 3, 4])])
    assert other.source == "1 token matched at 1 of b.txt"
    assert drafts([1, 2, 7, 1], 1, texts=[("a.txt", [9])])[0].source == "1 token matched at 0"


def test_texts_are_copied_from_and_end_at_their_borders() -> None:
    texts = [("a", [1, 2, 3, 4]), ("b", [5, 6])]
    assert copied([1, 2], texts=texts) == [3, 4]  # not on into b
    assert copied([4], texts=texts) == []
    assert copied([6, 1], texts=texts) == [2, 3, 4]  # 6 1 stands across a border only: it is no match
    assert copied([5], texts=texts) == [6]
    assert copied([7, 1, 2], texts=texts) == [3, 4]


def test_texts_count_as_earlier_than_the_prompt() -> None:
    texts, prompt = [("a", [1, 2, 3])], [1, 2, 4, 1, 2, 5, 1, 2]
    assert copied(prompt, 1, texts=texts, match="earliest") == [3]
    assert copied(prompt, 1, texts=texts, match="latest") == [5]
    assert copied(prompt, 1, texts=texts) == [3]
    assert copied([1, 2, 4, 1, 2, 4, 1, 2], 1, texts=texts) == [4]


ORDERS: dict[Match, Callable[[Follower], tuple[int, ...]]] = {
    "latest": lambda f: (-f.latest,), "earliest": lambda f: (f.earliest,),
    "frequent": lambda f: (-f.times, f.earliest)}


def referred(parts: list[list[int]], tokens: list[int], count: int, low: int, high: int, match: Match,
             instead: Mapping[int, int]) -> list[int]:
    """The method as its documentation tells it, by searching."""
    text = [*(t for number, part in enumerate(parts, 1) for t in (*part, -number)), *tokens]
    out: list[int] = []
    most = None
    while len(out) < count:
        n, found = searched(text, [*tokens, *out], high)
        most = len(out) + worth(n) if most is None else most
        if n < low or len(out) == most:
            break
        token = min(found.values(), key=ORDERS[match]).token
        other = instead.get(len(out), token)
        most = most if other == token else None
        out.append(other)
    return out


pieces = st.lists(st.integers(0, 4), min_size=1, max_size=30) | st.lists(st.integers(0, 1), min_size=1, max_size=30)


@how(max_examples=300, deadline=None)
@given(parts=st.lists(pieces, max_size=2), tokens=pieces, count=st.integers(0, 40), low=st.integers(1, 3),
       more=st.integers(0, 29), match=st.sampled_from(MATCHES),
       instead=st.dictionaries(st.integers(0, 12), st.integers(0, 6), max_size=2))
def test_it_is_the_method_that_is_documented(parts: list[list[int]], tokens: list[int], count: int, low: int,
                                             more: int, match: Match, instead: dict[int, int]) -> None:
    drafter = PromptLookup(low, low + more, match, [("", part) for part in parts])
    made = drafts(tokens, count, drafter=drafter, draws=Changed(0, len(tokens), instead))
    assert [one.token for one in made] == referred(parts, tokens, count, low, low + more, match, instead)


@how(max_examples=100, deadline=None)
@given(tokens=pieces, more=pieces, match=st.sampled_from(MATCHES), dropped=st.integers(0, 6))
def test_a_round_leaves_nothing_behind(tokens: list[int], more: list[int], match: Match, dropped: int) -> None:
    """Proposals depend on the committed tokens alone: not on earlier proposals, nor on how far they were taken."""
    used, text = PromptLookup(1, 8, match), [*tokens]
    used.prefill(text[:-1])
    for token in more:
        proposal = used.propose(text, 9, RoundDraws(0, len(text)))
        for _ in range(dropped):
            next(proposal, None)
        used.cut(len(text))
        text.append(token)
    assert copied(text, 9, drafter=used) == copied(text, 9, min_n=1, max_n=8, match=match)


def test_a_token_put_in_by_hand_is_followed_from() -> None:
    text = [1, 2, 3, 4, 9, 7, 8, 5, 6, 9, 1, 2]
    made = drafts(text, 5, draws=Changed(0, len(text), {1: 7}))
    assert [one.token for one in made] == [3, 7, 8, 5, 6]
    assert [one.source == BY_HAND for one in made] == [False, True, False, False, False]
    unknown = drafts(text, 5, draws=Changed(0, len(text), {1: 1000}))
    assert [one.token for one in unknown] == [3, 1000]
    agreed = drafts(text, 2, draws=Changed(0, len(text), {0: 3}))
    assert agreed[0].source != BY_HAND


# In the loop


def text_file(folder: Path, content: str | bytes = "The quick brown fox jumps over the lazy dog.") -> str:
    path = folder / "notes.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def looking_up(*texts: LookupText, match: Match = "frequent", tokens: int = 48, gamma: int | None = None,
               sampling: Sampling = GREEDY) -> RunSettings:
    return RunSettings(drafter=DrafterSettings(kind="ngram", match=match, texts=texts, gamma=gamma),
                       max_new_tokens=tokens, sampling=sampling, seed=4)


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt2"])
def test_the_output_is_the_target_s_whatever_is_looked_up(kind: str, tmp_path: Path) -> None:
    text = lookup_texts.named(text_file(tmp_path, "a b c d e f g " * 40))
    plain, *others = lanes(target(kind), PROMPT, [settings(tokens=60), *(
        looking_up(*texts, match=match, tokens=60) for match in MATCHES for texts in ((), (text,)))])
    for one in others:
        assert one.tokens == plain.tokens
        assert one.finished.reason == "length"


def test_an_earlier_output_makes_the_next_one_short() -> None:
    """The target's own earlier output among the texts: its tokens are nearly all drafted from there."""
    model = target()
    alone = run(model, PROMPT, looking_up(tokens=60))
    drafter = PromptLookup(1, 32, "frequent", [("earlier", [*PROMPT, *alone.tokens])])
    text, rounds = [*PROMPT], 0
    drafter.prefill(text[:-1])
    while len(text) < len(PROMPT) + 60:
        guesses = [one.token for one in drafter.propose(text, 31, RoundDraws(0, len(text)))]
        truth = alone.tokens[len(text) - len(PROMPT) :]
        accepted = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(guesses, truth, strict=False)))
        text += truth[: accepted + 1]
        rounds += 1
    assert rounds <= 6 < len(alone.rounds)


@pytest.mark.parametrize("sampling", [GREEDY, FEW], ids=["greedy", "warm"])
def test_branches_and_recordings_with_texts(tmp_path: Path, sampling: Sampling) -> None:
    text = lookup_texts.named(text_file(tmp_path, "".join(target().texts[i] for i in range(40, 60)) * 3))
    one = run(target(), PROMPT, looking_up(text, sampling=sampling, gamma=6))
    assert any(" of notes.txt" in d.source for d in one.drafted)
    with trace.Writer(str(tmp_path / "one.spectrace")) as out:
        for record in one.records:
            out.write(record)
    back = Run(list(trace.read(tmp_path / "one.spectrace")))
    assert back.started.settings == one.started.settings
    again = branched(target(), back, NoChange(round=len(one.rounds) // 2))
    same(again.records[-20:], one.records[-20:])
    where = next(r for r in one.rounds if r.drafted > 2)
    changed = branched(target(), back, OtherToken(round=where.round, index=1, token=5))
    drafted = [d for d in changed.drafted if d.round == where.round]
    assert (drafted[1].token, drafted[1].source) == (5, BY_HAND)
    if sampling is GREEDY:
        assert changed.tokens == one.tokens


def test_a_text_that_has_changed_ends_the_lane_and_the_branch_in_words(tmp_path: Path) -> None:
    path = text_file(tmp_path)
    text = lookup_texts.named(path)
    one = run(target(), PROMPT, looking_up(text))
    Path(path).write_text("Something else.")
    with pytest.raises(SettingsError, match=r"notes\.txt isn't what it was"):
        branch(target(), one.records, NoChange(round=1), run="again", lane="b")
    failed = run(target(), PROMPT, looking_up(text))
    assert failed.finished.reason == "error"
    assert "isn't what it was" in failed.finished.message
    Path(path).unlink()
    with pytest.raises(SettingsError, match="doesn't exist"):
        branch(target(), one.records, NoChange(round=1), run="again", lane="b")


def test_recordings_from_before_there_were_texts_open() -> None:
    started = msgspec.to_builtins(run(target(), PROMPT, looking_up(tokens=4)).started.settings)
    for name in ("texts", "stop_below"):
        started["drafter"].pop(name, None)
    started["drafter"] |= {"max_n": 4, "match": "earliest"}
    old = msgspec.convert(started, RunSettings)
    assert (old.drafter.texts, old.drafter.max_n, old.drafter.match) == ((), 4, "earliest")


def test_the_lane_of_a_warm_race_is_still_lossless_in_kind(tmp_path: Path) -> None:
    """q is one-hot: a draft is drawn by nobody, and every verdict is u < p."""
    text = lookup_texts.named(text_file(tmp_path, "".join(target().texts[i] for i in range(40, 60)) * 3))
    one = run(target(), PROMPT, looking_up(text, sampling=WARM, tokens=60))
    assert one.judged
    assert all(d.draw is None for d in one.drafted)
    assert all(j.accepted == ((j.draw or 0.0) < j.p) for j in one.judged)


# The files


@pytest.mark.parametrize(("content", "why"), [
    (b"", "is empty"), (b"\xff\xfe\x00", r"is not UTF-8 text \(byte 0\)"), (b"a\0b", "holds zero bytes"),
    (b"x" * (lookup_texts.LARGEST + 1), "is larger than 2 MB")])
def test_files_that_are_no_text(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(SettingsError, match=f"notes.txt {why}|notes.txt .*{why}"):
        lookup_texts.named(text_file(tmp_path, content))


@pytest.mark.parametrize(("path", "why"), [("/nowhere/at/all", "doesn't exist"), ("/", "is no file"),
                                           ("/dev/zero", "is no file"), ("a\0b", "doesn't exist|can't be read")])
def test_what_is_no_file(path: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        lookup_texts.named(path)


def test_a_text_is_remembered_by_path_and_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = text_file(tmp_path, b"\xef\xbb\xbfWith a mark.")
    monkeypatch.chdir(tmp_path)
    text = lookup_texts.named("notes.txt")
    assert text.path == path
    assert len(text.digest) == 64
    assert lookup_texts.read(text) == "With a mark."


def test_texts_have_a_size_in_all(tmp_path: Path) -> None:
    """Of a file that was chosen twice, what it holds counts once; of one that is gone, nothing."""
    paths = [str(tmp_path / f"{name}.txt") for name in "abc"]
    for path in paths[:2]:
        Path(path).write_bytes(b"x" * lookup_texts.LARGEST)
    Path(paths[2]).write_bytes(b"x")
    texts = lookup_texts.all_named([*paths[:2], paths[0]])
    assert [text.path for text in texts] == paths[:2]
    with pytest.raises(SettingsError, match=r"c\.txt there would be 4\.0 MB .* 4 MB at most: .*leave another one out"):
        lookup_texts.all_named(paths)
    elsewhere = [*texts, lookup_texts.named(paths[2])]  # a recording's settings, say
    assert list(lookup_texts.read_all(texts)) == paths[:2]
    with pytest.raises(SettingsError, match=r"c\.txt there would be 4\.0 MB"):
        lookup_texts.read_all(elsewhere)
    Path(paths[1]).unlink()
    assert lookup_texts.named(paths[2], texts).path == paths[2]


def test_more_texts_than_that_are_refused(tmp_path: Path) -> None:
    text = lookup_texts.named(text_file(tmp_path))
    DrafterSettings(kind="ngram", texts=(text,) * 16)
    for wrong in ((text,) * 17, (LookupText(path="", digest=""),), ("notes.txt",)):
        with pytest.raises(SettingsError, match=r"texts is .* at most 16"):
            DrafterSettings(kind="ngram", texts=wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="latest, earliest or frequent"):
        DrafterSettings(kind="ngram", match="first")  # type: ignore[arg-type]
