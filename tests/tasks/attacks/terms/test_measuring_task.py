"""The stages that measure taggers and scorers: what a subject did not read is a finding of every set."""

from dataclasses import dataclass

import pyarrow as pa
import pytest

from assay.data.schemas import Samples, Scored, Tagged
from assay.infra.errors import InputError
from assay.infra.stages.partitions import Tallied, collect, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.terms.perturbing import SentenceColumns
from assay.tasks.attacks.terms.task import match_entities, measure_scorer, measure_tagger
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.settings import Statistics

N = 24
WORDS, TAGS = ["gout", "and", "rash"], ["B-D", "O", "B-D"]
COLUMNS = SentenceColumns(words="tokens", tags="tags")


@dataclass(frozen=True)
class Piece:
    """Sentences or pairs; every third sentence is cut after its second word, if any is."""

    cut: bool = False
    known: bool = True
    columns: tuple[tuple[str, int], ...] = ()
    """Columns by which sentences belong together, and how many of each do."""


def ids() -> list[str]:
    return [f"s{at}" for at in range(N)]


def sentences(piece: Piece) -> pa.Table:
    lists = pa.list_(pa.string())
    tags = pa.array([TAGS if piece.known else None] * N, lists)
    together = {name: [str(at // each) for at in range(N)] for name, each in piece.columns}
    return pa.table(
        {"id": ids(), "gold": pa.nulls(N, pa.int16()), "tokens": pa.array([WORDS] * N, lists), "tags": tags, **together}
    )


def tagged(piece: Piece) -> pa.Table:
    last = [0.0 if piece.cut and at % 3 == 0 else 0.9 for at in range(N)]
    rows = [
        {
            "id": name,
            "tokens": WORDS,
            "gold": TAGS if piece.known else None,
            "confidence": [0.9, 0.8, sure],
            "predicted": TAGS if sure else ["B-D", "O", "O"],
        }
        for name, sure in zip(ids(), last, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=Tagged.schema)


def scored(piece: Piece) -> Tallied:
    gold = [float(at % 5) if piece.known else None for at in range(N)]
    columns = {"id": ids(), "gold": pa.array(gold, pa.float64()), "predicted": [at % 5 + 0.1 for at in range(N)]}
    return Tallied(pa.table(columns, schema=Scored.schema), {"cut": 7 * piece.cut})


@stage(version=1)
def given_sentences(known: bool, **columns: int) -> Artifact[Samples]:
    return map_pieces(sentences, [Piece(known=known, columns=tuple(columns.items()))], into=Samples)


@stage(version=1)
def given_tags(cut: bool, known: bool) -> Artifact[Tagged]:
    return map_pieces(tagged, [Piece(cut, known)], into=Tagged)


@stage(version=1)
def given_scores(cut: bool, known: bool) -> Artifact[Scored]:
    return map_pieces(scored, [Piece(cut, known)], into=Scored)


def cuts(findings: Artifact) -> dict[str, tuple[float, int]]:
    rows = collect(findings, None).to_pylist()
    return {row["of"]: (row["value"], row["n"]) for row in rows if row["metric"].endswith(".cut")}


def matches(cut: bool, known: bool = True):
    samples = given_sentences(known)
    return match_entities(given_tags(cut, known), samples, samples, COLUMNS)


def test_sentences_that_were_cut_are_a_finding_of_their_set(run):
    found = measure_tagger(
        {"clean|": matches(False), "swap|share=1": matches(True)}, "mine", Statistics(), given_sentences(True)
    )
    assert cuts(found) == {"clean": (0.0, N), "swap": (8.0, N)}
    (said,) = [
        row["verdict"] for row in collect(found, None).to_pylist() if row["metric"] == "ner.cut" and row["value"]
    ]
    assert said == "cut, 8 entities lie beyond what is read"


def test_pairs_that_were_cut_are_a_finding_of_their_set(run):
    found = measure_scorer(
        {"clean|": given_scores(True, True), "swap|share=1": given_scores(False, True)}, "mine", given_sentences(True)
    )
    assert cuts(found) == {"clean": (7.0, N), "swap": (0.0, N)}


def test_an_evaluation_of_which_nothing_is_known_is_refused(run):
    unknown = matches(False, known=False)
    with pytest.raises(InputError, match="None of the sentences that mine is tested on has tags"):
        measure_tagger({"clean|": unknown}, "mine", Statistics(), given_sentences(True))
    scores = given_scores(False, False)
    with pytest.raises(InputError, match="None of the pairs that mine is tested on has a score"):
        measure_scorer({"clean|": scores}, "mine", given_sentences(True))


@pytest.mark.parametrize(
    ("columns", "units"),
    [({}, N), ({"document": 2}, 12), ({GROUP: 3, "document": 2}, 8), ({"document": N}, N), ({"document": 1}, N)],
)
def test_what_is_resampled_is_the_group_or_else_the_document(run, columns, units):
    """The test under attack counts them; one document for all, or one for each sentence, is none at all."""
    samples = given_sentences(True, **columns)
    found = measure_tagger({"clean|": matches(False), "swap|share=1": matches(True)}, "mine", Statistics(), samples)
    (test,) = [row for row in collect(found, None).to_pylist() if row["metric"] == "ner.drop_p"]
    assert test["n"] == units
    assert (test["verdict"] == "too few samples") == (units < 10)


def test_pairs_are_resampled_by_group_and_not_by_document(run):
    sets = {"clean|": given_scores(False, True), "swap|share=1": given_scores(False, True)}
    assert (
        len({measure_scorer(sets, "mine", given_sentences(True, **one)).digest for one in ({}, {"document": 2})}) == 1
    )
