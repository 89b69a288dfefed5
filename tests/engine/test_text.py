"""Token texts, streaming text and stop texts, for byte-level, SentencePiece-style and other tokenizers."""

from __future__ import annotations

import functools
import itertools
import threading

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

from engine.text import Detokenizer, StopStrings, TokenTable, token_texts
from tests.engine import tiny

TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from(" \n\tabcThe quick."), st.characters(codec="utf-8"),
        st.sampled_from("🙂🏳️‍🌈👩🏽‍🔬你好世界日本語한글שלוםمرحباéüñ\ufffd")),
    max_size=30)


@functools.cache
def spaced(strip: bool) -> transformers.PreTrainedTokenizerFast:
    """SentencePiece style: ▁ for a space, <0xE4> for a lone byte; ``strip``: a space is put before every text."""
    bpe = Tokenizer(BPE(byte_fallback=True, unk_token="<unk>"))
    replace = [normalizers.Replace(" ", "▁")]
    bpe.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), *replace] if strip else replace)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    bpe.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if strip else steps)
    bpe.train_from_iterator([tiny.TRAINING_TEXT], trainers.BpeTrainer(
        vocab_size=500, show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]))
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, unk_token="<unk>", bos_token="<s>",
                                                eos_token="</s>")
    # The trainer registers the byte tokens as special; in real vocabularies they are plain tokens.
    state = made.backend_tokenizer.to_str().replace('"special":true', '"special":false', 259)
    backend = Tokenizer.from_str(state)
    backend.add_special_tokens(["<s>", "</s>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")


@functools.cache
def unusual() -> transformers.PreTrainedTokenizerFast:
    """Byte-level, but with one more decoding step, so that the stream must decode windows."""
    backend = Tokenizer.from_str(tiny.tokenizer().backend_tokenizer.to_str())
    backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Replace("Q", "Q")])
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")


@functools.cache
def table(kind: str) -> tuple[transformers.PreTrainedTokenizerFast, TokenTable]:
    made = {"byte": tiny.tokenizer, "spaced": lambda: spaced(False), "stripped": lambda: spaced(True),
            "unusual": unusual}[kind]()
    return made, TokenTable.of(made)


KINDS = ["byte", "spaced", "stripped", "unusual"]


def stream(detokenizer: Detokenizer, ids: list[int]) -> list[str]:
    return [*(detokenizer.push(token) for token in ids), detokenizer.finish()]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS, cut=st.integers(0, 40))
def test_joined_pieces_are_the_text_and_every_fork_goes_on_alike(kind: str, text: str, cut: int) -> None:
    tokenizer, tokens = table(kind)
    ids = tokenizer.encode(text, add_special_tokens=False)
    whole = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert whole == text
    detokenizer = Detokenizer(tokens)
    before = [detokenizer.push(token) for token in ids[:cut]]
    twin = detokenizer.fork()
    assert "".join(before + stream(detokenizer, ids[cut:])) == whole
    assert "".join(before + stream(twin, ids[cut:])) == whole


@settings(max_examples=100, deadline=None)
@given(ids=st.lists(st.integers(0, 330), max_size=30))
def test_any_ids_of_a_byte_level_tokenizer_give_its_own_decoding(ids: list[int]) -> None:
    tokenizer, tokens = table("byte")
    assert "".join(stream(Detokenizer(tokens), ids)) == tokenizer.decode(
        [token for token in ids if token < 320], skip_special_tokens=True, clean_up_tokenization_spaces=False)


@pytest.mark.parametrize("kind", ["byte", "spaced", "unusual"])
def test_a_character_over_several_tokens_comes_with_its_last_token(kind: str) -> None:
    tokenizer, tokens = table(kind)
    ids = tokenizer.encode("🙂你", add_special_tokens=False)
    assert len(ids) == 7
    assert stream(Detokenizer(tokens), ids) == ["", "", "", "🙂", "", "", "你", ""]


@pytest.mark.parametrize("kind", KINDS)
def test_an_unfinished_character_is_flushed_once(kind: str) -> None:
    tokenizer, tokens = table(kind)
    ids = tokenizer.encode("a🙂", add_special_tokens=False)[:-1]
    pieces = stream(Detokenizer(tokens), ids)
    assert "".join(pieces[:-1]) == "a"
    assert set(pieces[-1]) == {"\ufffd"}


@pytest.mark.parametrize("kind", ["byte", "unusual"])
def test_special_tokens_add_nothing(kind: str) -> None:
    _, tokens = table(kind)
    word = tiny.tokenizer().encode("dog", add_special_tokens=False)
    assert "".join(stream(Detokenizer(tokens), [1, *word, 0, *word])) == "dogdog"


def test_text_after_a_prompt_keeps_its_leading_space() -> None:
    tokenizer, tokens = table("stripped")
    prompt = tokenizer.encode("The dog", add_special_tokens=False)
    more = tokenizer.encode("sleeps", add_special_tokens=False)
    assert "".join(stream(Detokenizer(tokens), more)) == "sleeps"
    assert "".join(stream(Detokenizer(tokens, after=prompt), more)) == " sleeps"


def test_a_long_stream_by_windows_stays_right() -> None:
    tokenizer, tokens = table("unusual")
    text = "The fox 🙂 runs 你好 on and on. " * 20
    ids = tokenizer.encode(text, add_special_tokens=False)
    detokenizer = Detokenizer(tokens)
    assert "".join(stream(detokenizer, ids)) == text
    assert len(detokenizer._ids) <= 20


@pytest.mark.parametrize("kind", ["byte", "spaced", "unusual"])
def test_texts_for_showing(kind: str) -> None:
    tokenizer, _ = table(kind)
    size = len(tokenizer) + 3
    texts = token_texts(tokenizer, size)
    assert len(texts) == size
    assert all(texts)
    assert texts[-1] == f"⟨id {size - 1}⟩"
    assert texts[tokenizer.eos_token_id] == tokenizer.eos_token
    clean = [token for token in range(len(tokenizer)) if (shown := tokenizer.decode([token])).isprintable()
             and "\ufffd" not in shown and token not in tokenizer.all_special_ids]
    assert len(clean) > 100
    assert all(texts[token] == tokenizer.decode([token]) for token in clean)


def test_parts_of_characters_and_controls_are_shown_as_bytes() -> None:
    tokenizer, tokens = table("byte")
    smile = tokenizer.encode("🙂", add_special_tokens=False)
    assert [tokens.text(token) for token in smile] == ["⟨F0⟩", "⟨9F⟩", "⟨99⟩", "⟨82⟩"]
    assert tokens.text(tokenizer.encode("\x00", add_special_tokens=False)[0]) == "⟨00⟩"
    assert tokens.text(tokenizer.encode("\n", add_special_tokens=False)[0]) == "\n"
    assert tokens.text(-1) == "⟨id -1⟩"


def test_added_tokens_that_are_not_special_are_text() -> None:
    backend = Tokenizer.from_str(tiny.tokenizer().backend_tokenizer.to_str())
    backend.add_tokens([AddedToken("<think>", special=False), AddedToken("déjà vu", special=False)])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")
    ids = tokenizer.encode("a<think>b déjà vu", add_special_tokens=False)
    tokens = TokenTable.of(tokenizer)
    assert "".join(stream(Detokenizer(tokens), ids)) == tokenizer.decode(ids) == "a<think>b déjà vu"


def test_a_tokenizer_without_byte_table_is_only_called_under_its_lock() -> None:
    lock = threading.RLock()
    held: list[bool] = []

    class Watching:
        all_special_ids = ()
        added_tokens_decoder: dict[int, object] = {}  # noqa: RUF012
        def get_vocab(self) -> dict[str, int]:
            return {"a": 0, "b": 1}
        def decode(self, ids: list[int], **_: object) -> str:
            taken: list[bool] = []
            other = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
            other.start()
            other.join()
            held.append(not taken[0])
            return "".join("ab"[token] for token in ids)

    detokenizer = Detokenizer(TokenTable.of(Watching(), lock))
    assert "".join(stream(detokenizer, [0, 1, 0])) == "aba"
    assert held
    assert all(held)


@settings(max_examples=200, deadline=None)
@given(text=st.text("ab🙂", max_size=24), stops=st.lists(st.text("ab🙂", min_size=1, max_size=5), max_size=3),
       cuts=st.lists(st.integers(0, 24), max_size=6))
def test_stop_texts_are_found_whatever_the_split(text: str, stops: list[str], cuts: list[int]) -> None:
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    finder = StopStrings(stops)
    seen = ""
    for piece in pieces:
        seen += piece
        expected = min((place for stop in stops if (place := seen.find(stop)) >= 0), default=None)
        assert finder.push(piece) == expected
        if expected is not None:
            break
    assert finder.push("") == finder.found


def test_a_found_stop_stays_found_and_forks_are_apart() -> None:
    finder = StopStrings(["END"])
    assert finder.push("the E") is None
    twin = finder.fork()
    assert finder.push("ND") == 4
    assert finder.push("END") == 4
    assert twin.push("x") is None
    assert twin.push("END") == 6
