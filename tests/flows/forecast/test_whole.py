"""Stages of a plan held against earlier ones, and the clock of the whole run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.flows.forecast.cost_model import ExecutedStage, Forecast, forecast_of_plan, share_that_fits
from assay.infra.stages.branches import CACHED, MAY_RUN, WILL_RUN, PlannedStage
from assay.infra.storage.keys import Given, Work


def planned(
    name: str, needs: list[str], makes: str, *, outlook: str = MAY_RUN, effort: float = 1.0, kind: str = "Samples"
) -> PlannedStage:
    work = Work(f"like {name}", f"own {name}", effort, tuple(Given("Samples", one, 0) for one in needs))
    return PlannedStage(name, name, outlook, "", place=name, work=work, makes={"result": Given(kind, makes, 0)})


def was(name: str, rows: int, seconds: float, *, effort: float = 1.0, made: int | None = None) -> ExecutedStage:
    took = {"seconds": seconds, "cpu": seconds, "gpu": 0.0, "partitions": 1.0, "bytes": 10.0 * rows}
    return ExecutedStage(
        name, f"like {name}", f"own {name}", effort, rows, took, {"result": rows if made is None else made}
    )


def night(first: str = WILL_RUN) -> list[PlannedStage]:
    """Samples come in, two branches stand on them, and both end in one."""
    return [
        planned("ingest", [], "s", outlook=first),
        planned("left", ["s"], "l"),
        planned("right", ["s"], "r"),
        planned("both", ["l", "r"], "b"),
    ]


def there(rows: int) -> PlannedStage:
    """Samples that are in the store."""
    made = {"result": Given("Samples", "s", rows)}
    return PlannedStage("ingest", "ingest", CACHED, "", work=Work("like ingest", "own ingest", 1.0), makes=made)


KNOWN = [was("ingest", 100, 2.0), was("left", 100, 6.0), was("right", 100, 4.0), was("both", 200, 1.0)]


def test_branches_go_on_at_once_where_there_are_slots() -> None:
    alone, together = (forecast_of_plan(night(), KNOWN, slots=slots, overhead=1.0) for slots in (1, 2))
    assert alone.seconds.value == pytest.approx(2 + 6 + 4 + 1 + 1)
    assert together.seconds.value == pytest.approx(2 + 6 + 1 + 1)  # the longest chain
    assert together.seconds.low <= together.seconds.value <= together.seconds.high


def test_rows_of_what_is_promised_are_followed_from_stage_to_stage() -> None:
    halves = [was("left", 100, 6.0, made=25), was("left", 200, 12.0, made=50)]
    more = [there(400), *night()[1:2], planned("after", ["l"], "a")]
    found = forecast_of_plan(more, [*halves, was("after", 25, 1.0), was("after", 50, 2.0)], slots=1, overhead=0.0)
    assert [one.rows for one in found.stages] == [0, 400, 100]
    assert found.seconds.value == pytest.approx(24 + 4)


def test_of_more_samples_a_limit_keeps_no_more() -> None:
    capped = [was("left", 100, 1.0, made=60), was("left", 200, 1.2, made=75)]
    more = [there(400), *night()[1:2], planned("after", ["l"], "a")]
    found = forecast_of_plan(more, [*capped, was("after", 60, 6.0), was("after", 75, 7.5)], slots=1, overhead=0.0)
    assert [one.rows for one in found.stages] == [0, 400, 75]
    assert found.stages[-1].costs["seconds"].value == pytest.approx(7.5)


def test_an_attack_of_more_steps_takes_longer_and_keeps_no_more() -> None:
    plan = [planned("attack", [], "a", outlook=WILL_RUN, effort=40.0)]
    [stage] = forecast_of_plan(plan, [was("attack", 100, 3.0, effort=10.0)], slots=1, overhead=0.0).stages
    assert stage.costs["seconds"].value == pytest.approx(12.0)
    assert stage.costs["bytes"].value == pytest.approx(1000.0)


def test_nothing_is_invented_for_a_stage_that_never_ran() -> None:
    found = forecast_of_plan(night(), KNOWN[:2], slots=1, overhead=0.0)
    assert found.unknown == ["right", "both"]
    assert [one.basis for one in found.stages[2:]] == ["not run yet"] * 2
    assert found.stages[2].costs == {}
    assert found.seconds.value == pytest.approx(8.0)


def test_other_settings_are_better_than_nothing_and_said_to_be_that() -> None:
    other = ExecutedStage("left", "x", "y", 1.0, 100, {"seconds": 6.0}, {"result": 100})
    stage = forecast_of_plan(night(), [KNOWN[0], other], slots=1, overhead=0.0).stages[1]
    assert stage.basis == "other settings"
    assert stage.seconds.high / stage.seconds.value > 3


def test_the_low_end_counts_only_what_is_certain_to_run() -> None:
    assert forecast_of_plan(night(), KNOWN, slots=1, overhead=0.0).seconds.low == pytest.approx(2.0 / 1.25)


def test_the_share_that_fits_is_the_largest_that_does() -> None:
    sizes = [was(name, rows, 0.1 * rows) for name in ("left", "right", "both") for rows in (100, 50)]
    plan = [there(100), *night()[1:]]

    def expected_at(share: float) -> Forecast:
        return forecast_of_plan(plan, sizes, slots=1, overhead=0.0, share=share)

    fits = {budget: share_that_fits(expected_at, budget) for budget in (30.0, 11.0, 0.01)}
    assert fits == {30.0: 0.5, 11.0: 0.25, 0.01: None}


def test_a_night_that_takes_most_from_earlier_ones_is_as_the_last_such_night_and_at_the_most_whole() -> None:
    whole = [was("left", 100, 10.0), was("left", 200, 20.0)]
    last = replace(was("left", 210, 1.5), is_partial=True)
    [_, stage] = forecast_of_plan([there(220), night()[1]], [last, *whole], slots=1, overhead=0.0).stages
    assert stage.seconds.value == 1.5
    assert stage.seconds.high > 22
    [_, alone] = forecast_of_plan([there(220), night()[1]], whole, slots=1, overhead=0.0).stages
    assert alone.seconds.value == pytest.approx(22.0)
