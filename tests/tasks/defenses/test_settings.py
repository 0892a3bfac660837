"""Defences are written short or long, several values make several models, and what cannot be meant is refused."""

import pytest
from pydantic import TypeAdapter, ValidationError

from assay.tasks.defenses.settings import MART, TRADES, MAAdvT, MPAdvT, Standard
from assay.tasks.defenses.table import AnyDefence

DEFENCE: TypeAdapter[AnyDefence] = TypeAdapter(AnyDefence)


def test_a_defence_is_written_short_or_long():
    assert DEFENCE.validate_python("standard") == Standard()
    assert DEFENCE.validate_python({"maadvt": {"eps": "4/255", "lambda": 3}}) == MAAdvT(eps=(4 / 255,), lambda_=(3,))
    assert DEFENCE.validate_python({"defense": "mpadvt", "range": (0.01, 0.04)}) == MPAdvT(range=(0.01, 0.04))
    assert DEFENCE.validate_python({"mpadvt": None}) == MPAdvT()


def test_every_combination_of_values_is_a_model_with_a_name_of_its_own():
    grid = MAAdvT(eps=(0.05, 0.1), lambda_=(1, 6), start=("scratch", "subject"))
    made = grid.variants(0.3)
    assert len({one.called for one in made}) == len(made) == 8
    assert made[0].called == "maadvt-eps=0.05-scratch-lambda=1"
    assert {(one.budget, one.weight, one.start) for one in made} == {
        (eps, weight, (start,)) for eps in (0.05, 0.1) for weight in (1, 6) for start in ("scratch", "subject")
    }


def test_best_and_last_are_two_models_and_last_alone_leaves_no_trace():
    both = TRADES(stop=("best", "last"), beta=(1, 6)).variants(0.1)
    assert [one.called for one in both] == [
        "trades-best-beta=1",
        "trades-best-beta=6",
        "trades-last-beta=1",
        "trades-last-beta=6",
    ]
    assert [one.stop for one in both[::2]] == [("best",), ("last",)]
    assert "stop" not in Standard(stop="last").model_dump()
    assert Standard(stop="best").model_dump()["stop"] == ("best",)
    assert (MART().weight, DEFENCE.validate_python({"mart": {"lambda": 3}})) == (5.0, MART(lambda_=(3,)))


def test_a_defence_without_an_eps_takes_the_audits():
    assert [one.variants(0.1)[0].budget for one in (Standard(), Standard(name="own", eps=(0.2,)))] == [0.1, 0.2]
    (one,) = MPAdvT().variants(0.1)
    assert one.bounds() == (0.05, 0.2)
    assert MPAdvT(range=(0.01, 0.04)).variants(0.1)[0].bounds() == (0.01, 0.04)
    assert MPAdvT(scale=(1, 10)).variants(0.3)[0].bounds() == (0.3, 1.0)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("free", "there is no defence 'free'; there are standard, mpadvt, maadvt, trades, mart"),
        ({"trades": {"lambda": 6}}, "Extra inputs"),
        ({"mart": {"stop": "early"}}, "'last' or 'best'"),
        ({"standard": {"eps": 0}}, "no attack to defend against"),
        ({"standard": {"eps": [0.05, 0.05]}}, "0.05 stands twice"),
        ({"mart": {"stop": ["best", "best"]}}, "best stands twice"),
        ({"mpadvt": {"steps": (5, 1)}}, "write the smaller one first"),
        ({"mpadvt": {"range": (0.04, 0.01)}}, "write the smaller one first"),
        ({"standard": {"lambda": 6}}, "Extra inputs"),
        ({"maadvt": {"lambda": -1}}, "greater than or equal to 0"),
        ({"maadvt": {"start": "imagenet"}}, "'subject' or 'scratch'"),
    ],
)
def test_what_cannot_be_meant_is_refused(written, complaint):
    with pytest.raises(ValidationError, match=complaint):
        DEFENCE.validate_python(written)
