"""Rules that are written down vote as programmed ones do, and are known by their content."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.data.images import image_columns
from assay.infra.errors import InputError
from assay.tasks.labeling.rulebook_source import MEASURES, WrittenRulebook, any_phrase, measured
from assay.tasks.labeling.settings import Labeling, When, WrittenRule, WrittenRules
from assay.tasks.labeling.voting import apply_rules


def votes_of(table: pa.Table, *rules: WrittenRule) -> dict[str, list[int]]:
    book = WrittenRulebook(WrittenRules(rules=rules, classes=("no", "yes"))).load()
    votes, faults = apply_rules(table, book)
    assert faults == {}
    return {name: votes[name].to_pylist() for name in book.names}


def rule(vote: str = "yes", **asks: object) -> WrittenRule:
    return WrittenRule.model_validate({"vote": vote, **asks})


TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d"],
        "age": [30.0, 70.0, None, float("nan")],
        "count": pa.array([1, 2, 3, None], pa.int64()),
        "kind": ["new", "old", None, "new"],
        "ill": [True, False, None, True],
        "text": ["WIN cash", "a window", None, "check  out c++"],
    }
)


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        ({"when": {"column": "age", "above": 30}}, [-1, 1, -1, -1]),
        ({"when": {"column": "age", "below": 70.5, "above": 29}}, [1, 1, -1, -1]),
        ({"when": {"column": "count", "below": 2}}, [1, -1, -1, -1]),
        ({"when": {"column": "ill", "above": 0.5}}, [1, -1, -1, 1]),
        ({"when": {"column": "kind", "equals": "new"}}, [1, -1, -1, 1]),
        ({"when": {"column": "count", "equals": 2}}, [-1, 1, -1, -1]),
        ({"when": {"column": "ill", "equals": True}}, [1, -1, -1, 1]),
        ({"all": [{"column": "kind", "equals": "new"}, {"column": "ill", "equals": True}]}, [1, -1, -1, 1]),
        ({"all": [{"column": "age", "above": 29}, {"column": "kind", "equals": "old"}]}, [-1, 1, -1, -1]),
        ({"all": [{"column": "age", "above": 29}, {"column": "age", "below": 31}]}, [1, -1, -1, -1]),
        ({"all": [{"column": "kind", "equals": "new"}, {"column": "count", "below": 3}]}, [1, -1, -1, -1]),
        ({"keywords": ["win", "check out"]}, [1, -1, -1, 1]),
        ({"keywords": ["c++"]}, [-1, -1, -1, 1]),
        ({"pattern": "win", "in": "text"}, [1, 1, -1, -1]),
        ({"pattern": "win", "unless": "cash"}, [-1, 1, -1, -1]),
        ({"keywords": ["new"], "in": "kind", "vote": "no"}, [0, -1, -1, 0]),
    ],
)
def test_a_rule_votes_where_what_it_asks_holds_and_abstains_elsewhere(
    asks: dict[str, object], expected: list[int]
) -> None:
    assert votes_of(TABLE, rule(name="it", **asks)) == {"it": expected}


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=30), st.floats(-10, 10))
def test_above_and_below_one_bound_never_vote_on_the_same_sample(values: list[float], bound: float) -> None:
    table = pa.table({"id": [str(at) for at in range(len(values))], "x": values})
    high, low = (
        rule(name="high", when={"column": "x", "above": bound}),
        rule(name="low", when={"column": "x", "below": bound}),
    )
    said = votes_of(table, high, low)
    assert not any(one == two == 1 for one, two in zip(said["high"], said["low"], strict=True))
    on_it = [value == bound for value in values]
    assert [one == two == -1 for one, two in zip(said["high"], said["low"], strict=True)] == on_it


def test_measures_of_pictures_lie_between_nought_and_one_and_say_what_they_are_called() -> None:
    white = np.ones((3, 8, 8), np.float32)
    checked = white * (np.indices((8, 8)).sum(axis=0) % 2).astype(np.float32)
    red = white * np.array([1, 0, 0], np.float32)[:, None, None]
    found = measured(pa.table({"id": list("abcd"), **image_columns(np.stack([white, 0 * white, checked, red]))}))
    assert set(found) == set(MEASURES)
    assert found["brightness"].round(3).tolist() == [1.0, 0.0, 0.5, 0.333]
    assert found["contrast"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert found["edges"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert found["colourfulness"].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_a_rule_on_pictures_votes_on_pictures() -> None:
    pictures = np.stack([np.full((1, 8, 8), level, np.uint8) for level in (10, 200)])
    table = pa.table({"id": ["dark", "light"], **image_columns(pictures)})
    assert votes_of(table, rule(name="dark", when={"picture": "brightness", "below": 0.3})) == {"dark": [1, -1]}
    aged = table.append_column("age", pa.array([30, 80]))
    dark, light = ({"picture": "brightness", side: 0.3} for side in ("below", "above"))
    young = {"column": "age", "below": 50}
    both = votes_of(aged, rule(name="both", all=[dark, young]), rule(name="neither", all=[young, light]))
    assert both == {"both": [1, -1], "neither": [-1, -1]}
    assert rule(all=[dark, young]).called == "brightness below 0.3 and age below 50"
    assert rule(all=[dark, young]).columns == ("age",)


def test_keys_know_rules_by_content() -> None:
    def fingerprint(**changed: object) -> str:
        written = {"rules": (rule(name="a", keywords=["win"]), rule("no", name="b", keywords=["song"]))} | changed
        return WrittenRulebook(WrittenRules.model_validate(written)).fingerprint

    assert fingerprint() == fingerprint()
    assert fingerprint() != fingerprint(classes=("yes", "no", "maybe"))
    assert fingerprint() != fingerprint(
        rules=(rule(name="a", keywords=["won"]), rule("no", name="b", keywords=["song"]))
    )
    assert (
        WrittenRulebook(Labeling(rules=(rule(pattern="a"), rule("no", pattern="b")))).fingerprint
        == WrittenRulebook(WrittenRules(rules=(rule(pattern="a"), rule("no", pattern="b")))).fingerprint
    )


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"vote": "yes"}, "exactly one of when, all, keywords, pattern and prompt, and here is none of them"),
        ({"vote": "yes", "all": [{"column": "x", "above": 1}]}, "at least 2 items"),
        (
            {"vote": "yes", "all": [{"column": "x", "above": 1}, {"column": "y", "above": 1}], "in": "text"},
            "in and unless are about texts, and all is about columns or a picture",
        ),
        ({"vote": "yes", "keywords": ["a"], "pattern": "b"}, "and here is keywords and pattern"),
        ({"vote": "yes", "pattern": "("}, "pattern is no regular expression: missing )"),
        ({"vote": "yes", "pattern": "(" * 1000 + "a" + ")" * 1000}, "pattern is no regular expression: maximum"),
        ({"vote": "yes", "pattern": "a{1000000000}"}, "pattern repeats something 10,000 times or more"),
        ({"vote": "yes", "when": {"column": "x"}}, "give above, below or both, or equals"),
        ({"vote": "yes", "when": {"above": 1}}, "give exactly one of column and picture"),
        ({"vote": "yes", "when": {"column": "x", "above": 2, "below": 1}}, "holds of nothing: above 2 and below 1"),
        ({"vote": "yes", "when": {"picture": "edges", "equals": 1}}, "a measure of a picture has bounds"),
        (
            {"vote": "yes", "when": {"column": "x", "above": 1}, "in": "text"},
            "in and unless are about texts, and when is about",
        ),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_a_way_out(written: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError) as error:
        WrittenRule.model_validate(written)
    assert says in str(error.value)


def test_rules_that_all_vote_alike_want_the_other_classes_and_names_differ() -> None:
    with pytest.raises(ValidationError, match="every rule votes for 'yes': name the other classes too"):
        WrittenRules(rules=(rule(pattern="a"),))
    with pytest.raises(ValidationError, match="several rules are called 'matches a'"):
        WrittenRules(rules=(rule(pattern="a"), rule("no", pattern="a")))
    assert WrittenRules(rules=(rule(pattern="a"),), classes=("no", "yes")).voted == ("no", "yes")


@pytest.mark.parametrize(
    ("asks", "says"),
    [
        ({"when": {"column": "weight", "above": 1}}, "the samples have no column 'weight'"),
        ({"when": {"column": "kind", "above": 1}}, "column 'kind' holds string, and above and below are about numbers"),
        ({"when": {"picture": "edges", "above": 0.1}}, "the samples hold no images to look at"),
        ({"pattern": "a", "in": "note"}, "the samples have no column 'note' to read"),
    ],
)
def test_a_rule_about_what_is_not_there_is_a_mistake_and_no_fault(asks: dict[str, object], says: str) -> None:
    with pytest.raises(InputError) as error:
        votes_of(TABLE, rule(name="it", **asks))
    assert str(error.value).startswith("The labelling function it cannot be shown the samples: ")
    assert says in str(error.value)


def test_whole_words_are_meant_and_phrases_may_be_apart() -> None:
    assert any_phrase(("win",)) == r"(?<!\w)(?:win)(?!\w)"


def test_classes_may_be_numbers_in_yaml() -> None:
    assert rule(1, pattern="a").vote == "1"  # type: ignore[arg-type]
    assert rule(True, pattern="a").vote == "true"  # type: ignore[arg-type]
    assert When(column="x", equals=3).called == "x is 3"
