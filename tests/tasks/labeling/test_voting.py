import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.images import image_columns
from assay.infra.errors import InputError
from assay.tasks.labeling.rules import (
    ABSTAIN,
    ColumnRule,
    Rulebook,
    Sample,
    SampleRule,
    as_arrow,
    column_rule,
    picture_rule,
    sample_rule,
    says,
    text_rule,
)
from assay.tasks.labeling.voting import Faults, apply_rules

TEXTS = ["http://a", "hello", "see http", "", "HTTP", "bye bye bye bye"]


def samples(texts=TEXTS):
    return pa.table(
        {
            "id": [f"s{place:02}" for place in range(len(texts))],
            "gold": pa.array([0] * len(texts), pa.int16()),
            "text": texts,
        }
    )


def link_in_column(frame):
    return np.where(frame["text"].str.contains("http"), 1, ABSTAIN)


def link_in_sample(x):
    return 1 if "http" in x.text else ABSTAIN


def book(*rules):
    return Rulebook("book", ("no", "yes"), rules)


def votes_of(rule, table=None):
    votes, faults = apply_rules(samples() if table is None else table, book(rule))
    return votes.column(1).to_pylist(), faults


def test_the_three_forms_vote_alike():
    from snorkel.labeling import LabelingFunction

    forms = [ColumnRule("f", link_in_column), LabelingFunction("f", link_in_sample), sample_rule(link_in_sample)]
    assert [votes_of(form)[0] for form in forms] == [[1, -1, 1, -1, -1, -1]] * 3


def test_a_snorkel_function_brings_its_resources_and_preprocessors():
    from snorkel.labeling import labeling_function
    from snorkel.preprocess import preprocessor

    @preprocessor()
    def lowered(x):
        x.text = x.text.lower()
        return x

    @labeling_function(resources={"words": ["http"]}, pre=[lowered])
    def links(x, words):
        return 1 if any(word in x.text for word in words) else ABSTAIN

    assert votes_of(links) == ([1, -1, 1, -1, 1, -1], {})


def test_votes_are_int8_beside_their_ids():
    votes, _ = apply_rules(samples(), book(link_in_sample))
    assert votes.schema == pa.schema([("id", pa.string()), ("link_in_sample", pa.int8())])
    assert votes.column("id").equals(samples().column("id"))


@pytest.mark.parametrize(
    "answer",
    [
        [0, None, 1],
        np.array([0.0, np.nan, 1.0]),
        pa.array([0, None, 1], pa.int8()),
        pa.chunked_array([[0, None], [1]]),
        pd.Series([0, None, 1], dtype="Int64"),
        pd.Series(["0", "?", "1"]).map({"0": 0, "1": 1}),
    ],
    ids=["list", "floats", "arrow", "chunks", "nullable", "map"],
)
def test_a_column_rule_may_abstain_with_a_null(answer):
    assert votes_of(ColumnRule("f", lambda frame: answer), samples(["a", "b", "c"]))[0] == [0, -1, 1]


def test_a_function_of_one_sample_that_says_nothing_abstains():
    assert votes_of(ColumnRule("f", lambda frame: np.full(len(frame), -1)))[0] == [-1] * 6
    assert votes_of(sample_rule(lambda_that_falls_through))[0] == [-1] * 6


def lambda_that_falls_through(x):
    return None


def test_a_rule_that_raises_abstains_there_and_is_counted_with_one_example():
    def first_letter(x):
        return int(x.text[0] == "h")

    votes, faults = votes_of(first_letter)
    assert votes == [1, 1, 0, -1, 0, 0]
    assert faults == {"first_letter": Faults(1, "s03", "IndexError: string index out of range")}


def strict(frame):
    if (frame["text"] == "bad").any():
        raise ValueError("no bad text, please")
    return np.where(frame["text"].str.len() > 1, 1, 0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["bad", "a", "long"]), max_size=24), st.lists(st.integers(0, 24), max_size=4))
def test_faults_of_a_column_rule_do_not_depend_on_partitions(texts, cuts):
    whole, faults = apply_rules(samples(texts), book(ColumnRule("strict", strict)))
    edges = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
    votes, merged = [], {}
    for start, stop in pairwise(edges):
        part, found = apply_rules(samples(texts).slice(start, stop - start), book(ColumnRule("strict", strict)))
        votes += part.column("strict").to_pylist()
        for name, fault in found.items():
            merged[name] = merged[name] + fault if name in merged else fault
    assert votes == whole.column("strict").to_pylist()
    assert votes == [{"bad": -1, "a": 0, "long": 1}[text] for text in texts]
    assert merged == faults
    assert (faults["strict"].count if faults else 0) == texts.count("bad")


def test_a_rule_that_raises_too_often_stops_the_work_by_name():
    def broken(x):
        return x.txt

    with pytest.raises(InputError, match=r"broken raised on more than 2 samples.*s00 it said AttributeError.*txt"):
        apply_rules(samples(), book(broken), patience=2)
    assert apply_rules(samples(), book(broken), patience=6)[1]["broken"].count == 6


def test_a_vote_outside_the_classes_names_the_function_and_the_sample():
    def wild(x):
        return 2 if x.id in ("s02", "s04") else 0

    with pytest.raises(InputError, match="wild voted 2 on sample s02, expected a class from 0 to 1 or -1"):
        votes_of(wild)
    with pytest.raises(InputError, match="column_wild voted -2 on sample s00"):
        votes_of(ColumnRule("column_wild", lambda frame: np.full(len(frame), -2)))
    with pytest.raises(InputError, match="voted 256 on sample s00"):
        votes_of(ColumnRule("wraps_to_zero_in_int8", lambda frame: np.full(len(frame), 256)))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda frame: frame["text"] == "a", "values of type bool"),
        (lambda frame: np.zeros(2), r"shape \(2,\), expected one vote for each of the 6"),
        (lambda frame: 1, r"shape \(\)"),
        (lambda frame: np.full(len(frame), 0.5), "answered 0.5"),
        (lambda frame: ["yes"] * len(frame), "answered"),
        (lambda frame: np.full(len(frame), 1e300), r"answered 1e\+300, expected the number of a class"),
    ],
)
def test_an_answer_that_is_no_vote_is_refused_with_the_way_out(answer, complaint):
    with pytest.raises(InputError, match=complaint):
        votes_of(ColumnRule("f", answer))


def test_a_boolean_of_one_sample_is_refused():
    def condition(x):
        return "http" in x.text

    with pytest.raises(InputError, match="condition answered True, expected the number of a class"):
        votes_of(condition)


def test_gold_is_hidden_from_rules():
    def cheat(x):
        return x.gold

    assert votes_of(cheat)[1]["cheat"].count == 6
    _, faults = votes_of(ColumnRule("peek", lambda table: table.column("gold"), as_arrow))
    assert faults["peek"].count == 6


def test_each_frame_is_made_once_per_partition():
    made = []

    def view(table):
        made.append(table.num_rows)
        return table

    rules = [ColumnRule(f"f{place}", lambda table: np.zeros(table.num_rows, int), view) for place in range(5)]
    apply_rules(samples(), book(*rules))
    assert made == [6]


def test_an_empty_partition_has_empty_votes():
    votes, faults = apply_rules(samples([]), book(ColumnRule("strict", strict), link_in_sample))
    assert votes.num_rows == 0
    assert votes.column_names == ["id", "strict", "link_in_sample"]
    assert faults == {}


def test_more_samples_than_one_block_keep_their_order():
    n = 9000
    table = samples([str(place % 3) for place in range(n)])

    def third(x):
        return int(x.text) - 1

    assert votes_of(third, table)[0] == [place % 3 - 1 for place in range(n)]


def test_a_frame_that_cannot_be_made_names_its_rule():
    def no_frame(table):
        raise KeyError("no such column")

    with pytest.raises(InputError, match="labelling function f cannot be shown the samples: KeyError"):
        votes_of(ColumnRule("f", link_in_column, frame=no_frame))


def test_a_pattern_that_tries_ways_without_an_end_is_refused_by_name_and_no_fault_of_the_samples(monkeypatch):
    monkeypatch.setattr("assay.tasks.labeling.rules.MOST_SECONDS", 0.2)
    stutters = says("stutters", r"(a|aa)+$", 1)
    with pytest.raises(InputError, match=r"stutters searches for '\(a\|aa\)\+\$', and on a text of 201 letters"):
        votes_of(stutters, samples(["aaa", "a" * 200 + "!"]))
    assert votes_of(stutters, samples(["aaa"])) == ([1], {})


@pytest.mark.parametrize(
    "pattern", [r"\bcheck\s+out\b", r"(?<!not )good", r"https?://\S+|www\.", r"[^\W\d_]{3,}ß?", r"(?P<x>o)(?P=x)"]
)
def test_patterns_match_as_python_does(pattern):
    texts = ["Check  OUT my film", "not good", "GOOD", "see www.x.y", "Straße 12", "wood", "", "ſ K"]
    function = says("rule", pattern, 1).function
    expected = [bool(re.search(pattern, text, re.IGNORECASE)) for text in texts]
    assert (np.asarray(function(texts)) == 1).tolist() == expected


def test_what_a_rule_writes_into_a_sample_no_other_rule_sees() -> None:
    def shouts(x: Sample) -> int:
        x.text = x.text.upper()
        return ABSTAIN

    @column_rule
    def lowers(samples: pd.DataFrame) -> object:
        samples["text"] = samples["text"].str.lower()
        return np.full(len(samples), ABSTAIN)

    @text_rule
    def empties(texts: list[str | None]) -> object:
        texts[:] = ["" for _ in texts]
        return [ABSTAIN for _ in texts]

    @picture_rule
    def blackens(batch: np.ndarray) -> object:
        batch[:] = 0
        return np.full(len(batch), ABSTAIN)

    after = [
        SampleRule("sample", lambda x: 1 if x.text == "Hi" else 0),
        ColumnRule("frame", lambda samples: np.where(samples["text"] == "Hi", 1, 0)),
        ColumnRule("texts", lambda texts: [int(text == "Hi") for text in texts], empties.frame),
        ColumnRule("pictures", lambda batch: np.where(batch.max(axis=(1, 2, 3)) > 0, 1, 0), blackens.frame),
    ]
    shown = pa.table({"id": ["a"], "text": ["Hi"], **image_columns(np.full((1, 1, 2, 2), 9, np.uint8))})
    book = Rulebook("writing", ("no", "yes"), [shouts, lowers, empties, blackens, *after])
    votes, faults = apply_rules(shown, book)
    assert faults == {}
    assert [votes[rule.name].to_pylist() for rule in after] == [[1], [1], [1], [1]]
