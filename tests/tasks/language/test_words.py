"""A word is the same everywhere, its span is right, and everything between words is left alone."""

import itertools
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.tasks.language.words import Word, kept_texts, normalised, replaced, words_of

awkward = st.text(
    st.one_of(st.characters(), st.sampled_from("ab1'’- .,\u0301\u200d\ufe0f😀中文ह\u093f_\0")), max_size=60
)


def texts(text: str) -> list[str]:
    return [word.text for word in words_of(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("can't won’t rock'n'roll", ["can't", "won’t", "rock'n'roll"]),
        ("'tis the dogs' own", ["tis", "the", "dogs", "own"]),
        ("well-known co\u2010op -- a - b", ["well-known", "co\u2010op", "a", "b"]),
        ("3.5 1,000,000 v2.0 end.Next 2019,20", ["3.5", "1,000,000", "v2.0", "end", "Next", "2019", "20"]),
        ("The U.S. and e.g. this, i.e.that", ["The", "U.S", "and", "e.g", "this", "i.e", "that"]),
        ("cafe\u0301 naïve", ["cafe\u0301", "naïve"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("我爱NLP吗", ["我", "爱", "NLP", "吗"]),
        ("שלום צה״ל", ["שלום", "צה״ל"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("good😀bad 👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 🇩🇪", ["good", "bad", "1"]),
        ("a\0b\0\0", ["a", "b"]),
        ("snake_case #tag @user <br/>", ["snake", "case", "tag", "user", "br"]),
        ("", []),
        ("?! \n\t", []),
    ],
)
def test_words_are_what_a_reader_would_call_words(text, words):
    assert texts(text) == words


@given(awkward)
@example("\ud800a")
def test_every_word_is_where_it_says_and_in_order(text):
    words = words_of(text)
    assert all(text[word.start : word.end] == word.text != "" for word in words)
    assert all(one.end <= two.start for one, two in itertools.pairwise(words))


@given(awkward)
def test_no_letter_or_digit_is_left_between_words(text):
    assert not any(char.isalnum() for char in kept_texts(text, words_of(text), [[False] * len(words_of(text))])[0])


@given(awkward, st.data())
def test_deleting_and_restoring_words_gives_the_text_back(text, data):
    words = words_of(text)
    chosen = data.draw(st.lists(st.sampled_from(words), unique=True)) if words else []
    marked = replaced(text, [(word, word.text) for word in chosen])
    assert marked == text
    keep = [word not in chosen for word in words]
    without = replaced(text, [(word, "") for word in chosen])
    assert kept_texts(text, words, [keep]) == [without]
    assert len(without) == len(text) - sum(word.end - word.start for word in chosen)


@given(awkward)
def test_words_are_compared_in_one_form(text):
    for word in words_of(text):
        assert normalised(word.normalised) == word.normalised
    assert normalised("ÉCOLE") == normalised("e\u0301cole")


@pytest.mark.parametrize("word", [Word("b", 0, 1), Word("a", 0, 3)])
def test_a_word_of_another_text_is_refused(word):
    with pytest.raises(ValueError, match="not a word of this text"):
        replaced("a b", [(word, "")])


def test_a_word_is_not_deleted_twice():
    word = words_of("a b")[0]
    with pytest.raises(ValueError, match="given twice"):
        replaced("a b", [(word, ""), (word, "")])


LONG = {
    "words": "word " * 100_000,
    "one word": "a" * 500_000,
    "hyphens": "a-" * 250_000,
    "initials": "a." * 250_000,
    "numbers": "1," * 250_000,
    "marks": "e\u0301" * 250_000,
    "apostrophes": "'" * 500_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_texts_take_linear_time(text):
    words_of("warm")
    started = time.process_time()
    words_of(text)
    assert time.process_time() - started < 2
