"""The page over all nights in the store, a line per run; and the numbers of a run that are followed over the nights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.flows.audits.table import AnyKind
from assay.flows.report.gates import Past, accepted_in_words, budget_in_words, detectable_in_words, looks_of
from assay.flows.report.ledger import ledger_of
from assay.flows.report.records import missed_nights, no_run_came, sample_in_words
from assay.flows.report.sentences import kinds_measured
from assay.infra.masking import mask_page
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import acceptances
from assay.tasks.reporting.index import render_index
from assay.tasks.reporting.report import MISSED, Headline, RunEntry, headlines_of
from assay.tasks.statistics.findings import Finding, FindingIndex


def followed_in(kinds: Sequence[AnyKind], findings: FindingIndex) -> tuple[Headline, ...]:
    """What each audit follows over the nights, in the order of a reader's interest: models before labels."""
    measured = sorted(kinds_measured(kinds, findings), key=lambda kind: kind.name in ("curation", "people"))
    lines = [line for kind in measured for line in (*headlines_of(kind.metrics, findings), *kind.followed(findings))]
    return tuple(lines)


def with_sequences(followed: Sequence[Headline], findings: Sequence[Finding], past: Past) -> tuple[Headline, ...]:
    """The numbers with what all nights so far come to together, as far as samples are new."""
    shown = {number.key for number in followed if not number.spare}
    so_far = past.sequences([finding for finding in findings if finding.key in shown])
    return tuple(number.model_copy(update={"so_far": so_far.get(number.key)}) for number in followed)


def write_index(store: Store) -> None:
    """The page, from the line that every report left beside it, the records of runs that ended without a report, and
    what is known of nights that did not come."""
    shown: list[RunEntry] | None = None
    while (entries := [*entries_of(store), *_missed(store)]) != shown:
        runs = store.runs()  # and once more: another run may have ended while this one wrote
        names, ledger = {entry.pipeline for entry in entries}, ledger_of(store)
        notes = {name: [*ledger.gaps.get(name, ()), *notes_on(store, name, runs)] for name in names}
        lines = _marked(entries, store, runs, ledger.signed)
        page = render_index(lines, notes, f"{ledger.broken} {budget_in_words(runs)}".strip())
        store.folder.write("reports/index.html", mask_page(page).encode())
        shown = entries


def entries_of(store: Store) -> list[RunEntry]:
    """The runs that the page lists; one that is still going is not listed yet."""
    lines = (store.folder.read_json(f"reports/{name}/entry.json") for name in store.folder.folders("reports"))
    reported = [entry for line in lines if line and (entry := _entry(line)) is not None]
    known = {entry.run for entry in reported}
    return reported + [_without_report(run) for run in store.runs() if run.id not in known and run.status != "running"]


def _missed(store: Store) -> list[RunEntry]:
    """The nights that were due and did not come."""
    return [
        RunEntry(pipeline=name, started=due.isoformat(), status=MISSED, verdict=no_run_came(due))
        for name, nights in missed_nights(store).items()
        for due in nights
    ]


def _marked(
    entries: Sequence[RunEntry], store: Store, runs: Sequence[RunRecord], signed: Mapping[str, str]
) -> list[RunEntry]:
    """The entries with what the trends mark (which runs somebody accepted, and in which a gate found a change), and
    with what is said of those that were signed."""
    accepted = [acceptance for name in {entry.pipeline for entry in entries} for acceptance in acceptances(store, name)]
    baselines = {acceptance["run"]: accepted_in_words(acceptance) for acceptance in accepted}
    judged = {
        run.id: tuple(str(look["sentence"]) for look in looks_of(run) if look.get("raw") == "failed") for run in runs
    }
    return [
        entry.model_copy(
            update={
                "accepted": baselines.get(entry.run, ""),
                "judged": judged.get(entry.run, ()),
                "signed": signed.get(entry.run, ""),
            }
        )
        for entry in entries
    ]


def notes_on(store: Store, pipeline: str, runs: Sequence[RunRecord]) -> list[str]:
    """What stands above the runs of a pipeline: what they are held against, who said so (the latest first), and what
    its gates on change can see."""
    accepted = map(accepted_in_words, reversed(acceptances(store, pipeline)))
    notes = [f"{'Before that' if at else 'Baseline'}: {sentence}" for at, sentence in enumerate(accepted)]
    return notes + detectable_in_words([run for run in runs if run.pipeline == pipeline and not run.is_sample])


def _entry(line: object) -> RunEntry | None:
    """A report's line; None where a newer version wrote it, or it is damaged: that run stands there by its record."""
    try:
        return RunEntry.model_validate(line)
    except ValueError:
        return None


def _without_report(run: RunRecord) -> RunEntry:
    """The line of a run that was refused, broke or was killed before there was anything to report."""
    failure = run.failures[0].splitlines()[0] if run.failures and run.failures[0] else ""
    same = {name: getattr(run, name) for name in ("pipeline", "started", "seconds", "status")}
    return RunEntry(**same, run=run.id, verdict=failure, sample=sample_in_words(run))
