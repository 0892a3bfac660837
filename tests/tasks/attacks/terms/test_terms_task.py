"""The stage that attacks terms: no cut shows, offsets hold, copies can be mixed and partial, other columns stay."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.schemas import Samples
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.terms.perturbing import SentenceColumns, attacked_rows, resolve_attack
from assay.tasks.attacks.terms.synonymy import Synonymy
from assay.tasks.attacks.terms.task import perturb_terms
from assay.tasks.attacks.terms.typos import Keyboard, Swap

HERE = Path()
TAGGED, PAIRS = SentenceColumns(words="tokens", tags="tags"), SentenceColumns(words="first")
TERMS = ["hypertension", "myocardial infarction", "aspirin", "zzz", "heart attack"]
SEEDS = Seeds(0, "perturb_terms")


@dataclass(frozen=True)
class Piece:
    """A partition: samples from one number to another."""

    first: int
    last: int


def rows(piece: Piece) -> pa.Table:
    terms = [TERMS[at % 5].split() for at in range(piece.first, piece.last)]
    words = pa.list_(pa.string())
    return pa.table(
        {
            "id": pa.array([str(at) for at in range(piece.first, piece.last)], pa.string()),
            "gold": pa.nulls(len(terms), pa.int16()),
            "tokens": pa.array([["After", *term, ",", "aspirin", "helped"] for term in terms], words),
            "tags": pa.array([["O", "B-D", *["I-D"] * (len(term) - 1), "O", "B-C", "O"] for term in terms], words),
            "first": pa.array([f"After {'-'.join(term)}, aspirin helped…" for term in terms], pa.string()),
            "note": pa.array(["kept"] * len(terms), pa.string()),
        }
    )


@stage(version=1)
def given_samples(cuts: list[int]) -> Artifact[Samples]:
    return map_pieces(rows, [Piece(first, last) for first, last in pairwise(cuts)], into=Samples)


@pytest.mark.parametrize("columns", [TAGGED, PAIRS], ids=["tagged", "pairs"])
@pytest.mark.parametrize("attack", [Swap(terms="lexicon", share=0.6), Synonymy(terms="lexicon")], ids=["swap", "names"])
def test_no_cut_shows(make_run, tmp_path, attack, columns):
    found = []
    for name, cuts in (("whole", [0, 40]), ("parts", [0, 3, 3, 29, 40])):
        with make_run(store=str(tmp_path / name)):
            made = perturb_terms(given_samples(cuts), [resolve_attack(attack, HERE)], columns)
            found.append([collect(one, None) for one in made])
    assert all(one.equals(other) for one, other in zip(*found, strict=True))
    assert found[0][0]["note"].to_pylist() == ["kept"] * 40
    assert found[0][0].column_names == rows(Piece(0, 1)).column_names


@settings(max_examples=25)
@given(st.integers(0, 2**20), st.sampled_from([Swap, Keyboard, Synonymy]), st.sampled_from([TAGGED, PAIRS]))
def test_offsets_say_where_the_term_now_stands(seed, kind, columns):
    attack = resolve_attack(kind(terms="lexicon", share=0.7), HERE)
    made = attacked_rows(rows(Piece(0, 10)), attacks=[attack], sentences=columns, seeds=Seeds(seed, "x"), reach=1.0)
    samples, changes = made.result
    cells = dict(zip(samples["id"].to_pylist(), samples[columns.words].to_pylist(), strict=True))
    for change in changes.to_pylist():
        cell = cells[change["id"]]
        if columns is TAGGED:
            words = cell[change["new_first"] : change["new_last"]]
            assert " ".join(cell)[change["start"] : change["end"]] == " ".join(words)
        else:
            assert cell[change["start"] : change["end"]].replace("-", " ") == change["after"].replace("-", " ")
        assert (change["outcome"] == "changed") == (change["before"] != change["after"])


def test_everything_outside_a_term_of_a_pair_stays_bit_for_bit():
    attack = resolve_attack(Synonymy(terms="lexicon"), HERE)
    samples, _ = attacked_rows(rows(Piece(0, 5)), attacks=[attack], sentences=PAIRS, seeds=SEEDS, reach=1.0).result
    for text in samples["first"].to_pylist():
        assert text.startswith("After ")
        assert text.endswith(" helped…")
    assert samples["first"].to_pylist()[0] != rows(Piece(0, 1))["first"].to_pylist()[0]


def test_copies_are_mixed_sample_by_sample_and_reach_a_share_of_them():
    attacks = [resolve_attack(one, HERE) for one in (Swap(), Keyboard())]
    everyone = attacked_rows(rows(Piece(0, 200)), attacks=attacks, sentences=TAGGED, seeds=SEEDS, reach=1.0).result[1]
    by_attack = {(row["id"], row["attack"]) for row in everyone.to_pylist()}
    assert len(by_attack) == 200  # one attack per sample
    assert 60 < sum(attack == "swap" for _, attack in by_attack) < 140
    half = attacked_rows(rows(Piece(0, 200)), attacks=attacks, sentences=TAGGED, seeds=SEEDS, reach=0.5).result[1]
    reached = {(row["id"], row["attack"]) for row in half.to_pylist()}
    assert 70 < len(reached) < 130
    assert reached < by_attack


def test_a_sample_without_a_sentence_stays_as_it_is():
    empty = rows(Piece(0, 2)).set_column(4, "first", pa.array([None, "aspirin"], pa.string()))
    attack = resolve_attack(Swap(terms="lexicon"), HERE)
    samples, changes = attacked_rows(empty, attacks=[attack], sentences=PAIRS, seeds=SEEDS, reach=1.0).result
    assert samples["first"].to_pylist()[0] is None
    assert changes["id"].to_pylist() == ["1"]
    none, no_changes = attacked_rows(
        empty.slice(0, 0), attacks=[attack], sentences=PAIRS, seeds=SEEDS, reach=1.0
    ).result
    assert (none.num_rows, no_changes.num_rows) == (0, 0)


def test_the_stage_says_how_many_terms_changed_and_why_others_did_not(run):
    perturb_terms(given_samples([0, 10]), [resolve_attack(Swap(), HERE)], TAGGED)
    assert run.record.stages[-1].summary == "swap, share=1, changes=1: 18 of 20 terms changed · too short 2"


def test_samples_without_tags_are_refused_and_one_without_tags_stays_as_it_is():
    attack = resolve_attack(Swap(), HERE)
    bare = rows(Piece(0, 2)).drop_columns(["tags"])
    with pytest.raises(InputError, match="The samples have no column 'tags'"):
        attacked_rows(bare, attacks=[attack], sentences=TAGGED, seeds=SEEDS, reach=1.0)
    tags = pa.array([None, rows(Piece(1, 2))["tags"][0].as_py()], pa.list_(pa.string()))
    some = rows(Piece(0, 2)).set_column(3, "tags", tags)
    samples, changes = attacked_rows(some, attacks=[attack], sentences=TAGGED, seeds=SEEDS, reach=1.0).result
    assert samples["tokens"][0] == some["tokens"][0]
    assert set(changes["id"].to_pylist()) == {"1"}


def partly_tagged(piece: Piece) -> pa.Table:
    table = rows(piece)
    tags = [
        None if int(sample) >= 3 else one
        for sample, one in zip(
            *map(pa.Array.to_pylist, (table["id"].combine_chunks(), table["tags"].combine_chunks())), strict=True
        )
    ]
    return table.set_column(table.column_names.index("tags"), "tags", pa.array(tags, table.schema.field("tags").type))


@stage(version=1)
def given_partly_tagged(cuts: list[int]) -> Artifact[Samples]:
    return map_pieces(partly_tagged, [Piece(first, last) for first, last in pairwise(cuts)], into=Samples)


def test_a_sentence_without_tags_stays_and_is_counted(run):
    made = perturb_terms(given_partly_tagged([0, 2, 5]), [resolve_attack(Swap(), HERE)], TAGGED)
    tokens = collect(made.samples, ["tokens"])["tokens"].to_pylist()
    assert tokens[3:] == rows(Piece(3, 5))["tokens"].to_pylist()
    assert tokens[:3] != rows(Piece(0, 3))["tokens"].to_pylist()
    assert "2 sentences without tags stay" in run.record.stages[-1].summary


def test_sentences_without_any_tags_are_refused(run):
    with pytest.raises(InputError, match="None of the 4 sentences has tags in 'tags'"):
        perturb_terms(given_partly_tagged([3, 7]), [resolve_attack(Swap(), HERE)], TAGGED)


def test_tags_that_are_too_few_are_refused_with_their_sample():
    table = rows(Piece(0, 2))
    short = table.set_column(3, "tags", pa.array([one[:-1] for one in table["tags"].to_pylist()]))
    for attack in (Swap(), Swap(terms="lexicon")):
        with pytest.raises(InputError, match="sample 0 has 5 words in 'tokens' and 4 tags in 'tags'"):
            attacked_rows(short, attacks=[resolve_attack(attack, HERE)], sentences=TAGGED, seeds=SEEDS, reach=1.0)
