"""The last night of every pipeline as a text file for Prometheus' node exporter."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from assay.flows.report.all_nights import entries_of
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.reporting.run_entry import RunEntry

STATUSES = ("done", "gate failed", "refused", "broken", "crashed")
_HELP = {
    "assay_run_status": "1 for how the last run of the pipeline ended, 0 for the other ways.",
    "assay_run_started_timestamp_seconds": "When the last run of the pipeline started.",
    "assay_run_seconds": "How long the last run took.",
    "assay_gates": "Gates of the last run that judged any, by result.",
    "assay_finding": "The pipeline's numbers that are followed over the nights, as last measured.",
    "assay_finding_low": "Lower end of the interval.",
    "assay_finding_high": "Upper end of the interval.",
    "assay_finding_samples": "How many samples it rests on.",
    "assay_red_flags": "Red flags that the last reported run raised.",
}
Sample = tuple[str, dict[str, str], float]


def write(store: Store, place: Path) -> None:
    """The file anew, whole or not at all, for all pipelines of the store."""
    shown: str | None = None
    while (text := rendered(samples_of(store.runs(), entries_of(store)))) != shown:  # another run may have just ended
        _replace(place, text)
        shown = text


def samples_of(records: Iterable[RunRecord], entries: Iterable[RunEntry]) -> Iterator[Sample]:
    """What is known of each pipeline's latest runs; those with `--set` or `--sample` are trials and do not count."""
    ended = [one for one in records if one.status != "running" and not one.is_trial]
    last = {record.pipeline: record for record in ended}
    judged = {record.pipeline: record for record in ended if record.judged}
    nights = {record.id for record in ended}
    reported = [
        one for one in sorted(entries, key=lambda one: (one.started, one.run)) if one.run in nights and one.link
    ]
    for name, record in sorted(last.items()):
        about = {"pipeline": name}
        for status in dict.fromkeys((*STATUSES, record.status)):
            yield "assay_run_status", {**about, "status": status}, float(record.status == status)
        yield "assay_run_started_timestamp_seconds", about, datetime.fromisoformat(record.started).timestamp()
        yield "assay_run_seconds", about, record.seconds
        for result, count in (judged[name].judged if name in judged else {}).items():
            yield "assay_gates", {**about, "result": result}, count
        yield from _findings(about, [one for one in reported if one.pipeline == name])


def _findings(about: dict[str, str], reported: list[RunEntry]) -> Iterator[Sample]:
    if not reported:
        return
    yield "assay_red_flags", about, len(reported[-1].flags)
    for headline in reported[-1].headlines:
        if headline.spare:
            continue
        labels = {**about, "finding": headline.name}
        yield "assay_finding", labels, headline.value
        for name, value in (("low", headline.low), ("high", headline.high), ("samples", headline.n)):
            if value is not None:
                yield f"assay_finding_{name}", labels, value


def rendered(samples: Iterable[Sample]) -> str:
    r"""The samples in Prometheus' text format, those of one metric together.

    >>> print(rendered([("assay_run_seconds", {"pipeline": 'a"b'}, 4.5)]))
    # HELP assay_run_seconds How long the last run took.
    # TYPE assay_run_seconds gauge
    assay_run_seconds{pipeline="a\"b"} 4.5
    <BLANKLINE>
    """
    lines: dict[str, dict[str, float]] = {}
    for name, labels, value in samples:
        inside = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
        lines.setdefault(name, {})[f"{name}{{{inside}}}"] = value  # a series stands there once
    text = [
        line
        for name in _HELP
        if name in lines
        for line in (
            f"# HELP {name} {_HELP[name]}",
            f"# TYPE {name} gauge",
            *(f"{series} {_number(value)}" for series, value in lines[name].items()),
        )
    ]
    return "\n".join([*text, ""])


def escaped(text: str) -> str:
    r"""A label's value as the format wants it.

    >>> print(escaped('a"b\\c\nd'))
    a\"b\\c\nd
    """
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _replace(place: Path, text: str) -> None:
    draft = place.with_name(f".{place.name}.{uuid.uuid4().hex}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")  # readable as the umask says: the exporter is another user
        os.replace(draft, place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{place}: {error.strerror}. Name a file that may be written with prometheus:.") from error
