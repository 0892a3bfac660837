"""`assay label`: draws samples of a run for people to label, and takes their answers back.

Equal numbers are drawn of strata that are small where the subject may be wrong. Answers are taken whole: incomplete
ones, and those of samples that were not drawn, would make an estimate of something else.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.flows.audits.people import ANSWERS, DRAWS, LABELLED, POPULATION, PREDICTED, Labelled, read_draw
from assay.flows.export.curated_sets import classes_of
from assay.flows.export.samples_to_review import DRAW, QUESTION, SAMPLE, SamplesToReview, ids_without_gold, write_tasks
from assay.flows.kind import Outcomes
from assay.flows.report.gates import require_whole
from assay.flows.report.records import labelled_by, parts_of, subjects_in
from assay.flows.yaml_document import suggestion
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.log import log_action
from assay.infra.storage.store import Store
from assay.tasks.agreement.drawn_labels import PPI, answerer_of, expected_right, people_findings, people_sentence
from assay.tasks.ingest.label_studio import gold_answers, tasks_in
from assay.tasks.ingest.settings import PeoplesGold
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.stratified_ppi import Drawn, draw_strata, strata_by_expectation

CANNOT_TELL = "?"


def answers_of_run(store: Store, record: RunRecord) -> dict[str, pa.Table]:
    """What every subject of a run and every labeler says, by its name: subjects first, in the order of the pipeline."""
    outcomes = {kept.subject: kept for kept in map(Outcomes.from_json, record.outcomes) if "predictions" in kept.tables}
    subjects = [str(subject["name"]) for subject in subjects_in(record.settings) if subject["name"] in outcomes]
    asked = [(name, outcomes[name].tables["predictions"], PREDICTED) for name in subjects]
    asked += [(name, labelled.labels, LABELLED) for name, labelled in labelled_by(store, record).items()]
    return {name: pa.concat_tables(parts_of(store, artifact, columns)) for name, artifact, columns in asked}


def draw_to_label(
    store: Store,
    record: RunRecord,
    budget: int,
    target: Path | None = None,
    of: str | None = None,
    without_gold: bool = False,
    text: str | None = None,
    picture_files: bool = False,
) -> str:
    """Draws samples on which a subject or a labeler (`of`) answers, keeps the draw and writes what people need."""
    require_whole(record, "all samples")
    tables, classes = answers_of_run(store, record), classes_of(store, record)
    if not tables or (of is not None and of not in tables):
        way = suggestion(of, tables) if of and tables else "add a subject or rules to its pipeline"
        raise InputError(f"In run {record.id} nobody {f'called {of!r} ' if of else ''}says classes; {way}.")
    of = of or next(iter(tables))
    answers = tables[of]
    decided = answers.filter(pc.invert(answers["undecided"])) if "undecided" in answers.column_names else answers
    ids = decided["id"].combine_chunks()
    if without_gold:
        ids = ids.filter(pc.is_in(ids, value_set=ids_without_gold(store, record)))
    if not len(ids):
        raise InputError(f"Every sample of run {record.id} that {of} answers for has gold: leave --without-gold out.")
    every = {name: answerer_of(name, table, ids, len(classes)) for name, table in tables.items()}
    among = [answerer for answerer in every.values() if answerer is not None]
    strata = strata_by_expectation(expected_right(next(each for each in among if each.name == of), among), budget)
    name = f"{record.id}-{hashlib.blake2b(repr((of, budget, len(ids))).encode(), digest_size=3).hexdigest()}"
    places = draw_strata(strata, budget, Seeds(record.seed, "label").generator(name))
    drawn = np.isin(np.arange(len(ids)), places)
    columns = {"id": ids, "stratum": strata, "probability": Drawn(strata, places).probabilities, "drawn": drawn}
    chosen = SamplesToReview(tuple(ids.take(places).to_pylist()), (), of, "", {}, name)
    target = target or Path(f"{record.pipeline}-to-label")
    write_tasks(store, record, chosen, target, text, picture_files)
    with store.folder.writing(f"{DRAWS}/{record.pipeline}/{name}/{POPULATION}") as sink:
        pq.write_table(pa.table(columns), sink)
    store.folder.write_json(f"{DRAWS}/{record.pipeline}/{name}/draw.json", {"run": record.id, "of": of})
    return (
        f"{target}: {plural(len(places), 'sample')} of {len(ids)} to label, drawn for {of}; README.md says how, and "
        f"assay label {record.pipeline} --take {target / 'answers.csv'} takes the answers back"
    )


class Answer(NamedTuple):
    """What stands in a file of answers: where, of which draw and sample, and the class; empty where nobody answered."""

    place: str
    draw: str
    sample: str
    label: str


def read_answers(file: Path) -> Iterator[Answer]:
    """The answers of a CSV that people filled in, or of an export of Label Studio."""
    if not file.is_file():
        raise InputError(f"There is no file {file} with answers.")
    if file.suffix == ".json":
        tasks = tasks_in(str(file.absolute()))
        judged = gold_answers([(file.name, tasks)], PeoplesGold(label_studio=(str(file),)))
        for number, task in enumerate(tasks, start=1):
            sample = str(task.shown[SAMPLE]).strip()
            choice = judged[sample].choice or (CANNOT_TELL if judged[sample].people or judged[sample].skipped else "")
            yield Answer(f"task {number}", str(task.shown.get(DRAW, "")), sample, choice)
        return
    with file.open(encoding="utf-8-sig", newline="") as opened:
        rows = csv.DictReader(opened)
        missing = [name for name in (DRAW, SAMPLE, QUESTION) if name not in (rows.fieldnames or ())]
        if missing:
            raise InputError(
                f"{file.name}, line 1: there is no column {missing[0]!r}; fill the file in as it was written."
            )
        try:
            for row in rows:
                yield Answer(f"line {rows.line_num}", *((row[name] or "").strip() for name in (DRAW, SAMPLE, QUESTION)))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{file.name}, after line {rows.line_num}: is no CSV in UTF-8 ({error}).") from error


def take_labels(store: Store, record: RunRecord, file: Path) -> str:
    """Takes people's answers of a draw, keeps them for the runs to come, and says what they come to for its own run."""
    answers = list(read_answers(file))
    if not answers:
        raise InputError(f"{file.name} has no answers.")
    name = answers[0].draw
    draw = Labelled(name, read_draw(store, record.pipeline, name), {})
    kept = store.folder.read_json(f"{DRAWS}/{record.pipeline}/{name}/draw.json") or {}
    drawn_from = store.run(kept["run"])
    classes = classes_of(store, drawn_from)
    labels = labels_of(answers, draw, classes, file.name)
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    draw = Labelled(name, draw.population, labels)
    among = draw.answerers(answers_of_run(store, drawn_from), classes)
    findings = FindingIndex(people_findings(among, draw.drawn, draw.codes(classes), classes))
    store.folder.write_json(f"{DRAWS}/{record.pipeline}/{name}/{ANSWERS}", {"at": at, "answers": labels})
    log_action(store, "label", pipeline=record.pipeline, draw=name, answers=len(labels))
    lines = [
        people_sentence(share, findings.get("people.worth", *share.about))
        for share in findings.select("people.accuracy", of=PPI)
    ]
    return "\n".join([*lines, f"They stand on the page of every run from now on: assay run {record.pipeline}"])


def labels_of(answers: list[Answer], draw: Labelled, classes: list[str], file: str) -> dict[str, str | None]:
    """The class of every drawn sample, None where people cannot tell; raises for what is missing, strange or double."""
    labels: dict[str, tuple[str, str]] = {}
    drawn = set(draw.ids)
    for answer in answers:
        before = labels.get(answer.sample, (answer.label, ""))
        wrong = ""
        if answer.draw != draw.name:
            wrong = f"is of the draw {answer.draw!r}, and the file begins with {draw.name!r}: give each draw by itself"
        elif answer.sample not in drawn:
            wrong = f"the sample {answer.sample!r} was not drawn: only the drawn ones say something of all"
        elif not answer.label:
            wrong = f"the sample {answer.sample!r} has no answer yet: give a class, or ? where nobody could tell"
        elif answer.label not in (*classes, CANNOT_TELL):
            wrong = f"{answer.label!r} is none of the classes {', '.join(classes[:10])}, and not ?"
        elif answer.label != before[0]:
            wrong = f"the sample {answer.sample!r} is {answer.label!r}, and at {before[1]} it is {before[0]!r}"
        if wrong:
            raise InputError(f"{file}, {answer.place}: {wrong}.")
        labels[answer.sample] = (answer.label, answer.place)
    missing = [name for name in draw.ids if name not in labels]
    if missing:
        raise InputError(f"{file} has no row of {plural(len(missing), 'drawn sample')}, {missing[0]!r} the first.")
    return {name: None if label == CANNOT_TELL else label for name, (label, _) in labels.items()}
