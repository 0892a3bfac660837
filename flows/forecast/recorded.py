"""A forecast as the record of its run keeps it, so that it can be held against what came."""

from __future__ import annotations

from typing import Any

from assay.flows.forecast.foreseeing import foresee, head_line
from assay.flows.forecast.scaling import Range
from assay.flows.forecast.whole import Forecast
from assay.flows.pipeline import Pipeline, Project
from assay.infra.errors import told


def foreseen(project: Project, pipeline: Pipeline, seed: int, share: float, fresh: bool) -> dict[str, Any]:
    """What a run is expected to cost, and the sentences for its head (`said`)."""
    try:
        expected, of_budget = foresee(project, pipeline, seed, share=share, fresh=fresh)
    except Exception as error:  # noqa: BLE001 - a run that nobody can foresee is run all the same
        return {"said": [f"There is no forecast: {told(error, masked=True)}"]}
    return to_json(expected) | {"said": [line for line in (head_line(expected), *of_budget) if line]}


def to_json(expected: Forecast) -> dict[str, Any]:
    """The seconds of the run and of each of its stages by place: expected, at least, at most."""
    return {
        "seconds": _ends(expected.seconds),
        "stages": {one.planned.place: _ends(one.clock) for one in expected.stages if one.costs},
        "cpu": {one.planned.place: _ends(one.costs["cpu"]) for one in expected.stages if one.costs},
        "unknown": expected.unknown,
    }


def _ends(seconds: Range) -> list[float]:
    return [round(end, 3) for end in (seconds.value, seconds.low, seconds.high)]
