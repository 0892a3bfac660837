"""The forecast of a run before it begins: its plan, held against the records of the store."""

from __future__ import annotations

from assay.flows.forecast.history import executed, overhead
from assay.flows.forecast.whole import Forecast, forecast, share_that_fits
from assay.flows.operations.planning import walked
from assay.flows.pipeline import Pipeline, Project
from assay.infra.store import Store
from assay.tasks.reporting.numerals import duration

_DEAREST = 3


def foresee(
    project: Project, pipeline: Pipeline, seed: int = 0, *, share: float = 1.0, fresh: bool = False
) -> tuple[Forecast, list[str]]:
    """What a run will cost, and what is to be said of its budget; nothing is written or started to know that."""
    planned, slots = walked(project, pipeline, seed, share=share, fresh=fresh)
    records = Store(project.store).look().runs()
    known = [one for one in executed(records) if not (fresh and one.is_partial)]
    spent = overhead([one for one in records if one.pipeline == pipeline.name])
    expected = forecast(planned, known, slots=slots, overhead=spent)
    allowed = pipeline.seconds_allowed
    if allowed is None or expected.seconds.value <= allowed:
        return expected, []
    fits = share_that_fits(planned, known, slots=slots, overhead=spent, budget=allowed)
    return expected, [over_budget(expected, str(pipeline.budget), None if fits is None else fits * share)]


def over_budget(expected: Forecast, budget: str, fits: float | None) -> str:
    """The sentence for a run that is not expected to fit its budget: what is dearest, and which share would fit."""
    dearest = ", ".join(
        " of ".join(filter(None, (one.planned.title, one.planned.about))) + f" {duration(one.seconds.value)}"
        for one in expected.dearest[:_DEAREST]
    )
    share = "" if fits is None else f"{fits * 100:.4g}%"
    way = f"--sample {share} would fit" if share else "not even 1 % of the samples would fit"
    return (
        f"The budget of {budget} is likely over before the end: about {in_words(expected)} are expected, the most for "
        f"{dearest}. What is not begun by then is left to the next run; {way}."
    )


def in_words(expected: Forecast) -> str:
    """The time of a run with its range."""
    seconds = expected.seconds
    return f"{duration(seconds.value)} ({duration(seconds.low)} to {duration(seconds.high)})"


def head_line(expected: Forecast) -> str:
    """What stands at the head of a run; nothing where nothing is known, or nothing is left to do."""
    if not expected.dearest:
        return ""
    unknown = f", without {len(expected.unknown)} stages not run yet" if expected.unknown else ""
    return f"Forecast  {in_words(expected)}{unknown}"
