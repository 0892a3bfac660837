"""IOB files, tables of tags and scores become samples however they are cut; what is none is named by file and line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.ingest.iob import IOB1, IOB2, TagError, as_iob2, beginnings, convention_of, letters_of, split_of
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import ingest

Reader = Callable[..., Any]

FILE = """-DOCSTART- -X- O

Selegiline\tB-Chemical
-\tO
induced\tO
postural\tB-Disease
hypotension\tI-Disease



No\tO
pain\tB-Disease
"""


def write(folder: Path, text: str | bytes, name: str = "a.tsv") -> None:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def words_of(samples: pa.Table) -> list[tuple[list[str], list[str]]]:
    return list(zip(samples["tokens"].to_pylist(), samples["tags"].to_pylist(), strict=True))


def test_an_iob_file_becomes_sentences_named_by_their_line(read: Reader, tmp_path: Path) -> None:
    write(tmp_path, FILE)
    result = read(iob="a.tsv")
    assert result.samples.to_pylist() == [
        {
            "id": "a.tsv:3",
            "gold": None,
            "document": None,
            "tokens": ["Selegiline", "-", "induced", "postural", "hypotension"],
            "tags": ["B-Chemical", "O", "O", "B-Disease", "I-Disease"],
        },
        {"id": "a.tsv:11", "gold": None, "document": None, "tokens": ["No", "pain"], "tags": ["O", "B-Disease"]},
    ]
    assert (result.rejects.num_rows, result.classes) == (0, ())


@pytest.mark.parametrize(
    "text",
    [
        FILE.replace("\n", "\r\n"),
        FILE.replace("\t", "  "),
        "\ufeff" + FILE,
        FILE.replace("\t", "\tNN\tx\t"),
        FILE.rstrip("\n"),
        "\n\n \t\n" + FILE,
        FILE.replace("\tI-", "\tE-").replace("\tB-Chem", "\tS-Chem"),
    ],
    ids=["crlf", "blanks", "bom", "more-columns", "no-end", "empty-lines", "bioes"],
)
def test_files_of_the_same_sentences_are_the_same_samples(read: Reader, tmp_path: Path, text: str) -> None:
    write(tmp_path, FILE)
    write(tmp_path, text, "b.tsv")
    write(tmp_path, gzip.compress(text.encode()), "c.tsv.gz")
    expected = words_of(read(iob="a.tsv").samples)
    for name in ("b.tsv", "c.tsv.gz"):
        found = read(iob=name)
        assert words_of(found.samples) == expected
        assert found.rejects.num_rows == 0


def test_word_and_tag_may_stand_in_other_columns(read: Reader, tmp_path: Path) -> None:
    write(tmp_path, "1 pain B-Disease NN\n2 stays O VB\n")
    assert words_of(read(iob="a.tsv", iob_columns=[2, 3]).samples) == [(["pain", "stays"], ["B-Disease", "O"])]


def test_a_bad_line_costs_its_sentence_and_is_named(read: Reader, tmp_path: Path) -> None:
    bad = "alone\n\nx\tDisease\n\nx\tO\nx\tI-Drug\n\n\tO\n\nx\tB-Drug\ny\tI-Disease\n\nx\tB-Drug\ncaf\u00e9\tO\n\n"
    write(tmp_path, FILE.encode() + b"\n" + bad.encode("latin-1"))
    result = read(iob="a.tsv")
    assert result.samples.num_rows == 2
    assert result.reasons == [
        ("a.tsv", 14, None, "1 column where a word and its tag were expected: 'alone'"),
        ("a.tsv", 16, "tags", "'Disease' is no tag; expected O, B-TYPE or I-TYPE"),
        ("a.tsv", 19, "tags", "'I-Drug' goes on from O: an entity begins with 'B-Drug'"),
        ("a.tsv", 21, "tokens", "there is no word"),
        ("a.tsv", 24, "tags", "'I-Disease' goes on from B-Drug: an entity begins with 'B-Disease'"),
        ("a.tsv", 27, None, "not UTF-8 text (byte 0xE9)"),
    ]


def test_a_line_without_its_last_column_is_no_other_tag(read: Reader, tmp_path: Path) -> None:
    whole = "EU\tNNP\tB-NP\tB-ORG\nrejects\tVBZ\tB-VP\tO\n\n"
    bad = "German\tJJ\tB-NP\ncall\tNN\tI-NP\n\nno\tDT\tO\tO\ngain\tNN\tO\n\nx\tNN\tO\t\n\n"
    write(tmp_path, whole + bad + whole)
    for partitions in (1, 4):
        result = read(partitions, iob="a.tsv")
        assert words_of(result.samples) == [(["EU", "rejects"], ["B-ORG", "O"])] * 2
        assert result.reasons == [
            ("a.tsv", 4, None, "3 columns where most sentences of the file have 4: 'German\\tJJ\\tB-NP'"),
            ("a.tsv", 8, None, "3 columns where the first line of the sentence has 4: 'gain\\tNN\\tO'"),
            ("a.tsv", 10, None, "3 columns where most sentences of the file have 4: 'x\\tNN\\tO'"),
        ]


@pytest.mark.parametrize("start", [b"", b"-DOCSTART- O\r\r"])
def test_line_ends_of_old_macs_are_no_part_of_a_tag(read: Reader, tmp_path: Path, start: bytes) -> None:
    write(tmp_path, start + b"Aspirin\tB-Chemical\rhelps\tO\r\rNo\tO\rpain\tB-Disease\r")
    result = read(iob="a.tsv")
    assert result.samples.num_rows == 0
    ((file, line, _, reason),) = result.reasons
    assert (file, line) == ("a.tsv", 1)
    assert "line ends of old Macs" in reason


@pytest.mark.parametrize("before", ["S", "U", "E", "L"])
@pytest.mark.parametrize("after", ["I", "E", "L", "M"])
def test_nothing_goes_on_after_the_last_word_of_an_entity(before: str, after: str) -> None:
    tags = ["O", "B-Drug", f"{before}-Drug", f"{after}-Drug"]
    with pytest.raises(TagError, match=f"'{after}-Drug' goes on from '{before}-Drug', which ends an entity") as caught:
        letters_of(tags)
    assert caught.value.place == 3
    assert letters_of([*tags[:3], "B-Drug", f"{after}-Drug"])[3:] == ["B-Drug", "I-Drug"]


DOCUMENTS = "".join(
    f"-DOCSTART- -X- O\n\n{''.join(f'word{number}{at} O{chr(10)}{chr(10)}' for at in range(1 + number % 3 * 9))}"
    for number in range(12)
)


@pytest.mark.parametrize("partitions", [1, 5, 40])
def test_documents_are_told_apart_in_any_cut(read: Reader, tmp_path: Path, partitions: int) -> None:
    write(tmp_path, DOCUMENTS)
    whole, parts = read(1, iob="a.tsv").samples, read(partitions, iob="a.tsv").samples
    assert whole.equals(parts)
    documents = parts["document"].to_pylist()
    assert [documents.count(one) for one in dict.fromkeys(documents)] == [1, 10, 19] * 4
    assert documents[:2] == ["a.tsv:3", "a.tsv:7"]
    write(tmp_path, "no O\n" + FILE)
    assert "document" not in read(iob="a.tsv").samples.column_names  # marked halfway is not marked


def test_a_sentence_of_a_thousand_words_is_told_of(run: Any, tmp_path: Path) -> None:
    said: list[str] = []
    run.progress.notice = said.append
    for words in (1000, 1001):
        write(tmp_path, FILE + "\n" + "x\tO\n" * words)
        source = resolve(Source(iob="a.tsv"), tmp_path)
        ingest(source, source.settings)
    assert [line for line in said if "words" in line] == [
        "Sentences of a.tsv with more than 1000 words: 1, the longest a.tsv:14 with 1001. Models read some hundred "
        "words and cut the rest; is an empty line missing after each sentence?"
    ]


def test_an_older_convention_is_understood_where_all_files_keep_to_it(run: Any, tmp_path: Path) -> None:
    write(tmp_path, "Crohn\tI-Disease\ndisease\tI-Disease\n,\tO\ngout\tI-Disease\npain\tB-Disease\n")
    said: list[str] = []
    run.progress.notice = said.append
    source = resolve(Source(iob="a.tsv"), tmp_path)
    result = ingest(source, source.settings)
    tags = collect(result.samples, ["tags"])["tags"].to_pylist()
    assert tags == [["B-Disease", "I-Disease", "O", "B-Disease", "B-Disease"]]
    assert result.classes.rows == 0
    assert any("taken as IOB1 and rewritten as IOB2" in line for line in said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\n\n\n", "a.tsv has no sentences"),
        (b"", "is empty"),
        ("pain\tO\n".encode("utf-16"), "is UTF-16 text, not UTF-8"),
        (b"a b c\n", "1 of 1 rows of a.tsv do not fit, the first in a.tsv row 1, column tags .'c' is no tag"),
    ],
)
def test_files_without_sentences_are_refused(run: Any, tmp_path: Path, content: bytes, said: str) -> None:
    write(tmp_path, content)

    def take_in() -> None:
        source = resolve(Source(iob="a.tsv"), tmp_path)
        ingest(source, source.settings)

    with pytest.raises(InputError, match=said):
        take_in()


def test_files_named_after_their_part_have_a_split(read: Reader, tmp_path: Path) -> None:
    for name in ("x_train.tsv", "x-devel.tsv", "test.tsv"):
        write(tmp_path, FILE, name)
    assert read(iob="*.tsv").samples["split"].to_pylist() == ["test"] * 2 + ["valid"] * 2 + ["train"] * 2
    write(tmp_path, FILE, "more.tsv")
    assert "split" not in read(iob="*.tsv").samples.column_names
    assert split_of("latest.tsv") is None


WORD = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\t ", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda word: word.encode().strip() and not word.startswith("-DOCSTART-") and word[0] != "\ufeff")
TAGS = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), min_size=1, max_size=8)


@given(data=st.data(), sentences=st.lists(TAGS, min_size=1, max_size=30), partitions=st.integers(1, 9))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_again_in_any_cut(
    read: Reader, tmp_path: Path, data: Any, sentences: list[list[str]], partitions: int
) -> None:
    legal = [as_iob2(tags, IOB1) for tags in sentences]
    rows = [(data.draw(st.lists(WORD, min_size=len(tags), max_size=len(tags))), tags) for tags in legal]
    gap = data.draw(st.sampled_from(["\n", "\n\n", "-DOCSTART- O\n", " \n"]))
    text = "\n".join("\t".join(cells) for words, tags in rows for cells in [*zip(words, tags, strict=True), ("",)])
    write(tmp_path, text.replace("\n\n", "\n" + gap))
    result = read(partitions, iob="a.tsv")
    assert result.rejects.num_rows == 0, result.reasons
    assert words_of(result.samples) == rows
    one = read(1, iob="a.tsv").samples
    assert result.samples.equals(one)


@given(TAGS)
def test_iob2_stays_iob2_and_iob1_becomes_it(tags: list[str]) -> None:
    legal = as_iob2(tags, IOB1)
    assert as_iob2(legal, IOB2) == legal
    assert beginnings(legal)[1] == 0
    assert convention_of(*beginnings(legal)) == IOB2
    assert letters_of(legal) == legal


def test_lists_of_words_and_tags_come_from_jsonl_and_parquet(read: Reader, tmp_path: Path) -> None:
    rows = [
        {"key": "a", "tokens": ["No", "pain"], "tags": ["O", "S-Disease"]},
        {"key": "b", "tokens": ["pain"], "tags": ["O", "O"]},
        {"key": "c", "tokens": ["pain"], "tags": ["I-Disease"]},
        {"key": "d", "tokens": ["pain"], "tags": None},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for origin in ({"jsonl": "a.jsonl"}, {"parquet": "a.parquet"}):
        result = read(**origin, id="key", tags="tags")
        assert result.samples["tags"].to_pylist() == [["O", "B-Disease"], None]
        assert [reason for *_, reason in result.reasons] == [
            "2 tags for 1 words, and every word has one",
            "tag 1: 'I-Disease' goes on from the beginning of the sentence: an entity begins with 'B-Disease'",
        ]
        assert result.classes == ()


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_pairs_with_a_score_come_from_any_table(read: Reader, tmp_path: Path, form: str) -> None:
    rows = [{"first": "One.", "second": "Two, too.", "score": score} for score in (1.0, 2.0, 3.0)]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a")
    elif form == "jsonl":
        (tmp_path / "a").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        mark = "," if form == "csv" else "\t"
        cells = [[row["first"], f'"{row["second"]}"', str(int(row["score"]))] for row in rows]
        (tmp_path / "a").write_text("\n".join(mark.join(line) for line in [["first", "second", "score"], *cells]))
    origin = "csv" if form == "tsv" else form
    result = read(**{origin: "a"}, score="score", **({"delimiter": "\t"} if form == "tsv" else {}))
    assert result.samples["second"].to_pylist() == ["Two, too."] * 3
    assert result.samples.schema.field("score").type == pa.float64()
    assert (result.samples["score"].to_pylist(), result.classes) == ([1.0, 2.0, 3.0], ())
    chosen = read(
        **{origin: "a"}, score="score", features=["first", "second"], **({"delimiter": "\t"} if form == "tsv" else {})
    )
    assert chosen.samples["score"].to_pylist() == [1.0, 2.0, 3.0]  # what the source names need not be a feature as well


def test_a_score_that_is_none_is_named(read: Reader, tmp_path: Path) -> None:
    write(tmp_path, "first,second,score\na,b,high\na,b,\na,b,inf\na,b,-1e308\na,b,2.5\n", "a.csv")
    result = read(csv="a.csv", score="score")
    assert result.samples["score"].to_pylist() == [None, 2.5]
    assert result.reasons == [
        ("a.csv", 2, "score", "'high' is not a number"),
        ("a.csv", 4, "score", "an infinite score"),
        ("a.csv", 5, "score", "a score beyond ±3.4e+38"),
    ]


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"csv": "a.csv", "score": "grade"}, "a.csv has no column 'grade', which `score` names"),
        ({"csv": "a.csv", "score": "first"}, "'x' is not a number"),
        ({"csv": "a.csv", "tags": "first", "tokens": "score"}, "in column 'score', and `tokens` are a list of texts"),
    ],
)
def test_columns_that_cannot_be_the_truth_are_refused(read: Reader, tmp_path: Path, settings_: Any, said: str) -> None:
    write(tmp_path, "first,score\nx,1\n", "a.csv")
    try:
        reasons = " ".join(reason for *_, reason in read(**settings_).reasons)
    except InputError as fault:
        reasons = str(fault)
    assert said in reasons


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"label": "kind"}, "label is about the columns of tables"),
        ({"csv": "a.csv"}, "exactly one of"),
        ({"iob_columns": [0, 1]}, "columns are counted from 1"),
    ],
)
def test_settings_that_mean_nothing_for_iob_are_refused(given_: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Source.model_validate({"iob": "a.tsv", **given_})
    with pytest.raises(ValueError, match="label and score are two kinds of truth"):
        Source.model_validate({"csv": "a.csv", "label": "kind", "score": "grade"})
