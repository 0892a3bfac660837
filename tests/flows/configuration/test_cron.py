"""Cron lines: what we accept Prefect accepts, and what we refuse is named."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect.client.schemas.schedules import CronSchedule

from assay.flows.pipeline import read_cron


@pytest.mark.parametrize(
    ("cron", "says"),
    [
        ("60 * * * *", "its minute is 60"),
        ("* * 0 * *", "its day of the month is 0"),
        ("* * * 13 *", "its month is 13"),
        ("* * * * 8", "its day of the week is 8"),
        ("* * * foo *", "its month is foo"),
        ("5-1 * * * *", "its minute is 5-1, and a minute is 0 to 59"),
        ("*/0 * * * *", "its minute is */0"),
        ("* * * *", "it has 4 fields"),
        ("0 2 * * * *", "it has 6 fields"),
        ("", "it has 0 fields"),
        ("1,,2 * * * *", "its minute is 1,,2"),
        ("@sometimes", "it has 1 fields"),
    ],
)
def test_a_wrong_cron_line_is_explained(cron: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        read_cron(cron)


FIELDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
PARTS = [
    st.one_of(
        st.just("*"),
        st.integers(low - 1, high + 2).map(str),
        st.integers(1, high).map(lambda step: f"*/{step}"),
        st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda ends: f"{ends[0]}-{ends[1]}"),
    )
    for low, high in FIELDS
]


@settings(max_examples=150, deadline=None)
@given(st.tuples(*(st.lists(part, min_size=1, max_size=2).map(",".join) for part in PARTS)).map(" ".join))
def test_what_we_accept_prefect_accepts(cron: str) -> None:
    try:
        read_cron(cron)
    except ValueError:
        return
    CronSchedule(cron=cron)


@pytest.mark.parametrize("cron", ["0 2 * * *", "*/15 8-18 * * mon-fri", "@daily", "0 0 1,15 jan *", "30 4 * * 7"])
def test_usual_lines_are_accepted_by_both(cron: str) -> None:
    assert read_cron(cron).minutes
    assert CronSchedule(cron=cron).cron == cron
