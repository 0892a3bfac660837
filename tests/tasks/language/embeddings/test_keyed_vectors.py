"""Vector files are told apart by content and read as gensim wrote them; pickles and damaged files are refused."""

import gzip
import pickle

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import save_facebook_model

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.keyed_vectors import format_of, read_vectors

WORDS = ["the", "film", "Paris", "naïve", "12", "a_b"]


@pytest.fixture(scope="module")
def keyed():
    vectors = KeyedVectors(5)
    vectors.add_vectors(WORDS, np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32))
    return vectors


def save(keyed, path, kind):
    if kind == "glove":
        lines = [f"{word} {' '.join(repr(float(x)) for x in keyed[word])}\n" for word in WORDS]
        path.write_text("".join(lines), encoding="utf-8")
    else:
        keyed.save_word2vec_format(str(path), binary=kind == "word2vec-binary")


@pytest.mark.parametrize("kind", ["glove", "word2vec-text", "word2vec-binary"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_back_what_was_saved(keyed, tmp_path, kind, packed):
    path = tmp_path / "vectors"
    save(keyed, path, kind)
    if packed:
        path = tmp_path / "vectors.gz"
        path.write_bytes(gzip.compress((tmp_path / "vectors").read_bytes()))
    assert format_of(path) == kind
    provider = read_vectors(path)
    assert provider.name == path.name
    np.testing.assert_allclose(provider.vectors(WORDS), keyed[WORDS], atol=1e-6)


def test_a_word_is_found_in_small_letters_or_with_a_capital_else_unknown(keyed, tmp_path):
    save(keyed, tmp_path / "v.txt", "glove")
    found = read_vectors(tmp_path / "v.txt").vectors(["The", "paris", "nowhere"])
    np.testing.assert_allclose(found[:2], keyed[["the", "Paris"]], atol=1e-6)
    assert np.isnan(found[2]).all()


def test_fasttext_binaries_know_new_words(tmp_path):
    sentences = [["good", "film"], ["bad", "film"]] * 20
    model = FastText(sentences, vector_size=8, min_count=1, workers=1, epochs=2, bucket=500)
    save_facebook_model(model, str(tmp_path / "cc.bin"))
    assert format_of(tmp_path / "cc.bin") == "fasttext-binary"
    found = read_vectors(tmp_path / "cc.bin").vectors(["film", "films"])
    np.testing.assert_allclose(found[0], model.wv["film"], atol=1e-6)


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickle_is_never_opened(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vectors.kv").write_bytes(pickle.dumps(Bomb(), protocol=protocol))
    with pytest.raises(InputError, match=r"vectors\.kv is a pickle .* never read"):
        read_vectors(tmp_path / "vectors.kv")
    assert not (tmp_path / "exploded").exists()


def test_gensims_own_format_is_a_pickle(keyed, tmp_path):
    keyed.save(str(tmp_path / "own.kv"))
    with pytest.raises(InputError, match=r"save_word2vec_format"):
        read_vectors(tmp_path / "own.kv")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no file of word vectors"),
        (b"hello world\n", "no file of word vectors"),
        (b"\x00\x01\x02" * 50, "no file of word vectors"),
        (b"PK\x03\x04rest", "zip archive; unpack it"),
        (b"\x1f\x8bnot really", "cannot be read"),
        (b"the 1 2 3\nfilm 1 2\n", "begins like glove word vectors, but cannot be read"),
        (b"3 3\nthe 1 2 3\n", "begins like word2vec-text word vectors, but cannot be read"),
        (b"the nan 1 2\nfilm 1 2 3\n", "not finite"),
    ],
)
def test_a_file_that_is_something_else_is_refused_by_name(tmp_path, content, said):
    path = tmp_path / "vectors.bin"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"vectors.bin.*{said}"):
        read_vectors(path)


@pytest.mark.parametrize("kind", ["word2vec-binary", "fasttext-binary"])
def test_a_truncated_binary_is_refused(keyed, tmp_path, kind):
    path = tmp_path / "cut"
    if kind == "word2vec-binary":
        save(keyed, path, kind)
    else:
        save_facebook_model(FastText([["a", "b"]] * 9, vector_size=8, min_count=1, bucket=90, workers=1), str(path))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=f"begins like {kind}"):
        read_vectors(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.txt cannot be read"):
        read_vectors(tmp_path / "nowhere.txt")
