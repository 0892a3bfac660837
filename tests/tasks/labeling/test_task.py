import textwrap
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pytest

from assay.data.schemas import Classes, Samples
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.labeling.rulebook_source import refer_to_rulebook
from assay.tasks.labeling.settings import Labeling
from assay.tasks.labeling.task import apply_labeling_functions, summarize_labeling, take_votes
from assay.tasks.statistics.findings import findings_from

TEXTS = ["http://a", "hello", "see http", "bad", "short", "http http", "bye", "http", "x", "hello http"]
GOLD = [1, 0, 1, None, 0, 1, 0, 0, 0, 1]


@dataclass(frozen=True)
class Rows:
    start: int
    stop: int


def some_samples(rows):
    part = slice(rows.start, rows.stop)
    ids = [f"s{row}" for row in range(rows.start, rows.stop)]
    return pa.table({"id": ids, "gold": pa.array(GOLD[part], pa.int16()), "text": TEXTS[part]})


def some_votes(rows):
    table = some_samples(rows).drop_columns(["text"])
    voted = [1 if "http" in text else -1 for text in TEXTS[rows.start : rows.stop]]
    return table.append_column("links", pa.array(voted, pa.int8())).append_column("width", pa.array(voted, pa.int64()))


@stage(version=1)
def samples_in(partitions: int, holds: str) -> Artifact[Samples]:
    edges = [round(place * 10 / partitions) for place in range(partitions + 1)]
    pieces = [Rows(*edge) for edge in pairwise(edges)]
    return map_pieces(some_votes if holds == "votes" else some_samples, pieces, into=Samples)


@stage(version=1)
def classes_named(names: list[str]) -> Artifact[Classes]:
    return write_table(pa.table({"code": pa.array(range(len(names)), pa.int16()), "name": names}), into=Classes)


@pytest.fixture
def rules(tmp_path):
    source = """
        import numpy as np
        from assay.tasks.labeling.rules import column_rule
        CLASSES = ("ham", "spam")
        @column_rule
        def links(samples):
            if (samples["text"] == "bad").any():
                raise ValueError("bad text")
            return np.where(samples["text"].str.contains("http"), 1, -1)
        def greets(x): return 0 if x.text.startswith("hello") else -1
        RULES = [links, greets]
    """
    (tmp_path / "rules.py").write_text(textwrap.dedent(source))
    return refer_to_rulebook("rules.py", beside=tmp_path)


LENIENT = Labeling(functions="rules.py", fault_limit=0.1)


def test_votes_are_the_same_for_any_partitioning(make_run, rules, tmp_path):
    votes = []
    for partitions in (1, 3, 10):
        with make_run(store=str(tmp_path / f"store-{partitions}")):
            classes = classes_named(["ham", "spam"])
            votes.append(apply_labeling_functions(samples_in(partitions, "texts"), rules, classes, LENIENT))
    assert len({artifact.digest for artifact in votes}) == 1
    assert [artifact.partitions for artifact in votes] == [1, 3, 10]


def test_votes_take_the_codes_of_the_pipelines_classes(run, rules):
    samples = samples_in(2, "texts")
    turned = apply_labeling_functions(samples, rules, classes_named(["spam", "ham"]), LENIENT)
    by_number = apply_labeling_functions(samples, rules, classes_named(["0", "1", "2"]), LENIENT)
    links = [0 if "http" in text else -1 for text in TEXTS]
    assert read(turned, "links") == links
    assert read(by_number, "links") == [-1 if vote < 0 else 1 for vote in links]


def test_a_rulebook_for_other_classes_is_refused(run, rules):
    with pytest.raises(InputError, match="votes for the class 'ham', but the classes of the samples are cat, dog"):
        apply_labeling_functions(samples_in(2, "texts"), rules, classes_named(["cat", "dog"]), LENIENT)


def test_a_rule_that_raises_too_often_fails_the_stage_by_name(run, rules):
    with pytest.raises(InputError, match=r"links raised on more than 0 samples.*s3 it said ValueError: bad text"):
        apply_labeling_functions(
            samples_in(2, "texts"), rules, classes_named(["ham", "spam"]), Labeling(functions="rules.py")
        )


def test_faults_spread_thin_over_partitions_still_add_up(run, tmp_path):
    source = """
        CLASSES = ("ham", "spam")
        def picky(x):
            if "http" in x.text: raise ValueError("a link")
            return 0
        RULES = [picky]
    """
    (tmp_path / "rules.py").write_text(textwrap.dedent(source))
    picky = refer_to_rulebook("rules.py", beside=tmp_path)
    with pytest.raises(InputError, match=r"picky raised on 5 of 10 samples, more .* 40.0%; on sample s0: ValueErr"):
        apply_labeling_functions(
            samples_in(10, "texts"),
            picky,
            classes_named(["ham", "spam"]),
            Labeling(functions="rules.py", fault_limit=0.4),
        )


def test_the_summary_counts_over_partitions_and_tells_faults(run, rules):
    samples, classes = samples_in(4, "texts"), classes_named(["ham", "spam"])
    votes = apply_labeling_functions(samples, rules, classes, LENIENT)
    summary = summarize_labeling(votes, samples, classes)
    rows = {row["function"]: row for row in table_of(summary.table).to_pylist()}
    assert rows["links"]["polarity"] == "spam"
    assert (rows["links"]["votes"], rows["links"]["gold_votes"], rows["links"]["gold_hits"]) == (5, 5, 4)
    assert (rows["links"]["faults"], rows["links"]["fault_example"]) == (1, "sample s3: ValueError: bad text")
    assert rows["greets"]["conflicts"] == 0.1
    found = {(each.metric, each.of): each for each in findings_from(table_of(summary.findings))}
    assert found["labeling.coverage", ""].value == 0.6
    assert found["labeling.faults", ""].value == 1 / 20
    assert run.record.stages[-1].summary == "2 rules · coverage 60% · conflicts 10%"


def test_votes_that_came_as_a_table_are_taken_as_they_are(run):
    votes = take_votes(samples_in(3, "votes"))
    assert read(votes, "links") == [1 if "http" in text else -1 for text in TEXTS]
    summary = summarize_labeling(votes, samples_in(3, "votes"), classes_named(["ham", "spam"]))
    assert table_of(summary.table).column("function").to_pylist() == ["links"]
    assert table_of(summary.table).column("faults").to_pylist() == [0]


def test_a_source_without_votes_is_explained(run):
    with pytest.raises(InputError, match="no column of votes; its columns are id, gold, text"):
        take_votes(samples_in(1, "texts"))


def test_an_edited_rule_votes_again_and_an_untouched_one_does_not(make_run, rules, tmp_path):
    def votes_now():
        with make_run() as opened:
            reference = refer_to_rulebook("rules.py", beside=tmp_path)
            apply_labeling_functions(samples_in(2, "texts"), reference, classes_named(["ham", "spam"]), LENIENT)
            return opened.record.stages[-1].cached

    assert [votes_now(), votes_now()] == [False, True]
    (tmp_path / "rules.py").write_text((tmp_path / "rules.py").read_text().replace('"hello"', '"bye"'))
    assert votes_now() is False


def read(artifact, column):
    return collect(artifact, columns=[column]).column(column).to_pylist()


def table_of(artifact):
    from pathlib import Path

    import pyarrow.parquet as pq

    files = sorted(Path(artifact.uri.removeprefix("file://")).glob("part-*"))
    return pa.concat_tables([pq.read_table(file) for file in files])


@stage(version=1)
def votes_with_a_silent_function() -> Artifact[Samples]:
    votes = some_votes(Rows(0, 10)).drop_columns(["width"])
    return write_table(votes.append_column("silent", pa.array([-1] * 10, pa.int8())), into=Samples)


def test_functions_that_never_vote_are_named(run):
    samples = votes_with_a_silent_function()
    summarize_labeling(take_votes(samples), samples, classes_named(["ham", "spam"]))
    assert run.record.stages[-1].summary == "2 rules · coverage 50% · conflicts 0% · 1 never votes (silent)"
