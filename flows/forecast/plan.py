"""Before a run: whether what it names is there, which stages it would compute, what they will cost; and, after it,
how near the forecast came; and what it will ask of models that answer in words, and what that costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from assay.flows.audit import audit
from assay.flows.audits.services import prompt_in, prompted_rules, silent, variants_of
from assay.flows.configuration.loading import Project
from assay.flows.forecast.cost_model import (
    Forecast,
    Range,
    StageForecast,
    executed_stages,
    forecast_of_plan,
    overhead,
    share_that_fits,
)
from assay.flows.kind import is_subject
from assay.flows.pipeline import Pipeline
from assay.flows.report.gates import require_baselines
from assay.infra.engines.devices import require_gpu_here
from assay.infra.engines.opening import engine_for_plan
from assay.infra.errors import InputError, RunError, error_text
from assay.infra.stages.branches import Plan, PlannedStage
from assay.infra.stages.runs import OnMissing, Run
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.infra.user_code.references import Ingredients, noting
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.table import TEXT_ATTACKS, AnyTextAttack
from assay.tasks.attacks.texts.settings import QuestionAttack, TextRewrite
from assay.tasks.corruptions.table import Corruptions
from assay.tasks.reporting.numerals import duration, in_bytes, plain, plural
from assay.tasks.reporting.parts import Paragraph, Part
from assay.tasks.subjects.addresses.chat import MOST_TOKENS, PLACES, read_prompt
from assay.tasks.subjects.addresses.endpoint import asking_at
from assay.tasks.subjects.holding_out import Rule, on_side

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.tasks.subjects.addresses.chat import Prompt

    ReadSamples = Callable[[], tuple[pa.Table, int]]


def check_inputs(project: Project, pipeline: Pipeline, ask: bool = False) -> list[str]:
    """Find what the pipeline names, and the GPU, before anything starts: a typo is answered at once, with its line.
    Before a run models that answer in words are asked as well (`ask`).

    Returned is what is wrong with single subjects: the run refuses them, and goes on with the others."""
    require_gpu_here(project.compute)
    missing = list(pipeline.missing_things(project.folder)) or list(silent(pipeline, project.folder) if ask else ())
    lost = [absent for absent in missing if is_subject(absent)]
    if len({absent.where[:2] for absent in lost}) < len(pipeline.subjects):  # one that is wrong stops no other
        missing = [absent for absent in missing if absent not in lost]
    if any(gate.against is not None for gate in pipeline.gates):
        require_baselines(project, pipeline.name, Store(project.store))
    sentences = [absent.in_words(project.lines, pipeline.name) for absent in missing or lost]
    if missing:
        refused = any(absent.error.exit_code == 2 for absent in missing)
        raise (InputError if refused else RunError)("\n".join(sentences))
    return sentences


def walk_plan(
    project: Project,
    pipeline: Pipeline,
    seed: int = 0,
    *,
    share: float = 1.0,
    fresh: bool = False,
    noted: Ingredients | None = None,
    on_missing: OnMissing = lambda _: None,
) -> tuple[list[PlannedStage], int]:
    """The stages of a run in order (cached, will run, or runs unless its input is unchanged), and how many of them may
    compute at once; inputs have been checked. The team's own files that it would stand on are `noted` there."""
    planned, silent = Plan(on_missing=on_missing), Progress()
    compute, store = project.compute, Store(project.store).look()
    engine = partial(engine_for_plan, compute)
    run = Run(
        pipeline.name, store, engine, silent, seed=seed, compute=compute, conductor=planned, share=share, fresh=fresh
    )
    with run.unrecorded(), noting(noted or run.ingredients):
        audit(pipeline, project.folder)
        return planned.stages, run.most_at_once()


_DEAREST = 3


def forecast_before_run(
    project: Project,
    pipeline: Pipeline,
    seed: int = 0,
    *,
    share: float = 1.0,
    fresh: bool = False,
    on_missing: OnMissing = lambda _: None,
) -> tuple[Forecast, list[str]]:
    """What a run will cost, and what is to be said of its budget; nothing is written or started to know that."""
    planned, slots = walk_plan(project, pipeline, seed, share=share, fresh=fresh, on_missing=on_missing)
    records = Store(project.store).look().runs()
    known = [executed for executed in executed_stages(records) if not (fresh and executed.is_partial)]
    spent = overhead([record for record in records if record.pipeline == pipeline.name])
    expected_at = partial(forecast_of_plan, planned, known, slots=slots, overhead=spent)
    expected, allowed = expected_at(), pipeline.seconds_allowed
    if allowed is None or expected.seconds.value <= allowed:
        return expected, []
    fits = share_that_fits(lambda part: expected_at(share=part), allowed)
    return expected, [over_budget(expected, str(pipeline.budget), None if fits is None else fits * share)]


def over_budget(expected: Forecast, budget: str, fits: float | None) -> str:
    """The sentence for a run that is not expected to fit its budget: what is dearest, and which share would fit."""
    dearest = ", ".join(
        " of ".join(filter(None, (stage.planned.title, stage.planned.about))) + f" {duration(stage.seconds.value)}"
        for stage in expected.dearest[:_DEAREST]
    )
    share = "" if fits is None else f"{fits * 100:.4g}%"
    way = f"--sample {share} would fit" if share else "not even 1 % of the samples would fit"
    return (
        f"The budget of {budget} is likely over before the end: about {seconds_in_words(expected)} are expected, "
        f"the most for {dearest}. What is not begun by then is left to the next run; {way}."
    )


def seconds_in_words(expected: Forecast) -> str:
    """The time of a run with its range."""
    seconds = expected.seconds
    return f"{duration(seconds.value)} ({duration(seconds.low)} to {duration(seconds.high)})"


def head_line(expected: Forecast) -> str:
    """What stands at the head of a run; nothing where nothing is known, or nothing is left to do."""
    if not expected.dearest:
        return ""
    unknown = f", without {plural(len(expected.unknown), 'stage')} not run yet" if expected.unknown else ""
    return f"Forecast  {seconds_in_words(expected)}{unknown}"


def forecast_for_record(
    project: Project,
    pipeline: Pipeline,
    seed: int,
    share: float = 1.0,
    fresh: bool = False,
    *,
    on_missing: OnMissing = lambda _: None,
) -> dict[str, Any]:
    """What a run is expected to cost, and the sentences for its head (`said`); `on_missing` is called with each stage
    that the store does not hold, as soon as it is found."""
    try:
        expected, of_budget = forecast_before_run(
            project, pipeline, seed, share=share, fresh=fresh, on_missing=on_missing
        )
    except Exception as error:  # noqa: BLE001 - a run that nobody can foresee is run all the same
        return {"said": [f"There is no forecast: {error_text(error, masked=True)}"]}
    return forecast_as_json(expected) | {"said": [line for line in (head_line(expected), *of_budget) if line]}


def is_something_left(expected: Mapping[str, Any]) -> bool:
    """Whether a run computes anything, by a forecast that was written down; without one it may."""
    return "stages" not in expected or bool(expected["stages"] or expected["unknown"])


def forecast_as_json(expected: Forecast) -> dict[str, Any]:
    """The seconds of the run and of each of its stages by place: expected, at least, at most."""
    return {
        "seconds": _ends(expected.seconds),
        "stages": {stage.planned.place: _ends(stage.clock) for stage in expected.stages if stage.costs},
        "cpu": {stage.planned.place: _ends(stage.costs["cpu"]) for stage in expected.stages if stage.costs},
        "unknown": expected.unknown,
    }


def _ends(seconds: Range) -> list[float]:
    return [round(end, 3) for end in (seconds.value, seconds.low, seconds.high)]


NEAR = 1.25
"""A forecast is near that is off by less than this factor, or by less than half a second."""
_SHORT, _SHOWN = 0.5, 3


def forecast_table(expected: Forecast) -> tuple[list[str], list[list[str]]]:
    """The plan as headings and rows of text, a stage each; a cost that no stage has is left out."""
    rows = [_forecast_row(stage) for stage in expected.stages]
    headings = [*_ABOUT, *(name for name in _COSTS if any(row.get(name) for row in rows))]
    return headings, [[row.get(name, "") for name in headings] for row in rows]


_ABOUT = ("stage", "of", "will", "where")
_COSTS = ("takes", "range", "CPU", "GPU", "partitions", "keeps", "from")


def _forecast_row(forecast: StageForecast) -> dict[str, str]:
    planned, seconds = forecast.planned, forecast.clock
    about = {"stage": planned.title, "of": planned.about, "will": planned.outlook, "where": planned.where}
    if not forecast.costs:
        return about | {"from": forecast.basis or ""}
    costs = {name: cost.value for name, cost in forecast.costs.items()}
    return about | {
        "takes": duration(seconds.value),
        "range": f"{duration(seconds.low)} to {duration(seconds.high)}",
        "CPU": duration(costs["cpu"]),
        "GPU": duration(costs["gpu"]) if costs["gpu"] else "",
        "partitions": str(round(costs["partitions"])),
        "keeps": in_bytes(round(costs["bytes"])),
        "from": f"{plural(forecast.earlier, 'result')}, {forecast.basis}",
    }


def forecast_summary(expected: Forecast) -> str:
    """What the whole run will take, in one sentence."""
    if not any(stage.basis for stage in expected.stages):
        return "Nothing is left to compute."
    if not expected.dearest:
        return "No forecast: none of what will run was run before over this store."
    gpu = expected.total("gpu")
    processors = f"{duration(expected.total('cpu'))} of processors" + (f", {duration(gpu)} of GPUs" if gpu else "")
    unknown = f" Not run yet, and not counted: {', '.join(expected.unknown)}." if expected.unknown else ""
    kept = in_bytes(round(expected.total("bytes")))
    slots = plural(expected.slots, "slot")
    return f"Forecast: {seconds_in_words(expected)} on {slots}; {processors}; {kept} kept.{unknown}"


@dataclass(frozen=True)
class ForecastAndFact:
    """A computed stage: what was expected (None: nobody knew) and what it took, in seconds."""

    title: str
    expected: Range | None
    took: float

    @property
    def is_near(self) -> bool:
        """Whether the forecast was near.

        >>> [ForecastAndFact("a", Range(10.0, 8.0, 12.0), took).is_near for took in (12.4, 12.6)]
        [True, False]
        """
        if self.expected is None:
            return False
        return abs(self.missed) <= _SHORT or self.took / NEAR <= self.expected.value <= self.took * NEAR

    @property
    def missed(self) -> float:
        """By how many seconds it took longer than expected."""
        return 0.0 if self.expected is None else self.took - self.expected.value


def forecasts_and_facts(record: RunRecord) -> list[ForecastAndFact]:
    """Every stage that the run computed, beside its forecast."""
    known = record.forecast.get("stages", {})
    return [
        ForecastAndFact(stage.title, Range(*known[stage.place]) if stage.place in known else None, stage.worked)
        for stage in record.stages
        if not stage.cached
    ]


def forecast_part(record: RunRecord) -> Iterator[Part]:
    """What the page says of the forecast; nothing where there was none, or nothing was computed."""
    came = forecasts_and_facts(record)
    known = [stage for stage in came if stage.expected is not None]
    if not known:
        return
    value, low, high = record.forecast["seconds"]
    near = sum(stage.is_near for stage in known)
    missing = len(came) - len(known)
    counted = plural(missing, "stage is", "stages are")
    unknown = f" {counted} not in it: never run before, or unforeseen until others had run." if missing else ""
    sentence = (
        f"The run was expected to take {duration(value)} ({duration(low)} to {duration(high)}) and took "
        f"{duration(record.seconds)}; {near} of {len(known)} stages came within a quarter of their forecast, or half a "
        f"second.{unknown}"
    )
    off = sorted((stage for stage in known if not stage.is_near), key=lambda stage: -abs(stage.missed))[:_SHOWN]
    farthest = [f"{stage.title} {duration(stage.took)} for {duration(stage.took - stage.missed)}" for stage in off]
    yield Part("Forecast", sentence, [Paragraph(f"Farthest off: {', '.join(farthest)} expected.")] if off else [])


_LETTERS = 4
"""Letters of a token, about: as in English prose."""
_PICTURE = 255
"""Tokens of a picture of up to 512 pixels a side, as OpenAI counts them: 85, and 170 for each square of that side."""


def expected_questions(pipeline: Pipeline, folder: Path, read: ReadSamples, share: float) -> Iterator[str]:
    """A sentence for each model that answers in words and for rules with a prompt: its questions, tokens and cost if
    the store has no answer yet. `read` gives samples, and how many there are in all; a `share` of these is taken."""
    subjects = [each for each in pipeline.subjects if each.asking is not None and each.asking.prompt is not None]
    prompted = prompted_rules(pipeline, folder)
    if not subjects and not prompted:
        return
    samples, known = read()
    rows = round(known * share)
    for subject in subjects:
        asking = asking_at(subject.named, subject.asking)
        audited, sees = _audited(pipeline, samples, rows), subject.kind == "network"
        prompt = prompt_in(asking, str(asking.prompt), folder, PLACES[subject.kind])
        asked, unknown = audited * asking.repeats, ["trust"] * ("trust" in pipeline.parts)
        for attack in pipeline.attacks:
            if isinstance(attack, AnyTextAttack | QuestionAttack):
                count, texts = _questions(attack, prompt, folder), getattr(attack, "texts", None) or audited
                asked += min(audited, texts) * (count or 0)
                unknown += [] if count else [attack.called]
            elif sees and isinstance(attack, ImageAttack):
                searched = int(getattr(attack, "queries", 0)) + asking.repeats - 1  # what it made is asked about afresh
                asked += audited * sum(eps > 0 for eps in attack.eps) * searched
        if sees and (noise := pipeline.asked(Corruptions)) is not None:
            asked += audited * len(noise.perturbations) * len(noise.severities) * noise.frames
        letters = float(_PICTURE * _LETTERS) if sees else _letters(samples, subject.text)
        without = f"; without what {' and '.join(unknown)} will ask, which nobody knows before" if unknown else ""
        yield f"{_expected(subject.name, prompt, letters, asked)}{without}."
    for rule, asking, _ in prompted:
        prompt = read_prompt(asking, str(rule.prompt).encode())
        yield f"{_expected(rule.called, prompt, _letters(samples, rule.text or 'text'), rows)}."


def _questions(attack: AnyTextAttack | QuestionAttack, prompt: Prompt, folder: Path) -> int | None:
    """How many questions an attack asks about a text, at most; None where it goes by the answers."""
    if isinstance(attack, QuestionAttack):
        return len(list(variants_of(attack, prompt, folder)))
    count = TEXT_ATTACKS.of(attack).questions
    afresh = prompt.asking.repeats - 1 if isinstance(attack, TextRewrite) else 0
    return None if count is None else int(count(attack, len(prompt.asking.spellings))) + afresh


def _expected(name: str, prompt: Prompt, letters: float, asked: int) -> str:
    """How much is asked, and at most answered."""
    each = (sum(len(message.content) for message in prompt.messages) + letters) / _LETTERS
    tokens = Counter(tokens_in=round(asked * each), tokens_out=asked * MOST_TOKENS[prompt.asking.read], requests=asked)
    cost, allowed = prompt.asking.spent(tokens), prompt.asking.cost
    paid = "" if cost is None else f", about {plain(cost)} at most"
    limit = "" if cost is None or allowed is None else f" ({allowed:g} is allowed)"
    return (
        f"{name}: {plural(asked, 'question')}, about {tokens['tokens_in']:,} tokens sent and up to "
        f"{tokens['tokens_out']:,} received{paid}{limit}"
    )


def _audited(pipeline: Pipeline, samples: pa.Table, rows: int) -> int:
    evaluation = pipeline.evaluation
    column, share = evaluation.column or pipeline.source.split or "split", evaluation.holdout
    if column in samples.column_names:
        rule = Rule(evaluation.model_copy(update={"column": column}), by_column=True)
        share = float(on_side(samples, "evaluation", rule).mean())
    return min(round(rows * share), evaluation.limit or rows)


def _letters(samples: pa.Table, column: str) -> float:
    """The mean length of the texts."""
    return float(pc.mean(pc.utf8_length(samples[column])).as_py() or 0.0) if column in samples.column_names else 0.0
